"""A generated table and its original in one numbering of values: equal codes mean equal values.

Rows are compared by content, never by position: a shuffled copy is a copy. As transactions, an item is a column with a
value; a missing value is not an item.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, pack
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import KIND_WORDS, Value, key, kind, require_unambiguous_values

NO_ITEM = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedRows:
    """Distinct rows of one table, in the numbering that both share, and their counts."""

    codes: Integers
    counts: Integers

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratedPair:
    """The two tables; `missing` holds each column's code for a missing value, -1 where there is none."""

    columns: tuple[str, ...]
    cardinalities: tuple[int, ...]
    missing: tuple[int, ...]
    original: CodedRows
    generated: CodedRows

    @cached_property
    def shares(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
        """For every column the share of the original's rows that have each value."""
        codes, counts, total = self.original.codes, self.original.counts, self.original.rows
        return tuple(
            np.bincount(codes[:, position], weights=counts, minlength=size) / total
            for position, size in enumerate(self.cardinalities)
        )

    def packed(self, positions: Sequence[int]) -> tuple[Integers, Integers, int]:
        """Return one number a distinct row of the original and of the generated table, and their range."""
        many = len(self.original.counts)
        both = np.concatenate([self.original.codes[:, positions], self.generated.codes[:, positions]])
        packed, size = pack([both[:, n] for n in range(len(positions))], [self.cardinalities[p] for p in positions])
        return packed[:many], packed[many:], size


def pair_tables(generated: FrequencyTable, original: FrequencyTable, *, attributes: Sequence[str]) -> GeneratedPair:
    """Bring both tables into one numbering; refuse those that could not have a row in common.

    A column whose values are written in another way in the two tables (text and numbers, other labels) would make any
    copy look new, so a column without a common value is an error and no good sign; and so is one with a value and its
    text in both together.
    """
    tables = [table.project(attributes) for table in (original, generated)]
    for table in tables:
        table.require_rows()
        table.require_one_row_a_person("an audit of a generated table")
    recoded: list[list[Integers]] = [[], []]
    sizes, missing = [], []
    for position, name in enumerate(attributes):
        first, second = (table.dictionaries[position] for table in tables)
        require_common_value(first, second, name)
        either = {key(value): value for value in (*first, *second)}
        require_unambiguous_values(list(either.values()), name)
        numbers = {code: number for number, code in enumerate(either)}
        for side, table in enumerate(tables):
            mapping = np.array([numbers[key(value)] for value in table.dictionaries[position]], dtype=np.int64)
            recoded[side].append(mapping[table.codes[:, position]])
        sizes.append(len(numbers))
        missing.append(numbers.get(key(None), NO_ITEM))
    rows = [
        CodedRows(codes=np.column_stack(columns), counts=table.counts)
        for columns, table in zip(recoded, tables, strict=True)
    ]
    return GeneratedPair(
        columns=tuple(attributes),
        cardinalities=tuple(sizes),
        missing=tuple(missing),
        original=rows[0],
        generated=rows[1],
    )


def require_common_value(original: Sequence[Value], generated: Sequence[Value], column: str) -> None:
    """Refuse a column of which the two tables have no value in common: any copy would look new."""
    either = [{key(value) for value in values if value is not None} for values in (generated, original)]
    common = either[0] & either[1] if all(either) else {*map(key, generated)} & {*map(key, original)}
    if common:
        return
    here, there = (" and ".join(sorted({KIND_WORDS[kind(v)] for v in values})) for values in (generated, original))
    raise ColumnError(
        f"no value of column {column!r} of the table occurs in the original, so that any copy would look new; it holds "
        f"{here} in the table and {there} in the original: write both in the same way. Where the table is generalized, "
        "ask usability or query_error, which know what its labels stand for"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Transactions:
    """Transactions: distinct row r holds items[offsets[r] : offsets[r + 1]], counts[r] times."""

    items: Integers
    offsets: Integers
    counts: Integers

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def least(self, support: Fraction) -> int:
        """Return the smallest number of rows that is at least so large a share of all."""
        return max(-(-support.numerator * self.rows // support.denominator), 1)


def read_support(support: Any) -> Fraction:
    """Read a share of the rows exactly as it is written."""
    share = exact(support, what="support")
    if not 0 < share <= 1:
        raise ParameterError("support must be a share of the rows, above 0 and at most 1")
    return share


def transactions(pair: GeneratedPair) -> tuple[Transactions, Transactions, int]:
    """Return the transactions of the original and of the generated table, and the number of items."""
    missing = np.array(pair.missing)
    first = np.concatenate([[0], np.cumsum(np.array(pair.cardinalities) - (missing != NO_ITEM))])
    return _listed(pair, pair.original, first), _listed(pair, pair.generated, first), int(first[-1])


def _listed(pair: GeneratedPair, table: CodedRows, first: Integers) -> Transactions:
    missing = np.array(pair.missing)
    present = table.codes != missing
    after_missing = (missing != NO_ITEM) & (table.codes > missing)
    items = (table.codes - after_missing + first[:-1])[present]
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return Transactions(items=items.astype(np.int64), offsets=offsets, counts=table.counts)
