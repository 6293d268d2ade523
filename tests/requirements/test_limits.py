from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.registry import Metric, find_metric
from privacy_plugin.requirements.limits import Limit

K = find_metric("k_anonymity")
RISK = find_metric("reidentification_risk")
PRESENCE = Metric(
    name="presence",
    title="",
    safer="between",
    measure=lambda table: None,
    attacker="",
    remedy="",
    paper="",
    axis="",
    shows="",
    hides="",
)


def measured(value, error=0.0):
    return Measurement(metric="m", value=value, parameters={}, rows=1, classes=1, error=error)


def holds(metric, value, error=0.0, **given):
    return Limit.parse(metric, given).holds(measured(value, error))


@pytest.mark.parametrize(
    ("limit", "value", "met"),
    [
        ({"at_most": 0.09}, Fraction(9, 100), True),
        ({"at_most": 0.09}, Fraction(1, 11), False),
        ({"at_most": "1/11"}, Fraction(1, 11), True),
        ({"below": 0.09}, Fraction(9, 100), False),
        ({"below": 0.09}, Fraction(89999, 10**6), True),
        ({"at_most": Decimal("0.09")}, Fraction(9, 100), True),
        ({"at_most": np.float64(0.09)}, Fraction(9, 100), True),
        ({"at_most": np.float32(0.09)}, Fraction(9, 100), True),
        ({"at_most": Fraction(1, 3)}, Fraction(1, 3), True),
        ({"at_most": 0.3333333333333333}, Fraction(1, 3), False),
        ({"at_most": 0}, Fraction(0), True),
        ({"at_most": 0}, Fraction(1, 10**30), False),
        ({"at_most": 1}, Fraction(1), True),
        ({"at_most": 1e-05}, Fraction(1, 10**5), True),
    ],
)
def test_a_limit_is_parsed_exactly(limit, value, met):
    assert holds(RISK, value, **limit) is met


@pytest.mark.parametrize(
    ("limit", "value", "met"),
    [
        ({"at_least": 5}, 5, True),
        ({"at_least": 5}, 4, False),
        ({"above": 5}, 5, False),
        ({"above": 5}, 6, True),
        ({"at_least": 2.5}, 2, False),
        ({"at_least": np.int64(5)}, 5, True),
        ({"at_least": 2**60 + 1}, 2**60, False),
    ],
)
def test_at_least_and_above(limit, value, met):
    assert holds(K, value, **limit) is met


def test_between_checks_both_ends():
    for value, met in ((Fraction(1, 100), True), (Fraction(2, 10), True), (Fraction(3, 10), False), (0, False)):
        assert holds(PRESENCE, value, between=(0.01, 0.2)) is met
        assert holds(PRESENCE, value, between=[0.01, 0.2]) is met


def test_an_inexact_value_is_compared_at_its_worse_end():
    assert not holds(K, 5.0, error=1e-9, at_least=5)
    assert holds(K, 5.1, error=0.05, at_least=5)
    assert not holds(RISK, 0.5, error=1e-9, at_most=0.5)
    assert not holds(PRESENCE, 0.5, error=0.2, between=(0.4, 0.9))
    assert not holds(PRESENCE, 0.5, error=0.2, between=(0.1, 0.6))
    assert holds(PRESENCE, 0.5, error=0.1, between=(0.1, 0.9))


@pytest.mark.parametrize("error", [0.0, float("nan")])
def test_nan_meets_no_limit(error):
    value = float("nan") if not error else 5.0
    assert not holds(K, value, error=error, at_least=1)
    assert not holds(RISK, value, error=error, at_most=1)
    assert not holds(PRESENCE, value, error=error, between=(0, 10))


