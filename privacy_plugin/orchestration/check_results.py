"""A verdict as Dagster check results: one result per requirement, with reason, table and numbers."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import dagster as dg

from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict, in_lines
from privacy_plugin.metrics.measurement import plain
from privacy_plugin.policy.policy import Policy
from privacy_plugin.requirements.requirement import Finding, Requirement, shown

STRUCTURE = "privacy_structure"
GREAT_EXPECTATIONS = "great_expectations"


def check_names(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Name the checks of some requirements; a limit is no part of a name, so that plots outlive its change.

    >>> from privacy_plugin.requirements.requirement import require
    >>> check_names([require("k_anonymity", at_least=5), require("l_diversity", variant="entropy", at_least=2)])
    ('k_anonymity', 'l_diversity_entropy')
    """
    names: list[str] = []
    taken = {STRUCTURE, GREAT_EXPECTATIONS}
    for requirement in requirements:
        stem = _stem(requirement)
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def _stem(requirement: Requirement) -> str:
    stated = str(requirement).removesuffix(str(requirement.limit))
    return re.sub(r"\W+", "_", stated, flags=re.ASCII).strip("_")


_SCHEMA = dg.TableSchema(
    columns=[
        dg.TableColumn("requirement", "string"),
        dg.TableColumn("value", "string"),
        dg.TableColumn("status", "string"),
        dg.TableColumn("people affected", "int"),
        dg.TableColumn("reason", "string"),
    ]
)


def check_results(
    asset: dg.AssetKey, policy: Policy, verdict: Verdict, *, common: Mapping[str, Any]
) -> list[dg.AssetCheckResult]:
    """Turn a verdict into results: the structure first, then every requirement, none of them left out."""
    shared = {"verdict": verdict_table(verdict), **common}
    results = [_structure_result(asset, verdict, shared)]
    names = check_names(policy.requirements)
    findings = dict(zip(names, verdict.findings, strict=False))
    for name in names:
        results.append(_result(asset, name, findings.get(name), shared))
    return results


def evidence(
    verdict: Verdict, certificate: Certificate, *, certificate_path: Path, report: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the metadata that all results of a gate share."""
    found: dict[str, Any] = {
        **report,
        "certificate" if certificate.passed else "refusal": dg.MetadataValue.path(str(certificate_path)),
        "policy digest": verdict.policy_digest,
    }
    if verdict.notes:
        found["notes"] = dg.MetadataValue.md("\n".join(f"- {note}" for note in verdict.notes))
    return found


def verdict_table(verdict: Verdict) -> dg.TableMetadataValue:
    """Return the whole verdict as a table; what kept the gate from looking comes first."""
    records = [
        dg.TableRecord(
            {
                "requirement": "columns and rows",
                "value": "",
                "status": "not evaluated",
                "people affected": None,
                "reason": problem,
            }
        )
        for problem in verdict.problems
    ]
    records += [
        dg.TableRecord(
            {
                "requirement": str(finding.requirement),
                "value": "" if finding.value is None else shown(finding.value),
                "status": finding.status.replace("_", " "),
                "people affected": _affected(finding),
                "reason": finding.reason,
            }
        )
        for finding in verdict.findings
    ]
    return dg.MetadataValue.table(records=records, schema=_SCHEMA)


def _structure_result(asset: dg.AssetKey, verdict: Verdict, shared: Mapping[str, Any]) -> dg.AssetCheckResult:
    passed = not verdict.problems and bool(verdict.findings)
    described = "Every column has a role, no identifier is left, and there are rows to judge."
    problems = verdict.problems or ("nothing was judged",)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=STRUCTURE,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=described if passed else in_lines("The gate is closed", problems),
        metadata={"rows": verdict.rows, "problems": len(verdict.problems), **shared},
    )


def _result(asset: dg.AssetKey, name: str, finding: Finding | None, shared: Mapping[str, Any]) -> dg.AssetCheckResult:
    reason = finding.reason if finding else f"Not evaluated: the check {STRUCTURE} says why."
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=finding is not None and finding.passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=reason,
        metadata={**(_numbers(finding) if finding else {}), **shared},
    )


def _numbers(finding: Finding) -> dict[str, Any]:
    """Return the numbers of a finding under names that stay, so that Dagster plots them over time."""
    bounds = finding.limit.bounds
    limits = {"limit": bounds[0]} if len(bounds) == 1 else {"lower limit": bounds[0], "upper limit": bounds[-1]}
    measured = finding.measurement
    looked_at = {"people": measured.rows, "classes": measured.classes} if measured else {}
    numbers = {"value": finding.value, **limits, "people affected": _affected(finding), **looked_at}
    return {name: _number(value) for name, value in numbers.items() if value is not None}


def _affected(finding: Finding) -> int | None:
    return 0 if finding.passed else finding.people_affected


def _number(value: int | float | Fraction) -> int | float | str:
    """Return a number that Dagster can plot; what JSON has no number for is written."""
    number: int | float | str = plain(value)
    return number
