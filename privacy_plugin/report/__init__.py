"""The report: one HTML page that explains a verdict."""

from privacy_plugin.report.page import render_report, write_report
from privacy_plugin.report.usefulness import Usefulness, measure_usefulness

__all__ = ["Usefulness", "measure_usefulness", "render_report", "write_report"]
