"""Frequency tables: distinct rows with counts, the input of every metric and anonymizer."""

from privacy_plugin.frequency.table import Classes, FrequencyTable, Histograms, merge

__all__ = ["Classes", "FrequencyTable", "Histograms", "merge"]
