"""Limitations: what the verdict does and does not show, metric by metric."""

from privacy_plugin.markup import Child, Markup, element, section, table
from privacy_plugin.metrics.registry import find_metric
from privacy_plugin.report.content import ReportContent


def limitations(content: ReportContent) -> Markup:
    """State for every metric of the policy what a pass means, and what it does not."""
    metrics = dict.fromkeys(requirement.metric for requirement in content.policy.requirements)
    declared = [find_metric(name) for name in metrics]
    rows: list[list[Child]] = [[metric.title, metric.shows, metric.hides] for metric in declared]
    return section(
        "What this does and does not show",
        element(
            "p",
            "The verdict holds for this table, under this policy, against the attackers described above. It is a "
            "measurement, not legal advice, and does not prove that a person can never be recognized:",
        ),
        element("ul", [element("li", words) for words in _GENERAL + _unlimited(content)]),
        table("Metric by metric", ["metric", "a pass shows", "it does not show"], rows),
        identifier="limitations",
    )


_GENERAL = [
    "An attacker who knows more than the declared quasi-identifiers may still find people.",
    "Releases about the same people can be combined: each passing alone does not mean that they pass together.",
    "Free text, images and columns outside the table were not examined.",
]


def _unlimited(content: ReportContent) -> list[str]:
    """Name the sensitive columns that no requirement looks at."""
    limited = {requirement.sensitive for requirement in content.policy.requirements}
    open_columns = [name for name in content.policy.sensitive if name not in limited]
    return [f"No requirement limits what is learned about: {', '.join(open_columns)}."] if open_columns else []
