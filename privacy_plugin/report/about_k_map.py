"""k-map in the report."""

from privacy_plugin.report.about import report_section

report_section(
    "k_map",
    axis="people of the population that fit the row",
    shows="Every row could belong to at least k people of the population, for an attacker who does not know who is in "
    "the table.",
    hides="An attacker who does know that a person is in the table: for that one k-anonymity counts. Nor does it hide "
    "a secret that all fitting people share.",
)
