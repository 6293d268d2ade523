"""Small random tables, hierarchies and rules for the tests of the lattice walk."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy_plugin.generalization.walk.counts import failing_counts
from privacy_plugin.metrics.class_rules import (
    ClassRule,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    Presence,
    RecursiveDiversity,
)
from tests.oracles import lattice as oracle

Codes = NDArray[np.int64]
quick = settings(deadline=None, max_examples=60, derandomize=True)


@dataclass(frozen=True, kw_only=True)
class Table:
    codes: Codes
    counts: Codes
    level_maps: list[Codes]

    @property
    def lists(self) -> tuple[list[list[int]], list[int], list[list[list[int]]]]:
        return self.codes.tolist(), self.counts.tolist(), [m.tolist() for m in self.level_maps]


@st.composite
def hierarchies(draw: st.DrawFn, *, rooted: bool | None = None) -> Codes:
    """Levels by leaves, each level coarsening the last, with groups in no particular order."""
    leaves = draw(st.integers(1, 6))
    lines = [np.array(draw(st.permutations(range(leaves))))]
    for _ in range(draw(st.integers(0, 3))):
        groups = len(lines[-1])
        merged = np.array(draw(st.lists(st.integers(0, 2), min_size=groups, max_size=groups)))
        lines.append(merged[np.unique(lines[-1], return_inverse=True)[1]])
    if draw(st.booleans()) if rooted is None else rooted:
        lines.append(np.zeros(leaves, dtype=np.int64))
    return np.array(lines)


@st.composite
def tables(draw: st.DrawFn, *, least_count: int = 1) -> Table:
    level_maps = draw(st.lists(hierarchies(), min_size=1, max_size=4))
    rows = draw(st.integers(1, 25))
    codes = np.array([[draw(st.integers(0, m.shape[1] - 1)) for m in level_maps] for _ in range(rows)])
    counts = np.array(draw(st.lists(st.integers(least_count, 4), min_size=rows, max_size=rows)))
    return Table(codes=codes, counts=counts, level_maps=level_maps)


def as_dictionary(result: Codes) -> dict[tuple[int, ...], int]:
    return {node: int(result[node]) for node in np.ndindex(result.shape)}


# The recursion in all its shapes: without a tail, with a short one, with keys cut into segments of few bits, with
# cells for ranges of levels for no attribute or some.
SHAPES = [
    (1, 62, 10**6),
    (4, 62, 10**6),
    (1, 8, 10**6),
    (3, 8, 10**6),
    (1, 62, 0),
    (3, 9, 0),
    (1, 62, 100),
    (48, 8, 0),
]


@dataclass(frozen=True, kw_only=True)
class SensitiveTable(Table):
    sensitive: Codes  # (rows, 2)
    sizes: tuple[int, int]
    population: Codes

    def passes(self, rule: ClassRule, members: list[int]) -> bool:
        """The definition of a rule, class by class."""
        counts = self.counts.tolist()
        size = sum(counts[i] for i in members)
        if isinstance(rule, Presence):
            people = int(self.population[members].sum())
            return people > 0 and rule.low * people <= size <= rule.high * people
        values = self.sensitive[:, rule.column].tolist()
        found = oracle.histogram(values, counts, members)
        if isinstance(rule, DistinctDiversity):
            return oracle.distinct_diverse(found, rule.l)
        if isinstance(rule, EntropyDiversity):
            return oracle.entropy_diverse(found, Fraction(rule.l))
        if isinstance(rule, RecursiveDiversity):
            return oracle.recursively_diverse(found, Fraction(rule.c), rule.l)
        domain = self.sizes[rule.column]
        first = oracle.shares(found, domain)
        second = oracle.shares(oracle.histogram(values, counts, range(len(counts))), domain)
        if rule.ground is None:
            return oracle.equal_distance(first, second) <= rule.t
        if isinstance(rule.ground, str):
            return oracle.ordered_distance(first, second) <= rule.t
        return oracle.hierarchical_distance(first, second, rule.ground.tolist()) <= rule.t

    def brute_failing(self, k: int, rules: list[ClassRule]) -> dict[tuple[int, ...], int]:
        codes, counts, level_maps = self.lists

        def passes(members: list[int]) -> bool:
            size = sum(counts[i] for i in members)
            return size == 0 or (size >= k and all(self.passes(rule, members) for rule in rules))

        return oracle.failing_rows(codes, counts, level_maps, passes)

    def failing(self, k: int, rules: list[ClassRule]) -> dict[tuple[int, ...], int]:
        result = failing_counts(
            self.codes,
            self.counts,
            self.level_maps,
            k=k,
            rules=rules,
            sensitive=self.sensitive,
            sensitive_sizes=self.sizes,
            population=self.population,
        )
        return as_dictionary(result)


@st.composite
def sensitive_tables(draw: st.DrawFn) -> SensitiveTable:
    table = draw(tables(least_count=0))
    rows = len(table.codes)
    sizes = (draw(st.integers(1, 5)), draw(st.integers(1, 3)))
    sensitive = np.array([[draw(st.integers(0, n - 1)) for n in sizes] for _ in range(rows)])
    outside = np.array(draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows)))
    return SensitiveTable(
        codes=table.codes,
        counts=table.counts,
        level_maps=table.level_maps,
        sensitive=sensitive,
        sizes=sizes,
        population=table.counts + outside,
    )


fractions = st.fractions(0, 3, max_denominator=12)
columns = st.integers(0, 1)
limits = st.fractions(0, 1, max_denominator=12)
ground_levels = np.array([[0, 1, 2, 3, 4], [0, 0, 1, 1, 1], [0, 0, 1, 1, 1]])
presence_ranges = st.tuples(limits, limits).map(lambda pair: Presence(low=min(pair), high=max(pair)))
single_rules: dict[str, st.SearchStrategy[Any]] = {
    "distinct": st.builds(DistinctDiversity, l=st.integers(1, 4), column=columns),
    "entropy": st.builds(EntropyDiversity, l=fractions.filter(bool) | st.integers(1, 4), column=columns),
    "recursive": st.builds(RecursiveDiversity, c=fractions, l=st.integers(1, 4), column=columns),
    "equal": st.builds(Closeness, t=limits, column=columns),
    "ordered": st.builds(Closeness, t=limits, column=columns, ground=st.just("ordered")),
    "presence": presence_ranges,
}
