"""An asset that is released only under a certificate for exactly the data it releases."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.errors import CertificateError, ParameterError
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.orchestration.asset_builder import Made, Run, build_step
from privacy_plugin.orchestration.resources import CertificateStoreResource, ledger_of
from privacy_plugin.orchestration.upstream import Asset, asset_key, population_of
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.population_join import open_joint_snapshot


def when_gate_passed() -> dg.AutomationCondition[Any]:
    """Release when something new came, and only once every blocking check of it has passed.

    Plain `eager()` would start a release whose checks failed, are older than the data or never ran. The release
    would refuse; with this condition it is not even tried.
    """
    return (dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()).with_label(
        "new data, and its privacy gate passed"
    )


def build_release_asset(
    *,
    name: Asset,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    target: str | None = None,
    population: Asset | None = None,
    population_table: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    group_name: str | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
) -> dg.AssetsDefinition:
    """Build the release of an asset whose gate `build_privacy_checks` built, with the same policy and partitions.

    Where a requirement compares with a population, or asks the budget ledger, the release looks at those again: give
    it the same `population`, `population_table` and `ledger` as the gate.

    The released columns are copied aside, the copy's fingerprint is held against the certificate of that gate, and
    only then the copy becomes the `target` table (default: the asset's name) or the frame for the IO manager.
    Dagster's blocking acts inside one run; this holds whatever was selected, in this run or the next. Raises
    CertificateError, with the target left as it was, when the gate never judged, refused, judged other data (other
    owners of rows, another population), another policy or partition, or when its certificate was changed.
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(policy)
    others = population_of(population, population_table, warehouse)
    if not rules.rules.compares:
        others = None
    elif others is None:
        raise ParameterError(
            f"the policy of {rules.dataset!r} compares with a second table; give the release the population of its gate"
        )
    books = ledger if rules.rules.asks_ledger else None

    def make(run: Run) -> Made:
        resource: CertificateStoreResource = getattr(run.resources, certificates)
        store = resource.store(run.reads.key)
        store.require_open(rules, partition=run.partition)
        covering: list[tuple[Certificate, Path]] = []

        with ledger_of(run.resources, books), resource.handing_over(run.key, run.partition) as written:

            def verify(staged: Source) -> None:
                with _rested_on(run, rules, staged) as (judged, population):
                    found = store.require(rules, staged, partition=run.partition, judged=judged, population=population)
                covering.append((found, written(found)))  # no paper, no release

            released = run.source.publish(run.target, columns=rules.rules.released, verify=verify)
        if not covering:
            raise CertificateError(f"a source of kind {run.source.engine!r} released without asking for a certificate")
        return released, _metadata(*covering[-1], resource, resource.report_path(run.reads.key, run.partition))

    return build_step(
        make,
        doing="releasing",
        description=f"{rules.dataset} as released: certified by the privacy gate of "
        f"{asset_key(asset).to_user_string()}.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        group_name=group_name,
        automation_condition=automation_condition,
        warehouse=warehouse,
        resources=[certificates, *([] if books is None else [books])],
        population=None if others is None else replace(others, awaited=False),
    )


@contextmanager
def _rested_on(run: Run, policy: Policy, staged: Source) -> Iterator[tuple[Source | None, Source | None]]:
    """Open what a verdict rests on beside the copy itself, where that is needed: whose the rows are, the population."""
    with ExitStack() as stack:

        def now(data: Any) -> Source:
            return stack.enter_context(open_joint_snapshot(open_source(data), run.source, staged))

        rules = policy.rules
        yield now(run.source) if rules.unit else None, now(run.population) if rules.compares else None


def _metadata(
    certificate: Certificate, paper: Path, resource: CertificateStoreResource, report: Path
) -> dict[str, Any]:
    content = certificate.content
    return {
        "certificate": dg.MetadataValue.path(str(paper)),
        "fingerprint": str(content["fingerprint"]["digest"]),
        "policy digest": str(content["policy_digest"]),
        "judged at": str(content["judged_at"]),
        "dagster/row_count": int(content["rows"]),
        "released columns": ", ".join(content["fingerprint"]["columns"]),
        **(resource.report_metadata(report) if report.exists() else {}),
    }
