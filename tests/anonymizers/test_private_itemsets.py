"""Itemsets drawn and counted with privacy: exact draws, their distribution by listing everything, their account."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.itemsets import private_itemsets
from privacy_plugin.anonymizers.itemsets.exact_draws import (
    ExactChoice,
    exponential_bounds,
    happens,
    secure_below,
    seeded_below,
)
from privacy_plugin.anonymizers.itemsets.private_itemsets import ItemsetDraws, ItemsetUniverse, informative_epsilon
from privacy_plugin.anonymizers.itemsets.randomized_itemset_counts import row_epsilon
from privacy_plugin.anonymizers.randomized_response import keep_probability
from privacy_plugin.errors import BudgetError, ColumnError, ParameterError, PrivacyPluginError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.ledger import BudgetLedger
from tests.oracles import itemset_counts
from tests.oracles import private_itemsets as oracle
from tests.oracles.dependence import logarithm

DOMAINS = [["p", "q"], ["u", "v", "w"], ["x"]]
NAMES = ["a", "b", "c"]
ROWS = [("p", "u", "x")] * 5 + [("p", "v", None)] * 3 + [("q", "v", "x"), (None, "w", "x")]
row_of = st.tuples(*(st.sampled_from([None, *domain]) for domain in DOMAINS))
SIX = 6.0  # deviations: beyond them with probability 2e-9 a number


def draws_of(rows, **wanted) -> ItemsetDraws:
    domains = {name: [*domain, None] for name, domain in zip(NAMES, DOMAINS, strict=True)}
    return ItemsetDraws.of(FrequencyTable.from_rows(NAMES, rows), domains=domains, **wanted)


def as_set(itemset) -> oracle.Itemset:
    return frozenset((NAMES.index(name), value) for name, value in itemset.items())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(exponent=st.fractions(0, 40, max_denominator=1000), digits=st.integers(5, 40))
def test_bounds_of_powers_hold_and_are_narrow(exponent: Fraction, digits: int) -> None:
    low, high = exponential_bounds(exponent, digits)
    finer = exponential_bounds(exponent, digits + 30)
    assert low * 10**30 <= finer[0] <= finer[1] <= high * 10**30
    assert high - low <= 3
    assert low / 10**digits <= math.exp(-exponent) * (1 + 1e-12)
    assert high / 10**digits >= math.exp(-exponent) * (1 - 1e-12)


def test_choices_and_events_have_their_probabilities() -> None:
    """8,000 draws each with a fixed seed: every share within six deviations, where nothing was drawn too."""
    below = seeded_below(np.random.default_rng(11))
    multiples, exponents = [3, 0, 10**12, 1], [Fraction(0), Fraction(0), Fraction(30), Fraction(1, 3)]
    weights = np.array([m * math.exp(-e) for m, e in zip(multiples, exponents, strict=True)])
    choice = ExactChoice(multiples, exponents)
    found = Counter(choice.draw(below) for _ in range(8_000))
    for index, share in enumerate(weights / weights.sum()):
        assert abs(found[index] / 8_000 - share) <= SIX * math.sqrt(share * (1 - share) / 8_000)
    for exponent in (Fraction(0), Fraction(1, 7), Fraction(1), Fraction(5, 2)):
        share = math.exp(-exponent)
        hits = sum(happens(exponent, below) for _ in range(8_000))
        assert abs(hits / 8_000 - share) <= SIX * math.sqrt(share * (1 - share) / 8_000)
    assert {ExactChoice([0, 7], [Fraction(0), Fraction(5000)]).draw(secure_below) for _ in range(9)} == {1}


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_the_universe_is_counted_and_drawn_evenly(longest: int) -> None:
    listed = oracle.universe(DOMAINS, longest)
    universe = ItemsetUniverse(sizes=(2, 3, 1), longest=longest)
    assert universe.size == len(listed)
    below = seeded_below(np.random.default_rng(12))
    found = Counter(frozenset((c, DOMAINS[c][code]) for c, code in universe.draw(below)) for _ in range(5_000))
    share = 1 / len(listed)
    for itemset in listed:
        assert abs(found[itemset] / 5_000 - share) <= SIX * math.sqrt(share * (1 - share) / 5_000)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=st.lists(row_of, min_size=1, max_size=8), other=row_of, threshold=st.integers(1, 6))
def test_a_substituted_row_changes_no_probability_by_more_than_epsilon(rows, other, threshold) -> None:
    """Over the whole distribution; and half the thesis' caution is enough: the support changes by 1, not 2."""
    listed = oracle.universe(DOMAINS, 3)
    before, after = (oracle.distribution(r, listed, 1.5, threshold) for r in (rows, [other, *rows[1:]]))
    assert max(abs(math.log(before[one] / after[one])) for one in listed) <= 1.5 + 1e-9
    assert all(abs(oracle.support(rows, one) - oracle.support([other, *rows[1:]], one)) <= 1 for one in listed)


