"""Generalization hierarchies: what a value becomes at each level, from itself to `*`."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.grouping import Codes
from privacy_plugin.frequency.table import canonical_dictionary
from privacy_plugin.frequency.values import SUPPRESSED, Value, canonical, label

_NAMED_AT_MOST = 10


class Hierarchy(ABC):
    """A generalization hierarchy of one column: level 0 is the value itself, `height` the most general level.

    A missing value is a category of its own: unless the hierarchy lists it, it stays missing up to the last
    level and becomes `*` there. An already suppressed value stays `*` on every level.
    """

    @property
    @abstractmethod
    def height(self) -> int:
        """How many levels lie above the original values."""

    @property
    def top(self) -> int:
        """The level of the root: `height`, unless the root is written out on levels below it too."""
        return self.height

    @property
    def meeting(self) -> int:
        """The lowest level on which all values are one, whatever it is called there; `height` if there is none."""
        return self.height

    @property
    def covers(self) -> str:
        """What it covers, in words: whoever meets a value outside learns from them what to mend."""
        return "the values that it lists"

    @abstractmethod
    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return what a value becomes on levels 1 to `height`, or None where the hierarchy does not cover it."""

    @property
    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """Return plain data that a policy can write and that builds the same hierarchy again."""

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
        path = self._path_or_default(plain)
        if path is None:
            raise HierarchyError("the hierarchy does not cover the value that was given")
        return path[level - 1]

    def levels(self, values: Sequence[Value], *, column: str = "", reveal: bool = False) -> "Levels":
        """Lay the hierarchy over the values of a column, checking that it covers and coarsens.

        Raises HierarchyError with the number of uncovered values; their names only with `reveal`.
        """
        paths = [self._path_or_default(value) for value in values]
        missing = [value for value, path in zip(values, paths, strict=True) if path is None]
        if missing:
            raise HierarchyError(_uncovered(column, missing, self.covers, reveal=reveal))
        maps: list[Codes] = [np.arange(len(values), dtype=np.int32)]
        dictionaries: list[tuple[Value, ...]] = [tuple(values)]
        for level in range(1, self.height + 1):
            codes, dictionary = canonical_dictionary(path[level - 1] for path in paths if path is not None)
            maps.append(codes)
            dictionaries.append(dictionary)
        levels = Levels(maps=np.array(maps, dtype=np.int32), dictionaries=tuple(dictionaries))
        levels.require_coarsening(column)
        return levels

    def _path_or_default(self, value: Value) -> tuple[Value, ...] | None:
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
    """A hierarchy laid over a column's values: `maps[level, code]` is the code in `dictionaries[level]`."""

    maps: Codes
    dictionaries: tuple[tuple[Value, ...], ...] = field(repr=False)

    @property
    def height(self) -> int:
        """How many levels lie above the original values."""
        return len(self.dictionaries) - 1

    def require_coarsening(self, column: str) -> None:
        """Refuse a level that separates values which the level below has put together."""
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
    """A hierarchy given value by value, as the common `value;level1;...;*` files have it."""

    def __init__(self, paths: Mapping[Value, Sequence[Value]]) -> None:
        """Take what each value becomes on levels 1 and up; every value needs the same number of levels."""
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
        """How many levels lie above the original values."""
        return self._height

    @property
    def top(self) -> int:
        """The level of the root: the lowest that says of every value what the last one says of all, else `height`."""
        said = self._said
        return said.index(said[-1]) + 1 if said and len(said[-1]) == 1 else self._height

    @property
    def meeting(self) -> int:
        """The lowest level on which all values are one, whatever it is called there; `height` if there is none."""
        return next((level for level, labels in enumerate(self._said, start=1) if len(labels) == 1), self._height)

    @property
    def _said(self) -> list[set[Value]]:
        """What every level from the first on says of all values."""
        return [set(level) for level in zip(*self._paths.values(), strict=True)]

    @property
    def values(self) -> tuple[Value, ...]:
        """The values the hierarchy lists."""
        return self._values

    @property
    def specification(self) -> dict[str, Any]:
        """Return the hierarchy as plain data: a line a value, in an order that does not depend on how it was given."""
        lines = [[value, *self._paths[_lookup(value)]] for value in sorted(self._values, key=_lookup)]
        return {"table": [[None if item is None else label(item) for item in line] for line in lines]}

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return what a value becomes; 39, 39.0 and "39" find the same line, true and "True" too."""
        return self._paths.get(_lookup(value))


def _lookup(value: Value) -> str:
    """The text under which a value is found: files have text only, and write booleans in either case."""
    text = label(value)
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def _uncovered(column: str, missing: Iterable[Value], covers: str, *, reveal: bool) -> str:
    values = list(missing)
    where = f" of column {column!r}" if column else ""
    told = f"the hierarchy does not cover {len(values):,} value(s){where}: it covers {covers}"
    if not reveal:
        ask = "hierarchy.levels(values, reveal=True), generalize(..., reveal=True) and anonymize --reveal name them"
        return f"{told}; {ask}"
    named = ", ".join(repr(label(value)) for value in values[:_NAMED_AT_MOST])
    more = f" and {len(values) - _NAMED_AT_MOST} more" if len(values) > _NAMED_AT_MOST else ""
    return f"{told}; not covered: {named}{more}"
