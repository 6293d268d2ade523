"""Frequency tables: what every privacy question is asked of."""

from privacy_plugin.frequency.table import Classes, FrequencyTable, Histograms, merge

__all__ = ["Classes", "FrequencyTable", "Histograms", "merge"]
