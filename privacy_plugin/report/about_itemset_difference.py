"""The difference of frequent itemsets in the report: kept, lost, made up."""

from privacy_plugin.metrics.itemset_difference import ItemsetDifference
from privacy_plugin.metrics.measurement import plain
from privacy_plugin.report.about import report_section
from privacy_plugin.report.comparison_chart import Bar, comparison
from privacy_plugin.report.markup import Child, Markup, element, table
from privacy_plugin.requirements.requirement import Finding, shown

_TONES = {"kept": "meets", "lost": "fails", "false": "fails"}
_WORDS = {"kept": "frequent in both: kept", "lost": "in the original only: lost", "false": "made up: false"}


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, ItemsetDifference):
        return None
    counts = {name: int(found.details[name]) for name in _WORDS}
    bars = [
        Bar(name=_WORDS[name], value=count, written=f"{count:,}", tone=_TONES[name]) for name, count in counts.items()
    ]
    rows: list[list[Child]] = [[_WORDS[name], _written(found.details[f"nfd_{name}"])] for name in counts]
    differences = table("Mean difference of support over support in the original", ["itemsets", "NFD"], rows)
    support = f"{float(found.parameters['support']):.3g} of the rows"
    return element(
        "div", comparison(bars, caption=f"Itemsets that at least {support} hold"), element("p", " "), differences
    )


def _written(number: float | None) -> str:
    return "no itemsets" if number is None else shown(plain(number))


report_section(
    "itemset_difference",
    axis="difference of itemsets",
    shows="What is frequent in the original is about as frequent in the generated table.",
    hides="Anything about privacy: an exact copy scores best. Nor rare combinations, nor how good a model learned from "
    "the table would be.",
    section=_section,
)
