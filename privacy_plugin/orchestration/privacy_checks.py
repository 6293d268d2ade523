"""The gate as asset checks: one check per requirement, all from one judgement of one snapshot."""

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
    STRUCTURE_DESCRIPTION,
    check_names,
    check_results,
    evidence_metadata,
)
from privacy_plugin.orchestration.error_redaction import redact_errors
from privacy_plugin.orchestration.judgement import Judgement, judge_and_record, run_checkpoint
from privacy_plugin.orchestration.partitions import partition_key
from privacy_plugin.orchestration.resources import CertificateStoreResource, open_ledger
from privacy_plugin.orchestration.upstream import Asset, Upstream, build_population, build_upstream, choose_partitions
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
    """Build the gate of an asset: blocking checks of severity ERROR, one per requirement and one for the structure.

    With `table` the asset is a table of the `warehouse` resource (a `WarehouseResource`); without it, its IO
    manager loads a frame. All checks come from one judgement of one snapshot. The verdict is also signed and recorded
    in the `certificates` resource (a `CertificateStoreResource`): `build_release_asset` verifies that record, so that
    the gate holds in later runs too. The severity cannot be lowered. A run of one check alone judges and records the
    whole policy, and shows that one result.

    `population` is the asset (and `population_table` its table) that requirements compare with. With
    `partitions_def` (default: the asset's own) every partition is judged separately; `Upstream` describes how its rows
    are selected. A requirement on the privacy budget reads the `ledger` resource (a `BudgetLedgerResource`).
    `via="great_expectations"` also runs the policy as a Great Expectations checkpoint: it can close the
    gate, and never opens it. Give an `automation_condition` only for checks of an asset that Dagster does not
    materialize: runs that materialize an asset also run its checks, and with a condition of their own Dagster would
    start the checks separately, before the data exists.

    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier", "disease": "sensitive"},
    ...     "requirements": [{"k_anonymity": {"at_least": 5}}],
    ... })
    >>> gate = build_privacy_checks(asset="visits", policy=policy)
    >>> sorted(key.name for key in gate.check_keys)
    ['k_anonymity', 'privacy_structure']
    """
    loaded = policy if isinstance(policy, Policy) else Policy.load(policy)
    if via not in ("native", "great_expectations"):
        raise ParameterError(f"via must be 'native' or 'great_expectations', got {via!r}")
    if via == "great_expectations" and find_spec("great_expectations") is None:
        raise ParameterError("via='great_expectations' needs Great Expectations; pip install 'privacy-plugin[gx]'")
    partitions = choose_partitions(asset, partitions_def)
    judged = build_upstream(
        asset,
        argument="data",
        table=table,
        partition_column=partition_column,
        partitions=partitions,
        warehouse=warehouse,
        parts=loaded.rules.tables,
    )
    others = build_population(population, population_table, warehouse)
    specs = _check_specs(judged.key, loaded, others, partitions, automation_condition, via)
    needed_ledger = ledger if loaded.rules.needs_ledger else None
    return _build_gate(judged, others, loaded, specs, partitions, via, certificates, needed_ledger)


def _check_specs(
    asset: dg.AssetKey,
    policy: Policy,
    population: Upstream | None,
    partitions: Any,
    automation_condition: dg.AutomationCondition[Any] | None,
    via: Via,
) -> list[dg.AssetCheckSpec]:
    descriptions = {STRUCTURE: STRUCTURE_DESCRIPTION}
    for name, requirement in zip(check_names(policy.requirements), policy.requirements, strict=True):
        origin = f" ({requirement.origin})" if requirement.origin else ""
        descriptions[name] = f"{requirement.title} must be {requirement.limit}{origin}"
    if via == "great_expectations":
        descriptions[GREAT_EXPECTATIONS] = "The policy as a Great Expectations checkpoint: every expectation is met."
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
        for name, description in descriptions.items()
    ]


def _build_gate(
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
        description=f"Judges {policy.dataset} against its policy and records the signed verdict.",
        specs=specs,
        required_resource_keys=needed,
        ins=loaded,
        can_subset=True,  # lets Dagster's pages run the checks again without materializing again
        compute_kind="privacy",
    )
    def gate(context: dg.AssetCheckExecutionContext, **loaded_inputs: Any) -> Iterator[dg.AssetCheckResult]:
        with redact_errors("judging"):
            partition = partition_key(context, partitions)
        selected = {key.name: key for key in context.selected_asset_check_keys}

        def read() -> tuple[Any, Any]:
            others = population.data(context, loaded_inputs, None) if population else None
            return judged.data(context, loaded_inputs, partition), others

        resource: CertificateStoreResource = getattr(context.resources, certificates)
        budget_ledger = partial(open_ledger, context.resources, ledger)
        checkpoint = None
        if via == "great_expectations":
            compared = population.table if population else None
            checkpoint = run_checkpoint(
                judged.key, policy, lambda: read()[0], population_table=compared, ledger=budget_ledger
            )
        judgement = judge_and_record(
            gate=judged.key,
            policy=policy,
            read=read,
            partition=partition,
            certificates=resource,
            objection=None if checkpoint is None or checkpoint.passed else checkpoint.description,
            ledger=budget_ledger,
        )
        _log_reasons(context, judgement)
        results = check_results(judged.key, policy, judgement.verdict, common=_evidence(judgement, resource))
        for result in [*results, *([checkpoint] if checkpoint else [])]:
            key = selected.get(str(result.check_name))
            if key is not None:  # a key prefix at loading gives the asset another key
                yield result._replace(asset_key=key.asset_key)

    return gate


def _evidence(judgement: Judgement, certificates: CertificateStoreResource) -> dict[str, Any]:
    return evidence_metadata(
        judgement.verdict,
        judgement.certificate,
        certificate_path=judgement.certificate_path,
        report=certificates.report_metadata(judgement.report_path) if judgement.report_path else {},
    )


def _log_reasons(context: dg.AssetCheckExecutionContext, judgement: Judgement) -> None:
    for reason in judgement.verdict.reasons:
        context.log.error(reason)
    if judgement.report_problem:
        context.log.warning(judgement.report_problem)
