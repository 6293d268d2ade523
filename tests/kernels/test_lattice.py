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
from privacy_plugin.kernels import lattice
from privacy_plugin.kernels import lattice_packing as packing
from privacy_plugin.kernels.lattice import (
    ClassRule,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    Presence,
    RecursiveDiversity,
    discernibility,
    failing_counts,
    node_class_sizes,
    passing_classes,
    suppressed_counts,
    uncovered_population,
)
from privacy_plugin.kernels.wide_products import entropy_is_exactly, product_less
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
    return oracle.failing_rows(codes, counts, level_maps, lambda members: sum(counts[i] for i in members) >= k)


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


@quick
@given(table=tables(), k=st.integers(1, 12))
def test_squares_and_number_of_passing_classes(table: Table, k: int) -> None:
    codes, counts, level_maps = table.lists
    rows = sum(counts)
    squares, numbers = {}, {}
    for node in oracle.nodes(level_maps):
        sizes = [sum(counts[i] for i in members) for members in oracle.classes(codes, level_maps, node)]
        squares[node] = sum(size**2 if size >= k else rows * size for size in sizes)
        numbers[node] = sum(size >= k for size in sizes)
    assert as_dictionary(discernibility(table.codes, table.counts, table.level_maps, k=k)) == squares
    assert as_dictionary(passing_classes(table.codes, table.counts, table.level_maps, k=k)) == numbers


@pytest.mark.parametrize("tail_nodes", [1, 48])
def test_squares_and_number_of_classes_that_keep_a_rule(tail_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_TAIL_NODES", tail_nodes)

    @quick
    @given(table=sensitive_tables(), k=st.integers(1, 5), rule=st.one_of(single_rules["distinct"], presence_ranges))
    def check(table: SensitiveTable, k: int, rule: ClassRule) -> None:
        codes, counts, level_maps = table.lists
        squares, numbers = {}, {}
        for node in oracle.nodes(level_maps):
            squares[node] = numbers[node] = 0
            for members in oracle.classes(codes, level_maps, node):
                size = sum(counts[i] for i in members)
                passes = size >= k and table.passes(rule, members)
                squares[node] += size**2 if passes else sum(counts) * size
                numbers[node] += passes
        asked: dict[str, Any] = {"k": k, "rules": [rule], "population": table.population}
        asked |= {"sensitive": table.sensitive, "sensitive_sizes": table.sizes}
        arguments = (table.codes, table.counts, table.level_maps)
        assert as_dictionary(discernibility(*arguments, **asked)) == squares
        assert as_dictionary(passing_classes(*arguments, **asked)) == numbers

    check()


@quick
@given(table=tables(least_count=0), data=st.data())
def test_classes_of_one_node(table: Table, data: st.DataObject) -> None:
    codes, counts, level_maps = table.lists
    node = tuple(data.draw(st.integers(0, len(levels) - 1)) for levels in level_maps)
    numbers, sizes = node_class_sizes(table.codes, table.counts, table.level_maps, node=node)
    found = oracle.classes(codes, level_maps, node)
    assert len(sizes) == len(found)
    for number, members in enumerate(found):  # both in order of appearance
        assert numbers[members].tolist() == [number] * len(members)
        assert sizes[number] == sum(counts[i] for i in members)


def test_classes_of_one_node_with_keys_beyond_any_integer() -> None:
    generator = np.random.default_rng(3)
    maps = [np.arange(1000)[None, :]] * 12
    codes = np.repeat(generator.integers(0, 1000, (500, 12)), 2, axis=0)
    numbers, sizes = node_class_sizes(codes, np.ones(1000, dtype=np.int64), maps, node=(0,) * 12)
    assert numbers.tolist() == np.repeat(np.arange(500), 2).tolist()
    assert sizes.tolist() == [2] * 500


@quick
@given(table=tables(), k=st.integers(1, 8), data=st.data())
def test_one_node_is_asked_for_with_one_line_maps(table: Table, k: int, data: st.DataObject) -> None:
    node = tuple(data.draw(st.integers(0, len(m) - 1)) for m in table.level_maps)
    single = [m[level : level + 1] for m, level in zip(table.level_maps, node, strict=True)]
    every = suppressed_counts(table.codes, table.counts, table.level_maps, k=k)
    assert suppressed_counts(table.codes, table.counts, single, k=k).item() == every[node]


def class_of(*counts: int) -> tuple[Codes, Codes, list[Codes], Codes]:
    """One class with these counts of its sensitive values."""
    return np.zeros((len(counts), 1), np.int64), np.array(counts), [np.zeros((1, 1), np.int64)], np.arange(len(counts))


@pytest.mark.parametrize(
    ("counts", "wanted", "passes"),
    [
        ((7, 7, 7, 7), 4, True),  # four equal values are exactly 4
        ((7, 7, 7, 7), Fraction(40_000_000_000_001, 10_000_000_000_000), False),
        ((4, 1, 1, 1, 1), 4, True),  # 8^8 = 4^8 * 4^4: exactly 4 with unequal counts
        ((4 * 10**6, 10**6, 10**6, 10**6, 10**6), 4, True),  # the same in proportion
        ((4 * 10**6 + 1, 10**6, 10**6, 10**6, 10**6), 4, False),
        ((5, 1, 1, 1, 1), 4, False),
        ((4, 2, 1, 1, 1, 1), 4, True),
        ((1,), 1, True),
        ((3, 1), 1, True),
        ((2, 1), 2, False),
    ],
)
def test_entropy_is_exact_where_it_matters(counts: tuple[int, ...], wanted: int | Fraction, passes: bool) -> None:
    codes, amounts, maps, sensitive = class_of(*counts)
    failing = failing_counts(codes, amounts, maps, rules=[EntropyDiversity(l=wanted)], sensitive=sensitive)
    assert failing.item() == (0 if passes else sum(counts))


def test_entropy_within_rounding_of_the_limit_fails() -> None:
    """1e7 + 1, 1e7, 1e7, 1e7: ln 4 - H is about 1e-16, less than any floating sum can tell."""
    codes, counts, maps, sensitive = class_of(10**7 + 1, 10**7, 10**7, 10**7)
    failing = failing_counts(codes, counts, maps, rules=[EntropyDiversity(l=4)], sensitive=sensitive)
    assert failing.item() == 4 * 10**7 + 1


@quick
@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=6), ratio=st.fractions(1, 6, max_denominator=8))
def test_exactly_equal_entropies(counts: list[int], ratio: Fraction) -> None:
    total = sum(counts)
    left = total**total * ratio.denominator**total
    right = ratio.numerator**total * np.prod([count**count for count in counts], dtype=object)
    equal = entropy_is_exactly(np.array(counts), total, ratio.numerator, ratio.denominator)
    assert equal == (left == right)


