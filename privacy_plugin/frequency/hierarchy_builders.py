"""Hierarchies that follow a rule: intervals of numbers, masked codes, dates, trees."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.numbers import as_number, exact, written
from privacy_plugin.frequency.values import SUPPRESSED, Value, canonical, label

Number = int | float | Decimal | Fraction

_MOST_INTERVALS = 100_000


class IntervalHierarchy(Hierarchy):
    """Numbers grouped into half-open intervals [a, b), each level joining intervals of the one below."""

    def __init__(self, boundaries: Sequence[Sequence[Number]], *, open_ends: bool) -> None:
        """Take the sorted boundaries of each level; with `open_ends` values outside are covered too."""
        self._cuts = [[exact(cut) for cut in level] for level in boundaries]
        self._open_ends = open_ends
        for number, cuts in enumerate(self._cuts, start=1):
            if len(cuts) < 2 or any(a >= b for a, b in pairwise(cuts)):
                raise HierarchyError(f"level {number} needs at least two boundaries in ascending order")
            if number > 1 and not set(cuts) <= set(self._cuts[number - 2]):
                raise HierarchyError(f"level {number} has a boundary that level {number - 1} lacks")

    @property
    def height(self) -> int:
        """The number of levels above the original values: the interval levels and `*`."""
        return len(self._cuts) + 1

    @property
    def specification(self) -> dict[str, Any]:
        """Return the boundaries as plain data."""
        boundaries = [[written(cut) for cut in cuts] for cuts in self._cuts]
        return {"intervals": {"boundaries": boundaries, "open_ends": self._open_ends}}

    @property
    def covers(self) -> str:
        """Numbers; with closed ends only those between the ends."""
        numbers = "numbers, as text with a decimal point"
        return numbers if self._open_ends else f"{numbers}, from its first boundary to below its last"

    @property
    def representatives(self) -> tuple[Value, ...]:
        """One number of every interval of the finest level, and one below and above where the ends are open."""
        cuts = self._cuts[0]
        numbers = [cuts[0] - 1, *cuts] if self._open_ends else cuts[:-1]
        return tuple(canonical(number) for number in numbers)

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return the intervals of a number, or None for other text and numbers outside."""
        number = as_number(value)
        if number is None:
            return None
        found = [self._interval(number, cuts) for cuts in self._cuts]
        return None if None in found else (*found, SUPPRESSED)

    def _describe_rule(self, level: int) -> str:
        cuts = self._cuts[level - 1]
        widths = {b - a for a, b in pairwise(cuts)}
        return f"intervals of width {float(widths.pop()):g}" if len(widths) == 1 else f"{len(cuts) - 1} intervals"

    def _interval(self, number: Fraction, cuts: list[Fraction]) -> str | None:
        position = bisect_right(cuts, number)
        if position == 0:
            return f"<{written(cuts[0])}" if self._open_ends else None
        if position == len(cuts):
            return f">={written(cuts[-1])}" if self._open_ends else None
        return f"[{written(cuts[position - 1])}, {written(cuts[position])})"


def interval_hierarchy(
    *,
    boundaries: Sequence[Sequence[Number]] | None = None,
    start: Number | None = None,
    stop: Number | None = None,
    widths: Sequence[Number] | None = None,
    open_ends: bool = True,
) -> IntervalHierarchy:
    """Group numbers into half-open intervals [a, b) of growing width, `*` on top.

    Give either the `boundaries` of every level, or `start`, `stop` and the `widths` of the levels (each a
    multiple of the one before). With `open_ends` values outside become `<start` and `>=stop`; without them
    they are not covered. A value on a boundary belongs to the interval that begins there. Floating-point
    boundaries are read as they are written (0.1 is one tenth).

    >>> ages = interval_hierarchy(start=0, stop=100, widths=[5, 20])
    >>> [ages.generalize(39, level) for level in range(4)]
    [39, '[35, 40)', '[20, 40)', '*']
    >>> ages.generalize(100, 1)
    '>=100'
    """
    if boundaries is None:
        if start is None or stop is None or not widths:
            raise ParameterError("give either boundaries, or start, stop and widths")
        begin, end = exact(start, what="start"), exact(stop, what="stop")
        boundaries = [_grid(begin, end, exact(width, what="a width")) for width in widths]
    elif start is not None or stop is not None or widths is not None:
        raise ParameterError("give either boundaries, or start, stop and widths, not both")
    if not boundaries or any(isinstance(level, str) or not isinstance(level, Sequence) for level in boundaries):
        raise ParameterError("boundaries must be a list of levels, each a list of numbers")
    if not isinstance(open_ends, bool):
        raise ParameterError(f"open_ends must be true or false, not {type(open_ends).__name__}")
    return IntervalHierarchy(boundaries, open_ends=open_ends)


