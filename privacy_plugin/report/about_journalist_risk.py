"""Journalist risk in the report."""

from privacy_plugin.report.about import report_section

report_section(
    "journalist_risk",
    axis="probability of saying whose row it is",
    shows="How often an attacker who has the whole population, but does not know who is in the table, says rightly "
    "whose row it is: one over the people of the population that fit the row.",
    hides="An attacker who does know that a person is in the table: for that one the re-identification risk counts. "
    "An average hides the few who are at a much higher risk.",
)
