"""Columns as integer codes into a list of raw values: the form in which engines return their data."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.grouping import Integers, group, is_dense, pack, tally
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import canonical, key, require_unambiguous_values

CHUNK_ROWS = 1 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedColumn:
    """One column: row r holds `values[codes[r]]`; values may repeat or mean the same."""

    codes: npt.NDArray[np.integer]
    values: list[Any] = field(repr=False)

    def decode(self, decoder: Callable[[Any], Any] | None) -> "CodedColumn":
        """Return the column with every value passed through a decoder, if there is one."""
        if decoder is None:
            return self
        return CodedColumn(codes=self.codes, values=[decoder(value) for value in self.values])

    def drop_unused_values(self) -> "CodedColumn":
        """Return the column without the values that no row has."""
        used = np.zeros(len(self.values), dtype=bool)
        used[self.codes] = True
        numbers = np.cumsum(used) - 1
        values = [value for value, occurs in zip(self.values, used, strict=True) if occurs]
        return CodedColumn(codes=numbers[self.codes], values=values)


def code_by_meaning(raw: Sequence[Any]) -> CodedColumn:
    """Code Python objects by their canonical value, one by one.

    This is slow but never merges different values: to a hash table True and 1 are equal.
    """
    numbers: dict[Any, int] = {}
    values: list[Any] = []
    codes = np.empty(len(raw), dtype=np.int64)
    for position, item in enumerate(raw):
        value = canonical(item)
        number = numbers.setdefault(key(value), len(numbers))
        if number == len(values):
            values.append(value)
        codes[position] = number
    return CodedColumn(codes=codes, values=values)


def group_rows(coded: Sequence[CodedColumn]) -> tuple[Integers, Integers, Integers]:
    """Group coded rows; returns (group of each row, one row of each group, size of each group)."""
    packed, size = pack([column.codes for column in coded], [len(column.values) for column in coded])
    members, first = group(packed, size)
    return members, first, np.bincount(members, minlength=len(first)).astype(np.int64)


def count_chunk(names: Sequence[str], coded: Sequence[CodedColumn]) -> FrequencyTable:
    """Count the rows of one chunk; if few combinations are possible, count codes before values are compared."""
    codes, values = [column.codes for column in coded], [column.values for column in coded]
    sizes = [len(listed) for listed in values]
    if not is_dense(len(codes[0]), math.prod(sizes)):
        return FrequencyTable.from_columns(names, codes, values)
    first, counts = tally(*pack(codes, sizes))
    return FrequencyTable.from_columns(names, [column.take(first) for column in codes], values, counts)


def count_units(table: FrequencyTable, unit: str) -> FrequencyTable:
    """Turn counts of (group, unit) pairs, where the unit is the last column, into numbers of units in each group.

    The pairs are distinct by canonical value: a person whose identifier has two forms counts once. A column that holds
    a number and the text of that number is refused: they may be one person or two.
    """
    missing = [number for number, value in enumerate(table.dictionaries[-1]) if value is None]
    absent = int(table.counts[np.isin(table.codes[:, -1], missing)].sum())
    require_units(unit, absent)
    require_unambiguous_values(table.dictionaries[-1], unit)
    packed, size = pack(list(table.codes[:, :-1].T), table.cardinalities[:-1])
    members, first = group(packed, size)
    return FrequencyTable.from_columns(
        table.columns[:-1],
        list(table.codes[first, :-1].T),
        table.dictionaries[:-1],
        np.bincount(members, minlength=len(first)).astype(np.int64),
        unit=unit,
    )


def build_frequency_table(
    names: Sequence[str],
    coded: Sequence[CodedColumn],
    counts: Any,
    *,
    unit: str | None = None,
    absent: int = 0,
) -> FrequencyTable:
    """Build the table from an engine's groups; `absent` is the number of rows without a unit."""
    if unit is not None:
        require_units(unit, absent)
    return FrequencyTable.from_columns(
        names,
        [column.codes for column in coded],
        [column.values for column in coded],
        np.asarray(counts, dtype=np.int64),
        unit=unit,
    )


def require_groups(found: int, count_rows: Callable[[], int]) -> None:
    """Raise if an engine returns no groups of a table that has rows.

    DuckDB 2.0.0 does so for a table that was created empty by a query and filled in the same transaction: its
    statistics claim that there is nothing to read.
    """
    if not found and (rows := count_rows()):
        raise SourceError(
            f"the engine counts {rows} rows but returns no group of them; its statistics of the table are wrong. "
            "Write the table again in one statement, or reopen the database"
        )


def require_units(unit: str, absent: int) -> None:
    """Raise if rows have no unit: they could belong to one person or to as many people as there are rows."""
    if absent:
        raise SourceError(
            f"the unit column {unit!r} is missing in {absent} rows, so people cannot be counted; "
            "fill it or remove those rows"
        )
