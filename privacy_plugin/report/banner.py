"""The banner with the verdict, and all requirements in one table, verdict by verdict."""

from collections.abc import Sequence

from privacy_plugin.gate.verdict import Verdict, is_wiped_out_note
from privacy_plugin.markup import Child, Markup, element, section, table
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.provenance import counted
from privacy_plugin.requirements.requirement import Finding, Requirement, describe_people, format_measured

_TICK = Markup('<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 13l4.5 4.5L19 7"/></svg>')
_CROSS = Markup('<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6L6 18"/></svg>')

_NOTHING_FOUND = "Every requirement is an audit or about usefulness: nothing was found, which does not prove privacy."


def banner(content: ReportContent) -> Markup:
    """State whether the gate is open, and the verdicts that led there."""
    final = content.final
    state = "passed" if final.passed else "failed"
    notes = [note for note in final.notes if not is_wiped_out_note(note)]
    steps = [_step(label, verdict) for label, verdict in content.verdicts] if len(content.verdicts) > 1 else []
    stated = element(
        "div",
        element("span", _TICK if final.passed else _CROSS, class_="mark"),
        element(
            "div",
            element("p", f"{_word(final)}: the gate is {'open' if final.passed else 'closed'}", class_="verdict"),
            element("p", _sentence(content.policy.dataset, final)),
            element("p", element("strong", _NOTHING_FOUND)) if final.passed and not _protects(content) else None,
            element("ul", [element("li", note) for note in notes], class_="notes") if notes else None,
            element("ol", steps, class_="steps", aria_label="Verdicts in order") if steps else None,
        ),
        class_=f"banner {state}",
        role="status",
    )
    return Markup(f"{_lost_columns(content)}{stated}")


def _lost_columns(content: ReportContent) -> Markup:
    """Warn of the columns that carry no information: amber for some of the quasi-identifiers, red for all of them."""
    warnings = [note for note in content.final.notes if is_wiped_out_note(note)]
    if not warnings:
        return Markup("")
    everything = len(warnings) == len(content.policy.quasi_identifiers)
    are = "is" if len(warnings) == 1 else "are"
    some = f"{len(warnings)} of {len(content.policy.quasi_identifiers)} quasi-identifiers {are} wiped out"
    head = "Every quasi-identifier is wiped out" if everything else some
    return element(
        "div",
        element("p", element("strong", f"{head}.")),
        element("ul", [element("li", note) for note in warnings]),
        element("p", "Recode locally, give these columns a weight, or allow some rows to be suppressed."),
        class_="callout lost" if everything else "callout",
        role="alert",
    )


def _protects(content: ReportContent) -> bool:
    """Return whether a requirement limits what an attacker can do; audits only find what went wrong."""
    return any(requirement.definition.kind == "privacy" for requirement in content.policy.requirements)


def _word(verdict: Verdict) -> str:
    """Distinguish a verdict that found a failure from one that could not be evaluated."""
    if verdict.passed:
        return "Passed"
    return "Failed" if any(finding.status == "failed" for finding in verdict.findings) else "Not evaluated"


def _step(label: str, verdict: Verdict) -> Markup:
    state = "passed" if verdict.passed else "failed"
    return element("li", element("span", _word(verdict).lower(), class_=f"chip {state}"), " ", label)


def _sentence(dataset: str, verdict: Verdict) -> str:
    asked = len(verdict.findings)
    if verdict.passed:
        meet = "1 row meets" if verdict.rows == 1 else f"{verdict.rows:,} rows meet"
        every = "the policy's only requirement" if asked == 1 else f"all {asked} requirements of the policy"
        return f"{dataset}: {meet} {every}. The last section states what this does and does not show."
    if not verdict.evaluated:
        return f"{dataset}: not everything could be checked, and anything that could not be checked counts as failed."
    failed = [finding for finding in verdict.findings if not finding.passed]
    are = "is" if len(failed) == 1 else "are"
    unmet = "the policy's only requirement is" if asked == 1 else f"{len(failed)} of {asked} requirements {are}"
    return f"{dataset}: {unmet} not met.{_whom(failed)}"


def _whom(failed: Sequence[Finding]) -> str:
    """Count the people of the requirement that most people fail; another may fail for others, or count no people.

    A requirement that compares with a population speaks of the people there.
    """
    counts = [(f.people_affected or 0, f.measurement) for f in failed if f.measurement is not None]
    worst, measurement = max(counts, key=lambda count: (count[0], count[1].rows), default=(0, None))
    if not worst or measurement is None:
        return ""
    people = describe_people(measurement)
    if worst == measurement.rows:
        return f" As it is, none of {people} is protected as the policy asks."
    least = "" if len(failed) == 1 else "at least "
    return f" As it is, {least}{worst:,} of {people} are not protected as the policy asks."


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
        element("strong", "no value" if measured is None else format_measured(measured, finding.limit)),
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


def chip(status: str) -> Markup:
    """Return a finding's status as a coloured word."""
    words = {"passed": "passed", "failed": "failed", "not_evaluated": "not evaluated"}[status]
    return element("span", words, class_=f"chip {'passed' if status == 'passed' else 'failed'}")


def clauses(content: ReportContent) -> Markup:
    """Show how every clause of the policy's packs was answered; nothing without packs."""
    found = content.final.clauses
    if not found:
        return Markup("")
    tones = {"met": "passed", "answered": "passed", "not met": "failed", "not evaluated": "failed"}
    rows: list[list[Child]] = [
        [
            [element("strong", each.clause.pack), f" {each.clause.name.replace('_', ' ')}"],
            each.clause.says,
            each.clause.kind.replace("_", " "),
            [element("span", each.status, class_=f"chip {tones.get(each.status, 'open')}"), " ", each.reason],
            each.clause.source,
        ]
        for each in found
    ]
    heads = ["clause", "what it says", "kind", "answer", "source"]
    return section(
        "Clauses of the standards",
        element(
            "p",
            "A measured clause is answered by requirements, a checked one by a rule about columns and formats, a "
            "declared one by a person. Whether the release complies with a standard is not stated here: a person has "
            "to judge it.",
        ),
        table("Every clause of the packs that the policy names", heads, rows),
        identifier="clauses",
    )
