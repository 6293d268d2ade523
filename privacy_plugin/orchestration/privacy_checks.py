"""The gate as asset checks: one a requirement, all of them from one judgement of one snapshot."""

import re
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import dagster as dg

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration.check_results import (
    GREAT_EXPECTATIONS,
    STRUCTURE,
    check_names,
    check_results,
    evidence,
)
from privacy_plugin.orchestration.error_redaction import told_without_values
from privacy_plugin.orchestration.judgement import Judgement, judge_and_record, second_opinion
from privacy_plugin.orchestration.resources import CertificateStoreResource, ledger_of
from privacy_plugin.orchestration.upstream import Asset, Upstream, partition_of, partitions_of, population_of, upstream
from privacy_plugin.policy.policy import Policy

Via = Literal["native", "great_expectations"]


def build_privacy_checks(
    *,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    population: Asset | None = None,
    population_table: str | None = None,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    via: Via = "native",
    automation_condition: dg.AutomationCondition[Any] | None = None,
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
) -> dg.AssetChecksDefinition:
    """Build the gate of an asset: blocking checks of severity ERROR, one a requirement and one for the structure.

    With `table` the asset is a table of the `warehouse` resource (a `WarehouseResource`); without, its IO manager
    hands over a frame. All checks come from one judgement of one snapshot, which is also recorded, signed, in the
    `certificates` resource (a `CertificateStoreResource`): `build_release_asset` asks for that record, so that the
    gate holds in later runs too. There is no severity to turn down. Whoever runs one check alone has the whole policy
    judged and recorded, and is shown that one.

    `population` is the asset (and `population_table` its table) that requirements compare with. With
    `partitions_def` (default: the asset's own) every partition is judged alone; see `Upstream` for how its rows are
    found. A requirement on the privacy budget asks the `ledger` resource (a `BudgetLedgerResource`).
    `via="great_expectations"` also runs the policy as a Great Expectations checkpoint: it can close the
    gate, and never opens it. An `automation_condition` is for checks of an asset that Dagster does not make by itself;
    the runs of one that it makes bring the checks along, and with a condition of their own Dagster starts them beside
    those runs, before the data is there.

    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier", "disease": "sensitive"},
    ...     "requirements": [{"k_anonymity": {"at_least": 5}}],
    ... })
    >>> gate = build_privacy_checks(asset="visits", policy=policy)
    >>> sorted(key.name for key in gate.check_keys)
    ['k_anonymity', 'privacy_structure']
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(policy)
    if via not in ("native", "great_expectations"):
        raise ParameterError(f"via must be native or great_expectations, not {via!r}")
    if via == "great_expectations" and find_spec("great_expectations") is None:
        raise ParameterError("via='great_expectations' needs Great Expectations; install privacy-plugin[gx]")
    partitions = partitions_of(asset, partitions_def)
    judged = upstream(
        asset,
        argument="data",
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
    )
    others = population_of(population, population_table, warehouse)
    specs = _specs(judged.key, rules, others, partitions, automation_condition, via)
    books = ledger if rules.rules.asks_ledger else None
    return _gate(judged, others, rules, specs, partitions, via, certificates, books)


def _specs(
    asset: dg.AssetKey,
    policy: Policy,
    population: Upstream | None,
    partitions: Any,
    automation_condition: dg.AutomationCondition[Any] | None,
    via: Via,
) -> list[dg.AssetCheckSpec]:
    described = {STRUCTURE: "Every column has a role, no identifier is left, and there are rows to judge."}
    for name, requirement in zip(check_names(policy.requirements), policy.requirements, strict=True):
        origin = f" ({requirement.origin})" if requirement.origin else ""
        described[name] = f"{requirement.title}: {requirement.limit} is required{origin}"
    if via == "great_expectations":
        described[GREAT_EXPECTATIONS] = "The policy as a Great Expectations checkpoint; every expectation evaluated."
    return [
        dg.AssetCheckSpec(
            name,
            asset=asset,
            description=description,
            blocking=True,
            additional_deps=[population.key] if population else None,
            partitions_def=partitions,
            automation_condition=automation_condition,
        )
        for name, description in described.items()
    ]


def _gate(
    judged: Upstream,
    population: Upstream | None,
    policy: Policy,
    specs: list[dg.AssetCheckSpec],
    partitions: Any,
    via: Via,
    certificates: str,
    ledger: str | None,
) -> dg.AssetChecksDefinition:
    needed = {certificates, *judged.resources, *(population.resources if population else ())}
    needed |= set() if ledger is None else {ledger}
    loaded = {**judged.ins, **(population.ins if population else {})}

    @dg.multi_asset_check(
        name=f"{re.sub(r'[^A-Za-z0-9_]', '_', '__'.join(judged.key.path))}_privacy_gate",
        description=f"Judges {policy.dataset} by its policy and records the verdict.",
        specs=specs,
        required_resource_keys=needed,
        ins=loaded,
        can_subset=True,  # else Dagster's pages offer no way to judge again without materializing again
        compute_kind="privacy",
    )
    def gate(context: dg.AssetCheckExecutionContext, **handed: Any) -> Iterator[dg.AssetCheckResult]:
        with told_without_values("judging"):
            partition = partition_of(context, partitions)
        asked = {key.name: key for key in context.selected_asset_check_keys}

        def read() -> tuple[Any, Any]:
            others = population.data(context, handed, None) if population else None
            return judged.data(context, handed, partition), others

        resource: CertificateStoreResource = getattr(context.resources, certificates)
        asking = partial(ledger_of, context.resources, ledger)
        second = None
        if via == "great_expectations":
            compared = population.table if population else None
            second = second_opinion(judged.key, policy, lambda: read()[0], population_table=compared, asking=asking)
        judgement = judge_and_record(
            gate=judged.key,
            policy=policy,
            read=read,
            partition=partition,
            certificates=resource,
            objection=None if second is None or second.passed else second.description,
            asking=asking,
        )
        _tell(context, judgement)
        results = check_results(judged.key, policy, judgement.verdict, common=_evidence(judgement, resource))
        for result in [*results, *([second] if second else [])]:
            key = asked.get(str(result.check_name))
            if key is not None:  # whoever loads definitions under a prefix gave the asset another key
                yield result._replace(asset_key=key.asset_key)

    return gate


def _evidence(judgement: Judgement, certificates: CertificateStoreResource) -> dict[str, Any]:
    return evidence(
        judgement.verdict,
        judgement.certificate,
        certificate_path=judgement.certificate_path,
        report=certificates.report_metadata(judgement.report_path) if judgement.report_path else {},
    )


def _tell(context: dg.AssetCheckExecutionContext, judgement: Judgement) -> None:
    for reason in judgement.verdict.reasons:
        context.log.error(reason)
    if judgement.report_problem:
        context.log.warning(judgement.report_problem)