numbers = st.integers(0, 2**63 - 1) | st.integers(0, 40)


@quick
@given(a=numbers, b=numbers, c=numbers, d=numbers)
def test_products_of_64_bit_numbers_compare_exactly(a: int, b: int, c: int, d: int) -> None:
    assert product_less(a, b, c, d) == (a * b < c * d)
    assert not product_less(a, b, b, a)


def test_closeness_at_its_limit() -> None:
    """Values 0 0 0 1 in one class and 1 in the other: distance 3/4 - 3/5 = 3/20."""
    codes, counts = np.array([[0], [0], [1]]), np.array([3, 1, 1])
    maps, sensitive = [np.array([[0, 1], [0, 0]])], np.array([0, 1, 1])
    at = failing_counts(codes, counts, maps, rules=[Closeness(t=Fraction(3, 20))], sensitive=sensitive)
    below = Fraction(3, 20) - Fraction(1, 10**18)
    assert at.tolist() == [1, 0]
    assert failing_counts(codes, counts, maps, rules=[Closeness(t=below)], sensitive=sensitive).tolist() == [5, 0]


def test_presence_at_its_limits() -> None:
    codes, maps, counts = np.array([[0], [1]]), [np.array([[0, 1], [0, 0]])], np.array([1, 2])
    population = np.array([3, 3])
    exact = [Presence(low=Fraction(1, 3), high=Fraction(2, 3))]
    assert failing_counts(codes, counts, maps, rules=exact, population=population).tolist() == [0, 0]
    tight = [Presence(low=Fraction(1, 3) + Fraction(1, 10**17), high=Fraction(2, 3) - Fraction(1, 10**17))]
    assert failing_counts(codes, counts, maps, rules=tight, population=population).tolist() == [3, 0]


