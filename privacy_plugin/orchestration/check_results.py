"""A verdict as Dagster check results: one per requirement, with its reason, a table and numbers to plot."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import dagster as dg

from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict, join_reasons
from privacy_plugin.locations import Location
from privacy_plugin.metrics.measurement import plain
from privacy_plugin.orchestration.resources import location_metadata
from privacy_plugin.policy.policy import Policy
from privacy_plugin.requirements.requirement import Finding, Requirement, format_value

STRUCTURE = "privacy_structure"
GREAT_EXPECTATIONS = "great_expectations"
STRUCTURE_DESCRIPTION = "Every column has a role, no identifier column is left, and the table has rows."


def check_names(requirements: Sequence[Requirement]) -> tuple[str, ...]:
    """Return the check names of requirements; names leave the limit out, so that plots continue when it changes.

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
    asset: dg.AssetKey,
    policy: Policy,
    verdict: Verdict,
    *,
    common: Mapping[str, Any],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> list[dg.AssetCheckResult]:
    """Return the results of a verdict: the structure first, then every requirement."""
    shared = {"verdict": verdict_table(verdict), **common}
    results = [_structure_result(asset, verdict, shared)]
    names = check_names(policy.requirements)
    findings = dict(zip(names, verdict.findings, strict=False))
    for name in names:
        results.append(_requirement_result(asset, name, findings.get(name), shared))
    return [result._replace(severity=severity) for result in results]


def evidence_metadata(
    verdict: Verdict, certificate: Certificate, *, certificate_path: Location, report: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the metadata that all results of a gate share."""
    found: dict[str, Any] = {
        **report,
        "certificate" if certificate.passed else "refusal": location_metadata(certificate_path),
        "policy digest": verdict.policy_digest,
    }
    if verdict.notes:
        found["notes"] = dg.MetadataValue.md("\n".join(f"- {note}" for note in verdict.notes))
    return found


def verdict_table(verdict: Verdict) -> dg.TableMetadataValue:
    """Return the whole verdict as a table; problems that prevented the evaluation come first."""
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
                "value": "" if finding.value is None else format_value(finding.value),
                "status": finding.status.replace("_", " "),
                "people affected": _people_affected(finding),
                "reason": finding.reason,
            }
        )
        for finding in verdict.findings
    ]
    return dg.MetadataValue.table(records=records, schema=_SCHEMA)


def _structure_result(asset: dg.AssetKey, verdict: Verdict, shared: Mapping[str, Any]) -> dg.AssetCheckResult:
    passed = not verdict.problems and bool(verdict.findings)
    description = STRUCTURE_DESCRIPTION
    problems = verdict.problems or ("no requirement was evaluated",)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=STRUCTURE,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=description if passed else join_reasons("The gate is closed", problems),
        metadata={"rows": verdict.rows, "problems": len(verdict.problems), **shared},
    )


def _requirement_result(
    asset: dg.AssetKey, name: str, finding: Finding | None, shared: Mapping[str, Any]
) -> dg.AssetCheckResult:
    reason = finding.reason if finding else f"Not evaluated: see the check {STRUCTURE} for the reason."
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=finding is not None and finding.passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=reason,
        metadata={**(_numbers(finding) if finding else {}), **shared},
    )


def _numbers(finding: Finding) -> dict[str, Any]:
    """Return the numbers of a finding; names stay the same across runs, so that Dagster plots them."""
    bounds = finding.limit.bounds
    limits = {"limit": bounds[0]} if len(bounds) == 1 else {"lower limit": bounds[0], "upper limit": bounds[-1]}
    measured = finding.measurement
    sizes = {"people": measured.rows, "classes": measured.classes} if measured else {}
    numbers = {"value": finding.value, **limits, "people affected": _people_affected(finding), **sizes}
    return {name: _plottable(value) for name, value in numbers.items() if value is not None}


def _people_affected(finding: Finding) -> int | None:
    return 0 if finding.passed else finding.people_affected


def _plottable(value: int | float | Fraction) -> int | float | str:
    """Return a number that Dagster can plot; infinity becomes text, because JSON has no number for it."""
    number: int | float | str = plain(value)
    return number
