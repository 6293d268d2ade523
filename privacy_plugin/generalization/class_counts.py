"""Counts of classes: at single nodes, for pairs of columns and for small lattices by numpy, at all nodes compiled.

The compiled walk is imported where it is used, because loading it takes seconds. Everywhere: `codes` has a line for
every distinct row and a column for every attribute; `counts` has the rows that a line stands for (and, in a second
column, its people of a population where one is compared with); `maps[a][level, leaf]` is the value of every leaf on
every level, numbered from 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import rank_values
from privacy_plugin.frequency.values import Value, key
from privacy_plugin.generalization.class_conditions import ClassConditions

Node = tuple[int, ...]
Mask = npt.NDArray[np.bool_]
Passes = Callable[[Codes, Integers, Sequence[Codes], Node], bool]

_LARGEST = 2**62


def class_sizes(codes: Codes, counts: Integers, maps: Sequence[Codes], node: Node) -> Integers:
    """Return the sizes of a node's classes."""
    packed, size = _packed(codes, maps, node)
    if size <= 8 * len(counts) + 1024 and counts.sum() < 2**53:  # few possible classes: counting beats sorting
        sizes = np.bincount(packed, weights=counts, minlength=size).astype(np.int64)
        return sizes[sizes > 0]
    members, first = group(packed, size)
    return sum_by(members, counts, len(first))


def class_sums(codes: Codes, counts: Integers, maps: Sequence[Codes], node: Node) -> Integers:
    """Return the rows and the people of a node's classes."""
    return _summed(*group(*_packed(codes, maps, node)), counts)


def all_large(k: int) -> Passes:
    """Return a test whether all classes of a node have k rows."""
    return lambda codes, counts, maps, node: bool(class_sizes(codes, counts, maps, node).min() >= k)


def all_present(k: int, bounds: Sequence[tuple[Fraction, Fraction]]) -> Passes:
    """Return a test whether all classes have k rows, or none, and as many as every pair of bounds allows."""

    def passes(codes: Codes, counts: Integers, maps: Sequence[Codes], node: Node) -> bool:
        rows, people = class_sums(codes, counts, maps, node).T
        if (rows[rows > 0] < k).any():
            return False
        longest = max((bound.denominator for pair in bounds for bound in pair), default=1)
        if int(max(rows.sum(), people.sum())) * longest >= _LARGEST:
            rows, people = rows.astype(object), people.astype(object)
        return all(
            bool((rows * low.denominator >= people * low.numerator).all())
            and bool((rows * high.denominator <= people * high.numerator).all())
            for low, high in bounds
        )

    return passes


def small_class_lines(codes: Codes, counts: Integers, maps: Sequence[Codes], node: Node, *, k: int) -> Mask:
    """Return which lines are in classes of fewer than k rows."""
    members, first = group(*_packed(codes, maps, node))
    lines: Mask = (sum_by(members, counts, len(first)) < k)[members]
    return lines


def _packed(codes: Codes, maps: Sequence[Codes], node: Node) -> tuple[Integers, int]:
    general, ranges = [], []
    for position, level in enumerate(node):
        values = int(maps[position][level].max()) + 1
        if values > 1:  # a column of one value separates no rows
            general.append(maps[position][level][codes[:, position]])
            ranges.append(values)
    return pack(general, ranges) if general else (np.zeros(len(codes), dtype=np.int64), 1)


def possible_by_pairs(codes: Codes, counts: Integers, maps: Sequence[Codes], *, passes: Passes) -> tuple[Mask, int]:
    """Return the nodes at which every column and every pair of them passes by itself, and how many levels were tried.

    No other node passes without suppression: leaving columns out only merges classes, so a class of fewer than k rows
    over two columns is made of smaller ones over all (LeFevre, DeWitt, Ramakrishnan 2005, the subset property), and one
    in which too many or too few people are present of at least one as bad (Nergiz, Clifton 2008, theorem 1).
    Columns come first: pairs are counted from the lowest levels that they leave, which are fewer lines.
    """
    shape = tuple(len(m) for m in maps)
    possible, visited = np.ones(shape, dtype=bool), 0
    for width in range(1, min(2, len(maps)) + 1):
        lowest = lowest_levels(possible)
        if lowest is None:
            break
        lines, people, higher = rolled_up(codes, counts, maps, lowest)
        for chosen in combinations(range(len(maps)), width):
            below = tuple(lowest[p] for p in chosen)
            found, tried = _all_pass(lines[:, chosen], people, [higher[p] for p in chosen], passes, below)
            visited += tried
            possible &= found.reshape([shape[p] if p in chosen else 1 for p in range(len(shape))])
    return possible, visited


def lowest_levels(possible: Mask) -> Node | None:
    """Return the lowest level of every column at which some node is possible; None where none is."""
    if not possible.any():
        return None
    axes = range(possible.ndim)
    return tuple(int(possible.any(axis=tuple(a for a in axes if a != axis)).argmax()) for axis in axes)


def _all_pass(codes: Codes, counts: Integers, maps: Sequence[Codes], passes: Passes, lowest: Node) -> tuple[Mask, int]:
    """Return which nodes of a lattice over few columns pass, of those above the lowest, and how many were tried.

    Nodes come after all that lie below them, and what lies above one that passes passes.
    """
    result, tried = np.zeros([len(m) for m in maps], dtype=bool), 0
    codes, counts, maps = rolled_up(codes, counts, maps, lowest)
    for node in product(*(range(low, levels) for low, levels in zip(lowest, result.shape, strict=True))):
        if not result[node]:
            tried += 1
            result[tuple(slice(level, None) for level in node)] |= passes(codes, counts, maps, node)
    return result, tried


