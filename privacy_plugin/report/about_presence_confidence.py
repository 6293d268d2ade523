"""Confidence of delta-presence in the report: what was assumed, what is covered, and the confidence curve."""

from privacy_plugin.metrics.presence.presence_confidence import PresenceConfidence
from privacy_plugin.report.about import report_section
from privacy_plugin.report.confidence_curve import confidence_chart, reached
from privacy_plugin.report.markup import Markup, element, table
from privacy_plugin.requirements.requirement import Finding, shown

_MOST_LINES = 20


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, PresenceConfidence) or found.spread is None:
        return None
    low, high = found.parameters["delta"]
    possible = found.details["possible_tuples"]
    uncovered = found.details["uncovered_possible_tuples"]
    tuples = "not known" if uncovered is None else f"{uncovered:,} of {possible:,}"
    return element(
        "div",
        element(
            "p",
            f"Presence between {low} and {high} among {found.parameters['population_size']:,} people, of whom only the "
            f"distribution of every column is known. Combinations of values that occur in no class: {tuples}; about "
            f"{found.details['expected_people_uncovered']:,.0f} people are expected to have one.",
        ),
        _curve(found, finding),
    )


def _curve(found: PresenceConfidence, finding: Finding) -> Markup:
    assert found.spread is not None  # the caller looked
    points = reached(found.spread)
    limit = float(finding.limit.bounds[0])
    enough = next((share for confidence, share in points if confidence >= limit), 0.0)
    description = (
        f"Falling curve: the share of people whose class is delta-present with at least so much confidence. "
        f"{enough:.1%} reach the limit, {finding.limit}."
    )
    shown_points = points if len(points) <= _MOST_LINES else points[:: -(-len(points) // _MOST_LINES)]
    rows = [[shown(confidence), f"{share:.1%}"] for confidence, share in shown_points]
    numbers = table("Confidence and who reaches it", ["confidence", "people whose class reaches it"], rows)
    return element(
        "figure",
        confidence_chart(points, limit=limit, said=str(finding.limit), description=description),
        element("details", element("summary", "The curve"), numbers),
    )


report_section(
    "presence_confidence",
    axis="confidence that the class is delta-present",
    shows="Although nobody listed the population, its known distributions make it at least so likely, for each class "
    "in the table by itself, that the probability of being in the table lies between the two bounds.",
    hides="All classes at once: that it holds for every one of them may be far less likely. Dependence between "
    "columns: they are taken as independent outside the table, as in the paper. Nor people whose combination of values "
    "occurs in no class: they surely are not in the table.",
    section=_section,
)
