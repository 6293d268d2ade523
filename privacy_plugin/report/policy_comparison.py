"""Policies compared: what each of them makes of the same table, risk next to usefulness."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.locations import Location
from privacy_plugin.markup import Child, Markup, element, section, table
from privacy_plugin.metrics.measurement import plain
from privacy_plugin.metrics.usability.score import Usability
from privacy_plugin.report.banner import chip
from privacy_plugin.report.comparison import Bar, draw_bars
from privacy_plugin.report.page import html_page, write_page
from privacy_plugin.requirements.requirement import Finding, format_measured


@dataclass(frozen=True, kw_only=True)
class PolicyOutcome:
    """What a policy makes of a table: the verdict on the anonymized table and what it keeps, or why there is none."""

    name: str
    method: str
    verdict: Verdict | None = None
    usefulness: Usability | None = None
    problem: str = ""

    @property
    def status(self) -> str:
        """Return "passed", "failed" or "not evaluated"."""
        if self.verdict is None:
            return "not evaluated"
        return "passed" if self.verdict.passed else "failed"

    def facts(self) -> dict[str, str]:
        """Return what can be compared, as text by name, in the order to show it."""
        if self.verdict is None:
            return {"method": self.method, "rows": "none", "problem": self.problem}
        found = {"method": self.method, "rows": f"{self.verdict.rows:,}"}
        measured = self.usefulness
        if measured is not None:
            losses = [float(loss) for loss in measured.columns.values()]
            found |= {
                "suppressed rows": f"{float(measured.suppressed_share):.1%}",
                "usability": f"{float(measured.value):.2f}",
                "query error": f"{measured.query_error:.1%}",
                "loss of a column, mean": f"{sum(losses) / len(losses):.1%}" if losses else "none",
                "wiped-out columns": ", ".join(measured.wiped_out) or "none",
            }
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        measured = self.usefulness
        return {
            "policy": self.name,
            "method": self.method,
            "status": self.status,
            "problem": self.problem or None,
            "rows": None if self.verdict is None else self.verdict.rows,
            "findings": [] if self.verdict is None else [finding.to_dict() for finding in self.verdict.findings],
            "usability": None if measured is None else plain(measured.value),
            "query_error": None if measured is None else plain(measured.query_error),
            "suppressed_share": None if measured is None else float(measured.suppressed_share),
            "columns": {} if measured is None else {name: float(loss) for name, loss in measured.columns.items()},
            "wiped_out": [] if measured is None else list(measured.wiped_out),
        }


def requirement_rows(outcomes: Sequence[PolicyOutcome]) -> list[tuple[str, list[Finding | None]]]:
    """Return every requirement that a policy has, and what each policy found about it."""
    found: dict[str, list[Finding | None]] = {}
    for position, outcome in enumerate(outcomes):
        for finding in () if outcome.verdict is None else outcome.verdict.findings:
            found.setdefault(str(finding.requirement), [None] * len(outcomes))[position] = finding
    return list(found.items())


def fact_rows(outcomes: Sequence[PolicyOutcome]) -> list[tuple[str, list[str]]]:
    """Return every other fact with the text of each policy; "-" where a policy has none."""
    facts = [outcome.facts() for outcome in outcomes]
    names = dict.fromkeys(name for each in facts for name in each)
    return [(name, [each.get(name, "-") for each in facts]) for name in names]


def write_comparison(path: str | Location, outcomes: Sequence[PolicyOutcome], *, dataset: str) -> Location:
    """Write the comparison as one HTML page without network access and without values of the table."""
    heads = ["", *(outcome.name for outcome in outcomes)]
    rows: list[list[Child]] = [["the gate", *([_status(outcome)] for outcome in outcomes)]]
    rows += [[name, *texts] for name, texts in fact_rows(outcomes)]
    rows += [[name, *([_found(finding)] for finding in findings)] for name, findings in requirement_rows(outcomes)]
    body = [
        section(
            "Policies side by side",
            element("p", "Every policy anonymized the same table by its own method; its own gate judged the result."),
            table("What each policy makes of the table", heads, rows),
            identifier="compared",
        ),
        section("Usefulness", _usability(outcomes), identifier="usefulness") if _useful(outcomes) else None,
        section("Loss of every column", [_losses(o) for o in _useful(outcomes)], identifier="losses")
        if _useful(outcomes)
        else None,
    ]
    return write_page(path, html_page(f"Policies for {dataset}", body))


def _useful(outcomes: Sequence[PolicyOutcome]) -> list[PolicyOutcome]:
    return [outcome for outcome in outcomes if outcome.usefulness is not None]


def _status(outcome: PolicyOutcome) -> Markup:
    return chip(outcome.status.replace(" ", "_"))


def _found(finding: Finding | None) -> list[Child]:
    if finding is None:
        return ["not asked"]
    measured = finding.measurement
    value = "no value" if measured is None else format_measured(measured, finding.limit)
    return [chip(finding.status), " ", element("strong", value)]


def _usability(outcomes: Sequence[PolicyOutcome]) -> Markup:
    bars = []
    for outcome in _useful(outcomes):
        measured = outcome.usefulness
        score = 0.0 if measured is None else float(measured.value)
        tone = "meets" if outcome.status == "passed" else "fails"
        bars.append(Bar(name=outcome.name, value=score, written=f"{score:.2f}", tone=tone))
    return draw_bars(bars, caption="Usability of each policy's release", full=1.0)


def _losses(outcome: PolicyOutcome) -> Markup:
    measured = outcome.usefulness
    assert measured is not None  # only useful outcomes are drawn
    bars = [
        Bar(
            name=name,
            value=float(loss),
            written=f"{float(loss):.1%}",
            tone="fails" if name in measured.wiped_out else "meets",
        )
        for name, loss in measured.columns.items()
    ]
    return element(
        "div", element("h3", outcome.name), draw_bars(bars, caption=f"Loss of every column: {outcome.name}", full=1.0)
    )
