"""How many people columns make unique, found out with few questions: an engine reads all columns to answer one."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from privacy_plugin.measuring.measure import Tables
from privacy_plugin.sources import Source
from privacy_plugin.sources.frequency_source import FrequencySource

_MOST_VALUES_COMPARED = 10_000  # of a column, to see whether it repeats another
_MOST_CELLS_HELD = 1_000_000  # of more, an engine hands over the groups that are asked for, and no others


class Uniqueness:
    """The shares of people whom columns make unique; with a `unit`, people are counted by it, else rows are."""

    def __init__(self, source: Source, columns: Sequence[str], *, rows: int, unit: str | None) -> None:
        """Take the columns that will be asked for together: they are grouped once."""
        self._source, self._rows, self._unit = source, rows, unit
        self._people = rows if unit is None else source.frequencies([unit]).distinct
        self._tables = Tables(_held(source, self._beside_unit(columns), rows=rows) if columns else source)
        if columns:
            self._tables.frequencies(self._beside_unit(columns))  # the others are made from this one

    def share(self, columns: Sequence[str]) -> float:
        """Return the share of people whom these columns make unique together."""
        return self._share(self._tables, columns) if columns else 0.0

    def alone(self, columns: Sequence[str]) -> dict[str, float]:
        """Return the share of people whom each of these columns makes unique alone."""
        held = held_by_column(self._source, columns, rows=self._rows, beside=self._beside_unit([]))
        return {name: self._share(Tables(source), [name]) for name, source in held}

    def same(self, distinct: Mapping[str, int]) -> dict[str, str]:
        """Return, for columns that repeat an earlier one value by value, that column; given their distinct values."""
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
        pairs = tables.frequencies([*columns, self._unit])  # a person of several rows may be alone in several classes
        members = pairs.classes(columns).members
        alone = np.bincount(members)[members] == 1
        return len(np.unique(pairs.codes[alone, -1])) / self._people

    def _beside_unit(self, columns: Sequence[str]) -> list[str]:
        return [*columns] if self._unit is None else [*columns, self._unit]


def share_of_each(
    columns: Sequence[str], share: Callable[[Sequence[str]], float], *, unchanged: float
) -> dict[str, float]:
    """Return what `share` says of each column, asking about many at once: many that change nothing hold none that does.

    So it is where each column more moves the share further from `unchanged`, or not at all.

    >>> share_of_each(["a", "b", "c", "d"], lambda chosen: 1.0 if "d" in chosen else 0.5, unchanged=0.5)
    {'a': 0.5, 'b': 0.5, 'c': 0.5, 'd': 1.0}
    """
    if not columns:
        return {}
    found, middle = share(columns), len(columns) // 2
    if found == unchanged or len(columns) == 1:
        return dict.fromkeys(columns, found)
    halves = columns[:middle], columns[middle:]
    return {name: one for half in halves for name, one in share_of_each(half, share, unchanged=unchanged).items()}


def held_by_column(
    source: Source, columns: Sequence[str], *, rows: int, beside: Sequence[str] = ()
) -> Iterator[tuple[str, Source]]:
    """Yield each column with the source to ask about it, and about those `beside` it; many are grouped together."""
    width = max(1, _MOST_CELLS_HELD // rows - len(beside))
    for start in range(0, len(columns), width):
        part = columns[start : start + width]
        held = _held(source, [*part, *beside], rows=rows)
        yield from ((name, held) for name in part)


def _held(source: Source, columns: Sequence[str], *, rows: int) -> Source:
    """Group the source by all these columns at once, if the groups fit in memory even where no two rows are equal."""
    return source if rows * len(columns) > _MOST_CELLS_HELD else FrequencySource(source.frequencies(columns))
