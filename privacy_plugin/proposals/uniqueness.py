"""The share of people whom columns make unique, with few queries: every query reads the whole table."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from privacy_plugin.measuring.measure import Tables
from privacy_plugin.sources import Source
from privacy_plugin.sources.frequency_source import FrequencySource

_MOST_VALUES_COMPARED = 10_000  # columns with more values are not compared
_MOST_CELLS_HELD = 1_000_000  # larger tables are grouped by the engine for each query


class Uniqueness:
    """The share of people whom columns make unique; without a `unit`, every row is a person."""

    def __init__(self, source: Source, columns: Sequence[str], *, rows: int, unit: str | None) -> None:
        """Group once by all columns that later queries use."""
        self._source, self._rows, self._unit = source, rows, unit
        self._people = rows if unit is None else source.frequencies([unit]).distinct
        self._tables = Tables(_group(source, self._with_unit(columns), rows=rows) if columns else source)
        if columns:
            self._tables.frequencies(self._with_unit(columns))  # coarser tables derive from this one

    def share(self, columns: Sequence[str]) -> float:
        """Return the share of people whom these columns make unique together."""
        return self._share(self._tables, columns) if columns else 0.0

    def alone(self, columns: Sequence[str]) -> dict[str, float]:
        """Return the share of people whom each of these columns makes unique alone."""
        grouped = group_columns(self._source, columns, rows=self._rows, extra=self._with_unit([]))
        return {name: self._share(Tables(source), [name]) for name, source in grouped}

    def find_repeated(self, distinct: Mapping[str, int]) -> dict[str, str]:
        """Return {column: earlier column} where values correspond one to one, given the numbers of distinct values."""
        found: dict[str, str] = {}
        names = [name for name, number in distinct.items() if 2 < number <= _MOST_VALUES_COMPARED]
        for place, name in enumerate(names):
            similar = [one for one in names[:place] if distinct[one] == distinct[name] and one not in found]
            same = [one for one in similar if self._tables.frequencies([one, name]).distinct == distinct[name]]
            found.update((name, one) for one in same[:1])
        return found

    def _share(self, tables: Tables, columns: Sequence[str]) -> float:
        if self._unit is None:
            return int((tables.frequencies(columns).counts == 1).sum()) / self._people
        pairs = tables.frequencies([*columns, self._unit])  # a person with several rows may be alone in several classes
        members = pairs.classes(columns).members
        alone = np.bincount(members)[members] == 1
        return len(np.unique(pairs.codes[alone, -1])) / self._people

    def _with_unit(self, columns: Sequence[str]) -> list[str]:
        return [*columns] if self._unit is None else [*columns, self._unit]


def find_shares(
    columns: Sequence[str], share: Callable[[Sequence[str]], float], *, unchanged: float
) -> dict[str, float]:
    """Return `share([column])` for each column by bisection: a set without effect contains no column with one.

    This is correct if adding a column moves the share further from `unchanged`, or not at all.

    >>> find_shares(["a", "b", "c", "d"], lambda chosen: 1.0 if "d" in chosen else 0.5, unchanged=0.5)
    {'a': 0.5, 'b': 0.5, 'c': 0.5, 'd': 1.0}
    """
    if not columns:
        return {}
    found, middle = share(columns), len(columns) // 2
    if found == unchanged or len(columns) == 1:
        return dict.fromkeys(columns, found)
    halves = columns[:middle], columns[middle:]
    return {name: one for half in halves for name, one in find_shares(half, share, unchanged=unchanged).items()}


def group_columns(
    source: Source, columns: Sequence[str], *, rows: int, extra: Sequence[str] = ()
) -> Iterator[tuple[str, Source]]:
    """Yield each column with a source that is grouped by it and the `extra` columns; columns are grouped together."""
    width = max(1, _MOST_CELLS_HELD // rows - len(extra))
    for start in range(0, len(columns), width):
        part = columns[start : start + width]
        grouped = _group(source, [*part, *extra], rows=rows)
        yield from ((name, grouped) for name in part)


def _group(source: Source, columns: Sequence[str], *, rows: int) -> Source:
    """Return the source grouped by these columns if the groups surely fit in memory, else the source itself."""
    return source if rows * len(columns) > _MOST_CELLS_HELD else FrequencySource(source.frequencies(columns))
