"""The privacy budget in the report: what was spent, and for which unit."""

from typing import Any

from privacy_plugin.report.about import report_section
from privacy_plugin.report.markup import Child, Markup, definitions, element
from privacy_plugin.requirements.requirement import Finding


def _section(finding: Finding) -> Markup | None:
    if finding.measurement is None:
        return None
    details = finding.measurement.details
    pairs: list[tuple[str, Child]] = [
        ("Budget", str(details["words"])),
        ("Drawn by", str(details["mechanism"])),
        (
            "Protects",
            f"one {details['privacy_unit']}: {details['neighbours'] or 'the neighbour relation is not recorded'}",
        ),
        ("Composed", _composed(details)),
    ]
    return element("div", definitions(pairs))


def _composed(details: Any) -> str:
    unfinished = details["unfinished"]
    seen = f", {unfinished} of them without a known end" if unfinished else ""
    return (
        f"sequentially over every spend ({details['spends']}) of dataset {details['dataset']!r}{seen}: epsilons and "
        "deltas add up, whoever sees the releases and however they are put together"
    )


report_section(
    "privacy_budget",
    axis="epsilon",
    shows="This very table was drawn by a recorded, private mechanism, and all that was drawn about its dataset "
    "together changes what anybody can conclude about one unit by at most a factor of e to the power of epsilon, "
    "except with probability about delta.",
    hides="A larger unit than the one stated (a person with several rows, a household); the same people in other "
    "datasets; assumptions that do not hold; a ledger that was written to by hand. Where a unit added or removed is "
    "protected, what stands in one that is known to be there may be told by twice the epsilon. A conclusion about a "
    "whole group may still hold for its members.",
    section=_section,
)
