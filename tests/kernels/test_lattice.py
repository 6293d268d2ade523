"""The compiled lattice pass against brute force over every node."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy_plugin.errors import HierarchyError, ParameterError, TooLargeError
from privacy_plugin.kernels import packing
from privacy_plugin.kernels.lattice import failing_counts, suppressed_counts, uncovered_population
from privacy_plugin.kernels.rule_table import (
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


def brute_suppressed(table: Table, k: int) -> dict[tuple[int, ...], int]:
    codes, counts, level_maps = table.lists
    return oracle.failing_rows(
        codes, counts, level_maps, lambda members: sum(counts[i] for i in members) >= k
    )


@quick
@given(table=tables(), k=st.integers(1, 12))
def test_suppressed_rows_of_every_node(table: Table, k: int) -> None:
    result = suppressed_counts(table.codes, table.counts, table.level_maps, k=k)
    assert as_dictionary(result) == brute_suppressed(table, k)


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


@pytest.mark.parametrize(("tail_nodes", "key_bits", "few_cells"), SHAPES)
def test_shapes_of_the_recursion_agree_with_brute_force(
    tail_nodes: int, key_bits: int, few_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_TAIL_NODES", tail_nodes)
    monkeypatch.setattr(packing, "_KEY_BITS", key_bits)
    monkeypatch.setattr(packing, "_FEW_CELLS", few_cells)

    @settings(quick, max_examples=25)
    @given(table=tables(), k=st.integers(1, 12))
    def check(table: Table, k: int) -> None:
        result = suppressed_counts(table.codes, table.counts, table.level_maps, k=k)
        assert as_dictionary(result) == brute_suppressed(table, k)

    check()


def test_keys_are_cut_and_ranges_left_out_only_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    codes, maps = generator.integers(0, 6, (300, 5)), [np.array([range(6), [0, 0, 1, 1, 2, 2], [0] * 6])] * 5
    counts = np.ones(300, dtype=np.int64)
    plain = packing.pack_lattice(codes=codes, counts=counts, level_maps=maps).plan
    assert (plain.attributes[:, packing.LINK] < 0).all()
    assert (plain.plain, plain.tail) == (0, 2)
    monkeypatch.setattr(packing, "_KEY_BITS", 13)
    monkeypatch.setattr(packing, "_FEW_CELLS", 0)
    monkeypatch.setattr(packing, "_TAIL_NODES", 1)
    cut = packing.pack_lattice(codes=codes, counts=counts, level_maps=maps).plan
    assert (cut.attributes[:, packing.LINK] >= 0).any()
    assert (cut.plain, cut.tail) == (5, 5)
    monkeypatch.setattr(packing, "_FEW_CELLS", 2000)
    assert packing.pack_lattice(codes=codes, counts=counts, level_maps=maps).plan.plain == 3


def test_more_than_64_bits_of_digits() -> None:
    """Eleven attributes of 200 values need 88 bits."""
    generator = np.random.default_rng(2)
    leaves = np.arange(200)
    maps = [np.array([leaves, leaves // 20, leaves * 0])] * 11
    codes = generator.integers(0, 200, (400, 11))
    codes[200:, 3:] = codes[:200, 3:]  # pairs that merge once the first three attributes are general enough
    table = Table(codes=codes, counts=np.ones(400, dtype=np.int64), level_maps=maps)
    assert (
        packing.pack_lattice(codes=codes, counts=table.counts, level_maps=maps).plan.attributes[:, packing.LINK] >= 0
    ).any()
    result = suppressed_counts(codes, table.counts, maps, k=2)
    for flat in generator.choice(result.size, 40, replace=False):
        node = np.unravel_index(flat, result.shape)
        lists = table.lists
        expected = sum(len(c) for c in oracle.classes(lists[0], lists[2], node) if len(c) < 2)
        assert result[node] == expected
    assert 0 < result[(1, 1, 1) + (0,) * 8] <= 400
    assert result[(2, 2, 2) + (0,) * 8] == 0


Judge = Callable[[list[int]], bool]


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


@pytest.mark.parametrize("kind", single_rules)
@pytest.mark.parametrize("tail_nodes", [1, 48])
def test_rows_that_break_one_rule(kind: str, tail_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_TAIL_NODES", tail_nodes)

    @quick
    @given(table=sensitive_tables(), k=st.integers(1, 5), rule=single_rules[kind])
    def check(table: SensitiveTable, k: int, rule: ClassRule) -> None:
        assert table.failing(k, [rule]) == table.brute_failing(k, [rule])

    check()


@quick
@given(table=sensitive_tables(), k=st.integers(1, 5), t=limits, levels=st.integers(1, 3))
def test_closeness_in_a_hierarchy(table: SensitiveTable, k: int, t: Fraction, levels: int) -> None:
    rule = Closeness(t=t, ground=ground_levels[:levels, : table.sizes[0]])
    assert table.failing(k, [rule]) == table.brute_failing(k, [rule])


@pytest.mark.parametrize(("tail_nodes", "key_bits", "few_cells"), SHAPES)
def test_rows_that_break_any_of_several_rules(
    tail_nodes: int, key_bits: int, few_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_TAIL_NODES", tail_nodes)
    monkeypatch.setattr(packing, "_KEY_BITS", key_bits + 4)  # symbols take up to four
    monkeypatch.setattr(packing, "_FEW_CELLS", few_cells)

    @settings(quick, max_examples=25)
    @given(
        table=sensitive_tables(),
        k=st.integers(1, 5),
        rules=st.lists(st.one_of(*single_rules.values()), max_size=3),
    )
    def check(table: SensitiveTable, k: int, rules: list[ClassRule]) -> None:
        assert table.failing(k, rules) == table.brute_failing(k, rules)

    check()


@quick
@given(table=sensitive_tables())
def test_population_without_a_row_of_the_table(table: SensitiveTable) -> None:
    codes, counts, level_maps = table.lists
    result = uncovered_population(table.codes, table.counts, table.level_maps, population=table.population)
    expected = oracle.failing_rows(
        codes, table.population.tolist(), level_maps, lambda members: any(counts[i] for i in members)
    )
    assert as_dictionary(result) == expected
