"""What the verdict does and does not show, metric by metric."""

from privacy_plugin.report.about import about
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.markup import Child, Markup, element, section, table


def honesty(content: ReportContent) -> Markup:
    """Say for every metric of the policy what a pass means, and what it does not."""
    metrics = dict.fromkeys(requirement.metric for requirement in content.policy.requirements)
    titles = {requirement.metric: requirement.definition.title for requirement in content.policy.requirements}
    rows: list[list[Child]] = [[titles[name], about(name).shows, about(name).hides] for name in metrics]
    return section(
        "What this does and does not show",
        element(
            "p",
            "The verdict holds for this table, under this policy, against the attackers described above. It is a "
            "measurement, not legal advice, and no proof that a person can never be recognized:",
        ),
        element("ul", [element("li", words) for words in _GENERAL + _unlimited(content)]),
        table("Metric by metric", ["metric", "a pass shows", "it does not show"], rows),
        identifier="honesty",
    )


_GENERAL = [
    "An attacker who knows more than the declared quasi-identifiers may find people all the same.",
    "Releases about the same people can be combined: each passing alone does not mean that they pass together.",
    "Free text, images and columns outside the table were not looked at.",
]


def _unlimited(content: ReportContent) -> list[str]:
    """Name the sensitive columns that no requirement looks at."""
    limited = {requirement.sensitive for requirement in content.policy.requirements}
    open_columns = [name for name in content.policy.sensitive if name not in limited]
    return [f"No requirement limits what is learned about: {', '.join(open_columns)}."] if open_columns else []
