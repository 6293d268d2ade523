"""The report: one HTML page that explains a verdict."""

from privacy_plugin.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
