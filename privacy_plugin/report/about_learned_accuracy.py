"""Learned accuracy in the report: beside the original as a teacher, and beside no teacher at all."""

from privacy_plugin.metrics.learned_accuracy import LearnedAccuracy
from privacy_plugin.report.about import report_section
from privacy_plugin.report.comparison_chart import held_against, share, tone
from privacy_plugin.report.markup import Markup
from privacy_plugin.requirements.requirement import Finding


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, LearnedAccuracy):
        return None
    bars = [
        share("trained on the generated table", found.value, tone=tone(finding)),
        share("trained on the original itself", found.trained_on_original),
        share("always naming the largest class", found.largest_class),
    ]
    caption = f"Rows of the original whose {found.parameters['target']} is predicted"
    return held_against(finding, bars, caption=caption, whole=1.0)


report_section(
    "learned_accuracy",
    axis="share of rows that are predicted",
    shows="A naive Bayes classifier learns enough from the generated table to be right about the original this often.",
    hides="Anything about privacy: an exact copy scores best. Nor what other learners would make of it.",
    section=_section,
)
