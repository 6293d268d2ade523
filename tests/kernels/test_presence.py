"""The confidence of delta-presence against all worlds, exact fractions and itself at a hundred million people."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.kernels.presence import presence_confidence_bounds
from privacy_plugin.kernels.presence_counts import Question
from privacy_plugin.kernels.presence_exact import exact_presence_confidence
from privacy_plugin.kernels.presence_harm import presence_bounds
from privacy_plugin.kernels.presence_inversion import inversion_bounds
from privacy_plugin.kernels.presence_moments import bernstein_tail, chernoff_tail, cumulants, exact_mean, tail_bounds
from privacy_plugin.kernels.presence_paper import minimum_dominant_subset, paper_confidence
from privacy_plugin.kernels.presence_series import series_bounds
from privacy_plugin.kernels.presence_window import window_bounds
from tests.oracles import presence as oracle

shares = st.fractions(0, 1, max_denominator=20)
deltas = st.tuples(shares, shares).map(sorted)


@st.composite
def classes(draw: st.DrawFn, most_others: int, most_attributes: int = 4) -> tuple[list[int], int]:
    others = draw(st.integers(1, most_others))
    return draw(st.lists(st.integers(0, others), min_size=1, max_size=most_attributes)), others


@st.composite
def questions(draw: st.DrawFn, most_others: int) -> Question:
    """A class with a range of counts around what is likely."""
    marginals, others = draw(classes(most_others))
    around = Question(marginals=tuple(sorted(marginals)), others=others, first=0, last=0)
    middle = int(exact_mean(around))
    first = max(0, middle - draw(st.integers(0, 12)) + 4)
    return Question(
        marginals=around.marginals, others=others, first=first, last=first + draw(st.sampled_from([0, 3, 9, others]))
    )


def probability(question: Question) -> Fraction:
    found = oracle.distribution_by_recursion(list(question.marginals), question.others)
    return sum((chance for x, chance in found.items() if question.first <= x <= question.last), Fraction(0))


def assert_holds(bounds: tuple[Any, Any], truth: Fraction) -> None:
    assert Fraction(bounds[0]) <= truth <= Fraction(bounds[1])


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


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    shape=classes(60),
    research=st.integers(1, 6),
    delta=deltas,
    cut=st.sampled_from([None, 1.0, 2.0, 4.0]),
    bucket=st.sampled_from([None, 2, 3, 4]),
)
def test_optimizations_of_the_paper_never_overstate(
    shape: tuple[list[int], int], research: int, delta: list[Fraction], cut: float | None, bucket: int | None
) -> None:
    marginals, others = shape
    asked: dict[str, Any] = {
        "marginals": marginals,
        "research_count": research,
        "others": others,
        "delta_low": delta[0],
        "delta_high": delta[1],
    }
    truth = oracle.confidence(oracle.distribution_by_recursion(marginals, others), research, *delta)
    plain, calls = paper_confidence(**asked)
    assert truth - Fraction(1, 10**8) <= Fraction(plain[0]) <= truth
    faster, fewer = paper_confidence(**asked, sigma_cut=cut, bucket_size=bucket)
    assert Fraction(faster[0]) <= truth
    assert fewer[0] <= calls[0]


def test_optimizations_of_the_paper_save_work() -> None:
    asked: dict[str, Any] = {
        "marginals": [900, 1_500, 2_000],
        "research_count": 20,
        "others": 4_000,
        "delta_low": 0,
        "delta_high": 0.11,
    }
    plain, calls = paper_confidence(**asked)
    cut, fewer = paper_confidence(**asked, sigma_cut=4.0)
    coarse, fewest = paper_confidence(**asked, sigma_cut=4.0, bucket_size=4)
    assert fewest[0] < fewer[0] / 2 < calls[0] / 4
    assert plain[0] > cut[0] > coarse[0] > 0.7 * plain[0]
    lower, upper = presence_confidence_bounds(**asked)
    assert plain[0] <= upper[0]
    assert plain[0] == pytest.approx(lower[0], abs=1e-8)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), on_low=st.booleans(), bound=shares)
def test_dominant_classes_hold_the_lowest_confidence(data: st.DataObject, on_low: bool, bound: Fraction) -> None:
    others = data.draw(st.integers(1, 12))
    rows = data.draw(
        st.lists(
            st.tuples(st.lists(st.integers(0, others), min_size=2, max_size=2), st.integers(1, 3)),
            min_size=1,
            max_size=8,
        )
    )
    asked: dict[str, Any] = {
        "marginals": [marginals for marginals, _ in rows],
        "research_count": [count for _, count in rows],
        "others": others,
        "delta_low": bound if on_low else 0,
        "delta_high": 1 if on_low else bound,
    }
    kept = minimum_dominant_subset(**asked).tolist()
    confidences = exact_presence_confidence(**asked)
    assert min(confidences[index] for index in kept) == min(confidences)
    one_sided_on_low = on_low or bound == 1
    for one in kept:
        for other in kept:
            assert one == other or not oracle.dominates(rows[one], rows[other], on_low=one_sided_on_low)
    for index in range(len(rows)):
        assert any(oracle.dominates(rows[one], rows[index], on_low=one_sided_on_low) for one in kept)


def test_with_two_sided_delta_every_class_stays() -> None:
    kept = minimum_dominant_subset(marginals=[[1], [3]], research_count=[1, 1], others=4, delta_low=0.1, delta_high=0.9)
    assert kept.tolist() == [0, 1]


@settings(deadline=None, derandomize=True, max_examples=80)
@given(research=st.integers(1, 30), delta=deltas, others=st.integers(1, 60), matching=st.integers(0, 60))
def test_the_allowed_counts_are_those_that_are_present(
    research: int, delta: list[Fraction], others: int, matching: int
) -> None:
    matching = min(matching, others)
    (confidence,) = exact_presence_confidence(
        marginals=[matching], research_count=research, others=others, delta_low=delta[0], delta_high=delta[1]
    )
    assert confidence == int(oracle.is_present(research, matching, *delta))


def test_a_float_stands_for_the_decimal_it_prints_as() -> None:
    asked: dict[str, Any] = {"research_count": 1, "others": 20}
    assert exact_presence_confidence(marginals=[9], delta_low=0.1, delta_high=1, **asked) == (Fraction(1),)
    assert exact_presence_confidence(marginals=[9], delta_low=0, delta_high=np.float64(0.1), **asked) == (Fraction(1),)
    assert exact_presence_confidence(marginals=[10], delta_low=0.1, delta_high=1, **asked) == (Fraction(0),)


def test_edges() -> None:
    asked: dict[str, Any] = {"research_count": 1, "others": 5}
    assert exact_presence_confidence(marginals=[2, 3], delta_low=0, delta_high=1, **asked) == (Fraction(1),)
    assert exact_presence_confidence(marginals=[2, 3], delta_low=0, delta_high=0, **asked) == (Fraction(0),)
    assert exact_presence_confidence(marginals=[0, 3], delta_low=0, delta_high=0.5, **asked) == (Fraction(0),)
    assert exact_presence_confidence(marginals=[5, 5], delta_low=0, delta_high=0.2, **asked) == (Fraction(1),)
    lower, upper = presence_confidence_bounds(
        marginals=[[0]], research_count=[1], others=0, delta_low=0, delta_high=0.5
    )
    assert (lower[0], upper[0]) == (0.0, 0.0)


def test_equal_classes_get_equal_answers_whatever_the_order_of_attributes() -> None:
    lower, upper = presence_confidence_bounds(
        marginals=[[30, 40, 100], [40, 100, 30]], research_count=[2, 2], others=100, delta_low=0.1, delta_high=0.25
    )
    assert lower[0] == lower[1]
    assert upper[0] == upper[1]


def test_exact_fractions_have_a_size_limit() -> None:
    with pytest.raises(TooLargeError, match="limit=300000"):
        exact_presence_confidence(
            marginals=[5_000, 5_000], research_count=1, others=10_000, delta_low=0, delta_high=Fraction(1, 2_500)
        )
    with pytest.raises(TooLargeError, match="exceeds 5000000"):
        paper_confidence(marginals=[5], research_count=1, others=10**7, delta_low=0, delta_high=0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"others": -1},
        {"others": 2.0},
        {"others": True},
        {"marginals": [6, 1]},
        {"marginals": [-1, 1]},
        {"marginals": [0.5, 1]},
        {"marginals": [[]]},
        {"research_count": [1, 1]},
        {"research_count": 0},
        {"delta_low": 0.6},
        {"delta_low": -0.1},
        {"delta_high": 1.1},
        {"delta_high": float("nan")},
        {"delta_low": "0.1"},
    ],
)
def test_refuses_what_makes_no_sense(wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "marginals": [2, 3],
        "research_count": 1,
        "others": 5,
        "delta_low": 0.1,
        "delta_high": 0.5,
    }
    for function in (presence_confidence_bounds, exact_presence_confidence, paper_confidence, minimum_dominant_subset):
        with pytest.raises(ParameterError):
            function(**{**asked, **wrong})


def test_refuses_an_unknown_method_and_switches_out_of_range() -> None:
    asked: dict[str, Any] = {
        "marginals": [2, 3],
        "research_count": 1,
        "others": 5,
        "delta_low": 0.1,
        "delta_high": 0.5,
    }
    with pytest.raises(ParameterError, match="window"):
        presence_confidence_bounds(**asked, method="windows")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sigma_cut"):
        paper_confidence(**asked, sigma_cut=0.0)
    with pytest.raises(ParameterError, match="bucket_size"):
        paper_confidence(**asked, bucket_size=0)


def test_bounds_of_the_diabetes_example() -> None:
    low, high = presence_bounds(prior=0.07, gain=0.01, drop=0.02, population_size=50_000, research_size=2_000)
    assert low == pytest.approx(0.0194, abs=5e-5)
    assert high == pytest.approx(0.0503, abs=5e-5)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    prior=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    gain=shares,
    drop=shares,
    population=st.integers(100, 10_000),
    part=st.fractions(0, 1, max_denominator=50),
)
def test_bounds_keep_the_belief_near_the_prior(
    prior: Fraction, gain: Fraction, drop: Fraction, population: int, part: Fraction
) -> None:
    research = max(1, int(part * prior * population))
    low, high = presence_bounds(prior=prior, gain=gain, drop=drop, population_size=population, research_size=research)
    assert 0.0 <= low <= high <= 1.0
    if gain or drop:
        assert oracle.belief(prior, Fraction(high), population, research) <= prior + gain
        assert oracle.belief(prior, Fraction(low), population, research) >= prior - drop
    slack = Fraction(1, 10**9)
    assert high == 1.0 or oracle.belief(prior, Fraction(high) + slack, population, research) > prior + gain
    assert low == 0.0 or oracle.belief(prior, Fraction(low) - slack, population, research) < prior - drop


@pytest.mark.parametrize(
    "wrong",
    [
        {"prior": 1},
        {"prior": -0.1},
        {"gain": 2},
        {"drop": "none"},
        {"population_size": 0},
        {"research_size": 0},
        {"research_size": 701},
    ],
)
def test_bounds_refuse_what_makes_no_sense(wrong: dict[str, Any]) -> None:
    asked = {"prior": 0.07, "gain": 0.01, "drop": 0.02, "population_size": 10_000, "research_size": 400}
    with pytest.raises(ParameterError):
        presence_bounds(**{**asked, **wrong})
