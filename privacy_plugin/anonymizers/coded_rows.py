"""Rows as codes of declared domains, as tables of one and two columns, and as sets of items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, TooLargeError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import Value, canonical, key

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
_MOST_CELLS = 4_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedRows:
    """Distinct rows in codes of known domains; `given` is the column that every table is crossed with."""

    names: tuple[str, ...]
    domains: tuple[tuple[Value, ...], ...] = field(repr=False)
    codes: Integers = field(repr=False)
    counts: Integers = field(repr=False)
    given: str | None
    given_domain: tuple[Value, ...] = field(repr=False)
    given_codes: Integers = field(repr=False)
    order: tuple[str, ...]
    undeclared: tuple[str, ...]

    @classmethod
    def of(
        cls, table: FrequencyTable, *, given: str | None, domains: Mapping[str, Sequence[Any]] | None
    ) -> "CodedRows":
        """Code a table by the declared domains; a column without one by the values that occur."""
        table.require_rows()
        table.require_one_row_a_person("synthesis")
        known = {name: declared_domain(table, name, domains) for name in table.columns}
        if given is not None:
            require_columns([given], table.columns, role="given")
        names = tuple(name for name in table.columns if name != given)
        if not names:
            raise ColumnError("the given column is the only column; name at least one more")
        found = cls(
            names=names,
            domains=tuple(known[name] for name in names),
            codes=np.stack([_coded(table, name, known[name]) for name in names], axis=1),
            counts=table.counts,
            given=given,
            given_domain=known[given] if given is not None else (None,),
            given_codes=(
                _coded(table, given, known[given]) if given is not None else np.zeros(table.distinct, dtype=np.int64)
            ),
            order=table.columns,
            undeclared=tuple(name for name in table.columns if name not in (domains or {})),
        )
        sizes = sorted((len(domain) for domain in found.domains), reverse=True)
        cells = len(found.given_domain) * sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
        if cells > _MOST_CELLS:
            raise TooLargeError(
                f"a table of two columns has {cells:,} cells, more than {_MOST_CELLS:,}; group values into intervals"
            )
        return found

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        found = ["the number of rows is public"]
        if self.undeclared:
            names = ", ".join(self.undeclared)
            found.append(f"the values that occur in each column are public (no domain was declared for {names})")
        return tuple(found)

    @property
    def columns(self) -> int:
        """The number of columns without the given one."""
        return len(self.names)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values that each column may have."""
        return tuple(len(domain) for domain in self.domains)

    def planes(self) -> Integers:
        """Count the values of the given column."""
        return self._counted(self.given_codes, len(self.given_domain))

    def ones(self, column: int) -> Integers:
        """Count the values of a column, crossed with the given one."""
        shape = len(self.given_domain), len(self.domains[column])
        return self._counted(self.given_codes * shape[1] + self.codes[:, column], shape[0] * shape[1]).reshape(shape)

    def pairs(self, first: int, second: int) -> Integers:
        """Count the pairs of values of two columns, crossed with the given one."""
        shape = len(self.given_domain), len(self.domains[first]), len(self.domains[second])
        cells = (self.given_codes * shape[1] + self.codes[:, first]) * shape[2] + self.codes[:, second]
        return self._counted(cells, shape[0] * shape[1] * shape[2]).reshape(shape)

    def decoded(self, planes: Integers, codes: Integers) -> FrequencyTable:
        """Return generated codes as a frequency table with the columns of the original, in its order."""
        columns = {name: (codes[:, at], self.domains[at]) for at, name in enumerate(self.names)}
        if self.given is not None:
            columns[self.given] = planes, self.given_domain
        return FrequencyTable.from_columns(
            self.order,
            [columns[name][0] for name in self.order],
            [columns[name][1] for name in self.order],
            np.ones(len(codes), dtype=np.int64),
        )

    def _counted(self, cells: Integers, length: int) -> Integers:
        # Floating point counts exactly up to 2^53 rows.
        return np.bincount(cells, weights=self.counts, minlength=length).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowItems:
    """Coded rows as sets of items: an item is a column with a value, and missing values are not items.

    Items are numbered column by column, in the order of the domains.
    """

    rows: CodedRows

    @cached_property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        """The values of each column that are items."""
        return tuple(tuple(value for value in domain if value is not None) for domain in self.rows.domains)

    @cached_property
    def codes(self) -> Integers:
        """Distinct rows x columns: the position of the value among its column's items, -1 if it is missing."""
        found = np.full(self.rows.codes.shape, -1, dtype=np.int64)
        for column, domain in enumerate(self.rows.domains):
            present = np.array([value is not None for value in domain])
            found[:, column] = np.where(present, np.cumsum(present) - 1, -1)[self.rows.codes[:, column]]
        return found

    @cached_property
    def transactions(self) -> dict[str, Any]:
        """The rows as the miners take them: items, offsets, counts."""
        present = self.codes >= 0
        offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        items = (self.codes + self._first[:-1])[present]
        return {"items": items, "offsets": offsets, "counts": self.rows.counts}

    def places(self, items: Integers | Sequence[int]) -> list[tuple[int, int]]:
        """Return the (column, place among its items) of item numbers."""
        numbers = np.asarray(items, dtype=np.int64)
        columns = np.searchsorted(self._first, numbers, side="right") - 1
        return list(zip(columns.tolist(), (numbers - self._first[columns]).tolist(), strict=True))

    def named(self, places: Sequence[tuple[int, int]]) -> dict[str, Value]:
        """Return items by the names of their columns."""
        return {self.rows.names[column]: self.values[column][place] for column, place in places}

    @cached_property
    def _first(self) -> Integers:
        return np.concatenate([[0], np.cumsum([len(values) for values in self.values])]).astype(np.int64)


def declared_domain(table: FrequencyTable, name: str, domains: Mapping[str, Sequence[Any]] | None) -> tuple[Value, ...]:
    """Return the domain of a column: the declared values, which must cover the data, or those that occur."""
    if domains is None or name not in domains:
        return table.dictionary(name)
    if isinstance(domains[name], str):  # would be read character by character
        raise ColumnError(f"the domain of column {name!r} must be a list of values, not a string")
    declared = [canonical(value) for value in domains[name]]
    keys = {key(value) for value in declared}
    if len(keys) != len(declared) or not declared:
        raise ColumnError(f"the domain of column {name!r} must list each of its values once")
    outside = sum(key(value) not in keys for value in table.dictionary(name))
    if outside:
        raise ColumnError(
            f"column {name!r} has {outside} values outside its declared domain; add them, or recode them first"
        )
    return tuple(declared)


def _coded(table: FrequencyTable, name: str, domain: tuple[Value, ...]) -> Integers:
    positions = {key(value): code for code, value in enumerate(domain)}
    to_domain = np.array([positions[key(value)] for value in table.dictionary(name)], dtype=np.int64)
    found: Integers = to_domain[table.column_codes(name)]
    return found
