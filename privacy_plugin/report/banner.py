"""The verdict, first and large."""

from collections.abc import Sequence

from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.markup import Markup, element
from privacy_plugin.requirements.requirement import Finding, counted_people

_TICK = Markup('<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 13l4.5 4.5L19 7"/></svg>')
_CROSS = Markup('<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 6l12 12M18 6L6 18"/></svg>')

_NOTHING_FOUND = "Every requirement is an audit or about usefulness: nothing was found, which is no proof of privacy."


def banner(content: ReportContent) -> Markup:
    """Say whether the gate is open, and how it came there."""
    final = content.final
    state = "passed" if final.passed else "failed"
    steps = [_step(label, verdict) for label, verdict in content.verdicts] if len(content.verdicts) > 1 else []
    return element(
        "div",
        element("span", _TICK if final.passed else _CROSS, class_="mark"),
        element(
            "div",
            element("p", f"{_word(final)}: the gate is {'open' if final.passed else 'closed'}", class_="verdict"),
            element("p", _sentence(content.policy.dataset, final)),
            element("p", element("strong", _NOTHING_FOUND)) if final.passed and not _protects(content) else None,
            element("ol", steps, class_="steps", aria_label="Verdicts in order") if steps else None,
        ),
        class_=f"banner {state}",
        role="status",
    )


def _protects(content: ReportContent) -> bool:
    """Tell whether a requirement limits what an attacker can do; audits only look for what went wrong."""
    return any(requirement.definition.kind == "privacy" for requirement in content.policy.requirements)


def _word(verdict: Verdict) -> str:
    """Tell a no because of what was found from one for want of a look."""
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
        return f"{dataset}: {meet} {every}. The last section says what this does and does not show."
    if not verdict.evaluated:
        return f"{dataset}: not everything could be checked, and anything that could not be checked counts as failed."
    failed = [finding for finding in verdict.findings if not finding.passed]
    are = "is" if len(failed) == 1 else "are"
    unmet = "the policy's only requirement is" if asked == 1 else f"{len(failed)} of {asked} requirements {are}"
    return f"{dataset}: {unmet} not met.{_whom(failed)}"


def _whom(failed: Sequence[Finding]) -> str:
    """Count the people of the requirement that most do not meet; another may fail for others, or count nobody.

    A requirement that compares with a population speaks of the people there.
    """
    counts = [(f.people_affected or 0, f.measurement) for f in failed if f.measurement is not None]
    worst, measurement = max(counts, key=lambda count: (count[0], count[1].rows), default=(0, None))
    if not worst or measurement is None:
        return ""
    people = counted_people(measurement)
    if worst == measurement.rows:
        return f" As it is, none of {people} is protected as the policy asks."
    least = "" if len(failed) == 1 else "at least "
    return f" As it is, {least}{worst:,} of {people} are not protected as the policy asks."


def chip(status: str) -> Markup:
    """Return a finding's status as a coloured word."""
    words = {"passed": "passed", "failed": "failed", "not_evaluated": "not evaluated"}[status]
    return element("span", words, class_=f"chip {'passed' if status == 'passed' else 'failed'}")
