"""Regions of c-confident delta-presence, where only attribute distributions of the population are known.

Nergiz and Clifton 2008 expect much of it (section 9) and leave it as future work. What makes it hard: with labels of
several levels in one column, the published table no longer tells how many of its rows have a label's values, and so not
how many people outside have them. `presence_confidence` bounds both. Here the regions are found so that this bound
holds: when a region is split, labels only become more specific, so that the numbers known of every other region become
more exact and its bound does not fall. Regions that hold go on to hold.

The search starts from the best levels for the whole table (SFALM), at which all numbers are exact, and from the most
general table. It splits the regions that lose most first, along the column that saves most, as long as every part
holds, and tries again those that failed after others were split. What costs less is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, group
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.frequency.values import canonical, label
from privacy_plugin.generalization.generalize import generalize
from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds
from privacy_plugin.metrics.presence.population_marginals import general_labels, listed_distributions
from privacy_plugin.metrics.presence.presence_confidence import PresenceConfidence, presence_confidence, read_pair
from privacy_plugin.requirements.requirement import Requirement

_MARGIN = Fraction(1, 10**9)  # by which regions exceed the wanted confidence: more than the error of its bounds
_PASSES = 20

Node = tuple[int, ...]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidentRegions:
    """A research table, what is known of its population, and the confidence that every region has to reach."""

    table: FrequencyTable
    hierarchies: Mapping[str, Hierarchy]
    requirement: Requirement

    @property
    def options(self) -> dict[str, Any]:
        """What is known of the population, and delta."""
        return {name: value for name, value in self.requirement.options.items() if name != "hierarchies"}

    @property
    def delta(self) -> tuple[Fraction, Fraction]:
        """The bounds of the probability of presence."""
        return read_pair(self.options["delta"])

    def measure(self, generalized: FrequencyTable) -> PresenceConfidence:
        """Measure a published table by its labels alone."""
        found = presence_confidence(
            generalized, quasi_identifiers=generalized.columns, hierarchies=self.hierarchies, **self.options
        )
        assert isinstance(found, PresenceConfidence)
        return found

    def search(self) -> Codes:
        """Return the level of every column for every distinct row; raise InfeasibleError where none is found."""
        best = _Search(problem=self, start=self._best_levels())
        top = _Search(problem=self, start=tuple(len(maps) - 1 for maps in self.maps))
        return min((search.run() for search in (best, top) if search is best or search.starts_well), key=self.loss)

    def loss(self, reached: Codes) -> Fraction:
        """Return the loss metric: the mean over cells of (leaves covered - 1) / (leaves - 1)."""
        rows, total = self.table.counts.astype(object), Fraction(0)
        for column, covered in enumerate(self.covered):
            if self.leaves[column] > 1:
                lost = covered[reached[:, column], self.table.codes[:, column]].astype(object) - 1
                total += Fraction(int((rows * lost).sum()), self.leaves[column] - 1)
        return total / (self.table.rows * len(self.maps))

    def _best_levels(self) -> Node:
        """Return the best levels for the whole table; pruning may miss them, and is not used where it finds none."""
        asked: dict[str, Any] = {
            "hierarchies": self.hierarchies,
            "requirements": [self.requirement],
            "loss": "loss_metric",
        }
        try:
            plan = generalize(self.table, approximation="anti_monotone", **asked)
        except InfeasibleError:
            plan = generalize(self.table, **asked)
        return tuple(plan.levels[name] for name in self.table.columns)

    @cached_property
    def listed(self) -> list[tuple[list[int], Codes, Integers]]:
        """For every distribution its columns, the leaves of every listed combination, and their people."""
        leaves = [{text: code for code, text in enumerate(originals)} for originals in self._originals]
        found = []
        for columns, listed in self._distributions:
            if sum(count for _, count in listed) != self.options["population_size"]:
                raise ParameterError(
                    f"the distribution of {', '.join(map(repr, columns))} does not list everybody; regions need the "
                    "people of every value"
                )
            places = [self.table.columns.index(name) for name in columns]
            codes = [[leaves[p][_name(v)] for p, v in zip(places, values, strict=True)] for values, _ in listed]
            people = np.array([count for _, count in listed], dtype=np.int64)
            found.append((places, np.array(codes, dtype=np.int32), people))
        return found

    @cached_property
    def _distributions(self) -> list[tuple[list[str], Sequence[tuple[tuple[Any, ...], int]]]]:
        return listed_distributions(self.table.columns, self.options["marginals"], self.options.get("joint"))

    @cached_property
    def _originals(self) -> list[dict[str, Any]]:
        """For every column the original values by their text: first those of the table in the order of their codes."""
        found: list[dict[str, Any]] = [{_name(v): v for v in values} for values in self.table.dictionaries]
        for columns, listed in self._distributions:
            for place, name in enumerate(columns):
                known = found[self.table.columns.index(name)]
                for values, _ in listed:
                    known.setdefault(_name(values[place]), values[place])
        return found

    @cached_property
    def maps(self) -> list[Codes]:
        """For every column the group of every original value on every level."""
        found = []
        for name, originals in zip(self.table.columns, self._originals, strict=True):
            hierarchy = self.hierarchies[name]
            paths = [(value, *general_labels(hierarchy, value)) for value in originals.values()]
            levels = []
            for level in range(hierarchy.height + 1):
                numbers: dict[str, int] = {}
                levels.append([numbers.setdefault(_name(path[level]), len(numbers)) for path in paths])
            found.append(np.array(levels, dtype=np.int32))
        return found

    @cached_property
    def living(self) -> list[Mask]:
        """For every column the leaves that somebody in the population has."""
        found = [np.zeros(maps.shape[1], dtype=bool) for maps in self.maps]
        for places, codes, people in self.listed:
            for place, column in enumerate(places):
                found[column][codes[people > 0, place]] = True
        return found

    @property
    def leaves(self) -> list[int]:
        """How many leaves every column has."""
        return [int(living.sum()) for living in self.living]

    @cached_property
    def covered(self) -> list[Integers]:
        """For every column, how many leaves the group of a leaf has on every level."""
        found = []
        for maps, living in zip(self.maps, self.living, strict=True):
            sizes = [np.bincount(line, weights=living, minlength=maps.shape[1]).astype(np.int64)[line] for line in maps]
            found.append(np.array(sizes))
        return found

    def laid(self) -> tuple[Levels, ...]:
        """Return the hierarchies laid over the values of the table; raise where one does not cover them."""
        return tuple(self.hierarchies[n].levels(self.table.dictionary(n), column=n) for n in self.table.columns)


def _name(value: Any) -> str:
    text = label(canonical(value))
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


@dataclass(kw_only=True, eq=False)
class _Region:
    """Distinct rows of the table with one node."""

    members: Integers
    node: Node


class _Search:
    """Top-down splitting from one node for the whole table."""

    def __init__(self, *, problem: ConfidentRegions, start: Node) -> None:
        self.problem = problem
        self.codes = problem.table.codes
        self.rows = problem.table.counts
        self.others = int(problem.options["population_size"]) - problem.table.rows
        self.low, self.high = problem.delta
        self.wanted = min(problem.requirement.limit.bounds[0] + _MARGIN, Fraction(1))
        self.covers_all = problem.options.get("coverage") == "required" and self.low > 0
        self.level = np.tile(np.array(start, dtype=np.int32), (len(self.codes), 1))
        self.shown = np.column_stack(
            [maps[n][self.codes[:, c]] for c, (maps, n) in enumerate(zip(problem.maps, start, strict=True))]
        )
        _, members = np.unique(self.shown, axis=0, return_inverse=True)
        order = np.argsort(members.ravel(), kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(members.ravel()))[:-1])
        self.regions = [_Region(members=part, node=start) for part in parts]

    @property
    def starts_well(self) -> bool:
        """Whether the start holds."""
        return all(self._hold([region], region.node) for region in self.regions)

    def run(self) -> Codes:
        """Split from a start that holds, and return the level of every cell."""
        waiting = self.regions
        for _ in range(_PASSES):
            waiting.sort(key=lambda region: (-self._lost(region), int(region.members[0])))
            split, done = False, list[_Region]()
            while waiting:
                region = waiting.pop(0)
                parts = self._split(region)
                if parts is None:
                    done.append(region)
                else:
                    waiting, split = [*parts, *waiting], True
            if not split:
                break
            waiting = done
        return self.level

    def _lost(self, region: _Region) -> float:
        return float(
            self.rows[region.members].sum() * sum(self._saving(region, column, 0) for column in range(len(region.node)))
        )

    def _saving(self, region: _Region, column: int, level: int) -> float:
        """Return the loss of a row that the column saves on average at another level."""
        covered, codes = self.problem.covered[column], self.codes[region.members, column]
        saved = covered[region.node[column]][codes] - covered[level][codes]
        rows = self.rows[region.members]
        return float((rows * saved).sum() / rows.sum()) / max(self.problem.leaves[column] - 1, 1)

    def _split(self, region: _Region) -> list[_Region] | None:
        """Split a region along the column that saves most of those along which every part holds."""
        open_ = [column for column, level in enumerate(region.node) if level]
        savings = {column: self._saving(region, column, region.node[column] - 1) for column in open_}
        for column in sorted(open_, key=lambda one: (-savings[one], one)):
            if (parts := self._split_along(region, column)) is not None:
                return parts
        return None

    def _split_along(self, region: _Region, column: int) -> list[_Region] | None:
        maps, level = self.problem.maps[column], region.node[column]
        below = maps[level - 1][self.codes[region.members, column]]
        numbers, first = group(below.astype(np.int64), int(maps[level - 1].max()) + 1)
        if self.covers_all:
            inside = (maps[level] == maps[level][self.codes[region.members[0], column]]) & self.problem.living[column]
            if len(np.unique(maps[level - 1][inside])) > len(first):
                return None
        before = self.shown[region.members, column].copy()
        self.level[region.members, column], self.shown[region.members, column] = level - 1, below
        node = (*region.node[:column], level - 1, *region.node[column + 1 :])
        parts = [_Region(members=region.members[numbers == part], node=node) for part in range(len(first))]
        if self._hold(parts, node):
            return parts
        self.level[region.members, column], self.shown[region.members, column] = level, before
        return None

    def _hold(self, parts: Sequence[_Region], node: Node) -> bool:
        """Return whether parts of one node surely reach the confidence, known by the labels alone."""
        people = [[self._outside(part, places, node, at) for at, places in enumerate(self._places)] for part in parts]
        least = np.array([[low for low, _ in line] for line in people], dtype=np.int64)
        most = np.array([[high for _, high in line] for line in people], dtype=np.int64)
        sizes = np.array([int(self.rows[part.members].sum()) for part in parts], dtype=np.int64)
        if (least == most).all():
            return self._reach(least, sizes, self.low, self.high)
        if self.low == 0:
            return self._reach(least, sizes, self.low, self.high)
        if self.high == 1:
            return self._reach(most, sizes, self.low, self.high)
        not_many = self._lower(most, sizes, self.low, Fraction(1))
        not_few = self._lower(least, sizes, Fraction(0), self.high)
        return bool((not_many + not_few - 1 >= float(self.wanted)).all())

    @property
    def _places(self) -> list[list[int]]:
        return [places for places, _, _ in self.problem.listed]

    def _lower(self, people: Integers, sizes: Integers, low: Fraction, high: Fraction, **given: Any) -> Any:
        lower, _ = presence_confidence_bounds(
            marginals=people, research_count=sizes, others=self.others, delta_low=low, delta_high=high, **given
        )
        return lower

    def _reach(self, people: Integers, sizes: Integers, low: Fraction, high: Fraction) -> bool:
        lower = self._lower(people, sizes, low, high, decide_at=self.wanted)
        return all(Fraction(float(one)) >= self.wanted for one in lower)

    def _outside(self, part: _Region, places: Sequence[int], node: Node, at: int) -> tuple[int, int]:
        """Return bounds of the people outside the table who have the part's labels in some columns."""
        _, codes, counts = self.problem.listed[at]
        everybody = np.ones(len(counts), dtype=bool)
        sure, overlap = np.ones(len(self.codes), dtype=bool), np.ones(len(self.codes), dtype=bool)
        for place, column in enumerate(places):
            maps, level = self.problem.maps[column], node[column]
            leaf = self.codes[part.members[0], column]
            everybody &= maps[level][codes[:, place]] == maps[level][leaf]
            inside = maps[level][self.codes[:, column]] == maps[level][leaf]
            specific = self.level[:, column] <= level
            general = self.shown[:, column] == maps[self.level[:, column], leaf]
            sure &= inside & specific
            overlap &= np.where(specific, inside, general)
        people, own = int(counts[everybody].sum()), int(self.rows[sure].sum())
        possible = int(self.rows[overlap].sum()) - own
        most = min(people - own, self.others)
        return max(min(people - own - possible, most), 0), max(most, 0)