class MaskHierarchy(Hierarchy):
    """Codes whose characters are masked from one end, more of them on each level."""

    def __init__(self, *, length: int, from_right: bool, character: str, levels: Sequence[int] | None = None) -> None:
        """Take the length of the longest code, and how many characters each level masks (default: 1, 2, ...)."""
        self._length, self._from_right, self._character = length, from_right, character
        self._levels = None if levels is None else tuple(levels)
        self._masked_characters = tuple(range(1, length)) if levels is None else tuple(levels)

    @property
    def height(self) -> int:
        """The number of levels above the original values: those that mask some characters, and `*`."""
        return len(self._masked_characters) + 1

    @property
    def specification(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        levels = {} if self._levels is None else {"levels": list(self._levels)}
        return {
            "mask": {"length": self._length, "from_right": self._from_right, "character": self._character, **levels}
        }

    @property
    def character(self) -> str:
        """The character that masks."""
        return self._character

    @property
    def covers(self) -> str:
        """Codes up to a length."""
        return f"codes of 1 to {self._length} characters"

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return the code with 1, 2, ... characters masked; shorter codes are padded, longer not covered."""
        text = label(value)
        if value is None or value == SUPPRESSED or not 0 < len(text) <= self._length:
            return None
        pad = self._character * (self._length - len(text))
        padded = text + pad if self._from_right else pad + text
        return (*(self._masked(padded, count) for count in self._masked_characters), SUPPRESSED)

    def _describe_rule(self, level: int) -> str:
        side = "right" if self._from_right else "left"
        return f"codes with {self._masked_characters[level - 1]} of {self._length} characters masked, from the {side}"

    def _masked(self, text: str, count: int) -> str:
        mask = self._character * count
        return text[: len(text) - count] + mask if self._from_right else mask + text[count:]


def mask_hierarchy(
    *, length: int, from_right: bool = True, character: str = "*", levels: Sequence[int] | None = None
) -> MaskHierarchy:
    """Mask one more character on each level, as for postcodes; the last level is `*`.

    `levels` says how many characters each level masks, where not every number makes a useful level.

    >>> mask_hierarchy(length=5).generalize("02138", 2)
    '021**'
    >>> mask_hierarchy(length=5, levels=[2, 4]).generalize("02138", 2)
    '0****'
    """
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ParameterError(f"length must be a whole number of at least 1, not {length!r}")
    if not isinstance(character, str) or len(character) != 1:
        raise ParameterError("character must be a single character")
    if not isinstance(from_right, bool):
        raise ParameterError(f"from_right must be true or false, not {type(from_right).__name__}")
    if levels is not None and (
        isinstance(levels, str)
        or not isinstance(levels, Sequence)
        or any(isinstance(count, bool) or not isinstance(count, int) for count in levels)
        or any(a >= b for a, b in pairwise([0, *levels, length]))
    ):
        raise ParameterError(f"levels must be ascending whole numbers from 1 to {length - 1}")
    return MaskHierarchy(length=length, from_right=from_right, character=character, levels=levels)


class FlatHierarchy(Hierarchy):
    """Any value, and `*` above it."""

    @property
    def height(self) -> int:
        """One level lies above the original values."""
        return 1

    @property
    def specification(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {"flat": {}}

    @property
    def covers(self) -> str:
        """Any value."""
        return "any value"

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return `*`; a missing value becomes `*` too, as in every hierarchy."""
        return (SUPPRESSED,)


def flat_hierarchy() -> FlatHierarchy:
    """Keep a value or replace it by `*`, with nothing in between: where no groups are known.

    >>> [flat_hierarchy().generalize("plumber", level) for level in (0, 1)]
    ['plumber', '*']
    """
    return FlatHierarchy()


_DAY, _TIME = ("%d", "%m", "%Y"), ("%H", "%M", "%S")
_DATE_LEVELS = ("day", "month", "quarter", "year", "decade", "century")


class DateHierarchy(Hierarchy):
    """Dates cut to coarser and coarser periods."""

    def __init__(self, periods: Sequence[str], *, written_as: str | None = None) -> None:
        """Take the periods of levels 1 and up, finest first, and the format of dates in text if it is not ISO."""
        self._periods, self._format = tuple(periods), written_as

    @property
    def height(self) -> int:
        """The number of levels above the original values: the periods and `*`."""
        return len(self._periods) + 1

    @property
    def specification(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {"dates": {"levels": list(self._periods), **({"format": self._format} if self._format else {})}}

    @property
    def covers(self) -> str:
        """Dates, and text in the date format."""
        example = date(1984, 2, 29).strftime(self._format or "%Y-%m-%d")
        return f"dates, and text like {example} (set `format` for other text)"

    def _describe_rule(self, level: int) -> str:
        return f"the {self._periods[level - 1]}"

    def path(self, value: Value) -> tuple[Value, ...] | None:
        """Return the periods of a date, also of text in the format; other values are not covered."""
        day = _as_date(value, self._format)
        return None if day is None else (*(_period(day, name) for name in self._periods), SUPPRESSED)


def date_hierarchy(*, levels: Sequence[str] = ("month", "year", "decade"), format: str | None = None) -> DateHierarchy:
    """Generalize dates to periods: day, month, quarter, year, decade, century; `*` on top.

    Text is a date if it is ISO (1984-02-29), or in the `format`: %d, %m and %Y once each, %H, %M and %S if there is a
    time. Names of months and two-digit years are ambiguous and not supported. A moment with a time zone belongs to its
    day in UTC, also in text; if local days matter, store those.

    >>> date_hierarchy(format="%d.%m.%Y").generalize("29.02.1984", 1)
    '1984-02'
    >>> from datetime import date
    >>> [date_hierarchy().generalize(date(1984, 2, 29), level) for level in (1, 2, 3, 4)]
    ['1984-02', '1984', '1980s', '*']
    """
    unknown = [name for name in levels if name not in _DATE_LEVELS]
    if unknown or not levels or isinstance(levels, str):
        given = ", ".join(map(str, levels)) or "none"
        raise ParameterError(f"levels must be a list of some of {', '.join(_DATE_LEVELS)}; given: {given}")
    order = [_DATE_LEVELS.index(name) for name in levels]
    if order != sorted(set(order)):
        raise ParameterError("levels must go from fine to coarse, each once")
    if format is not None:
        _require_format(format)
    return DateHierarchy(levels, written_as=format)


def _require_format(given: object) -> None:
    parts = re.findall(r"%.?", given) if isinstance(given, str) else []
    day, time = [part for part in parts if part in _DAY], [part for part in parts if part not in _DAY]
    if sorted(day) != sorted(_DAY) or not set(time) <= set(_TIME) or len(set(time)) != len(time):
        raise ParameterError("format must hold %d, %m and %Y once each, may hold %H, %M and %S, such as %d.%m.%Y")


def tree_hierarchy(
    tree: Mapping[str, object] | Sequence[object], *, root: str = SUPPRESSED, learned_from: str | None = None
) -> TableHierarchy:
    """Build a hierarchy from nested groups; shallow branches repeat their last group.

    A tree that names its root gets no second one. `learned_from`: the column whose values shaped the groups, if any.

    >>> tree = {"respiratory": ["flu", "cold"], "chronic": {"heart": ["angina"]}}
    >>> diseases = tree_hierarchy(tree)
    >>> [diseases.generalize("flu", level) for level in range(4)]
    ['flu', 'respiratory', 'respiratory', '*']
    """
    inside = tree[root] if isinstance(tree, Mapping) and list(tree) == [root] else tree
    chains = list(_leaves(inside, ()))
    depth = max((len(groups) for _, groups in chains), default=0)
    paths: dict[Value, tuple[Value, ...]] = {}
    for leaf, groups in chains:
        if leaf in paths:
            raise HierarchyError("a value occurs more than once in the tree")
        lowest_first = groups[::-1] if groups else (root,)
        paths[leaf] = (lowest_first[0],) * (depth - len(groups)) + groups[::-1] + (root,)
    return TableHierarchy(paths, learned_from=learned_from)


def _leaves(tree: object, groups: tuple[str, ...]) -> list[tuple[Value, tuple[str, ...]]]:
    if isinstance(tree, Mapping):
        unnamed = [name for name in tree if isinstance(name, bool) or not isinstance(name, str | int)]
        if unnamed:  # YAML reads no and off as false
            raise HierarchyError(
                f"{len(unnamed)} group(s) of the tree have a name of type {type(unnamed[0]).__name__}; put it in quotes"
            )
        return [leaf for name, child in tree.items() for leaf in _leaves(child, (*groups, str(name)))]
    if isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        return [leaf for child in tree for leaf in _leaves(child, groups)]
    return [(canonical(tree), groups)]


def _grid(start: Fraction, stop: Fraction, width: Fraction) -> list[Fraction]:
    if stop <= start:
        raise ParameterError(f"stop must be above start, got start {start} and stop {stop}")
    if width <= 0:
        raise ParameterError(f"every width must be positive, got {width}")
    if (stop - start) % width:
        raise ParameterError(f"every width must divide stop - start = {stop - start} exactly, got {width}")
    if (stop - start) / width > _MOST_INTERVALS:
        raise ParameterError(f"a level has more than {_MOST_INTERVALS:,} intervals; choose a larger width")
    return [start + width * step for step in range(int((stop - start) / width) + 1)]


def _as_date(value: Value, written_as: str | None) -> date | None:
    if isinstance(value, date) or not isinstance(value, str):
        return value if isinstance(value, date) else None
    try:
        moment = datetime.strptime(value, written_as) if written_as else datetime.fromisoformat(value)
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()  # as engines return moments
    except (ValueError, OverflowError):
        return None


def _period(day: date, name: str) -> str:
    return {
        "day": f"{day.year:04d}-{day.month:02d}-{day.day:02d}",
        "month": f"{day.year:04d}-{day.month:02d}",
        "quarter": f"{day.year:04d}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04d}",
        "decade": f"{day.year // 10:03d}0s",
        "century": f"{day.year // 100:02d}00-{day.year // 100:02d}99",
    }[name]
