"""The frequency table: distinct rows as integer codes, their counts, and the dictionaries of the codes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError, require_columns
from privacy_plugin.frequency.grouping import Codes, Integers, group, pack, sum_by, tally
from privacy_plugin.frequency.values import (
    Value,
    canonical,
    key,
    one_plain_type,
    plainly_ordered,
    require_unambiguous_values,
    sorted_values,
)

Dictionary = tuple[Value, ...]

_MAX_ROWS = 2.0**62  # their sum fits a signed 64-bit integer, with room for the rounding of this float


@dataclass(frozen=True, kw_only=True, eq=False)
class FrequencyTable:
    """Distinct rows with counts: the only input of a metric.

    `codes[r, c]` is the position of row r's value in `dictionaries[c]`; `counts[r]` is the number of rows of the
    source (with a `unit`: of distinct people) that have it. Rows are distinct and in ascending code order;
    dictionaries are sorted and hold each value that occurs once. So two tables of equal content are equal array by
    array, whatever engine, row order or index they came from.

    >>> table = FrequencyTable.from_rows(["age", "sex"], [(30, "f"), (30, "f"), (41, "m")])
    >>> table.rows, table.distinct
    (3, 2)
    """

    columns: tuple[str, ...]
    codes: Codes = field(repr=False)
    counts: Integers = field(repr=False)
    dictionaries: tuple[Dictionary, ...] = field(repr=False)  # else logs and tracebacks would show all values
    unit: str | None = None

    @classmethod
    def from_columns(
        cls,
        columns: Sequence[str],
        codes: Sequence[npt.NDArray[np.integer]],
        raw_dictionaries: Sequence[Iterable[Any]],
        counts: Integers | None = None,
        *,
        unit: str | None = None,
    ) -> "FrequencyTable":
        """Build a table from groups or rows: for each column an array of codes and a list of raw values.

        Raw values that mean the same (NaN and None, 39 and 39.0) become one, and their rows are merged.
        """
        recoded, dictionaries = [], []
        for column_codes, raw in zip(codes, raw_dictionaries, strict=True):
            positions, dictionary = canonical_dictionary(raw)
            recoded.append(positions.take(column_codes) if len(positions) else column_codes.astype(np.int32))
            dictionaries.append(dictionary)
        return _assemble(tuple(columns), recoded, dictionaries, counts, unit)

    @classmethod
    def from_rows(
        cls, columns: Sequence[str], rows: Iterable[Sequence[Any]], counts: Sequence[int] | None = None
    ) -> "FrequencyTable":
        """Build a table from Python rows; each counts once, or as often as `counts` gives."""
        listed = [tuple(row) for row in rows]
        weights = np.ones(len(listed), dtype=np.int64) if counts is None else np.asarray(counts)
        positions = np.arange(len(listed), dtype=np.int32)
        raw = list(zip(*listed, strict=True)) if listed else [()] * len(columns)
        return cls.from_columns(columns, [positions] * len(columns), raw, weights)

    @property
    def rows(self) -> int:
        """The number of rows of the source (with a unit: of people)."""
        return int(self.counts.sum())

    @property
    def distinct(self) -> int:
        """The number of distinct rows."""
        return len(self.counts)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return tuple(len(dictionary) for dictionary in self.dictionaries)

    def position(self, column: str) -> int:
        """Return a column's position; raise if there is no such column."""
        require_columns([column], self.columns)
        return self.columns.index(column)

    def column_codes(self, column: str) -> Codes:
        """Return the codes of one column."""
        codes: Codes = self.codes[:, self.position(column)]
        return codes

    def dictionary(self, column: str) -> Dictionary:
        """Return the values of one column, in code order."""
        return self.dictionaries[self.position(column)]

    def values(self, row: int) -> tuple[Value, ...]:
        """Return the values of one distinct row."""
        return tuple(d[c] for d, c in zip(self.dictionaries, self.codes[row], strict=True))

    def require_rows(self) -> None:
        """Raise if the table is empty: without rows there is nothing to judge private."""
        if not self.rows:
            raise EmptyTableError("the table has no rows; an empty table is never judged private")

    def require_one_row_a_person(self, what: str) -> None:
        """Raise if the table counts people by a unit column, for metrics defined for one row per person."""
        if self.unit is not None:
            raise ParameterError(
                f"{what} is defined for one row per person, but this table counts people by the unit column "
                f"{self.unit!r}; aggregate the data to one row per person first"
            )

    def has_rows_of(self, other: "FrequencyTable") -> bool:
        """Return whether two grouped tables of one engine have equal columns, values and counts."""
        keys = [[[key(value) for value in dictionary] for dictionary in table.dictionaries] for table in (self, other)]
        return (
            self.columns == other.columns
            and keys[0] == keys[1]
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.counts, other.counts)
        )

    def project(self, columns: Sequence[str]) -> "FrequencyTable":
        """Keep some columns and merge the rows that become equal.

        With a unit this raises: rows of one person may merge, and only the source can count people again.
        """
        require_columns(columns, self.columns)
        if tuple(columns) == self.columns:
            return self
        if self.unit is not None:
            raise ParameterError(f"counts of distinct {self.unit!r} cannot be added; group the source again")
        positions = [self.columns.index(name) for name in columns]
        return _assemble(
            tuple(columns),
            [self.codes[:, p] for p in positions],
            [self.dictionaries[p] for p in positions],
            self.counts,
            None,
        )

    def recode(self, mappings: Mapping[str, tuple[npt.NDArray[np.integer], Dictionary]]) -> "FrequencyTable":
        """Replace columns' values (new code of each old code, new values) and merge the rows that become equal.

        Generalization by a hierarchy is a recoding. With a unit this raises, as `project` does.
        """
        if self.unit is not None:
            raise ParameterError(f"counts of distinct {self.unit!r} cannot be added; group the source again")
        columns, dictionaries = [], []
        for position, name in enumerate(self.columns):
            mapping, values = mappings.get(name, (None, self.dictionaries[position]))
            codes = self.codes[:, position]
            columns.append(codes if mapping is None else mapping.astype(np.int32)[codes])
            dictionaries.append(values)
        return FrequencyTable.from_columns(self.columns, columns, dictionaries, self.counts)

    def classes(self, quasi_identifiers: Sequence[str]) -> "Classes":
        """Divide the rows into equivalence classes: rows with equal quasi-identifiers.

        Raise if two values of a quasi-identifier look alike: an attacker would not tell their classes apart.
        """
        self.require_rows()
        require_columns(quasi_identifiers, self.columns, role="quasi_identifiers")
        positions = [self.columns.index(name) for name in quasi_identifiers]
        for position in positions:
            require_unambiguous_values(self.dictionaries[position], self.columns[position])
        packed, size = pack([self.codes[:, p] for p in positions], [self.cardinalities[p] for p in positions])
        members, first = group(packed, size)
        if self.unit is not None and len(first) != self.distinct:
            raise ParameterError(
                f"counts of distinct {self.unit!r} cannot be added; group by the quasi-identifiers alone"
            )
        return Classes(
            quasi_identifiers=tuple(quasi_identifiers),
            members=members,
            sizes=sum_by(members, self.counts, len(first)),
            example_rows=first,
        )

    def histograms(self, quasi_identifiers: Sequence[str], sensitive: str) -> "Histograms":
        """Count the sensitive values inside every class; raise if two of them look alike."""
        if sensitive in quasi_identifiers:
            raise ColumnError(f"column {sensitive!r} cannot be both a quasi-identifier and the sensitive column")
        self.require_one_row_a_person("a class histogram")
        table = self.project([*quasi_identifiers, sensitive])
        require_unambiguous_values(table.dictionaries[-1], sensitive)
        classes = table.classes(quasi_identifiers)
        order = np.argsort(classes.members, kind="stable")
        offsets = np.zeros(len(classes.sizes) + 1, dtype=np.int64)
        np.cumsum(np.bincount(classes.members, minlength=len(classes.sizes)), out=offsets[1:])
        return Histograms(
            table=table,
            classes=classes,
            offsets=offsets,
            values=table.codes[order, -1],
            counts=table.counts[order],
            dictionary=table.dictionaries[-1],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """The equivalence classes of a table: the class of each row, and the size of each class.

    With `repeats`, class i stands for `repeats[i]` classes of equal histograms, whose quasi-identifiers are not known.
    """

    quasi_identifiers: tuple[str, ...]
    members: Integers
    sizes: Integers
    example_rows: Integers
    repeats: Integers | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def number(self) -> int:
        """The number of classes of the table."""
        return len(self.sizes) if self.repeats is None else int(self.repeats.sum())

    @property
    def people(self) -> Integers:
        """The number of people in each class, or in all classes that it stands for."""
        return self.sizes if self.repeats is None else self.sizes * self.repeats


@dataclass(frozen=True, kw_only=True, eq=False)
class Histograms:
    """The counts of sensitive values in each class: class i has entries offsets[i] to offsets[i + 1]."""

    table: FrequencyTable
    classes: Classes
    offsets: Integers
    values: Codes
    counts: Integers
    dictionary: Dictionary = field(repr=False)

    @cached_property
    def entry_classes(self) -> Integers:
        """The class of each entry."""
        return np.repeat(np.arange(len(self.classes), dtype=np.int64), np.diff(self.offsets))

    @cached_property
    def totals(self) -> Integers:
        """The count of each sensitive value in the whole table."""
        return sum_by(self.values.astype(np.int64), self.people, len(self.dictionary))

    @cached_property
    def people(self) -> Integers:
        """The people of each entry, in all classes that its class stands for."""
        repeats = self.classes.repeats
        return self.counts if repeats is None else self.counts * repeats[self.entry_classes]


def merge(tables: Sequence[FrequencyTable]) -> FrequencyTable:
    """Add tables with the same columns, as if their rows came from one source."""
    if len(tables) == 1:
        return tables[0]
    if any(table.columns != tables[0].columns or table.unit is not None for table in tables):
        raise ParameterError("only tables with the same columns that count rows, not people, can be added")
    columns = tables[0].columns
    codes: list[npt.NDArray[np.int32]] = []
    raw: list[list[Value]] = []
    for position in range(len(columns)):
        starts = np.cumsum([0, *(table.cardinalities[position] for table in tables)])
        codes.append(np.concatenate([t.codes[:, position] + int(s) for t, s in zip(tables, starts, strict=False)]))
        raw.append([value for table in tables for value in table.dictionaries[position]])
    counts = np.concatenate([table.counts for table in tables])
    return FrequencyTable.from_columns(columns, codes, raw, counts)


def canonical_dictionary(raw: Iterable[Any]) -> tuple[Codes, Dictionary]:
    """Return the new position of each raw value, and the sorted canonical values."""
    values = list(raw)
    if not one_plain_type(values):
        values = [canonical(value) for value in values]
    if plainly_ordered(values):
        dictionary = tuple(sorted_values(set(values)))
        numbers: dict[Any, int] = {value: number for number, value in enumerate(dictionary)}
        return np.array([numbers[value] for value in values], dtype=np.int32), dictionary
    keys = [key(value) for value in values]  # they differ for values with equal hashes, such as True and 1
    dictionary = tuple(sorted_values(dict(zip(keys, values, strict=True)).values()))
    numbers = {key(value): number for number, value in enumerate(dictionary)}
    return np.array([numbers[each] for each in keys], dtype=np.int32), dictionary


def _assemble(
    columns: tuple[str, ...],
    codes: Sequence[npt.NDArray[np.integer]],
    dictionaries: Sequence[Dictionary],
    counts: Integers | None,
    unit: str | None,
) -> FrequencyTable:
    """Merge equal rows, sort them, and drop values that no longer occur."""
    packed, size = pack(codes, [len(dictionary) for dictionary in dictionaries])
    rows, totals = tally(packed, size, None if counts is None else _check_counts(counts, len(packed)))
    if unit is not None and len(rows) < len(packed):
        raise ParameterError(
            f"two groups of the engine mean the same value, so distinct {unit!r} cannot be added; "
            "store missing values in one form only"
        )
    matrix = np.empty((len(rows), len(columns)), dtype=np.int32, order="F")
    remaining = []
    for position, (column_codes, dictionary) in enumerate(zip(codes, dictionaries, strict=True)):
        selected = column_codes.take(rows)
        used = np.bincount(selected, minlength=len(dictionary)) > 0
        if used.all():
            matrix[:, position] = selected
            remaining.append(tuple(dictionary))
            continue
        matrix[:, position] = (np.cumsum(used) - 1)[selected]
        remaining.append(tuple(v for v, u in zip(dictionary, used, strict=True) if u))
    return FrequencyTable(columns=columns, codes=matrix, counts=totals, dictionaries=tuple(remaining), unit=unit)


def _check_counts(counts: Integers, rows: int) -> Integers:
    if len(counts) and (counts.dtype.kind not in "iu" or counts.min() < 1):
        raise ParameterError("counts must be whole numbers of at least 1; leave out rows that do not occur")
    if counts.sum(dtype=np.float64) >= _MAX_ROWS:
        raise ParameterError("counts add up to 2**62 rows or more, which cannot be computed exactly")
    if len(counts) != rows:
        raise ParameterError(f"every row needs a count; got {rows} rows and {len(counts)} counts")
    return counts.astype(np.int64, copy=False)
