"""Sources: whatever a pipeline has, as a frequency table; the work is done where the data lies."""

from privacy_plugin.sources.opening import frequency_table, open_source
from privacy_plugin.sources.protocol import Fingerprint, Source
from privacy_plugin.sources.sql_table import SqlTable, sql_table

__all__ = ["Fingerprint", "Source", "SqlTable", "frequency_table", "open_source", "sql_table"]
