"""All requirements in one table, verdict by verdict."""

from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.report.banner import chip
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.judged import counted
from privacy_plugin.report.markup import Child, Markup, element, section, table
from privacy_plugin.requirements.requirement import Finding, Requirement, found


def overview(content: ReportContent) -> Markup:
    """Compare what every verdict found, requirement by requirement."""
    several = len(content.verdicts) > 1
    heads = ["requirement", *(label for label, _ in content.verdicts)]
    rows: list[list[Child]] = [["rows", *(counted(verdict) for _, verdict in content.verdicts)]]
    for number, requirement in enumerate(content.policy.requirements):
        cells = [_cell(finding) for _, finding in content.findings(number)]
        rows.append([f"{requirement.definition.title} {asked(requirement)}", *cells])
    return section(
        "Before and after" if several else "Requirements",
        [_problems(label, verdict) for label, verdict in content.verdicts],
        table("Every requirement of the policy and what was found", heads, rows),
        identifier="overview",
    )


def asked(requirement: Requirement) -> str:
    """Return what a requirement asks of its metric, such as "(distinct, diagnosis) at least 3"."""
    return f"{requirement.details} {requirement.limit}".lstrip()


def _cell(finding: Finding | None) -> list[Child]:
    if finding is None:
        return [chip("not_evaluated")]
    measured = finding.measurement
    affected = finding.people_affected
    return [
        chip(finding.status),
        " ",
        element("strong", "no value" if measured is None else found(measured, finding.limit)),
        element("span", f"{affected:,} people affected", class_="note") if affected else None,
    ]


def _problems(label: str, verdict: Verdict) -> Markup | None:
    if not verdict.problems:
        return None
    return element(
        "div",
        element("p", element("strong", f"{label}: the gate shut before anything was measured."), " What to do:"),
        element("ul", [element("li", problem) for problem in verdict.problems]),
        class_="callout",
    )
