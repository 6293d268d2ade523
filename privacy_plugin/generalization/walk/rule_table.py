"""The class rules of metrics as the integer table that compiled code reads."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.generalization.walk.packing import CAPACITY, POOL, POOL_CAPACITY, Codes, Integers, PackedLattice
from privacy_plugin.generalization.walk.parts import AMOUNT, DETAIL_FIELDS, FAILS, NOT_JUDGED, SYMBOL, VALUES, WEIGHT
from privacy_plugin.generalization.walk.parts import END as LIST_END
from privacy_plugin.generalization.walk.parts import START as LIST_START
from privacy_plugin.generalization.walk.rules import (
    BITS,
    CLOSENESS,
    DISTINCT,
    END,
    ENTROPY,
    FIRST,
    GROUND,
    GROUND_END,
    GROUND_LAYERS,
    GROUP,
    HIGHEST,
    KIND,
    NEEDED,
    NEEDED_BITS,
    NUMERATOR,
    ORDERED,
    PRESENCE,
    RECURSIVE,
    REFERENCE,
    ROWS,
    RULE_FIELDS,
)
from privacy_plugin.metrics.class_rules import (
    ClassRule,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)

VALUE_BITS = 62  # with more symbols, a row's values are not kept as bits
_LARGEST = 2**62


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
    """Collects lines of rules and of grounds."""

    def __init__(self, column_start: Integers, histogram: Integers) -> None:
        self.lines: list[list[int]] = []
        self.grounds: list[Integers] = []
        self._starts: list[int] = column_start.tolist()
        self._histogram = histogram  # of the whole table, by symbol
        self._rows = int(histogram[: column_start[1]].sum())

    def add_rule(self, rule: ClassRule) -> None:
        if isinstance(rule, DistinctDiversity):
            self._add(DISTINCT, rule.column, needed=_count("l", rule.l))
        elif isinstance(rule, EntropyDiversity):
            ratio = _fraction("l", rule.l)
            if ratio[0] == 0:
                raise ParameterError("l must be positive")
            self._add(ENTROPY, rule.column, ratio, needed=-(-ratio[0] // ratio[1]))
        elif isinstance(rule, RecursiveDiversity):
            self._add(RECURSIVE, rule.column, _fraction("c", rule.c), needed=_count("l", rule.l))
        elif isinstance(rule, Closeness):
            self._add_closeness(rule)
        else:
            if rule.low > rule.high:
                raise ParameterError(f"presence from {rule.low} to {rule.high} is empty")
            self._add(PRESENCE, 0, _fraction("low", rule.low), _fraction("high", rule.high))

    def _column(self, column: int) -> tuple[int, int]:
        if not 0 <= column < len(self._starts) - 1:
            raise ParameterError(f"a rule names sensitive column {column}; there are {len(self._starts) - 1}")
        return self._starts[column], self._starts[column + 1]

    def _add(self, kind: int, column: int, *ratios: tuple[int, int], needed: int = 0, ground: int = 0) -> None:
        first, end = self._column(column)
        line = [0] * RULE_FIELDS
        line[KIND], line[FIRST], line[END], line[NEEDED], line[ROWS] = kind, first, end, needed, self._rows
        if self._starts[-1] <= VALUE_BITS:
            line[BITS], line[NEEDED_BITS] = (1 << end) - (1 << first), min(needed, VALUE_BITS)
        for place, ratio in zip((NUMERATOR, HIGHEST), ratios, strict=False):
            line[place : place + 2] = ratio
        line[GROUND], line[GROUND_END] = len(self.grounds) - ground, len(self.grounds)
        self.lines.append(line)

    def _add_closeness(self, rule: Closeness) -> None:
        first, end = self._column(rule.column)
        if isinstance(rule.ground, str) and rule.ground != "ordered":
            raise ParameterError(f"ground must be None, 'ordered' or a table of levels, not {rule.ground!r}")
        ordered = isinstance(rule.ground, str)
        levels = [np.arange(end - first)] if rule.ground is None or ordered else list(np.asarray(rule.ground))
        factor = max(end - first - 1, 1) if ordered else 2 * len(levels)
        if factor * self._rows**2 >= _LARGEST:
            raise TooLargeError(f"closeness over {self._rows:,} rows exceeds exact 64 bit sums")
        for level in levels:
            if np.shape(level) != (end - first,):
                raise ParameterError(f"a ground covers {np.size(level)} values; the column has {end - first}")
            line = np.zeros((len(self._histogram), GROUND_LAYERS), dtype=np.int64)
            line[: end - first, GROUP] = np.unique(level, return_inverse=True)[1].ravel()
            np.add.at(line[:, REFERENCE], line[: end - first, GROUP], self._histogram[first:end])
            self.grounds.append(line)
        kind = ORDERED if ordered else CLOSENESS
        self._add(kind, rule.column, _fraction("t", rule.t), ground=len(levels))


def rule_lines(rules: Sequence[ClassRule], *, column_start: Integers, histogram: Integers) -> tuple[Integers, Integers]:
    """Return rules and the grounds they measure on as compiled code reads them.

    The symbols of sensitive column i start at `column_start[i]`; `histogram` counts those of the whole table, and last
    the population.
    """
    table = _Table(column_start, histogram)
    for rule in rules:
        table.add_rule(rule)
    lines = np.array(table.lines, dtype=np.int64).reshape(-1, RULE_FIELDS)
    return lines, np.array(table.grounds, dtype=np.int64).reshape(-1, len(histogram), GROUND_LAYERS)


class Carried(NamedTuple):
    """What a walk with rules carries along (see parts.py), its rules and the room to judge them in."""

    details: Integers
    pool: Integers
    table: Integers
    ground: Integers
    histograms: Integers
    empty_fails: bool


def carry_classes(
    *,
    packed: PackedLattice,
    counts: Integers,
    sensitive: Codes,
    column_start: Integers,
    population: Integers,
    rules: Sequence[ClassRule],
    weigh_population: bool,
) -> Carried:
    """List the histogram of every packed row, and lay out the space for the lists of the walk.

    `counts`, `sensitive` and `population` have a line for every line that was packed; the symbols of sensitive column
    i start at `column_start[i]`, the last symbol counts the population.
    """
    symbol_count, columns = int(column_start[-1]) + 1, sensitive.shape[1]
    symbols = np.concatenate([*(sensitive + column_start[:-1]).T, np.full(len(counts), symbol_count - 1)])
    amounts = np.concatenate([*[counts] * columns, population])
    entries, places = np.unique(np.tile(packed.row_of, columns + 1) * symbol_count + symbols, return_inverse=True)
    totals = np.zeros(len(entries), dtype=np.int64)
    np.add.at(totals, places.ravel(), amounts)
    entries, totals = entries[totals > 0], totals[totals > 0]
    owner, symbol = np.divmod(entries, symbol_count)
    histogram = np.zeros(symbol_count, dtype=np.int64)
    np.add.at(histogram, symbol, totals)
    table, ground = rule_lines(rules, column_start=column_start, histogram=histogram)
    plan = packed.plan.attributes
    plan[:, POOL_CAPACITY] = np.minimum(len(entries), plan[:, CAPACITY] * symbol_count)
    plan[:, POOL] = len(entries) + np.cumsum(2 * plan[:, POOL_CAPACITY]) - 2 * plan[:, POOL_CAPACITY]
    pool = np.empty((int(plan[-1, POOL]), 2), dtype=np.int64)
    pool[: len(entries), SYMBOL], pool[: len(entries), AMOUNT] = symbol, totals
    details = np.empty((len(packed.keys), DETAIL_FIELDS), dtype=np.int64)
    mine = details[: packed.rows]
    mine[:, LIST_START] = np.searchsorted(owner, np.arange(packed.rows))
    mine[:, LIST_END] = np.searchsorted(owner, np.arange(packed.rows), side="right")
    mine[:, FAILS], mine[:, VALUES] = NOT_JUDGED, 0
    if column_start[-1] <= VALUE_BITS:
        valued = symbol < symbol_count - 1
        np.bitwise_or.at(mine[:, VALUES], owner[valued], np.int64(1) << symbol[valued])
    mine[:, WEIGHT] = packed.counts[: packed.rows]
    if weigh_population:
        mine[:, WEIGHT] = 0
        np.add.at(mine[:, WEIGHT], packed.row_of, population)
    return Carried(
        details=details,
        pool=pool,
        table=table,
        ground=ground,
        histograms=np.zeros((packed.tail_classes + 1, symbol_count), dtype=np.int64),
        empty_fails=weigh_population,
    )
