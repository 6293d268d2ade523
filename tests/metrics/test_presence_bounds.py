"""From acceptable harm to bounds of delta: the paper's example, and what the bounds promise."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.presence.delta_presence import presence_bounds
from tests.metrics.presence_questions import shares
from tests.oracles import presence as oracle


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
    least, most = Fraction(repr(low)), Fraction(repr(high))  # as limits read them
    if gain or drop:
        assert oracle.belief(prior, most, population, research) <= prior + gain
        assert oracle.belief(prior, least, population, research) >= prior - drop
    slack = Fraction(1, 10**9)
    assert high == 1.0 or oracle.belief(prior, most + slack, population, research) > prior + gain
    assert low == 0.0 or oracle.belief(prior, least - slack, population, research) < prior - drop


def test_a_bound_that_a_decimal_states_is_that_decimal() -> None:
    asked: dict[str, Any] = {"prior": 0.5, "gain": 0, "population_size": 1000, "research_size": 100}
    assert presence_bounds(**asked, drop=0.05) == (0.01, 0.1)


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
def test_invalid_bounds_raise(wrong: dict[str, Any]) -> None:
    asked = {"prior": 0.07, "gain": 0.01, "drop": 0.02, "population_size": 10_000, "research_size": 400}
    with pytest.raises(ParameterError):
        presence_bounds(**{**asked, **wrong})
