"""Repeated records in the report: every share beside what independent columns would repeat."""

from privacy_plugin.metrics.repeated_records import RepeatedRecords
from privacy_plugin.report.about import report_section
from privacy_plugin.report.comparison_chart import held_against, share, tone
from privacy_plugin.report.markup import Markup
from privacy_plugin.requirements.requirement import Finding

_NAMES = {
    "repeated": "generated rows that occur in the original",
    "repeating_unique": "generated rows equal to a record that occurs once",
    "unique_repeated": "once-only records of the original that are generated",
}
_BESIDE = {"repeated": "if_independent", "repeating_unique": "unique_if_independent"}


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, RepeatedRecords):
        return None
    bars = []
    for variant, name in _NAMES.items():
        judged = variant == found.parameters["variant"]
        bars.append(share(name, found.details[variant], tone=tone(finding) if judged else "beside"))
        if variant in _BESIDE:
            bars.append(share("the same, if the columns were independent", found.details[_BESIDE[variant]]))
    return held_against(finding, bars, caption="Repeated records beside chance", whole=1.0)


report_section(
    "repeated_records",
    axis="share of rows",
    shows="No more than so many generated records, compared by content, are records of the original.",
    hides="Privacy. Columns shuffled independently repeat many records too, and a table may give people away without "
    "repeating one: with records that differ in a digit, or with what it says about groups. Only the budget that "
    "a table was generated with limits that.",
    section=_section,
)
