"""delta-presence in the report; the chart is a histogram over the people of the population."""

from privacy_plugin.report.about import report_section

report_section(
    "delta_presence",
    axis="probability of being in the table",
    shows="Whoever knows everybody in the population, quasi-identifiers included, still cannot tell whether a person "
    "is in the table with a probability outside the two bounds.",
    hides="What the table says about people once it is known that they are in it, and attackers who know more of a "
    "person than the quasi-identifiers. It holds for the population it was compared with: with another one, "
    "or a smaller circle of candidates, probabilities differ.",
)
