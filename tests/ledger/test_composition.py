"""Both bounds of a total hold for the worst mechanisms there are, and totals do not grow with their spends."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.composition import ADDED_OR_REMOVED, CONCENTRATED, SEQUENTIAL, SUBSTITUTED, Sums, Total
from privacy_plugin.ledger.zero_concentrated import epsilon_within, rounded_up
from tests.oracles.composition import exact_delta

PAIRS = st.lists(st.tuples(st.floats(0.01, 3), st.sampled_from([0.0, 0.0, 1e-6, 1e-3])), max_size=8)
RHOS = st.lists(st.floats(1e-4, 1), max_size=4)


def total_of(pairs: list[tuple[float, float]], rhos: list[float]) -> Total:
    """Spends of responses, and of Gaussians whose own epsilon is stated at a delta of 1e-6."""
    responses = [(Sums.of(Budget.of(epsilon, delta)), SUBSTITUTED) for epsilon, delta in pairs]
    stated = [Budget.of(epsilon_within(Fraction(rho), Fraction(1, 10**6)), "1/1000000") for rho in rhos]
    gaussians = [(Sums.of(budget, rho), SUBSTITUTED) for budget, rho in zip(stated, rhos, strict=True)]
    return Total.of([*responses, *gaussians])


@given(PAIRS, RHOS, st.sampled_from([1e-9, 1e-6, 1e-4, 1e-2]))
@settings(max_examples=150, deadline=None)
def test_the_smaller_bound_holds_for_the_worst_mechanisms(
    pairs: list[tuple[float, float]], rhos: list[float], delta: float
) -> None:
    bound, name = total_of(pairs, rhos).within(Fraction(str(delta)))
    reached = exact_delta(float(bound.epsilon), pairs=pairs, rhos=rhos)
    assert reached <= float(bound.delta) * (1 + 1e-6) + 1e-15, name


@given(PAIRS, RHOS, st.sampled_from([1e-9, 1e-6, 1e-2]))
@settings(max_examples=60, deadline=None)
def test_no_bound_is_above_the_sum(pairs: list[tuple[float, float]], rhos: list[float], delta: float) -> None:
    total = total_of(pairs, rhos)
    bound, name = total.within(Fraction(str(delta)))
    if total.added.delta <= Fraction(str(delta)):
        assert bound.epsilon <= total.added.epsilon
    assert name in (SEQUENTIAL, CONCENTRATED)


def test_many_small_spends_cost_less_than_their_sum() -> None:
    total = Total.of([(Sums.of(Budget.of("1/10")), SUBSTITUTED)] * 1000)
    bound, name = total.within(Fraction(1, 10**6))
    assert (total.added.epsilon, name, bound.delta) == (100, CONCENTRATED, Fraction(1, 10**6))
    assert 20 < bound.epsilon < 21
    assert total.within(Fraction(0)) == (total.added, SEQUENTIAL)  # without a delta only sums are valid


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.3, 2, 50])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05])
def test_rho_is_converted_like_opendp_does(rho: float, delta: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    noise = dp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)
    ours = epsilon_within(Fraction(str(rho)), Fraction(str(delta)))
    assert ours is not None
    assert theirs * (1 - 1e-6) <= float(ours) <= theirs * (1 + 1e-4)


def test_a_row_substituted_is_two_steps_of_one_added_or_removed() -> None:
    removed, substituted = Sums.of(Budget.of(1, "1/1000"), None), Sums.of(Budget.of(1), "1/2")
    sums = Total.of([(removed, ADDED_OR_REMOVED), (substituted, SUBSTITUTED)]).sums
    assert (sums.epsilon, sums.rho) == (3, 4 * Fraction(1, 2) + Fraction(1, 2))
    assert float(sums.rho_delta) == pytest.approx(0.001 * (1 + math.e))
    assert Total.of([(removed, ADDED_OR_REMOVED)] * 2).sums.epsilon == 2


def test_sums_keep_their_size_and_are_never_rounded_down() -> None:
    awkward = [Sums.of(Budget.of(Fraction(1, 10**60 + 2 * n + 1))) for n in range(30)]
    total = Total.of((one, SUBSTITUTED) for one in awkward).sums
    assert total.epsilon.denominator <= 10**400
    assert 0 <= total.epsilon - sum(one.epsilon for one in awkward) < Fraction(1, 10**390)
    assert all(rounded_up(Fraction(n, 7)) >= Fraction(n, 7) for n in range(1, 100))
    with pytest.raises(ParameterError, match="rho"):
        Sums.of(Budget.of(1), -1)
