"""The privacy score in the report: its spread, the most revealing combinations, and small tables as a picture."""

from privacy_plugin.metrics.privacy_score.dowker_complex import dowker_complex
from privacy_plugin.metrics.privacy_score.result import PrivacyScore
from privacy_plugin.report.about import report_section
from privacy_plugin.report.markup import Child, Markup, element, table
from privacy_plugin.report.score_complex import complex_picture
from privacy_plugin.report.score_distribution import distribution
from privacy_plugin.requirements.requirement import Finding, shown

_COMBINATIONS = 8
_MOST_PEOPLE_DRAWN = 40  # distinct rows: more make a picture of lines only


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, PrivacyScore):
        return None
    drawn = dowker_complex(found) if found.classes <= _MOST_PEOPLE_DRAWN else None
    said = f"The average score is {shown(found.average)}, the highest {shown(found.maximum)}."
    if not found.complete:
        said += " Scores are upper ends: the search was cut short by its budget."
    return element(
        "div",
        element("p", said),
        _spread(found),
        _combinations(found),
        complex_picture(drawn) if drawn is not None else None,
    )


def _spread(found: PrivacyScore) -> Markup | None:
    """Draw the scores, unless the limit is on the highest one: then the card's own chart shows who fails it."""
    threshold = found.parameters["threshold"]
    if found.settings.statistic == "maximum":
        return None
    if threshold is None:
        return distribution(found.scores, mark=found.average, says=f"average {shown(found.average)}")
    counted = found.threshold_count(threshold)
    says = f"{counted:,} people score {threshold} or more"
    limit = float(found.settings.threshold or 0)
    return distribution(found.scores, mark=limit, says=says, fails_from=limit)


def _combinations(found: PrivacyScore) -> Markup | None:
    if not found.combinations:
        return element("p", "Nothing that is dangerous follows from anything an attacker may know.")
    rows: list[list[Child]] = [
        [
            ", ".join(one.known) or "nothing",
            ", ".join(one.inferred),
            f"{one.weight:.3g}",
            f"{one.people:,}",
        ]
        for one in found.combinations[:_COMBINATIONS]
    ]
    heads = ["who knows", "learns", "score", "people"]
    return table("The most revealing combinations, of those with the highest scores", heads, rows)


report_section(
    "privacy_score",
    axis="privacy score",
    shows="Likelihood times danger of what follows with certainty from any set of attributes that an attacker may know "
    "stays below the limit: on average, for everybody, or for all but a share of the people.",
    hides="What is merely likely (unless a confidence below 1 is asked for), what a single record among the average "
    "gives away, and whether the weights are right: they are a person's judgement.",
    section=_section,
)
