"""The difference of compression in the report: each table in each code table."""

from privacy_plugin.metrics.compression_difference import CompressionDifference
from privacy_plugin.report.about import report_section
from privacy_plugin.report.comparison_chart import comparison, share
from privacy_plugin.report.markup import Markup
from privacy_plugin.requirements.requirement import Finding

_NAMES = {
    "original": "original, in its own code table",
    "original_in_generated_codes": "original, in the generated table's",
    "generated": "generated table, in its own code table",
    "generated_in_original_codes": "generated table, in the original's",
}


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, CompressionDifference):
        return None
    bars = [
        share(name, found.details[ratio], tone="beside" if ratio in ("original", "generated") else "meets")
        for ratio, name in _NAMES.items()
    ]
    return comparison(bars, caption="Compressed size over the size with single items only")


report_section(
    "compression_difference",
    axis="difference of compression",
    shows="The patterns that describe one of the two tables briefly describe the other almost as briefly.",
    hides="Anything about privacy: an exact copy scores best. Krimp is a heuristic, so small differences mean nothing.",
    section=_section,
)
