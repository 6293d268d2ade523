"""The confidence of delta-presence against all worlds, exact fractions and itself at a hundred million people."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privacy_plugin.metrics.presence.by_moments import (
    bernstein_tail,
    chernoff_tail,
    cumulants,
    exact_mean,
    inversion_bounds,
    series_bounds,
    tail_bounds,
)
from privacy_plugin.metrics.presence.by_recursion import exact_presence_confidence, window_bounds
from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds
from privacy_plugin.metrics.presence.outsiders import Question
from tests.metrics.presence_questions import assert_holds, classes, deltas, probability, questions, shares
from tests.oracles import presence as oracle


def test_worked_example_of_the_paper() -> None:
    asked: dict[str, Any] = {
        "marginals": [[3, 3, 3], [1, 1, 1]],
        "research_count": [1, 1],
        "others": 4,
        "delta_low": 0.33,
        "delta_high": 1,
    }
    assert exact_presence_confidence(**asked) == (Fraction(15, 16), Fraction(1))
    assert oracle.distribution_by_worlds([3, 3, 3], 4)[2] == Fraction(9, 16)
    lower, upper = presence_confidence_bounds(**asked)
    assert_holds((lower[0], upper[0]), Fraction(15, 16))
    assert (lower[1], upper[1]) == (1.0, 1.0)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(shape=classes(5, 3), research=st.integers(1, 4), delta=deltas)
def test_exact_confidence_equals_all_worlds(shape: tuple[list[int], int], research: int, delta: list[Fraction]) -> None:
    marginals, others = shape
    expected = oracle.confidence(oracle.distribution_by_worlds(marginals, others), research, *delta)
    asked: dict[str, Any] = {
        "marginals": marginals,
        "research_count": research,
        "others": others,
        "delta_low": delta[0],
        "delta_high": delta[1],
    }
    assert exact_presence_confidence(**asked) == (expected,)
    for method in ("automatic", "window"):
        lower, upper = presence_confidence_bounds(**asked, method=method)
        assert_holds((lower[0], upper[0]), expected)
        assert upper[0] - lower[0] < 1e-9


@settings(deadline=None, derandomize=True, max_examples=150)
@given(question=questions(60))
def test_every_method_holds_the_truth_and_grids_only_widen(question: Question) -> None:
    truth = probability(question)
    fine = window_bounds(question)
    coarse = window_bounds(question, points=5, most_points=5)
    assert_holds(fine, truth)
    assert_holds(coarse, truth)
    assert fine[1] - fine[0] < 1e-11
    assert_holds(series_bounds(question), truth)
    assert_holds(inversion_bounds(question), truth)
    assert_holds(tail_bounds(question, float(exact_mean(question))), truth)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(data=st.data())
def test_inversion_holds_the_truth_where_it_is_used(data: st.DataObject) -> None:
    others = data.draw(st.integers(600, 1_000))
    one, other = sorted(data.draw(st.integers(others // 4, 3 * others // 4)) for _ in range(2))
    whole = Question(marginals=(one, other), others=others, first=0, last=others)
    deviation = cumulants(whole, orders=2)[2] ** 0.5
    first = max(0, int(exact_mean(whole) + data.draw(st.floats(-4, 4)) * deviation))
    last = first + data.draw(st.integers(0, int(5 * deviation)))
    assume(deviation > 6)
    question = Question(marginals=(one, other), others=others, first=first, last=last)
    lower, upper = inversion_bounds(question)
    assert_holds((lower, upper), oracle.two_attribute_probability(one, other, others, first, last))
    assert upper - lower < 1e-9


@pytest.mark.parametrize(("first", "last"), [(0, 20), (24, 24), (30, 1_000), (18, 33)])
def test_series_holds_the_truth_where_it_is_cut_off(first: int, last: int) -> None:
    others, one, other = 5_000, 300, 400
    question = Question(marginals=(one, other), others=others, first=first, last=last)
    lower, upper = series_bounds(question)
    assert_holds((lower, upper), oracle.two_attribute_probability(one, other, others, first, last))
    assert 0 < upper - lower < Fraction(1, 2**60)


def test_inversion_is_tight_in_a_large_population() -> None:
    others, one, other = 20_000, 8_000, 9_000
    first, last = 3_570, 3_640
    lower, upper = inversion_bounds(Question(marginals=(one, other), others=others, first=first, last=last))
    assert_holds((lower, upper), oracle.two_attribute_probability(one, other, others, first, last))
    assert upper - lower < 1e-12


def test_nearly_everybody_matches() -> None:
    others = 20_000
    one, other = others - 150, others - 90
    truth = oracle.two_attribute_probability(one, other, others, others - 240, others - 239)
    question = Question(marginals=(one, other), others=others, first=others - 240, last=others - 239)
    assert cumulants(question, orders=2)[2] < 6
    assert_holds(window_bounds(question), truth)
    lower, upper = presence_confidence_bounds(
        marginals=[[one, other]], research_count=[1], others=others, delta_low=0, delta_high=Fraction(1, others - 238)
    )
    above = oracle.two_attribute_probability(one, other, others, others - 239, others)
    assert_holds((lower[0], upper[0]), above)
    assert upper[0] - lower[0] < 1e-9


def test_a_hundred_million_people_and_ten_attributes() -> None:
    generator = np.random.default_rng(3)
    others = 100_000_000
    marginals = (others * generator.beta(3, 2, size=(30, 10))).astype(np.int64)
    expected = others * np.prod(marginals / others, axis=1)
    research = np.maximum(1, (expected * generator.uniform(0.1109, 0.1113, size=30)).astype(np.int64))
    asked: dict[str, Any] = {"research_count": research, "others": others, "delta_low": 0, "delta_high": 0.1}
    lower, upper = presence_confidence_bounds(marginals=marginals, **asked)
    assert np.all(upper - lower < 1e-9)
    assert np.sum((lower > 0.001) & (upper < 0.999)) >= 5


def test_the_grid_confirms_the_inversion_in_a_large_population() -> None:
    others = 10_000_000
    question = Question(
        marginals=(1_000_000, 3_000_000, 5_000_000, 9_000_000), others=others, first=134_700, last=135_300
    )
    lower, upper = inversion_bounds(question)
    grid_lower, grid_upper = window_bounds(question, points=512, most_points=512)
    assert upper - lower < 1e-11
    assert grid_lower <= lower <= upper <= grid_upper
    assert grid_upper - grid_lower < 0.1
    finer = window_bounds(question, points=512, most_points=1_024)
    assert grid_lower <= finer[0] <= lower <= upper <= finer[1] <= grid_upper


def test_a_grid_that_decides_is_not_refined() -> None:
    question = Question(marginals=(40_000, 60_000, 90_000), others=100_000, first=21_500, last=100_000)
    decided = window_bounds(question, points=32, most_points=4_096, decide_at=0.2)
    assert decided[0] >= 0.2
    refined = window_bounds(question, points=32, most_points=4_096)
    assert decided[0] < refined[0] <= refined[1] < decided[1]
    assert_holds(refined, Fraction(sum(inversion_bounds(question)) / 2))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(shape=classes(40), research=st.integers(1, 9), delta=deltas, wanted=shares)
def test_deciding_early_never_contradicts_the_truth(
    shape: tuple[list[int], int], research: int, delta: list[Fraction], wanted: Fraction
) -> None:
    marginals, others = shape
    truth = oracle.confidence(oracle.distribution_by_recursion(marginals, others), research, *delta)
    lower, upper = presence_confidence_bounds(
        marginals=[marginals],
        research_count=[research],
        others=others,
        delta_low=delta[0],
        delta_high=delta[1],
        decide_at=wanted,
    )
    assert_holds((lower[0], upper[0]), truth)
    assert Fraction(lower[0]) >= wanted or Fraction(upper[0]) < wanted or upper[0] - lower[0] < 1e-9


@settings(deadline=None, derandomize=True, max_examples=60)
@given(shape=classes(40))
def test_matches_are_a_sum_of_independent_events(shape: tuple[list[int], int]) -> None:
    """Newton's inequalities, tails and cumulants of what the composition theorem promises."""
    marginals, others = sorted(shape[0]), shape[1]
    chances = oracle.distribution_by_recursion(marginals, others)
    size = marginals[0]
    for x in range(1, size):
        middle, sides = chances.get(x, 0) ** 2, chances.get(x - 1, 0) * chances.get(x + 1, 0)
        assert middle * x * (size - x) >= sides * (x + 1) * (size - x + 1)
    question = Question(marginals=tuple(marginals), others=others, first=0, last=0)
    mean = sum(x * chance for x, chance in chances.items())
    variance = sum((x - mean) ** 2 * chance for x, chance in chances.items())
    third = sum((x - mean) ** 3 * chance for x, chance in chances.items())
    assert exact_mean(question) == mean
    expected = [float(mean), float(variance), float(third)]
    assert cumulants(question, orders=3)[1:] == pytest.approx(expected, rel=2.0**-52, abs=1e-70)
    for x in range(size + 1):
        above = sum((chance for y, chance in chances.items() if y >= x), Fraction(0))
        below = sum((chance for y, chance in chances.items() if y <= x), Fraction(0))
        if x > mean:
            assert above <= Fraction(chernoff_tail(x, float(mean)))
            assert above <= Fraction(bernstein_tail(float(x - mean), float(variance)))
        if x < mean:
            assert below <= Fraction(chernoff_tail(x, float(mean)))
            assert below <= Fraction(bernstein_tail(float(mean - x), float(variance)))
