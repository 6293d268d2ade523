"""Maximum disclosure against brute force over all worlds, the paper's example and the errata."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import EmptyTableError, ParameterError, TooLargeError
from privacy_plugin.metrics.maximum_disclosure.disclosure import (
    class_disclosures,
    class_negations,
    disclosure_curve,
    negation_curve,
)
from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import disclosure_witness, exact_disclosure_curve
from tests.metrics.disclosure_tables import FIGURE_3, as_key, counted, csr, small_histograms, tables_with_few_worlds
from tests.oracles import disclosure as oracle


def assert_curve_within_its_bound(histograms: dict[str, Any], exact: tuple[Fraction, ...]) -> None:
    curve, error = disclosure_curve(**histograms, knowledge=len(exact) - 1)
    assert error < 1e-13
    for value, truth in zip(curve, exact, strict=True):
        assert abs(Fraction(float(value)) - truth) <= Fraction(error)


def test_worked_example_of_the_paper() -> None:
    exact = exact_disclosure_curve(**counted(FIGURE_3), knowledge=2)
    assert exact == (Fraction(2, 5), Fraction(2, 3), Fraction(1))
    assert_curve_within_its_bound(counted(FIGURE_3), exact)
    assert negation_curve(**counted(FIGURE_3), knowledge=2) == (Fraction(2, 5), Fraction(2, 3), Fraction(1))


def test_worked_example_against_all_its_1800_worlds() -> None:
    exact = exact_disclosure_curve(**counted(FIGURE_3), knowledge=1)
    assert exact[0] == oracle.simple_maximum(FIGURE_3, 0)
    assert exact[1] == oracle.simple_maximum(FIGURE_3, 1)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(table=tables_with_few_worlds(12), knowledge=st.integers(0, 3))
def test_equals_brute_force_over_all_basic_implications(table: list[list[str]], knowledge: int) -> None:
    exact = exact_disclosure_curve(**counted(table), knowledge=knowledge)
    assert exact[knowledge] == oracle.general_maximum(table, knowledge)
    assert_curve_within_its_bound(counted(table), exact)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(table=tables_with_few_worlds(18), knowledge=st.integers(0, 2))
def test_equals_brute_force_over_all_simple_implications(table: list[list[str]], knowledge: int) -> None:
    exact = exact_disclosure_curve(**counted(table), knowledge=knowledge)
    assert exact[knowledge] == oracle.simple_maximum(table, knowledge)


@pytest.mark.parametrize("table", [["abcd"], ["abc", "abc"], ["aabc", "aab"], ["aabbc"]])
def test_equals_brute_force_over_simple_implications_where_disclosure_is_partial(table: list[str]) -> None:
    buckets = [list(bucket) for bucket in table]
    exact = exact_disclosure_curve(**counted(buckets), knowledge=2)
    assert [oracle.simple_maximum(buckets, knowledge) for knowledge in range(3)] == list(exact)


@pytest.mark.parametrize(
    "table", [["aabbc", "ab"], ["aabbcd"], ["aabc", "aab"], ["abc", "abd"], ["aaabb", "ab"], ["abcd"]]
)
def test_equals_brute_force_over_antecedents_of_one_target(table: list[str]) -> None:
    buckets = [list(bucket) for bucket in table]
    exact = exact_disclosure_curve(**counted(buckets), knowledge=3)
    for knowledge in range(3):
        assert exact[knowledge] == oracle.shared_maximum(buckets, knowledge)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(histograms=small_histograms, knowledge=st.integers(0, 6))
def test_equals_the_formula_over_all_partitions(histograms: list[list[int]], knowledge: int) -> None:
    exact = exact_disclosure_curve(**csr(histograms), knowledge=knowledge)
    assert list(exact) == oracle.partition_curve(histograms, knowledge)
    assert_curve_within_its_bound(csr(histograms), exact)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    counts=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    other=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    copies=st.integers(1, 4),
)
def test_equal_buckets_each_take_atoms(counts: list[int], other: list[int], copies: int) -> None:
    histograms = [counts[::-1]] + [other] + [counts] * copies
    exact = exact_disclosure_curve(**csr(histograms), knowledge=4)
    assert list(exact) == oracle.partition_curve(histograms, 4)
    assert_curve_within_its_bound(csr(histograms), exact)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(data=st.data())
def test_bound_holds_for_large_counts(data: st.DataObject) -> None:
    counts = st.lists(st.integers(10**3, 10**9), min_size=3, max_size=20)
    histograms = data.draw(st.lists(counts, min_size=1, max_size=5))
    exact = exact_disclosure_curve(**csr(histograms), knowledge=9)
    assert_curve_within_its_bound(csr(histograms), exact)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    table=st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=2, max_size=4),
    knowledge=st.integers(0, 4),
)
def test_merging_two_buckets_never_raises_disclosure(table: list[list[str]], knowledge: int) -> None:
    merged = [table[0] + table[1], *table[2:]]
    apart = exact_disclosure_curve(**counted(table), knowledge=knowledge)
    together = exact_disclosure_curve(**counted(merged), knowledge=knowledge)
    assert all(after <= before for after, before in zip(together, apart, strict=True))
    apart = negation_curve(**counted(table), knowledge=knowledge)
    together = negation_curve(**counted(merged), knowledge=knowledge)
    assert all(after <= before for after, before in zip(together, apart, strict=True))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(histograms=small_histograms)
def test_curves_rise_and_implications_know_more_than_negations(histograms: list[list[int]]) -> None:
    implications = exact_disclosure_curve(**csr(histograms), knowledge=6)
    negations = negation_curve(**csr(histograms), knowledge=6)
    assert all(before <= after for before, after in pairwise(implications))
    assert all(before <= after for before, after in pairwise(negations))
    assert all(less <= more for less, more in zip(negations, implications, strict=True))
    assert implications[0] == negations[0] == max(Fraction(max(one), sum(one)) for one in histograms)


def test_class_of_one_person_is_disclosed_without_knowledge() -> None:
    assert exact_disclosure_curve(**csr([[1], [3, 3, 3]]), knowledge=2) == (Fraction(1),) * 3
    assert negation_curve(**csr([[1], [3, 3, 3]]), knowledge=2) == (Fraction(1),) * 3


def test_class_of_one_value_is_disclosed_without_knowledge() -> None:
    curve, _ = disclosure_curve(**csr([[7], [3, 3, 3]]), knowledge=3)
    assert curve.tolist() == [1.0, 1.0, 1.0, 1.0]


def test_more_knowledge_than_people_and_values() -> None:
    exact = exact_disclosure_curve(**csr([[1, 1]]), knowledge=30)
    assert exact == (Fraction(1, 2), *[Fraction(1)] * 30)
    assert_curve_within_its_bound(csr([[1, 1]]), exact)


def test_values_a_bucket_does_not_hold_change_nothing() -> None:
    padded = exact_disclosure_curve(**csr([[0, 2, 0, 2, 1], [1, 3]]), knowledge=3)
    assert padded == exact_disclosure_curve(**csr([[2, 2, 1], [3, 1]]), knowledge=3)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(table=tables_with_few_worlds(18), knowledge=st.integers(0, 3))
def test_negations_equal_brute_force(table: list[list[str]], knowledge: int) -> None:
    curve = negation_curve(**counted(table), knowledge=knowledge)
    assert curve[knowledge] == oracle.negation_maximum(table, knowledge)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(table=tables_with_few_worlds(12), knowledge=st.integers(0, 3))
def test_every_class_equals_brute_force_over_all_basic_implications(table: list[list[str]], knowledge: int) -> None:
    values, error = class_disclosures(**counted(table), knowledge=knowledge)
    for bucket, value in enumerate(values):
        assert abs(Fraction(float(value)) - oracle.general_maximum(table, knowledge, bucket)) <= Fraction(error)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(histograms=small_histograms, knowledge=st.integers(0, 5))
def test_every_class_equals_the_formula_over_all_partitions(histograms: list[list[int]], knowledge: int) -> None:
    values, error = class_disclosures(**csr(histograms), knowledge=knowledge)
    for value, exact in zip(values, oracle.partition_classes(histograms, knowledge), strict=True):
        assert abs(Fraction(float(value)) - exact) <= Fraction(error)
    assert max(oracle.partition_classes(histograms, knowledge)) == oracle.partition_curve(histograms, knowledge)[-1]


@settings(deadline=None, derandomize=True, max_examples=30)
@given(table=tables_with_few_worlds(18), knowledge=st.integers(0, 3))
def test_every_class_equals_brute_force_over_negations(table: list[list[str]], knowledge: int) -> None:
    tops, bottoms = class_negations(**counted(table), knowledge=knowledge)
    for bucket, (top, bottom) in enumerate(zip(tops.tolist(), bottoms.tolist(), strict=True)):
        assert Fraction(top, bottom) == oracle.negation_maximum(table, knowledge, bucket)


def test_thousands_of_exactly_tied_histograms_are_compared() -> None:
    generator = np.random.default_rng(3)
    counts = np.sort(generator.integers(20, 30, size=(4_000, 6)), axis=1)
    counts[:, 0], counts[:, -1] = 1, 30  # denied five values, everybody has the sixth or the target's: odds of 1 : 30
    assert exact_disclosure_curve(**csr(counts.tolist()), knowledge=4)[4] == Fraction(30, 31)
    many = 10**13
    closer = [30 * many + 1, *[30 * many] * 4, many]  # odds below 1 : 30 by less than floats can tell
    exact = exact_disclosure_curve(**csr([*counts.tolist(), closer]), knowledge=4)
    assert exact[4] == 1 / (1 + Fraction(many, 30 * many + 1))


def test_negations_compare_close_fractions_exactly() -> None:
    large = 2**50
    close = csr([[large, large + 1], [large + 1, large + 2]])
    assert negation_curve(**close, knowledge=0) == (Fraction(large + 1, 2 * large + 1),)


def test_exact_values_distinguish_what_floats_cannot() -> None:
    extras = [[2, 2, 0, 1, 1, 2], [3, 3, 1, 2, 2, 2], [2, 1, 2, 2, 0, 1], [3, 2, 3, 3, 3, 1]]
    histograms = [[2**40 + extra for extra in bucket] for bucket in extras]
    assert list(exact_disclosure_curve(**csr(histograms), knowledge=3)) == oracle.partition_curve(histograms, 3)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    table=st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=1, max_size=3),
    c=st.fractions(Fraction(1, 4), 4, max_denominator=6),
    diversity=st.integers(2, 5),
)
def test_recursive_diversity_is_safety_against_negations(table: list[list[str]], c: Fraction, diversity: int) -> None:
    reached = negation_curve(**counted(table), knowledge=diversity - 2)[diversity - 2]
    assert (reached < c / (c + 1)) == oracle.is_recursively_diverse(table, c, diversity)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    table=st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=3),
    knowledge=st.integers(0, 3),
)
def test_witness_reaches_the_maximum_in_the_worlds(table: list[list[str]], knowledge: int) -> None:
    witness = disclosure_witness(**counted(table), knowledge=knowledge)
    assert witness.is_maximum
    assert len(witness.antecedents) <= knowledge
    assert witness.disclosure == exact_disclosure_curve(**counted(table), knowledge=knowledge)[-1]
    target = as_key(table, witness.target)
    rules = [([as_key(table, atom)], [target]) for atom in witness.antecedents]
    assert oracle.posterior(table, rules, target) == witness.disclosure


def test_witness_is_as_short_as_possible() -> None:
    witness = disclosure_witness(**csr([[1, 1, 1]]), knowledge=10)
    assert witness.disclosure == 1
    assert len(witness.antecedents) == 2


def test_witness_without_exact_ties_stays_within_the_bound() -> None:
    generator = np.random.default_rng(5)
    offsets = np.arange(0, 5 * 3_000 + 1, 5)
    counts = generator.integers(50, 60, size=offsets[-1])
    assert disclosure_witness(offsets=offsets, value_counts=counts, knowledge=4).is_maximum
    curve, error = disclosure_curve(offsets=offsets, value_counts=counts, knowledge=4)
    witness = disclosure_witness(offsets=offsets, value_counts=counts, knowledge=4, limit=0)
    assert not witness.is_maximum
    assert abs(witness.disclosure - Fraction(float(curve[4]))) <= Fraction(error)


def test_target_and_facts_may_have_to_lie_in_different_buckets() -> None:
    skewed, flat = [203] + [1] * 797, [1] * 8
    apart = exact_disclosure_curve(**csr([skewed, flat]), knowledge=6)
    assert list(apart) == oracle.partition_curve([skewed, flat], 6)
    assert apart[6] > exact_disclosure_curve(**csr([skewed]), knowledge=6)[6]
    assert apart[6] > exact_disclosure_curve(**csr([flat]), knowledge=6)[6]
    assert_curve_within_its_bound(csr([skewed, flat]), apart)
    witness = disclosure_witness(**csr([skewed, flat]), knowledge=6)
    assert witness.disclosure == apart[6]
    assert witness.target.bucket == 0
    assert {atom.bucket for atom in witness.antecedents} == {1}


def test_ties_beyond_the_limit_raise() -> None:
    tied = csr([[3, 3 - extra, 1 + extra] for extra in range(3)])
    assert exact_disclosure_curve(**tied, knowledge=0, limit=4)[0] == Fraction(3, 7)
    with pytest.raises(TooLargeError, match="limit=0"):
        exact_disclosure_curve(**tied, knowledge=1, limit=0)


def test_exact_values_survive_thousands_of_buckets() -> None:
    generator = np.random.default_rng(7)
    histograms = generator.integers(1, 40, size=(70_000, 4)).tolist()
    exact = exact_disclosure_curve(**csr(histograms), knowledge=3)
    assert_curve_within_its_bound(csr(histograms), exact)


@pytest.mark.parametrize(
    ("offsets", "counts", "knowledge", "error"),
    [
        ([0], [], 1, EmptyTableError),
        ([0, 2], [1], 1, ParameterError),
        ([0, 1, 1], [1], 1, ParameterError),
        ([0, 1], [0], 1, ParameterError),
        ([0, 2], [1, -1], 1, ParameterError),
        ([0, 1], [2**53], 1, ParameterError),
        ([0, 1], [1.5], 1, ParameterError),
        ([0, 1], [1], -1, ParameterError),
        ([0, 1], [1], True, ParameterError),
        ([0, 1], [1], 1.0, ParameterError),
    ],
)
def test_arguments_that_are_not_a_table_raise(
    offsets: list[int], counts: list[int], knowledge: int, error: type[Exception]
) -> None:
    for function in (disclosure_curve, exact_disclosure_curve, negation_curve, disclosure_witness):
        with pytest.raises(error):
            function(offsets=offsets, value_counts=counts, knowledge=knowledge)
