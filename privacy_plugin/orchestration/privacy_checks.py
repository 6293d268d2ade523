"""The gate as asset checks: one check per requirement, all from one judgement of one snapshot."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Unpack

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
from privacy_plugin.orchestration.judgement import Judgement, judge_and_record, observe, run_checkpoint
from privacy_plugin.orchestration.partitions import partition_key
from privacy_plugin.orchestration.resources import CertificateStoreResource, open_history, open_ledger
from privacy_plugin.orchestration.standard_arguments import (
    CheckArguments,
    require_known,
    require_upstream_backfill,
    with_gate_tag,
)
from privacy_plugin.orchestration.upstream import Asset, Upstream, build_population, build_upstream, choose_partitions
from privacy_plugin.policy.policy import Policy

Via = Literal["native", "great_expectations"]
Mode = Literal["gate", "observe"]
OBSERVE_NOTE = "observed only: nothing is blocked, and nothing is certified"


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
    mode: Mode = "gate",
    warehouse: str = "warehouse",
    certificates: str = "certificates",
    ledger: str = "ledger",
    history: str | None = None,
    **standard: Unpack[CheckArguments],
) -> dg.AssetChecksDefinition:
    """Build the gate of an asset: blocking checks of severity ERROR, one per requirement and one for the structure.

    With `table` the asset is a table of the `warehouse` resource (a `WarehouseResource`); without it, its IO
    manager loads a frame. All checks come from one judgement of one snapshot. The verdict is also signed and recorded
    in the `certificates` resource (a `CertificateStoreResource`): `build_release_asset` verifies that record, so that
    the gate holds in later runs too. The severity cannot be lowered. A run of one check alone judges and records the
    whole policy, and shows that one result.

    `population` is the asset (and `population_table` its table) that requirements compare with. With
    `partitions_def` (default: the asset's own) every partition is judged separately; `Upstream` describes how its rows
    are selected. A requirement on the privacy budget reads the `ledger` resource (a `BudgetLedgerResource`),
    one over releases the `history` resource (a `ReleaseHistoryResource`), or the history that PRIVACY_PLUGIN_HISTORY
    names.
    `via="great_expectations"` also runs the policy as a Great Expectations checkpoint: it can close the
    gate, and never opens it. Give an `automation_condition` only for checks of an asset that Dagster does not
    materialize: runs that materialize an asset also run its checks, and with a condition of their own Dagster would
    start the checks separately, before the data exists.

    `mode="observe"` measures an asset that is not meant for release, such as the raw table: identifier columns are
    ignored and named, checks have severity WARN and block nothing, and no verdict is recorded, so that nothing can be
    released by them. It needs no `certificates` resource. The policy of a randomized method raises an error: no privacy
    budget covers exact results of its original.

    `standard` are arguments of Dagster's checks, passed on: description, metadata, additional_deps,
    automation_condition, retry_policy, pool, op_tags.

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
    if via == "great_expectations" and loaded.needs_plan:
        raise ParameterError(
            "an expectation finds the class of a person by labels, and those of local classes overlap; use "
            "via='native', or method: generalize in the policy"
        )
    if via == "great_expectations" and loaded.treatments:
        raise ParameterError("expectations do not verify the treatments of columns; use via='native'")
    require_known(standard, CheckArguments, builder="build_privacy_checks")
    if mode not in ("gate", "observe"):
        raise ParameterError(f"mode must be 'gate' or 'observe', got {mode!r}")
    partitions = choose_partitions(asset, partitions_def)
    require_upstream_backfill(asset, partitions)
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
    specs = _check_specs(judged.key, loaded, others, partitions, via, blocking=mode == "gate", standard=standard)
    if mode == "observe":
        _require_observable(loaded, via)
        return _build_observation(judged, others, loaded, specs, partitions, standard)
    needed_ledger = ledger if loaded.rules.needs_ledger else None
    remembered = _LedgerAndHistory(ledger=needed_ledger, history=history)
    return _build_gate(judged, others, loaded, specs, partitions, via, certificates, remembered, standard)


@dataclass(frozen=True, kw_only=True)
class _LedgerAndHistory:
    """The names of the resources that remember earlier releases; None where none is used."""

    ledger: str | None
    history: str | None

    @property
    def names(self) -> set[str]:
        return {name for name in (self.ledger, self.history) if name is not None}

    @contextmanager
    def open(self, resources: Any) -> Iterator[None]:
        """Use both."""
        with open_ledger(resources, self.ledger), open_history(resources, self.history):
            yield


def _require_observable(policy: Policy, via: Via) -> None:
    if via != "native":
        raise ParameterError("mode='observe' measures natively; leave out via")
    if policy.rules.tables:
        raise ParameterError(
            f"the policy of {policy.dataset!r} judges several tables together, and mode='observe' measures one; "
            "give it a policy of its own"
        )
    if policy.is_randomized:
        raise ParameterError(
            f"the policy of {policy.dataset!r} draws at random, and no privacy budget covers exact results of the "
            "original; mode='observe' is for policies without a budget"
        )


def _check_specs(
    asset: dg.AssetKey,
    policy: Policy,
    population: Upstream | None,
    partitions: Any,
    via: Via,
    *,
    blocking: bool,
    standard: CheckArguments,
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
            blocking=blocking,
            additional_deps=[*([population.key] if population else []), *(standard.get("additional_deps") or ())],
            metadata=standard.get("metadata"),
            partitions_def=partitions,
            automation_condition=standard.get("automation_condition"),
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
    remembered: _LedgerAndHistory,
    standard: CheckArguments,
) -> dg.AssetChecksDefinition:
    needed = {certificates, *judged.resources, *(population.resources if population else ())}
    needed |= remembered.names
    loaded = {**judged.ins, **(population.ins if population else {})}

    @dg.multi_asset_check(
        name=_step_name(judged.key, "privacy_gate"),
        description=standard.get("description")
        or f"Judges {policy.dataset} against its policy and records the signed verdict.",
        specs=specs,
        required_resource_keys=needed,
        ins=loaded,
        can_subset=True,  # lets Dagster's pages run the checks again without materializing again
        compute_kind="privacy",
        op_tags=with_gate_tag(standard.get("op_tags")),
        retry_policy=standard.get("retry_policy"),
        pool=standard.get("pool"),
    )
    def gate(context: dg.AssetCheckExecutionContext, **loaded_inputs: Any) -> Iterator[dg.AssetCheckResult]:
        with redact_errors("judging"):
            partition = partition_key(context, partitions)
        selected = {key.name: key for key in context.selected_asset_check_keys}

        def read() -> tuple[Any, Any]:
            others = population.data(context, loaded_inputs, None) if population else None
            return judged.data(context, loaded_inputs, partition), others

        resource: CertificateStoreResource = getattr(context.resources, certificates)
        opened = partial(remembered.open, context.resources)
        checkpoint = None
        if via == "great_expectations":
            compared = population.table if population else None
            checkpoint = run_checkpoint(judged.key, policy, lambda: read()[0], population_table=compared, opened=opened)
        judgement = judge_and_record(
            gate=judged.key,
            policy=policy,
            read=read,
            partition=partition,
            certificates=resource,
            objection=None if checkpoint is None or checkpoint.passed else checkpoint.description,
            opened=opened,
        )
        _log_reasons(context, judgement)
        results = check_results(judged.key, policy, judgement.verdict, common=_evidence(judgement, resource))
        yield from _select_results([*results, *([checkpoint] if checkpoint else [])], selected)

    return gate


def _build_observation(
    judged: Upstream,
    population: Upstream | None,
    policy: Policy,
    specs: list[dg.AssetCheckSpec],
    partitions: Any,
    standard: CheckArguments,
) -> dg.AssetChecksDefinition:
    """Build checks that measure without judging: they record nothing, and an error becomes a warning."""

    @dg.multi_asset_check(
        name=_step_name(judged.key, "privacy_observation"),
        description=standard.get("description")
        or f"Measures {policy.dataset} as it is. It blocks nothing and certifies nothing.",
        specs=specs,
        required_resource_keys={*judged.resources, *(population.resources if population else ())},
        ins={**judged.ins, **(population.ins if population else {})},
        can_subset=True,
        compute_kind="privacy",
        op_tags=with_gate_tag(standard.get("op_tags")),
        retry_policy=standard.get("retry_policy"),
        pool=standard.get("pool"),
    )
    def observation(context: dg.AssetCheckExecutionContext, **loaded_inputs: Any) -> Iterator[dg.AssetCheckResult]:
        def read() -> tuple[Any, Any]:
            others = population.data(context, loaded_inputs, None) if population else None
            return judged.data(context, loaded_inputs, partition_key(context, partitions)), others

        verdict, ignored = observe(policy, read)
        for reason in verdict.reasons:
            context.log.warning(reason)
        common = {"mode": OBSERVE_NOTE, **({"identifiers ignored": ", ".join(ignored)} if ignored else {})}
        severity = dg.AssetCheckSeverity.WARN
        results = check_results(judged.key, policy, verdict, common=common, severity=severity)
        yield from _select_results(results, {key.name: key for key in context.selected_asset_check_keys})

    return observation


def _step_name(key: dg.AssetKey, suffix: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', '__'.join(key.path))}_{suffix}"


def _select_results(
    results: list[dg.AssetCheckResult], selected: Mapping[str, dg.AssetCheckKey]
) -> Iterator[dg.AssetCheckResult]:
    """Yield the results that the run selected, under its key: a key prefix at loading gives the asset another."""
    for result in results:
        key = selected.get(str(result.check_name))
        if key is not None:
            yield result._replace(asset_key=key.asset_key)


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