def rolled_up(codes: Codes, counts: Integers, maps: Sequence[Codes], node: Node) -> tuple[Codes, Integers, list[Codes]]:
    """Return the table generalized to a node, and the maps from there: nodes above it are counted from fewer lines.

    Levels below the node's become equal to it.
    """
    general = [maps[position][level][codes[:, position]] for position, level in enumerate(node)]
    higher = []
    for levels, level in zip(maps, node, strict=True):
        values, example = np.unique(levels[level], return_index=True)
        above = levels[:, example]
        above[:level] = values
        higher.append(above)
    members, first = group(*pack(general, [m.shape[1] for m in higher]))
    return np.column_stack(general)[first], _summed(members, first, counts), higher


def _summed(members: Integers, first: Integers, counts: Integers) -> Integers:
    """Add up every column of counts by class."""
    if counts.ndim == 1:
        return sum_by(members, counts, len(first))
    return np.column_stack([sum_by(members, column, len(first)) for column in counts.T])


class GroupedCounts:
    """Sums over the classes of every node of a small lattice, grouped at each node."""

    def __init__(self, codes: Codes, counts: Integers, maps: Sequence[Codes], *, k: int) -> None:
        """Group the rows at every node; cost: nodes * distinct rows."""
        shape = tuple(len(m) for m in maps)
        codes, counts, maps = rolled_up(codes, counts, maps, (0,) * len(maps))
        self._rows = int(counts.sum())
        self.failing: Integers = np.zeros(shape, dtype=np.int64)
        self._classes: Integers = np.zeros(shape, dtype=np.int64)
        self._squares: Integers = np.zeros(shape, dtype=np.int64)
        for node in np.ndindex(shape):
            sizes = class_sizes(codes, counts, maps, node)
            large = sizes[sizes >= k]
            self.failing[node] = self._rows - large.sum()
            self._classes[node] = len(large)
            self._squares[node] = (large * large).sum()

    def classes(self) -> Integers:
        """How many classes of at least k rows there are."""
        return self._classes

    def discernibility(self) -> Integers:
        """The sum of their squared sizes, plus all rows for every other row."""
        return self._squares + self._rows * self.failing


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkedCounts:
    """Sums over the classes of every node by compiled walks, each done when it is first needed."""

    shape: tuple[int, ...]
    codes: Codes
    counts: Integers
    maps: Sequence[Codes]
    conditions: ClassConditions
    others: Mapping[str, Any]

    @cached_property
    def failing(self) -> Integers:
        """Rows of every node in classes that are too small or break a rule."""
        if self.conditions.k == 1 and not self.conditions.rules:
            return np.zeros(self.shape, dtype=np.int64)
        from privacy_plugin.generalization.walk.counts import failing_counts, suppressed_counts

        if not self.conditions.rules:
            return suppressed_counts(self.codes, self.counts, self.maps, k=self.conditions.k)
        rules = self.conditions.rules
        return failing_counts(self.codes, self.counts, self.maps, k=self.conditions.k, rules=rules, **self.others)

    @cached_property
    def uncovered(self) -> Integers:
        """People of the population, at every node, in classes without a row of the table."""
        from privacy_plugin.generalization.walk.counts import uncovered_population

        return uncovered_population(self.codes, self.counts, self.maps, population=self.others["population"])

    def classes(self) -> Integers:
        """How many classes of every node pass."""
        from privacy_plugin.generalization.walk.counts import passing_classes

        rules = self.conditions.rules
        return passing_classes(self.codes, self.counts, self.maps, k=self.conditions.k, rules=rules, **self.others)

    def discernibility(self) -> Integers:
        """The sum of their squared sizes, plus all rows for every row that fails."""
        from privacy_plugin.generalization.walk.counts import discernibility

        rules = self.conditions.rules
        return discernibility(self.codes, self.counts, self.maps, k=self.conditions.k, rules=rules, **self.others)


def sensitive_codes(table: FrequencyTable, columns: Sequence[str]) -> dict[str, Any]:
    """Return the sensitive columns for the walk: codes in the order of the values."""
    if not columns:
        return {}
    placed = [rank_values(table.dictionary(name))[table.column_codes(name)] for name in columns]
    codes = np.column_stack(placed).astype(np.int32)
    return {"sensitive": codes, "sensitive_sizes": [len(table.dictionary(name)) for name in columns]}


def with_population(
    table: FrequencyTable, population: FrequencyTable, hierarchies: Mapping[str, Hierarchy], others: dict[str, Any]
) -> tuple[Codes, Integers, list[Codes], dict[str, Any]]:
    """Append the population to the table's lines: they stand for people, and for no rows of the table.

    Both get one set of codes; a hierarchy has to cover the values of both.
    """
    columns, maps = [], []
    for name, hierarchy in hierarchies.items():
        values: dict[Any, Value] = {key(value): value for value in table.dictionary(name)}
        values |= {key(value): value for value in population.dictionary(name) if key(value) not in values}
        numbers = {found: number for number, found in enumerate(values)}
        there = np.array([numbers[key(value)] for value in population.dictionary(name)], dtype=np.int32)
        here = table.column_codes(name)
        columns.append(np.concatenate([here, there[population.column_codes(name)]]))
        maps.append(hierarchy.levels(tuple(values.values()), column=name).maps)
    counts = np.concatenate([table.counts, np.zeros(population.distinct, dtype=np.int64)])
    people = np.concatenate([np.zeros(table.distinct, dtype=np.int64), population.counts])
    extended = dict(others)
    if "sensitive" in others:  # lines without rows have no sensitive value; any code will do
        nothing = np.zeros((population.distinct, others["sensitive"].shape[1]), dtype=others["sensitive"].dtype)
        extended["sensitive"] = np.concatenate([others["sensitive"], nothing])
    return np.column_stack(columns), counts, maps, {**extended, "population": people}
