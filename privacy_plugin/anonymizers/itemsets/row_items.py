"""Coded rows as sets of items: an item is a column with a value, and a missing value is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.coded_rows import CodedRows, Integers
from privacy_plugin.frequency.values import Value


@dataclass(frozen=True, kw_only=True, eq=False)
class RowItems:
    """Items are numbered column by column, in the order of the domains."""

    rows: CodedRows

    @cached_property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        """The values of each column that are items."""
        return tuple(tuple(value for value in domain if value is not None) for domain in self.rows.domains)

    @cached_property
    def codes(self) -> Integers:
        """Distinct rows x columns: the place of the value among its column's items, -1 where it is missing."""
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
