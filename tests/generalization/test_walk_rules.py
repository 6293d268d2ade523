"""The compiled lattice walk against brute force over every node: rules for classes."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.generalization.walk import packing
from privacy_plugin.generalization.walk.counts import (
    discernibility,
    failing_counts,
    passing_classes,
    uncovered_population,
)
from privacy_plugin.generalization.walk.rules import entropy_is_exactly, product_less
from privacy_plugin.metrics.class_rules import (
    ClassRule,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    Presence,
    RecursiveDiversity,
)
from tests.generalization.lattice_tables import (
    SHAPES,
    Codes,
    SensitiveTable,
    as_dictionary,
    ground_levels,
    limits,
    presence_ranges,
    quick,
    sensitive_tables,
    single_rules,
)
from tests.oracles import lattice as oracle


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


@pytest.mark.parametrize(
    ("counts", "c", "wanted", "passes"),
    [
        ((3, 3, 1), 1, 2, True),  # 3 < 3 + 1: of two values with the same count only one is taken away
        ((3, 3, 1), 1, 3, False),  # 3 < 1
        ((4, 3, 1), 1, 2, False),  # 4 < 4, and not below
        ((4, 3, 1), Fraction(10**15 + 1, 10**15), 2, True),
        ((5, 2), 1, 1, True),  # 5 < 7
        ((5,), 1, 1, False),  # 5 < 5
        ((5,), 100, 2, False),  # fewer values than asked for
    ],
)
def test_recursive_diversity_by_hand(counts: tuple[int, ...], c: int | Fraction, wanted: int, passes: bool) -> None:
    codes, amounts, maps, sensitive = class_of(*counts)
    rules = [RecursiveDiversity(c=c, l=wanted)]
    failing = failing_counts(codes, amounts, maps, rules=rules, sensitive=sensitive)
    assert failing.item() == (0 if passes else sum(counts))


def test_rows_outside_the_population_are_not_present() -> None:
    codes, counts, maps = np.array([[0], [1]]), np.array([1, 2]), [np.array([[0, 1], [0, 0]])]
    rules = [Presence(low=0, high=1)]
    assert failing_counts(codes, counts, maps, rules=rules, population=np.array([4, 0])).tolist() == [2, 0]


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
