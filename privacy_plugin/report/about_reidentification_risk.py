"""Re-identification risk in the report."""

from privacy_plugin.report.about import report_section

report_section(
    "reidentification_risk",
    axis="probability of picking the right row",
    shows="How often an attacker who knows that a person is in the table, and knows the quasi-identifiers, picks "
    "the right row: one over the size of the class (highest, averaged over people, or the share above a threshold).",
    hides="What is learned without picking a row, and how bad it would be. An average hides the few who are at a "
    "much higher risk.",
)