@pytest.mark.parametrize(
    ("epsilon", "restarts", "most", "longest"),
    [(1, 32, 10**6, 3), (1, 1.0001, 10**6, 3), (1, 1e9, 10**6, 2), (3, 4, 6, 3), (0.2, 1e9, 1, 3)],
)
def test_draws_follow_the_distribution_at_every_mining_depth(monkeypatch, epsilon, restarts, most, longest) -> None:
    """1,500 draws with a fixed seed: every itemset's share within six deviations of the listed distribution."""
    monkeypatch.setattr(private_itemsets, "_RESTARTS", math.log(restarts))
    monkeypatch.setattr(private_itemsets, "_MOST_MINED", most)
    draws = draws_of(ROWS, number=1, support="2/5", epsilon=epsilon, longest=longest)
    assert draws.threshold == 4
    generator = np.random.default_rng(13)
    found = Counter(as_set(draws.drawn(generator).itemsets[0]) for _ in range(1500))
    listed = oracle.universe(DOMAINS, longest)
    assert set(found) <= set(listed)
    for itemset, share in oracle.distribution(ROWS, listed, epsilon, 4).items():
        assert abs(found[itemset] / 1500 - share) <= SIX * math.sqrt(share * (1 - share) / 1500)


def test_a_second_draw_excludes_the_first_itemset() -> None:
    draws = draws_of(ROWS, number=2, support="2/5", epsilon=2)
    generator = np.random.default_rng(14)
    found = Counter(tuple(map(as_set, draws.drawn(generator).itemsets)) for _ in range(1500))
    listed = oracle.universe(DOMAINS, 3)
    first = oracle.distribution(ROWS, listed, 1, 4)
    for one in listed:
        second = oracle.distribution(ROWS, [other for other in listed if other != one], 1, 4)
        assert (one, one) not in found
        for other, share in second.items():
            both = first[one] * share
            assert abs(found[one, other] / 1500 - both) <= SIX * math.sqrt(both * (1 - both) / 1500)


def test_all_itemsets_can_be_drawn() -> None:
    drawn = draws_of(ROWS, number=23, support="1/10", epsilon=2).drawn().itemsets
    assert {as_set(itemset) for itemset in drawn} == set(oracle.universe(DOMAINS, 3))


def test_too_many_itemsets_raise_before_budget_is_spent(monkeypatch) -> None:
    """Also where only the last of many draws would take too long: the first ones alone are drawn."""
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="people", unit="row", epsilon=100)
    data = pd.DataFrame(ROWS * 50, columns=NAMES)
    asked = {"columns": NAMES, "support": "1/2", "ledger": ledger, "dataset": "people"}
    monkeypatch.setattr(private_itemsets, "_MOST_MINED", 7)  # itemsets that half of the rows hold
    with pytest.raises(TooLargeError, match="raise support or epsilon"):
        pp.private_itemsets(data, number=11, epsilon=11, **asked)
    assert ledger.spent(dataset="people", unit="row").epsilon == 0
    assert len(pp.private_itemsets(data, number=2, epsilon=2, **asked).itemsets) == 2
    assert ledger.spent(dataset="people", unit="row").epsilon == 2


