"""Sources: read any data as a frequency table and write releases, inside the engine that holds the data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privacy_plugin.sources.dispatch import frequency_table, open_source
from privacy_plugin.sources.protocol import Fingerprint, Source

if TYPE_CHECKING:
    from privacy_plugin.sources.sql.files import file_table
    from privacy_plugin.sources.sql.source import SqlTable, sql_table

__all__ = ["Fingerprint", "Source", "SqlTable", "file_table", "frequency_table", "open_source", "sql_table"]


def __getattr__(name: str) -> Any:
    """Import SQLAlchemy only when a database is used, and DuckDB when a file is."""
    if name in ("SqlTable", "sql_table"):
        return getattr(import_module("privacy_plugin.sources.sql.source"), name)
    if name == "file_table":
        return import_module("privacy_plugin.sources.sql.files").file_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
