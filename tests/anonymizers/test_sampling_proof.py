"""The delta that is stated against the delta that is true: all outputs of tiny tables, added up."""

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import guarantee
from privacy_plugin.anonymizers.epsilon_safe.sampling import sampling_delta, smallest_k
from privacy_plugin.errors import ParameterError
from tests.oracles.epsilon_safe import Mechanism, Row, sharp_bound, true_delta

ROUNDING = 1e-12
YES_NO = [lambda value: value, lambda value: "*"]
NUMBER = [lambda value: value, lambda value: value // 2, lambda value: "*"]  # type: ignore[operator]
ONE_COMMON_TRAIT = [(1, 0, 0), (0, 1, 0), (0, 0, 1)] + [(0, 0, 0)] * 5  # each with the person (1, 1, 1), else alone


def test_the_printed_delta_is_too_small_where_the_generalization_is_chosen_on_the_sample() -> None:
    """Nine people with three yes/no traits: the choice goes where the person happens to be seen in a pair."""
    mechanism = Mechanism(levels=[YES_NO] * 3, k=2, beta=0.5, epsilon=8, penalty=2, expected=4)
    truth = true_delta(mechanism, ONE_COMMON_TRAIT, (1, 1, 1), 8 + log(2))
    printed = sampling_delta(k=2, beta=0.5)
    assert printed == pytest.approx(0.25)
    assert truth == pytest.approx(0.2689, abs=1e-4)
    assert truth <= guarantee(k=2, beta=0.5, epsilon=8).delta
    sharp = sharp_bound(k=2, beta=0.5, choice=8, epsilon=8 + log(2), largest=9, interpolated=False)
    assert truth <= sharp < 1


@st.composite
def tiny(draw: st.DrawFn) -> tuple[list[Row], Row, Mechanism, bool]:
    """Up to seven people, two or three columns, any parameters; sometimes with averaged utilities."""
    columns = draw(st.sampled_from([(YES_NO, YES_NO, YES_NO), (NUMBER, YES_NO), (NUMBER,)]))
    row = st.tuples(*(st.integers(0, len(column) * 2 - 3) for column in columns))
    rows = draw(st.lists(row, min_size=1, max_size=6))
    interpolates = draw(
        st.sampled_from([lambda node: False, lambda node: sum(node) % 2 == 1, lambda node: node[0] == 1])
    )
    mechanism = Mechanism(
        levels=columns,
        k=draw(st.integers(2, 3)),
        beta=draw(st.sampled_from([0.2, 0.5, 0.7, 0.9])),
        epsilon=draw(st.sampled_from([0.05, 0.3, 1.0, 3.0, 8.0])),
        penalty=draw(st.sampled_from([0.3, 2.0, 50.0])),
        expected=draw(st.integers(1, 7)),
        interpolates=interpolates,
    )
    return rows, draw(row), mechanism, any(interpolates(node) for node in mechanism.nodes())


@settings(max_examples=150, deadline=None)
@given(case=tiny(), more=st.sampled_from([0.0, 0.2]))
def test_no_small_table_exceeds_the_stated_delta(case: tuple[list[Row], Row, Mechanism, bool], more: float) -> None:
    rows, person, mechanism, interpolated = case
    k, beta, choice = mechanism.k, mechanism.beta, mechanism.epsilon
    share = -log(1 - beta) + more
    truth = true_delta(mechanism, rows, person, choice + share)
    sharp = sharp_bound(
        k=k, beta=beta, choice=choice, epsilon=choice + share, largest=len(rows) + 1, interpolated=interpolated
    )
    stated = sampling_delta(
        k=k, beta=beta, epsilon=share if more else None, choice_epsilon=choice, interpolated=interpolated
    )
    assert truth <= sharp + ROUNDING
    assert sharp <= stated + ROUNDING


def test_presence_needs_a_delta_and_absence_does_not() -> None:
    """Evidence of absence stays within epsilon alone; evidence of presence needs delta."""
    from tests.oracles.epsilon_safe import delta_between

    mechanism = Mechanism(levels=[YES_NO] * 3, k=2, beta=0.5, epsilon=1, penalty=2, expected=4)
    with_person, without = (
        mechanism.outputs([*ONE_COMMON_TRAIT, *more]) for more in ([(1, 1, 1)], list[tuple[int, ...]]())
    )
    assert delta_between(without, with_person, 1 + log(2)) == 0
    assert delta_between(with_person, without, 1 + log(2)) > 0.01


@settings(max_examples=40, deadline=None)
@given(
    k=st.integers(2, 120),
    beta=st.floats(0.05, 0.95),
    choice=st.floats(0, 3),
    interpolated=st.booleans(),
    more=st.floats(0.001, 1),
)
def test_delta_with_a_choice_is_never_below_delta_without_and_falls_with_k(
    k: int, beta: float, choice: float, interpolated: bool, more: float
) -> None:
    near = 1 + 1e-9
    price = sampling_delta(k=k, beta=beta, choice_epsilon=choice, interpolated=interpolated)
    assert sampling_delta(k=k, beta=beta) <= price * near
    assert sampling_delta(k=k, beta=beta, choice_epsilon=choice + more, interpolated=interpolated) * near >= price
    assert sampling_delta(k=k + 1, beta=beta, choice_epsilon=choice, interpolated=interpolated) <= price * near
    assert price <= sampling_delta(k=k, beta=beta, choice_epsilon=choice, interpolated=True) * near


def test_the_price_at_the_published_parameters() -> None:
    """They stay 'safe' for 30,162 rows, delta < 0.1 / rows; with averaged utilities they do not."""
    safe = 0.1 / 30_162
    assert sampling_delta(k=75, beta=0.7, choice_epsilon=0.5) == pytest.approx(3.2486e-6, rel=1e-4)
    assert sampling_delta(k=75, beta=0.7, choice_epsilon=0.5) < safe
    assert sampling_delta(k=75, beta=0.7, choice_epsilon=0.5, interpolated=True) > safe
    assert smallest_k(beta=0.7, delta=safe, choice_epsilon=0.5) == 75
    assert smallest_k(beta=0.7, delta=safe, choice_epsilon=1) == 76


def test_delta_is_one_if_the_choice_may_follow_the_sample() -> None:
    assert sampling_delta(k=2, beta=0.5, choice_epsilon=1000) == 1
    assert 0 < sampling_delta(k=100_000, beta=0.5) < 1e-300
    with pytest.raises(ParameterError):
        sampling_delta(k=5, beta=0.5, choice_epsilon=-1)