@pytest.mark.parametrize("held", [1, 3, 8, 15, 10**6])
def test_mining_ends_at_the_memory_limit(monkeypatch, held: int) -> None:
    """However few restarts are wished for; by listing everything."""
    monkeypatch.setattr(private_itemsets, "_MOST_MINED", held)
    monkeypatch.setattr(private_itemsets, "_MOST_STARTS", 10**30)
    monkeypatch.setattr(private_itemsets, "_RESTARTS", -1000)
    supports = [oracle.support(ROWS * 20, one) for one in oracle.universe(DOMAINS, 3)]
    mined = draws_of(ROWS * 20, number=1, support="4/5", epsilon="1/10").mined
    assert mined.least == min(least for least in range(1, 162) if sum(s >= least for s in supports) <= held)
    assert sum(map(len, mined.levels.values())) == sum(s >= mined.least for s in supports)


def test_when_a_draw_is_informative() -> None:
    """At the stated epsilon, the frequent itemsets weigh as much as all others do without support."""
    epsilon = informative_epsilon(universe=10**6, frequent=10, threshold=100)
    assert 10 * math.exp(epsilon / 2 * 100) == pytest.approx(10**6)
    found = pp.private_itemsets(
        pd.DataFrame({"x": ["a"] * 900 + ["b"] * 100}), columns=["x"], number=1, support="1/2", epsilon=1
    )
    assert found.itemsets == ({"x": "a"},)
    stated = found.to_dict()
    assert stated["informative_epsilon"] == pytest.approx(2 * math.log(2) / 500)
    assert (stated["unit"], stated["threshold"], stated["universe"]) == ("row", 500, 2)
    assert "values that occur" in " ".join(stated["ledger"]["assumptions"])
    for wrong in ({"frequent": 0}, {"frequent": 3}):
        with pytest.raises(ParameterError):
            found.informative_epsilon(**wrong)


def test_draws_compose_to_the_whole() -> None:
    pure = draws_of(ROWS, number=4, support="1/2", epsilon=1)
    assert pure.epsilon_draw == Fraction(1, 4)
    many = {"number": 20, "support": "1/2", "epsilon": 1}
    concentrated = draws_of(ROWS, **many, delta=1e-6)
    assert concentrated.epsilon_draw > draws_of(ROWS, **many).epsilon_draw
    part = concentrated.drawn(np.random.default_rng(1)).ledger.parts[0]
    assert part.rho * part.times <= private_itemsets.rho_within(1.0, 1e-6)
    assert part.rho == pytest.approx(part.epsilon**2 / 8)


def test_counting_by_randomized_response_is_unbiased_with_the_stated_error() -> None:
    """400 counts of an itemset that 300 of 1,000 rows hold: mean and spread within six deviations; fixed seed."""
    data = pd.DataFrame({"x": ["a"] * 300 + ["b"] * 700, "y": ["c"] * 1000})
    asked = [{"x": "a", "y": "c"}, {"x": "z"}] * 200
    found = pp.randomized_itemset_counts(data, itemsets=asked, epsilon=1, generator=np.random.default_rng(15))
    stated = found.estimates[0].standard_error
    p = math.e / (1 + math.e)
    assert stated == pytest.approx(math.sqrt(1000 * p * (1 - p)) / (2 * p - 1))
    for start, truth in ((0, 300), (1, 0)):
        counts = np.array([estimate.count for estimate in found.estimates[start::2]])
        assert abs(counts.mean() - truth) < SIX * stated / math.sqrt(200)
        assert abs(counts.std() / stated - 1) < SIX / math.sqrt(2 * 200)
    assert found.estimates[0].rows == 1000


HELD = [[(True,)], [(True, False), (False, False)], [(True, True), (True, False)], [(False,), (True,), (True,)]]


@pytest.mark.parametrize("rows", HELD)
@pytest.mark.parametrize("epsilon", ["1/1000", 0.1, 1, 7, 40])
def test_no_row_moves_counts_by_more_than_their_account(rows, epsilon) -> None:
    """All answers of all rows, added up: a row that is changed in any way costs what the ledger is asked for."""
    total = row_epsilon(itemsets=len(rows[0]), epsilon=epsilon)
    factor = itemset_counts.largest_factor(rows, keep_probability(float(Fraction(epsilon)), 2))
    assert logarithm(factor) <= Decimal(total.numerator) / Decimal(total.denominator)
    if len(rows) == 1:
        assert float(logarithm(factor)) == pytest.approx(float(total), rel=1e-3)


