"""Judge one snapshot, record the signed verdict and write the report; Great Expectations may object."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.plan import Plan, load_plan
from privacy_plugin.orchestration.check_results import GREAT_EXPECTATIONS
from privacy_plugin.orchestration.error_redaction import told_without_values, words_of
from privacy_plugin.orchestration.resources import CertificateStoreResource
from privacy_plugin.policy.policy import Policy


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the gate found, and where it is written."""

    verdict: Verdict
    certificate: Certificate
    certificate_path: Path
    report_path: Path | None
    report_problem: str | None = None


def judge_and_record(
    *,
    gate: dg.AssetKey,
    policy: Policy,
    read: Callable[[], tuple[Any, Any]],
    partition: str | None,
    certificates: CertificateStoreResource,
    objection: str | None = None,
    asking: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Judgement:
    """Judge what `read` returns (data and population) and make the verdict the gate's last word.

    Data that cannot be read is a refusal with its reason. An `objection` from elsewhere turns the record into a
    refusal; the verdict itself stays what was found. `asking` opens the ledger that a requirement asks. An error in
    writing the record is raised: the step fails, and without a certificate there is no release.
    """
    verdict = _judged(policy, read, partition, asking)
    with told_without_values("recording the verdict"):
        store = certificates.store(gate)
        recorded = replace(verdict, problems=(*verdict.problems, objection)) if objection else verdict
        certificate = store.record(recorded)
    path, problem = _reported(gate, policy, recorded, certificate, certificates)
    return Judgement(
        verdict=verdict,
        certificate=certificate,
        certificate_path=store.path(policy.dataset, partition),
        report_path=path,
        report_problem=problem,
    )


def _judged(
    policy: Policy,
    read: Callable[[], tuple[Any, Any]],
    partition: str | None,
    asking: Callable[[], AbstractContextManager[Any]],
) -> Verdict:
    try:
        with asking():
            data, population = read()
            return policy.judge(data, population=population, partition=partition, fingerprint=True)
    except Exception as problem:  # noqa: BLE001  a gate that errs is shut, and says so in the record
        return Verdict(
            dataset=policy.dataset,
            policy_digest=policy.digest,
            partition=partition,
            problems=(f"the table could not be judged: {words_of(problem)}",),
        )


def _reported(
    gate: dg.AssetKey,
    policy: Policy,
    verdict: Verdict,
    certificate: Certificate,
    certificates: CertificateStoreResource,
) -> tuple[Path | None, str | None]:
    """Write the report; it is evidence and no safeguard, so that a failure to draw it changes no verdict."""
    try:
        from privacy_plugin.report import write_report  # drawing needs libraries that loading definitions does not

        name = gate.to_user_string()
        path = certificates.report_path(gate, verdict.partition)
        write_report(
            path,
            policy=policy,
            verdicts=[(name if verdict.partition is None else f"{name}, {verdict.partition}", verdict)],
            plan=_plan(certificates.plan_path(gate, verdict.partition)),
            certificate=certificate,
            title=f"Privacy gate of {name}",
        )
    except Exception as problem:  # noqa: BLE001  its text may quote anything
        return None, f"the report could not be written: {type(problem).__name__}"
    return path, None


def _plan(path: Path) -> Plan | None:
    """Return the plan that made the judged asset, where there is one."""
    try:
        return load_plan(path) if path.exists() else None
    except PrivacyPluginError:
        return None


def second_opinion(
    asset: dg.AssetKey,
    policy: Policy,
    read: Callable[[], Any],
    *,
    population_table: str | None,
    asking: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> dg.AssetCheckResult:
    """Run the policy as a checkpoint on the table `read` names; whatever goes wrong is an objection.

    Importing Great Expectations costs seconds and hundreds of megabytes, so it happens here, in the step that
    asked for it. `asking` opens the ledger that an expectation asks.
    """
    try:
        from privacy_plugin.expectations.checkpoint import validate

        population = {"table": population_table} if population_table else None
        with asking():
            outcome = validate(policy, read(), population=population)
        reasons = "; ".join(outcome.reasons)
        declared, evaluated, passed = outcome.declared, outcome.evaluated, outcome.success
    except Exception as problem:  # noqa: BLE001  its text may quote the data
        declared, evaluated, passed = len(policy.requirements), 0, False
        reasons = f"it could not run: {type(problem).__name__}"
    agreed = f"The Great Expectations checkpoint evaluated all {declared} expectations, and all were met."
    objected = (
        f"The Great Expectations checkpoint objects ({evaluated} of {declared} expectations evaluated): {reasons}"
    )
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=GREAT_EXPECTATIONS,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=agreed if passed else objected,
        metadata={"expectations declared": declared, "expectations evaluated": evaluated},
    )
