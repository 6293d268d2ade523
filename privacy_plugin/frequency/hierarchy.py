"""Generalization hierarchies: what a value becomes at each level, from itself to `*`."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privacy_plugin.description import ColumnLevel
from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.grouping import Codes
from privacy_plugin.frequency.table import canonical_dictionary
from privacy_plugin.frequency.values import SUPPRESSED, Value, canonical, label

_MAX_NAMED = 10


class Hierarchy(ABC):
    """A generalization hierarchy of one column: level 0 is the value itself, `height` the most general level.

    A missing value is a category of its own: unless the hierarchy lists it, it stays missing up to the last
    level and becomes `*` there. An already suppressed value stays `*` on every level.
    """

    @property
    @abstractmethod
    def height(self) -> int:
        """The number of levels above the original values."""

    @property
    def top(self) -> int:
        """The level of the root: `height`, unless lower levels repeat the root."""
        return self.height

    @property
    def meeting(self) -> int:
        """The lowest level on which all values are equal, whatever their label; `height` if there is none."""
        return self.height

    @property
    def covers(self) -> str:
        """A description of the covered values, for errors about values that are not covered."""
        return "the listed values"

    @abstractmethod
    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return what a value becomes on levels 1 to `height`, or None if the hierarchy does not cover it."""

    @property
    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """Return plain data for a policy, from which the same hierarchy can be built."""

    def describe_level(self, level: int) -> str:
        """Describe what a level does by its rule, never by a value of the data.

        >>> from privacy_plugin.frequency.hierarchy_builders import mask_hierarchy
        >>> mask_hierarchy(length=5).describe_level(3)
        'codes with 3 of 5 characters masked, from the right'
        """
        self._require_level(level)
        if level == 0:
            return "unchanged"
        return "all removed: *" if level == self.height else self._describe_rule(level)

    def _describe_rule(self, level: int) -> str:
        return f"level {level} of {self.height}"

    def generalize(self, value: object, level: int) -> Value:
        """Return what one value becomes on a level.

        >>> from privacy_plugin.frequency.hierarchy_builders import mask_hierarchy
        >>> mask = mask_hierarchy(length=3)
        >>> [mask.generalize("123", level) for level in range(4)]
        ['123', '12*', '1**', '*']
        """
        self._require_level(level)
        plain = canonical(value)
        if level == 0:
            return plain
        path = self.path_of(plain)
        if path is None:
            raise HierarchyError("the hierarchy does not cover the given value")
        return path[level - 1]

    def levels(self, values: Sequence[Value], *, column: str = "", reveal: bool = False) -> "Levels":
        """Apply the hierarchy to the values of a column; raise if it does not cover or coarsen them.

        The error gives the number of uncovered values; with `reveal` also the values.
        """
        paths = [self.path_of(value) for value in values]
        missing = [value for value, path in zip(values, paths, strict=True) if path is None]
        if missing:
            raise HierarchyError(_describe_uncovered(column, missing, self.covers, reveal=reveal))
        maps: list[Codes] = [np.arange(len(values), dtype=np.int32)]
        dictionaries: list[tuple[Value, ...]] = [tuple(values)]
        for level in range(1, self.height + 1):
            codes, dictionary = canonical_dictionary(path[level - 1] for path in paths if path is not None)
            maps.append(codes)
            dictionaries.append(dictionary)
        levels = Levels(maps=np.array(maps, dtype=np.int32), dictionaries=tuple(dictionaries))
        levels.require_coarsening(column)
        return levels

    def path_of(self, value: Value) -> tuple[Value, ...] | None:
        """Return what a value becomes, as `path` does, also for missing and suppressed values that are not listed."""
        path = self.path(value)
        if path is None and value == SUPPRESSED:
            return (SUPPRESSED,) * self.height
        if path is None and value is None:
            return (None,) * (self.height - 1) + (SUPPRESSED,) if self.height else ()
        return path

    def _require_level(self, level: int) -> None:
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= self.height:
            raise ParameterError(f"level must be a whole number from 0 to {self.height}, not {level!r}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """A hierarchy applied to a column's values: `maps[level, code]` is the code in `dictionaries[level]`."""

    maps: Codes
    dictionaries: tuple[tuple[Value, ...], ...] = field(repr=False)

    @property
    def height(self) -> int:
        """The number of levels above the original values."""
        return len(self.dictionaries) - 1

    def require_coarsening(self, column: str) -> None:
        """Raise if a level separates values that the level below has merged."""
        for level in range(1, self.height + 1):
            below, here = self.maps[level - 1], self.maps[level]
            pairs = len({*zip(below.tolist(), here.tolist(), strict=True)})
            if pairs != len(set(below.tolist())):
                where = f" of column {column!r}" if column else ""
                raise HierarchyError(
                    f"level {level} of the hierarchy{where} separates values that level {level - 1} has merged; "
                    "every level must coarsen the one below"
                )


class TableHierarchy(Hierarchy):
    """A hierarchy that lists every value, as `value;level1;...;*` files do.

    `learned_from`: the column whose values shaped its groups, None where no data did.
    """

    def __init__(self, paths: Mapping[Value, Sequence[Value]], *, learned_from: str | None = None) -> None:
        """Take the path of each value through levels 1 and up; all paths need the same length."""
        if learned_from is not None and not isinstance(learned_from, str):
            raise HierarchyError("a learned hierarchy must name the column it was learned from")
        self.learned_from = learned_from
        heights = {len(path) for path in paths.values()}
        if not paths or len(heights) != 1:
            given = f"between {min(heights)} and {max(heights)}" if heights else "no values"
            raise HierarchyError(f"every value needs the same number of levels; this hierarchy has {given}")
        self._height = heights.pop()
        self._values = tuple(canonical(value) for value in paths)
        listed = [tuple(canonical(item) for item in path) for path in paths.values()]
        self._paths = {_lookup(value): path for value, path in zip(self._values, listed, strict=True)}
        if len(self._paths) != len(paths):
            raise HierarchyError("a value is listed more than once in the hierarchy")
        self.levels(self._values)

    @property
    def height(self) -> int:
        """The number of levels above the original values."""
        return self._height

    @property
    def top(self) -> int:
        """The level of the root: the lowest level equal to the last one, if that has a single label; else `height`."""
        labels = self._labels
        return labels.index(labels[-1]) + 1 if labels and len(labels[-1]) == 1 else self._height

    @property
    def meeting(self) -> int:
        """The lowest level on which all values are equal, whatever their label; `height` if there is none."""
        return next((level for level, found in enumerate(self._labels, start=1) if len(found) == 1), self._height)

    @property
    def _labels(self) -> list[set[Value]]:
        """The labels of every level from the first on."""
        return [set(level) for level in zip(*self._paths.values(), strict=True)]

    @property
    def values(self) -> tuple[Value, ...]:
        """The listed values."""
        return self._values

    def describe_level(self, level: int) -> str:
        """Describe a level by its number of groups."""
        self._require_level(level)
        if level == 0:
            return "unchanged"
        groups = self._labels[level - 1]
        return (
            "all removed: *" if groups == {SUPPRESSED} else f"{len(groups)} groups of {len(self._values)} listed values"
        )

    @property
    def specification(self) -> dict[str, Any]:
        """Return the hierarchy as plain data: one line for each value, in an order independent of the input."""
        lines = [[value, *self._paths[_lookup(value)]] for value in sorted(self._values, key=_lookup)]
        table = [[None if item is None else label(item) for item in line] for line in lines]
        if self.learned_from is not None:
            return {"learned": {"from": self.learned_from, "table": table}}
        return {"table": table}

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return the path of a value; 39, 39.0 and "39" have the same path, and so have true and "True"."""
        return self._paths.get(_lookup(value))


def column_levels(levels: Mapping[str, int], hierarchies: Mapping[str, Hierarchy]) -> tuple[ColumnLevel, ...]:
    """Return the level of every column with its height and its meaning."""
    return tuple(
        ColumnLevel(
            column=name,
            level=level,
            height=hierarchies[name].height,
            meaning=hierarchies[name].describe_level(level),
        )
        for name, level in levels.items()
    )


def _lookup(value: Value) -> str:
    """Return the key of a value: files contain text only, and write booleans in either case."""
    text = label(value)
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def _describe_uncovered(column: str, missing: Iterable[Value], covers: str, *, reveal: bool) -> str:
    values = list(missing)
    where = f" of column {column!r}" if column else ""
    message = f"the hierarchy does not cover {len(values):,} value(s){where}: it covers {covers}"
    if not reveal:
        hint = (
            "to list them use hierarchy.levels(values, reveal=True), generalize(..., reveal=True) or anonymize --reveal"
        )
        return f"{message}; {hint}"
    named = ", ".join(repr(label(value)) for value in values[:_MAX_NAMED])
    more = f" and {len(values) - _MAX_NAMED} more" if len(values) > _MAX_NAMED else ""
    return f"{message}; not covered: {named}{more}"
