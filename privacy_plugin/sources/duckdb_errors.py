"""What DuckDB says when it fails, told without values."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from privacy_plugin.errors import SourceError

_LINE = re.compile(r"Invalid Input Error: CSV Error on Line: (\d+)\n")


@contextmanager
def told_as_source_error(doing: str) -> Iterator[None]:
    """Tell DuckDB's errors without what it puts into them: lines of files, values, queries."""
    try:
        yield
    except duckdb.Error as error:
        raise SourceError(f"{doing} failed in DuckDB: {type(error).__name__}{_broken_line(error)}") from None


def _broken_line(error: duckdb.Error) -> str:
    """Say which line of a CSV file stopped DuckDB, by its number alone."""
    found = _LINE.match(str(error))
    if found is None:
        return ""
    return (
        f", line {found[1]} of the file: not one value a column, a quote that is not closed, or text that is not UTF-8"
    )