def test_counts_have_the_enumerated_distribution() -> None:
    """Three rows, two itemsets, 1,000 draws with a fixed seed: each outcome within six deviations."""
    data = pd.DataFrame({"x": ["a", "a", "b"], "y": ["c", "d", "d"]})
    expected = itemset_counts.said_yes([(True, False), (True, True), (False, True)], keep_probability(1.0, 2))
    keep, draws, generator = float(keep_probability(1.0, 2)), 1000, np.random.default_rng(4)
    asked = {"itemsets": [{"x": "a"}, {"y": "d"}], "epsilon": 1, "generator": generator}
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        found = pp.randomized_itemset_counts(data, **asked).estimates
        seen[tuple(round(one.count * (2 * keep - 1) + 3 * (1 - keep)) for one in found)] += 1
    for outcome, chance in expected.items():
        assert abs(seen[outcome] - draws * chance) < SIX * math.sqrt(draws * chance * (1 - chance)) + 1


def test_the_account_of_counts_adds_up_over_itemsets() -> None:
    """The worked examples: 1,000 itemsets at 0.1 are 100 a row, 21.6 at delta 1e-6; adult's frequent ones 2,657."""
    data = pd.DataFrame({"x": ["a", "b"]})
    asked = [{"x": "a"}] * 1000
    plain = pp.randomized_itemset_counts(data, itemsets=asked, epsilon=0.1)
    assert (plain.ledger.epsilon, plain.ledger.unit, plain.ledger.delta) == (100.0, "row", 0.0)
    assert str(plain.ledger) == "epsilon 100 a row"
    concentrated = pp.randomized_itemset_counts(data, itemsets=asked, epsilon=0.1, delta=1e-6)
    assert round(concentrated.ledger.epsilon, 1) == 21.6
    assert concentrated.ledger.parts[0].times == 1000
    assert round(float(row_epsilon(itemsets=26_573, epsilon=0.1))) == 2657
    assert row_epsilon(itemsets=1, epsilon=1, delta=1e-6) == 1
    assert row_epsilon(itemsets=10**6, epsilon=0.01, delta=1e-310) < 10**4  # 1 / delta overflows


def test_the_budget_is_reserved_first_and_only_for_possible_draws(tmp_path: Path) -> None:
    ledger = BudgetLedger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.set_cap(dataset="people", unit="row", epsilon=3)
    data = pd.DataFrame(ROWS, columns=NAMES)
    spending = {"ledger": ledger, "dataset": "people"}
    drawn = {"columns": NAMES, "number": 1, "support": "1/2"}
    for wrong in ({"number": 1000}, {"support": 0}, {"domains": {"a": ["p"]}}):
        with pytest.raises(PrivacyPluginError):
            pp.private_itemsets(data, epsilon=1, **{**drawn, **wrong}, **spending)
    with pytest.raises(ColumnError):
        pp.randomized_itemset_counts(data, itemsets=[{"z": 1}], epsilon=1, **spending)
    for wrong in ({"epsilon": 1e-14}, {"itemsets": {"a": "p"}}, {"itemsets": "a"}):
        with pytest.raises(ParameterError):
            pp.randomized_itemset_counts(data, **{"itemsets": [{"a": "p"}], "epsilon": 1, **wrong}, **spending)
    assert ledger.spent(dataset="people", unit="row").epsilon == 0
    pp.private_itemsets(data, epsilon=1, **drawn, **spending)
    pp.randomized_itemset_counts(data, itemsets=[{"a": "p"}, {"b": "u"}], epsilon=1, **spending)
    assert ledger.remaining(dataset="people", unit="row").epsilon == 0
    with pytest.raises(BudgetError):
        pp.private_itemsets(data, epsilon=0.1, **drawn, **spending)


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"delta": 1}, {"support": 2}, {"number": 0}, {"number": True}, {"longest": 0}, {"number": 24}],
)
def test_invalid_arguments_are_refused(wrong) -> None:
    with pytest.raises(ParameterError):
        draws_of(ROWS, **{"number": 1, "support": "1/2", "epsilon": 1, **wrong})


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": 41}, {"delta": 1}, {"itemsets": []}, {"itemsets": [{}]}])
def test_invalid_itemsets_are_refused(wrong) -> None:
    with pytest.raises(ParameterError):
        pp.randomized_itemset_counts(pd.DataFrame({"x": ["a"]}), **{"itemsets": [{"x": "a"}], "epsilon": 1, **wrong})