def test_every_rule_of_a_column_beyond_62_values() -> None:
    """More symbols than bits: the distinct values of a part are then counted class by class only."""
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 4, (200, 3))
    table = SensitiveTable(
        codes=codes,
        counts=generator.integers(1, 3, 200),
        level_maps=[np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])] * 3,
        sensitive=generator.integers(0, (100, 3), (200, 2)),
        sizes=(100, 3),
        population=np.full(200, 9),
    )
    rules: list[list[ClassRule]] = [
        [DistinctDiversity(l=20)],
        [EntropyDiversity(l=15)],
        [RecursiveDiversity(c=2, l=9)],
        [Closeness(t=Fraction(1, 2))],
    ]
    for rule in rules:
        expected = table.brute_failing(2, rule)
        assert 0 < sum(expected.values()) < 27 * table.counts.sum()
        assert table.failing(2, rule) == expected


def test_a_paused_walk_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    codes, maps = generator.integers(0, 6, (400, 5)), [np.array([range(6), [0, 0, 1, 1, 2, 2], [0] * 6])] * 5
    counts = generator.integers(1, 4, 400)
    at_once = suppressed_counts(codes, counts, maps, k=7)
    monkeypatch.setattr(lattice, "_SLICE", 50)
    assert (suppressed_counts(codes, counts, maps, k=7) == at_once).all()


def test_no_rows_fail_nowhere() -> None:
    maps = [np.array([[0, 1], [0, 0]])] * 2
    assert suppressed_counts(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), maps, k=3).tolist() == [[0, 0], [0, 0]]
    assert suppressed_counts(np.array([[0, 1]]), np.array([0]), maps, k=3).tolist() == [[0, 0], [0, 0]]


ONE, COUNT, MAP = np.zeros((1, 1), np.int64), np.ones(1, np.int64), [np.array([[0, 1], [0, 0]])]


@pytest.mark.parametrize(
    ("error", "codes", "counts", "maps", "asked"),
    [
        (ParameterError, ONE, COUNT, MAP, {"k": 0}),
        (ParameterError, ONE, COUNT, MAP, {"k": True}),
        (ParameterError, ONE, COUNT, MAP, {"k": 2.5}),
        (ParameterError, ONE, COUNT, MAP * 2, {}),
        (ParameterError, ONE, -COUNT, MAP, {}),
        (ParameterError, ONE, np.ones(2, np.int64), MAP, {}),
        (ParameterError, ONE + 2, COUNT, MAP, {}),
        (ParameterError, ONE - 1, COUNT, MAP, {}),
        (ParameterError, ONE, COUNT, [np.zeros((0, 2), np.int64)], {}),
        (HierarchyError, np.array([[0], [1]]), np.ones(2, np.int64), [np.array([[0, 0], [0, 1]])], {}),
        (HierarchyError, np.arange(3)[:, None], np.ones(3, np.int64), [np.array([[0, 1, 0], [0, 0, 1]])], {}),
        (TooLargeError, np.zeros((1, 30), np.int64), COUNT, MAP * 30, {}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Presence(low=0, high=1)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Presence(low=1, high=0)], "population": COUNT}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [DistinctDiversity(l=0)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [DistinctDiversity(l=2, column=1)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [EntropyDiversity(l=0)]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=Fraction(1, 2**70))]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=0.5)]}),  # type: ignore[arg-type]
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=1, ground="far")]}),
        (ParameterError, ONE, COUNT, MAP, {"rules": [Closeness(t=1, ground=np.zeros((1, 3), np.int64))]}),
        (TooLargeError, ONE, COUNT * 2**32, MAP, {"rules": [Closeness(t=1)]}),
        (ParameterError, ONE, COUNT, MAP, {"sensitive": np.array([-1])}),
        (ParameterError, ONE, COUNT, MAP, {"sensitive": np.array([3]), "sensitive_sizes": [3]}),
        (ParameterError, ONE, COUNT, MAP, {"sensitive": np.array([0, 1])}),
        (ParameterError, ONE, COUNT, MAP, {"population": np.array([-1])}),
    ],
)
def test_bad_input_is_refused(
    error: type[Exception], codes: Codes, counts: Codes, maps: list[Codes], asked: dict[str, Any]
) -> None:
    with pytest.raises(error):
        failing_counts(codes, counts, maps, **asked)


def test_squares_beyond_63_bits_are_refused() -> None:
    with pytest.raises(TooLargeError):
        discernibility(ONE, COUNT * 2**32, MAP)


def test_a_node_outside_the_lattice_is_refused() -> None:
    with pytest.raises(ParameterError):
        node_class_sizes(ONE, COUNT, MAP, node=(2,))
    with pytest.raises(ParameterError):
        node_class_sizes(ONE, COUNT, MAP, node=(0, 0))
