"""Write rows that were drawn in Python to an engine: one type for each column, content checked on arrival."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value, canonical, key, kind, label
from privacy_plugin.sources.fingerprint import content_fingerprint
from privacy_plugin.sources.protocol import Source

_BOOLEAN, _NUMBER, _TIME, _TEXT = kind(True), kind(0), kind(date(2000, 1, 1)), kind("")
_INTEGER_LIMIT = 2**63


def build_arrow_table(table: FrequencyTable) -> pa.Table:
    """Return every row of a frequency table; a column has the one type that all its values have.

    The rows are in the order of their values, which reveals nothing about where they came from.
    """
    rows = pa.array(np.repeat(np.arange(table.distinct), table.counts))
    columns = []
    for name in table.columns:
        columns.append(_typed_array(name, table.dictionary(name)).take(pa.array(table.column_codes(name))).take(rows))
    return pa.table(columns, names=list(table.columns))


def convert_to_text(table: FrequencyTable) -> FrequencyTable:
    """Return the rows as a format without types (CSV) stores them: every value but a missing one is its text."""
    return FrequencyTable.from_columns(
        table.columns,
        [table.column_codes(name) for name in table.columns],
        [[None if value is None else label(value) for value in table.dictionary(name)] for name in table.columns],
        table.counts,
    )


def check_arrival(rows: FrequencyTable, verify: Callable[[Source], None]) -> Callable[[Source], None]:
    """Return a check that a written copy holds exactly these rows and passes `verify`."""
    expected = content_fingerprint(rows)

    def check(copy: Source) -> None:
        if content_fingerprint(copy) != expected:
            raise SourceError(f"{copy.engine} does not store the drawn values unchanged; nothing was written")
        verify(copy)

    return check


def list_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of an Arrow table as Python values."""
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _typed_array(name: str, values: Sequence[Value]) -> pa.Array:
    chosen = _arrow_type(name, values)
    if chosen == pa.timestamp("us"):  # a canonical date is a moment at midnight; Arrow refuses to mix the two
        values = [datetime(v.year, v.month, v.day) if type(v) is date else v for v in values]
    try:
        if chosen == pa.float64():  # a large float is a canonical integer, which Arrow refuses as a float
            values = list(map(_exact_float, values))
        return pa.array(list(values), type=chosen)
    except (pa.ArrowException, ValueError, OverflowError):
        raise SourceError(f"column {name!r} has values that a column of type {chosen} cannot hold") from None


def _exact_float(value: Any) -> float | None:
    number = None if value is None else float(value)
    if key(canonical(number)) != key(value):
        raise ValueError("not a floating-point number")
    return number


def _arrow_type(name: str, values: Sequence[Value]) -> pa.DataType:
    present = [value for value in values if value is not None]
    kinds = {kind(value) for value in present}
    if not kinds or kinds == {_TEXT}:
        return pa.string()
    if kinds == {_BOOLEAN}:
        return pa.bool_()
    if kinds == {_NUMBER}:
        whole = all(isinstance(value, int) and -_INTEGER_LIMIT <= value < _INTEGER_LIMIT for value in present)
        return pa.int64() if whole else pa.float64()
    if kinds == {_TIME}:
        return pa.timestamp("us") if any(isinstance(value, datetime) for value in present) else pa.date32()
    raise SourceError(
        f"column {name!r} mixes values of several types (in the data, or on a level of its hierarchy), or holds bytes; "
        "a drawn table needs one type for each column"
    )
