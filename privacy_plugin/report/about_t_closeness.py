"""t-closeness in the report."""

from privacy_plugin.report.about import report_section

report_section(
    "t_closeness",
    axis="distance of {sensitive} in the class from the whole table",
    shows="Finding a person's class tells little more about the sensitive column than the whole table does.",
    hides="What the whole table itself gives away: if most people in it share a value, everybody is likely to have "
    "it. Nor does it limit who can be found.",
)
