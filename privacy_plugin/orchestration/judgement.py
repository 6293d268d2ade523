"""Judge one snapshot, record the signed verdict, write the report; optionally run Great Expectations too."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg

from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan, load_plan
from privacy_plugin.locations import Location
from privacy_plugin.orchestration.check_results import GREAT_EXPECTATIONS
from privacy_plugin.orchestration.error_redaction import redact_errors, redacted_message
from privacy_plugin.orchestration.resources import CertificateStoreResource
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import open_source
from privacy_plugin.sources.without_columns import WithoutColumns


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict of the gate, and the paths of its certificate and report."""

    verdict: Verdict
    certificate: Certificate
    certificate_path: Location
    report_path: Location | None
    report_problem: str | None = None


def judge_and_record(
    *,
    gate: dg.AssetKey,
    policy: Policy,
    read: Callable[[], tuple[Any, Any]],
    partition: str | None,
    certificates: CertificateStoreResource,
    objection: str | None = None,
    opened: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Judgement:
    """Judge what `read` returns (data and population) and replace the gate's recorded verdict.

    Data that cannot be read gives a refusal with its reason. An `objection` of Great Expectations turns the record into
    a refusal; the verdict itself stays unchanged. `opened` opens the budget ledger and the history for requirements
    that need them. An error while writing the record is raised: the run fails, and without a certificate there is no
    release.
    """
    verdict, tables = _judge(policy, read, partition, opened, lambda: certificates.plan_path(gate, partition))
    with redact_errors("recording the verdict"):
        store = certificates.store(gate)
        recorded = replace(verdict, problems=(*verdict.problems, objection)) if objection else verdict
        certificate = store.record(recorded)
    path, problem = _write_report(gate, policy, recorded, certificate, certificates, tables, opened)
    return Judgement(
        verdict=verdict,
        certificate=certificate,
        certificate_path=store.path(policy.dataset, partition),
        report_path=path,
        report_problem=problem,
    )


def _judge(
    policy: Policy,
    read: Callable[[], tuple[Any, Any]],
    partition: str | None,
    opened: Callable[[], AbstractContextManager[Any]],
    plan_path: Callable[[], Location],
) -> tuple[Verdict, tuple[Any, Any]]:
    """Return the verdict, and what was read: the data and its population or original."""
    try:
        with opened():
            data, population = read()
            plan = load_saved_plan(plan_path())
            verdict = policy.judge(data, population=population, partition=partition, fingerprint=True, plan=plan)
    except Exception as problem:  # noqa: BLE001  an error closes the gate and is recorded
        refusal = Verdict(
            dataset=policy.dataset,
            policy_digest=policy.digest,
            partition=partition,
            problems=(f"the table could not be judged: {redacted_message(problem)}",),
        )
        return refusal, (None, None)
    return verdict, (data, population)


def observe(policy: Policy, read: Callable[[], tuple[Any, Any]]) -> tuple[Verdict, tuple[str, ...]]:
    """Judge what `read` returns without its identifier columns; return the verdict and those columns.

    Nothing is recorded, and the verdict has no fingerprint, so that no certificate can be made of it.
    """
    ignored: tuple[str, ...] = ()
    try:
        data, population = read()
        source = open_source(data)
        ignored = tuple(name for name in policy.rules.columns("identifier") if name in source.columns)
        return policy.judge(WithoutColumns(source, ignored), population=population), ignored
    except Exception as problem:  # noqa: BLE001  an observation never fails a run; a message may quote the data
        message = f"the table could not be measured: {redacted_message(problem)}"
        return Verdict(dataset=policy.dataset, policy_digest=policy.digest, problems=(message,)), ignored


def _write_report(
    gate: dg.AssetKey,
    policy: Policy,
    verdict: Verdict,
    certificate: Certificate,
    certificates: CertificateStoreResource,
    tables: tuple[Any, Any],
    opened: Callable[[], AbstractContextManager[Any]],
) -> tuple[Location | None, str | None]:
    """Write the report; a failure here does not change the verdict, because the release does not depend on it.

    Where the gate reads the original of the judged table, the report also shows what is left of it.
    """
    try:
        from privacy_plugin.report import measure_usefulness, write_report  # its chart libraries load slowly

        data, original = tables
        plan = load_saved_plan(certificates.plan_path(gate, verdict.partition))
        compared = original is not None and policy.rules.compares_with_original
        name = gate.to_user_string()
        path = certificates.report_path(gate, verdict.partition)
        with ExitStack() as stack:
            with suppress(PrivacyPluginError):  # a gate that is closed for want of its ledger has a report too
                stack.enter_context(opened())
            write_report(
                path,
                policy=policy,
                verdicts=[(name if verdict.partition is None else f"{name}, {verdict.partition}", verdict)],
                plan=plan,
                certificate=certificate,
                title=f"Privacy gate of {name}",
                usefulness=measure_usefulness(data, original, policy=policy, plan=plan) if compared else None,
            )
    except Exception as problem:  # noqa: BLE001  its message may quote the data
        return None, f"the report could not be written: {type(problem).__name__}"
    return path, None


def load_saved_plan(path: Location) -> Plan | LocalPlan | None:
    """Return the saved plan of the judged asset, or None if there is none that can be read."""
    try:
        return load_plan(path) if path.exists() else None
    except PrivacyPluginError:
        return None


def run_checkpoint(
    asset: dg.AssetKey,
    policy: Policy,
    read: Callable[[], Any],
    *,
    population_table: str | None,
    opened: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> dg.AssetCheckResult:
    """Run the policy as a Great Expectations checkpoint on the data that `read` returns; an error is an objection.

    A checkpoint can close the gate and never opens it. Great Expectations is imported here, because it costs seconds
    and hundreds of megabytes. `opened` opens the budget ledger and the history for expectations that need them.
    """
    try:
        from privacy_plugin.expectations.checkpoint import validate

        population = {"table": population_table} if population_table else None
        with opened():
            outcome = validate(policy, read(), population=population)
        reasons = "; ".join(outcome.reasons)
        declared, evaluated, passed = outcome.declared, outcome.evaluated, outcome.success
    except Exception as problem:  # noqa: BLE001  its message may quote the data
        declared, evaluated, passed = len(policy.requirements), 0, False
        reasons = f"the checkpoint could not run: {type(problem).__name__}"
    met = f"The Great Expectations checkpoint evaluated all {declared} expectations, and all were met."
    failed = f"The Great Expectations checkpoint failed ({evaluated} of {declared} expectations evaluated): {reasons}"
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=GREAT_EXPECTATIONS,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=met if passed else failed,
        metadata={"expectations declared": declared, "expectations evaluated": evaluated},
    )
