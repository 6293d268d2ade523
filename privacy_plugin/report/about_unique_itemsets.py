"""Reproduced unique itemsets in the report: size by size, beside chance."""

from privacy_plugin.metrics.unique_itemsets import UniqueItemsets
from privacy_plugin.report.about import report_section
from privacy_plugin.report.comparison_chart import Bar, held_against, share, tone
from privacy_plugin.report.markup import Markup
from privacy_plugin.requirements.requirement import Finding


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, UniqueItemsets):
        return None
    bars = [
        share(f"of all {sum(found.unique):,}", found.value, tone=tone(finding)),
        share("of all, if the columns were independent", found.if_independent),
    ]
    for size, (unique, reproduced) in enumerate(zip(found.unique, found.reproduced, strict=True), start=1):
        if unique:
            part = reproduced / unique
            name = f"of the {unique:,} over {size} {'column' if size == 1 else 'columns'}"
            bars.append(Bar(name=name, value=part, written=f"{part:.1%}"))
    caption = "Combinations that one record alone has, and that a generated record has too"
    return held_against(finding, bars, caption=caption, whole=1.0)


report_section(
    "unique_itemsets",
    axis="share of itemsets",
    shows="No more than such a share of the combinations of a few values that one record of the original alone has "
    "occurs in the generated table.",
    hides="Privacy. Chance reproduces many of them, so a generated one proves nothing, and one that is missing hides "
    "nothing either. Combinations of more columns than were looked at are not counted.",
    section=_section,
)
