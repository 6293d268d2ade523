"""epsilon-dependence of channels, exact releases and paired columns, against the definition."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError, TooLargeError
from privacy_plugin.metrics.dependence.binomial_bounds import clopper_pearson
from privacy_plugin.metrics.dependence.channel import (
    count_dependence,
    histogram_dependence,
    information_bound,
    logarithm_above,
)
from tests.oracles import dependence as oracle
from tests.oracles.paired_columns import least_epsilon

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
KEPT = [[1 - QUARTER, QUARTER], [QUARTER, 1 - QUARTER]]
THIRD = [[HALF if x == s else QUARTER for s in range(3)] for x in range(3)]

weights = st.integers(0, 6)


@st.composite
def distributions(draw, length):
    numbers = draw(st.lists(weights, min_size=length, max_size=length).filter(any))
    return [Fraction(number, sum(numbers)) for number in numbers]


@st.composite
def channels(draw):
    inputs, outputs = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    return [draw(distributions(outputs)) for _ in range(inputs)], draw(distributions(inputs))


@pytest.mark.parametrize(
    ("channel", "prior", "free", "with_prior"),
    [
        (KEPT, [HALF, HALF], 3, 2),
        (KEPT, [Fraction(9, 10), Fraction(1, 10)], 3, Fraction(14, 5)),
        (THIRD, [Fraction(1, 3)] * 3, 2, Fraction(3, 2)),
        ([[1, 0], [0, 1]], [HALF, HALF], math.inf, math.inf),
        ([[1, 0], [0, 1]], [1, 0], math.inf, 1),
        ([[HALF, HALF, 0]] * 3, [1, 0, 0], 1, 1),
    ],
)
def test_worked_examples(channel, prior, free, with_prior):
    found = pp.epsilon_dependence(channel, prior=prior)
    assert found.prior_free_factor == free
    assert found.factor == with_prior
    assert pp.epsilon_dependence(channel).factor == free
    assert found.value == pytest.approx(math.log(with_prior), abs=1e-14)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["inputs"] == len(channel)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(case=channels())
def test_definition(case):
    channel, prior = case
    found = pp.epsilon_dependence(channel, prior=prior)
    possible = [(row, p) for row, p in zip(channel, prior, strict=True) if p]
    assert found.prior_free_factor == oracle.factor_without_prior(channel)
    assert found.factor == oracle.factor_with_prior([row for row, _ in possible], [p for _, p in possible])
    assert found.factor <= found.prior_free_factor
    assert found.mutual_information == pytest.approx(oracle.mutual_information(channel, prior), abs=1e-12)
    assert found.mutual_information <= found.information_bound + 1e-12
    assert found.information_bound <= found.value


@settings(max_examples=200, deadline=None, derandomize=True)
@given(top=st.integers(1, 10**40), bottom=st.integers(1, 10**40))
def test_epsilon_is_rounded_up_and_hardly(top, bottom):
    factor = max(Fraction(top, bottom), Fraction(bottom, top))
    value, error = logarithm_above(factor)
    truth = oracle.logarithm(factor)
    assert Decimal(value) - Decimal(error) <= truth <= Decimal(value)
    assert error <= 1e-12


def test_posteriors_of_two_outcomes_may_differ_by_more_than_epsilon():
    """The erratum: for prior 1/10 the posterior ratio between the outcomes is 7, above e^epsilon = 3."""
    prior = [Fraction(9, 10), Fraction(1, 10)]
    posterior = [prior[1] * KEPT[1][s] / sum(p * row[s] for p, row in zip(prior, KEPT, strict=True)) for s in range(2)]
    factor = pp.epsilon_dependence(KEPT).factor
    assert posterior[1] / posterior[0] == 7 > factor
    assert posterior[1] / posterior[0] <= factor**2


def test_rounded_rows_are_scaled_and_widen_the_error():
    thirds = np.full((2, 3), 1 / 3)
    thirds[1] = [0.5, 0.25, 0.25]
    found = pp.epsilon_dependence(thirds)
    assert found.value - found.error <= math.log(3 / 2) <= found.value
    assert 0 < found.error < 1e-12


@pytest.mark.parametrize(
    "wrong",
    [[], [[]], [[0.5, 0.4]], [[1, 0], [1]], [[2, -1]], "matrix", 5, [["a", "b"]], [[float("nan"), 1]], [5, 6]],
)
def test_invalid_channels_raise(wrong):
    with pytest.raises(ParameterError):
        pp.epsilon_dependence(wrong)


def test_a_prior_must_fit():
    with pytest.raises(ParameterError, match="2 inputs"):
        pp.epsilon_dependence(KEPT, prior=[1])


def test_information_bound_of_infinity():
    assert information_bound(math.inf) == math.inf


def test_exact_counts_of_four_fair_bits():
    assert count_dependence([HALF] * 4) == (math.inf, 3, 1, 3, math.inf)
    assert count_dependence([1, 0, 1]) == (None, None, 1, None)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(chances=st.lists(st.sampled_from([0, "1/5", "1/2", "3/4", 1]).map(Fraction), min_size=1, max_size=5))
def test_exact_counts_by_enumeration(chances):
    rows = [[1 - p, p] for p in chances]
    wanted = tuple(oracle.histogram_factor(rows, (len(rows) - y, y)) for y in range(len(rows) + 1))
    assert count_dependence(chances) == wanted


@pytest.mark.parametrize("chances", [["1/2", "1/4", "1/4"], ["1/6", "1/3", "1/2"], ["1/2", "1/2", 0]])
def test_exact_histograms_by_enumeration(chances):
    p = [Fraction(chance) for chance in chances]
    for counts in product(range(5), repeat=3):
        if sum(counts) == 4 and not any(count and not chance for count, chance in zip(counts, p, strict=True)):
            found = histogram_dependence(counts, value_probabilities=chances)
            assert found == oracle.histogram_factor([p] * 4, counts)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), rows=st.integers(1, 4), values=st.integers(1, 3))
def test_exact_histograms_of_different_rows_by_enumeration(data, rows, values):
    chances = [data.draw(distributions(values)) for _ in range(rows)]
    for counts in product(range(rows + 1), repeat=values):
        if sum(counts) != rows:
            continue
        wanted = oracle.histogram_factor(chances, counts)
        if wanted is None:
            with pytest.raises(ParameterError, match="cannot happen"):
                pp.histogram_dependence(counts, row_probabilities=chances)
        else:
            assert pp.histogram_dependence(counts, row_probabilities=chances) == wanted


def test_rows_alike_are_the_closed_form_and_two_values_are_a_count():
    shares = ["1/6", "1/3", "1/2"]
    alike = pp.histogram_dependence([1, 2, 3], row_probabilities=[shares] * 6)
    assert alike == pp.histogram_dependence([1, 2, 3], value_probabilities=shares)
    chances = ["1/5", "1/2", "3/4"]
    rows = [[1 - Fraction(chance), chance] for chance in chances]
    assert pp.count_dependence(chances)[1] == pp.histogram_dependence([2, 1], row_probabilities=rows)


def test_invalid_histograms_of_different_rows_raise():
    half = ["1/2", "1/2"]
    for wrong in ({}, {"value_probabilities": half, "row_probabilities": [half] * 2}, {"row_probabilities": [half]}):
        with pytest.raises(ParameterError):
            pp.histogram_dependence([1, 1], **wrong)
    with pytest.raises(ParameterError):
        pp.histogram_dependence([1, 1, 0], row_probabilities=[half] * 2)
    with pytest.raises(TooLargeError):
        pp.histogram_dependence([200, 200], row_probabilities=[half] * 399 + [["1/3", "2/3"]])


def test_invalid_arguments_of_exact_releases_raise():
    for wrong in ([2], ["-1/2"], []):
        with pytest.raises(ParameterError):
            count_dependence(wrong)
    with pytest.raises(TooLargeError):
        count_dependence([Fraction(1, 2 + i) for i in range(401)])
    for counts in ([1, 1], [0, 0, 0], [1, 0, 1], [1.5, 1, 0]):
        with pytest.raises(ParameterError):
            histogram_dependence(counts, value_probabilities=["1/2", "1/2", 0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(trials=st.integers(1, 60), share=st.fractions(0, 1), alpha=st.sampled_from([0.05, 1e-3, 1e-9]))
def test_bounds_are_those_of_the_exact_tail(trials, share, alpha):
    successes = int(share * trials)
    low, high = clopper_pearson(np.array([successes]), np.array([trials]), alpha=alpha)
    lowest, highest = Fraction(float(low[0])), Fraction(float(high[0]))
    assert oracle.upper_tail(successes, trials, lowest) <= alpha or successes == 0
    assert oracle.upper_tail(trials - successes, trials, 1 - highest) <= alpha or successes == trials
    if successes:
        assert oracle.upper_tail(successes, trials, lowest * (1 + Fraction(1, 10**6))) > alpha


def pairs(kept, moved):
    rows = [("a", "a")] * kept + [("a", "b")] * moved + [("b", "b")] * kept + [("b", "a")] * moved
    return pd.DataFrame(rows, columns=["truth", "shown"])


def test_an_audit_bounds_from_below():
    few, many = (pp.audit_channel(pairs(3 * n, n), original="truth", released="shown").value for n in (100, 100_000))
    assert 0 < few < many < math.log(3)
    assert many > math.log(3) - 0.05
    independent = pp.audit_channel(pairs(50, 50), original="truth", released="shown")
    assert independent.value == 0
    assert independent.to_dict()["bound"] == "lower"


def test_the_bounds_hold_together_with_the_stated_confidence():
    """300 audits of randomized response at 90%: more than 60 wrong ones have a chance below 1e-7."""
    generator = np.random.default_rng(7)
    wrong = 0
    for _ in range(300):
        first, second = generator.binomial(40, 0.75, 2)
        rows = [("a", "a")] * first + [("a", "b")] * (40 - first) + [("b", "b")] * second + [("b", "a")] * (40 - second)
        table = pp.FrequencyTable.from_rows(["truth", "shown"], rows)
        wrong += pp.audit_channel(table, original="truth", released="shown", confidence=0.9).value > math.log(3)
    assert wrong <= 60


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    pairs=st.lists(st.tuples(st.sampled_from([None, "a", 1]), st.sampled_from(["a", None, True])), min_size=1),
    copies=st.integers(0, 12),
    confidence=st.sampled_from(["1/2", 0.95, 0.999]),
)
def test_an_audit_is_what_exact_tails_prove(pairs, copies, confidence):
    rows = [*pairs, *[("a", "a"), (None, None)] * copies]
    table = pp.FrequencyTable.from_rows(["truth", "shown"], rows)
    found = pp.audit_channel(table, original="truth", released="shown", confidence=confidence).value
    assert found == pytest.approx(least_epsilon(rows, Fraction(str(confidence))), abs=1e-8)


def test_invalid_arguments_of_an_audit_raise():
    with pytest.raises(ColumnError):
        pp.audit_channel(pairs(3, 1), original="truth", released="truth")
    with pytest.raises(ColumnError, match="shown"):
        pp.audit_channel(pairs(3, 1), original="truth", released="shwon")
    for confidence in (0, 1, 2):
        with pytest.raises(ParameterError):
            pp.audit_channel(pairs(3, 1), original="truth", released="shown", confidence=confidence)


CHANNEL = [["3/4", "1/4"], ["1/4", "3/4"]]


def judged(data, channel, **more):
    return pp.require("epsilon_dependence", channel=channel, **more).judge(data, attributes=["truth", "shown"])


def test_a_gate_takes_the_declared_epsilon_and_the_data_can_only_refute_it():
    assert judged(pairs(75, 25), CHANNEL, at_most=1.1).passed
    assert not judged(pairs(75, 25), CHANNEL, at_most=1).passed
    flattering = judged(pairs(750, 250), [["3/5", "2/5"], ["2/5", "3/5"]], at_most=0.5)
    assert not flattering.passed
    assert flattering.measurement.details["refuted"]
    never_seen = judged(pairs(50, 50), CHANNEL, at_most=1)
    assert not never_seen.passed  # the data look harmless; the declared channel is not


def test_a_gate_without_a_channel_or_with_other_values_is_closed():
    with pytest.raises(ParameterError, match="channel"):
        pp.require("epsilon_dependence", at_most=1)
    three = pd.DataFrame([("a", "a"), ("b", "b"), ("c", "a")], columns=["truth", "shown"])
    found = judged(three, CHANNEL, at_most=2)
    assert found.status == "failed"
    assert found.value == math.inf
    one = pp.require("epsilon_dependence", channel=CHANNEL, at_most=2).judge(three, attributes=["truth"])
    assert one.status == "not_evaluated"


IDENTITY = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("channel", "prior", "rows"),
    [
        (IDENTITY, [1, 0, 0], 1),  # two values occur where the prior says that all are one
        ([["1/2", "1/2", 0], ["1/2", "1/2", 0], [0, 0, 1]], [HALF, HALF, 0], 500),  # the prior excludes the third
        ([[1, 0]] * 2, None, 1),  # a value was released that no original can become
    ],
)
def test_a_copy_is_refuted_by_what_prior_and_channel_call_impossible(channel, prior, rows):
    """Declared is an epsilon of 0; inputs of prior 0 and outputs of probability 0 must not make room for more."""
    assert pp.epsilon_dependence(channel, prior=prior).value == 0
    found = judged(pairs(rows, 0), channel, prior=prior, at_most=0.1)
    assert not found.passed
    assert found.measurement.details["refuted"]


def test_what_prior_and_channel_allow_is_not_refuted():
    alike = [["1/2", "1/2", 0], ["1/2", "1/2", 0], [0, 0, 1]]
    assert judged(pairs(50, 50), alike, prior=[HALF, HALF, 0], at_most=0).passed
