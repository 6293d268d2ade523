"""What a caller asks of every class, and its translation into the integer table that compiled code reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.kernels.class_rules import (
    CLOSENESS,
    COLUMN_OF,
    DISTINCT,
    ENTROPY,
    FIRST,
    NEEDED,
    ORDERED,
    PRESENCE,
    RECURSIVE,
    RULE_FIELDS,
    Rules,
)
from privacy_plugin.kernels.hierarchy_order import Codes, Integers

_LARGEST = 2**62


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity:
    """At least l different values of a sensitive column."""

    l: int  # noqa: E741 - the name it has everywhere
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity:
    """Entropy of a sensitive column at least ln(l); equality counts and is recognized exactly."""

    l: int | Fraction  # noqa: E741
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity:
    """r_1 < c * (r_l + r_(l+1) + ...), r the counts of a sensitive column's values in descending order."""

    c: int | Fraction
    l: int  # noqa: E741
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """Earth mover's distance of a class's sensitive values to the whole table's (before any suppression) at most t.

    `ground` None: all values equally far apart. "ordered": code i and code i + 1 are 1 / (m - 1) apart. A table of
    levels by values: the mean of the equal distances on its levels, which is the distance in the hierarchy with these
    levels below its root (level 0 the values themselves).
    """

    t: int | Fraction
    column: int = 0
    ground: Codes | str | None = None


@dataclass(frozen=True, kw_only=True)
class Presence:
    """Rows of a class over the population's rows of the same class, from low to high."""

    low: int | Fraction
    high: int | Fraction


ClassRule = DistinctDiversity | EntropyDiversity | RecursiveDiversity | Closeness | Presence


def _fraction(name: str, value: int | Fraction) -> tuple[int, int]:
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
        raise ParameterError(f"{name} must be a whole number or an exact fraction >= 0, not {value!r}")
    ratio = Fraction(value)
    if max(ratio.numerator, ratio.denominator) >= _LARGEST:
        raise ParameterError(f"{name} = {value!r} needs more than 62 bits as a fraction; give a rounder one")
    return ratio.numerator, ratio.denominator


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < _LARGEST:
        raise ParameterError(f"{name} must be a whole number >= 1, not {value!r}")
    return value


class _Table:
    """Collects lines of rules and of grounds; groups of a ground are numbered through all lines."""

    def __init__(self, column_start: Integers, histogram: Integers, rows: int) -> None:
        self.lines: list[list[int]] = []
        self.grounds: list[Integers] = []
        self.reference: list[Integers] = []
        self._column_start = column_start
        self._histogram = histogram  # of the whole table, by symbol
        self._rows = rows

    def add(self, kind: int, column: int, needed: int, *numbers: int, grounds: Sequence[Codes] = ()) -> None:
        if not 0 <= column < len(self._column_start) - 1:
            raise ParameterError(
                f"a rule names sensitive column {column}; there are {len(self._column_start) - 1}"
            )
        first = len(self.grounds)
        for ground in grounds:
            self._add_ground(column, ground)
        line = [kind, column, needed, *numbers]
        line += [0] * (RULE_FIELDS - 2 - len(line))
        self.lines.append([*line, first, len(self.grounds)])

    def _add_ground(self, column: int, ground: Codes) -> None:
        start, end = self._column_start[column : column + 2]
        if np.shape(ground) != (end - start,):
            raise ParameterError(
                f"a ground distance covers {np.size(ground)} values; the column has {end - start}"
            )
        taken = sum(len(reference) for reference in self.reference)
        names, groups = np.unique(ground, return_inverse=True)
        totals = np.zeros(len(names), dtype=np.int64)
        np.add.at(totals, groups.ravel(), self._histogram[start:end])
        line = np.zeros(len(self._histogram), dtype=np.int64)
        line[start:end] = taken + groups.ravel()
        self.grounds.append(line)
        self.reference.append(totals)

    def add_closeness(self, rule: Closeness) -> None:
        numbers = _fraction("t", rule.t)
        values = int(np.diff(self._column_start)[rule.column])
        if isinstance(rule.ground, str) and rule.ground != "ordered":
            raise ParameterError(f"ground must be None, 'ordered' or a table of levels, not {rule.ground!r}")
        ordered = isinstance(rule.ground, str)
        levels = (
            [np.arange(values)] if rule.ground is None or isinstance(rule.ground, str) else list(rule.ground)
        )
        factor = max(values - 1, 1) if ordered else 2 * len(levels)
        if factor * self._rows**2 >= _LARGEST:
            raise TooLargeError(
                f"closeness over {self._rows:,} rows and {values:,} values exceeds exact 64 bit sums"
            )
        self.add(ORDERED if ordered else CLOSENESS, rule.column, 0, *numbers, grounds=levels)

    def add_rule(self, rule: ClassRule) -> None:
        if isinstance(rule, DistinctDiversity):
            self.add(DISTINCT, rule.column, _count("l", rule.l))
        elif isinstance(rule, EntropyDiversity):
            numerator, denominator = _fraction("l", rule.l)
            if numerator == 0:
                raise ParameterError("l must be positive")
            self.add(ENTROPY, rule.column, -(-numerator // denominator), numerator, denominator)
        elif isinstance(rule, RecursiveDiversity):
            self.add(RECURSIVE, rule.column, _count("l", rule.l), *_fraction("c", rule.c))
        elif isinstance(rule, Closeness):
            self.add_closeness(rule)
        else:
            if rule.low > rule.high:
                raise ParameterError(f"presence from {rule.low} to {rule.high} is empty")
            self.add(PRESENCE, 0, 0, *_fraction("low", rule.low), *_fraction("high", rule.high))


def build_rules(
    *, rules: Sequence[ClassRule], column_start: Integers, histogram: Integers, weigh_population: bool = False
) -> Rules:
    """Translate rules for a table with the given histogram by symbol; the last symbol counts the population."""
    rows = int(histogram[: column_start[1]].sum())
    table = _Table(column_start, histogram, rows)
    for rule in rules:
        table.add_rule(rule)
    lines = np.array(table.lines, dtype=np.int64).reshape(-1, RULE_FIELDS)
    symbols = np.zeros((len(histogram), 4), dtype=np.int64)
    symbols[:, COLUMN_OF] = np.searchsorted(column_start, np.arange(len(histogram)), side="right") - 1
    columns = np.zeros((len(column_start), 2), dtype=np.int64)
    columns[:, FIRST] = column_start
    reference = np.concatenate([np.zeros(0, dtype=np.int64), *table.reference])
    return Rules(
        table=lines,
        symbols=symbols,
        columns=columns,
        groups=np.column_stack([reference, np.zeros_like(reference)]),
        grounds=np.array(table.grounds, dtype=np.int64).reshape(-1, len(histogram)),
        rows=rows,
        own=int(column_start[1]),
        population=len(histogram) - 1,
        weigh_population=weigh_population,
        wants_values=bool((lines[:, NEEDED] > 1).any()),
    )
