"""k-anonymity in the report."""

from privacy_plugin.report.about import report_section

report_section(
    "k_anonymity",
    axis="people in the class",
    shows="By the quasi-identifiers alone, everybody looks like at least k - 1 others.",
    hides="Whether those people share one secret: a class in which everybody has the same diagnosis is k-anonymous "
    "and still gives it away. Nor does it hold against an attacker who knows a column that is not declared a "
    "quasi-identifier, or who has an earlier release of the same people.",
)