@pytest.mark.parametrize(
    "number",
    [True, False, np.bool_(True), "5", np.str_("5"), "five", "", "1/0", "nan", float("nan"), float("inf"),
     float("-inf"), Decimal("NaN"), Decimal("Infinity"), [5], (5,), {5}, {"a": 5}, 5j, b"5", object],
    ids=repr,
)  # fmt: skip
def test_a_limit_must_be_a_number(number):
    for metric, kind in ((K, "at_least"), (K, "above"), (RISK, "at_most"), (RISK, "below")):
        with pytest.raises(ParameterError, match=r"number|finite"):
            Limit.parse(metric, {kind: number})
    with pytest.raises(ParameterError):
        Limit.parse(PRESENCE, {"between": (0, number)})


@pytest.mark.parametrize("limits", [{}, {"at_least": None}, {"at_least": 5, "above": 4}, {"at_least": 5, "at_most": 9}])
def test_none_or_several_limits_raise_an_error(limits):
    with pytest.raises(ParameterError, match=r"exactly one limit .at_least or above."):
        Limit.parse(K, limits)


@pytest.mark.parametrize(
    ("metric", "kind", "words"),
    [
        (K, "at_most", "safer when higher: use at_least or above, not at_most"),
        (K, "below", "not below"),
        (RISK, "at_least", "safer when lower: use at_most or below, not at_least"),
        (RISK, "above", "not above"),
        (PRESENCE, "at_most", "use between"),
    ],
)
def test_a_limit_in_the_wrong_direction_raises_an_error(metric, kind, words):
    with pytest.raises(ParameterError, match=words):
        Limit.parse(metric, {kind: 1})


def test_an_unknown_limit_suggests_the_nearest_name():
    with pytest.raises(ParameterError, match="did you mean 'at_least'"):
        Limit.parse(K, {"atleast": 5})


@pytest.mark.parametrize(
    ("metric", "limits"),
    [
        (K, {"at_least": 0}),
        (K, {"at_least": -5}),
        (K, {"above": 0.5}),
        (RISK, {"at_most": 1.01}),
        (RISK, {"at_most": -0.01}),
        (RISK, {"at_most": 9}),
    ],
)
def test_a_limit_outside_the_range_of_the_metric_raises_an_error(metric, limits):
    with pytest.raises(ParameterError, match="must be at least"):
        Limit.parse(metric, limits)


@pytest.mark.parametrize("pair", [0.1, (0.1,), (0.1, 0.2, 0.3), (0.2, 0.1), "ab", None, {0.1, 0.2}])
def test_between_takes_a_pair_in_order(pair):
    with pytest.raises(ParameterError):
        Limit.parse(PRESENCE, {"between": pair})


@settings(deadline=None, derandomize=True)
@given(st.fractions(min_value=0, max_value=1) | st.floats(0, 1))
def test_a_limit_round_trips_through_plain_data(bound):
    limit = Limit.parse(RISK, {"at_most": bound})
    assert Limit.parse(RISK, limit.given) == limit
    assert limit.bounds == (Fraction(str(bound)),)


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 10**12), st.integers(-3, 3), st.sampled_from(["at_most", "below"]))
def test_failing_counts_agree_with_the_exact_comparison(size, offset, kind):
    """Counts of people affected use floating point; a class and its limit may be as close as 1/n and 1/(n+1)."""
    limit = Limit.parse(RISK, {kind: Fraction(1, size)})
    actual = max(size + offset, 1)
    exactly = Fraction(1, actual) > Fraction(1, size) or (kind == "below" and actual == size)
    if abs(offset) * 10**12 > 2 * size or not offset:  # closer than the stated rounding they may be counted either way
        assert bool(limit.failing(np.array([1 / actual]))[0]) is exactly


def test_a_limit_prints_its_kind_and_bound():
    assert str(Limit.parse(K, {"at_least": 5})) == "at least 5"
    assert str(Limit.parse(RISK, {"at_most": "1/11"})) == "at most 1/11"
    assert str(Limit.parse(PRESENCE, {"between": (0.01, 0.2)})) == "between 0.01 and 0.2"
