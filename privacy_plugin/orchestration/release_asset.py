"""An asset that is released only under a certificate for exactly the data it releases."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import dagster as dg

from privacy_plugin.errors import CertificateError, ParameterError
from privacy_plugin.gate.certificate import Certificate, write_certificate
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.generalization.region_population import count_by_plan
from privacy_plugin.history.recording import recording
from privacy_plugin.locations import Location
from privacy_plugin.orchestration.asset_builder import AssetRun, MadeAsset, build_asset
from privacy_plugin.orchestration.catalog import catalog_metadata
from privacy_plugin.orchestration.deals import require_first_deal
from privacy_plugin.orchestration.judgement import load_saved_plan
from privacy_plugin.orchestration.resources import (
    CertificateStoreResource,
    location_metadata,
    open_history,
    open_ledger,
)
from privacy_plugin.orchestration.standard_arguments import AssetArguments, with_gate_tag
from privacy_plugin.orchestration.upstream import Asset, asset_key, build_population
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.population_join import open_joint_snapshot


def when_gate_passed() -> dg.AutomationCondition[Any]:
    """Return the condition that starts a release for new data once every blocking check of it has passed.

    Plain `eager()` would start a release whose checks failed, are older than the data or never ran. Such a release
    raises an error; with this condition it is not started.
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
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
    history: str | None = None,
    **standard: Unpack[AssetArguments],
) -> dg.AssetsDefinition:
    """Build the release of an asset whose gate `build_privacy_checks` built, with the same policy and partitions.

    If a requirement compares with a population or reads the budget ledger, the release checks those again: give it the
    same `population`, `population_table` and `ledger` as the gate.

    The released columns are copied to a staging table, the fingerprint of the copy is compared with the certificate of
    the gate, and only then the copy replaces the `target` table (default: the asset's name) or becomes the frame for
    the IO manager. Dagster's blocking checks act inside one run; this check holds in every later run too. Raises
    CertificateError and leaves the target unchanged if the gate has not judged, refused, judged other data (rows of
    other people, another population), another policy or partition, or if the certificate was changed.

    `history` names a `ReleaseHistoryResource`; without it, PRIVACY_PLUGIN_HISTORY names the history. The release is
    recorded there in the transaction that replaces the target, if both are in one database; otherwise it is reserved
    before and committed afterwards. Requirements over releases are judged again.
    """
    loaded = policy if isinstance(policy, Policy) else Policy.load(policy)
    others = build_population(population, population_table, warehouse)
    if not loaded.rules.needs_population:
        others = None
    elif others is None:
        raise ParameterError(
            f"the policy of {loaded.dataset!r} compares with a population; give the release the population of its gate"
        )
    needed_ledger = ledger if loaded.rules.needs_ledger else None

    def make(run: AssetRun) -> MadeAsset:
        resource: CertificateStoreResource = getattr(run.resources, certificates)
        store = resource.store(run.reads.key)
        store.require_open(loaded, partition=run.partition)
        covering: list[tuple[Certificate, Location]] = []

        with (
            open_ledger(run.resources, needed_ledger),
            open_history(run.resources, history),
            recording(loaded, partition=run.partition) as record,
        ):

            def verify(staged: Source) -> None:
                wanted = loaded.needs_plan or loaded.anonymizer.continues
                plan = load_saved_plan(resource.plan_path(run.reads.key, run.partition)) if wanted else None
                with (
                    record.verifying(staged) as reserve,
                    _open_verdict_inputs(run, loaded, staged, plan) as (judged, population),
                ):
                    found = store.require(loaded, staged, partition=run.partition, judged=judged, population=population)
                    if loaded.anonymizer.once:
                        folder, remember = resource.deals_folder, not record.remembers
                        require_first_deal(folder, loaded, staged, partition=run.partition, remember=remember)
                    path = resource.release_certificate_path(run.key, found, run.partition)
                    reserve(judged or staged, plan=plan, certificate=str(path))
                    write_certificate(path, found)
                covering.append((found, path))  # if this fails, nothing is released

            released = run.source.publish(run.target, columns=loaded.rules.released, verify=verify)
        if not covering:
            raise CertificateError(
                f"a source of kind {run.source.engine!r} published without verifying the certificate"
            )
        shown = _metadata(*covering[-1], resource, resource.report_path(run.reads.key, run.partition))
        if kept := getattr(open_source(released) if run.target else None, "notes", ()):
            shown["older snapshots"] = "; ".join(kept)
        return released, {**shown, **catalog_metadata(loaded, released, run)}

    return build_asset(
        make,
        activity="releasing",
        description=f"{loaded.dataset} as released: certified by the privacy gate of "
        f"{asset_key(asset).to_user_string()}.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        warehouse=warehouse,
        standard={**standard, "op_tags": with_gate_tag(standard.get("op_tags"))},
        resources=[certificates, *(name for name in (needed_ledger, history) if name is not None)],
        population=None if others is None else replace(others, awaited=False),
        parts=loaded.rules.tables,
        made_parts=loaded.rules.tables,
    )


@contextmanager
def _open_verdict_inputs(
    run: AssetRun, policy: Policy, staged: Source, plan: Plan | LocalPlan | None
) -> Iterator[tuple[Source | None, Source | None]]:
    """Open the other inputs of the verdict, in the snapshot of the copy: the table with the unit, the population.

    With a local plan the fingerprint of the population covers the plan too, as in the gate.
    """
    with ExitStack() as stack:

        def reopen(data: Any) -> Source:
            return stack.enter_context(open_joint_snapshot(open_source(data), run.source, staged))

        rules = policy.rules
        population = reopen(run.population) if rules.needs_population else None
        yield reopen(run.source) if rules.unit else None, count_by_plan(population, plan)


def _metadata(
    certificate: Certificate, path: Location, resource: CertificateStoreResource, report: Location
) -> dict[str, Any]:
    content = certificate.content
    return {
        "certificate": location_metadata(path),
        "fingerprint": str(content["fingerprint"]["digest"]),
        "policy digest": str(content["policy_digest"]),
        "judged at": str(content["judged_at"]),
        "dagster/row_count": int(content["rows"]),
        "released columns": ", ".join(content["fingerprint"]["columns"]),
        **(resource.report_metadata(report) if report.exists() else {}),
    }
