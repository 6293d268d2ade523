"""The report: what was found, for people."""

from privacy_plugin.report.writing import render_report, write_report

__all__ = ["render_report", "write_report"]
