"""What DuckDB says when it fails, told without values."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.interrupts import interruptible

_LINE = re.compile(r"Invalid Input Error: CSV Error on Line: (\d+)\n")
_TOO_LONG = "Maximum line size"
_NO_STATE = "Invalid Input Error: The CSV Parser state machine reached an invalid state"


@contextmanager
def told_as_source_error(doing: str, relation: Any = None) -> Iterator[None]:
    """Tell DuckDB's errors without what it puts into them: lines of files, values, queries."""
    # Only the newer relations know their connection; with the others an interrupt waits for the end of the query.
    connection = getattr(relation, "_con", None)
    try:
        with interruptible(getattr(connection, "interrupt", None)):
            yield
    except duckdb.Error as error:
        raise SourceError(f"{doing} failed in DuckDB: {type(error).__name__}{_fault_of_file(str(error))}") from None
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # DuckDB's words for Ctrl-C
            raise
        raise KeyboardInterrupt from None


def _fault_of_file(words: str) -> str:
    """Say what in a CSV file stopped DuckDB: the number of the line, and never what stands in it."""
    if words.startswith(_NO_STATE):
        return "; its lines seem to end in two ways, with a carriage return and without; write the file with one"
    found = _LINE.match(words)
    if found is None:
        return ""
    fault = (
        "not one value a column (a .csv is separated by commas as soon as its first line has one), a quote that is not "
        "closed, or text that is not UTF-8"
    )
    if _TOO_LONG in words:
        fault = "longer than DuckDB reads from CSV; write the table as Parquet"
    return f", line {found[1]} of the file: {fault}"
