"""l-diversity in the report."""

from collections.abc import Mapping
from typing import Any

from privacy_plugin.report.about import report_section


def _axis(parameters: Mapping[str, Any]) -> str:
    kinds = {
        "distinct": "distinct values of {sensitive} in the class",
        "entropy": "effective number of values of {sensitive} (entropy l)",
        "recursive": "largest l of {sensitive} for which the class is recursively diverse",
    }
    return kinds[parameters["variant"]].format_map(parameters)


report_section(
    "l_diversity",
    axis=_axis,
    shows="Whoever finds a person's class still faces at least l possible values of the sensitive column "
    "(entropy: about as many as l equally likely ones).",
    hides="How likely each value is (distinct l), and how alike they are: three kinds of cancer count as three "
    "values. An attacker who can rule values out for a person is left with fewer.",
)
