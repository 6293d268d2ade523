"""Randomized response: its channel, its draw, its estimates, its account; and the accounting all releases share."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.randomized_response import (
    RandomizedCells,
    keep_probability,
    randomize_cells,
    randomize_codes,
    uniform_below,
)
from privacy_plugin.errors import BudgetError, ColumnError, ParameterError, PolicyError
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.zero_concentrated import exponential_rho, pure_rho, rho_within, zcdp_delta, zcdp_epsilon
from tests import randomized_policies as policies
from tests.oracles import dependence as oracle

PEOPLE = pd.DataFrame({"smokes": ["yes", "no", "no"] * 40, "town": ["a", "b", "c", None] * 30})


@settings(max_examples=80, deadline=None, derandomize=True)
@given(epsilon=st.floats(0.001, 30), values=st.integers(2, 40))
def test_keeping_costs_at_most_epsilon_and_hardly_less(epsilon: float, values: int) -> None:
    keep = keep_probability(epsilon, values)
    other = (1 - keep) / (values - 1)
    channel = [[keep if x == s else other for s in range(values)] for x in range(values)]
    spent = pp.epsilon_dependence(channel).value
    assert spent <= epsilon
    assert spent == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("generator", [None, np.random.default_rng(3)])
def test_codes_follow_the_channel(generator: np.random.Generator | None) -> None:
    """60,000 draws for each of 3 inputs: nine shares, each within six deviations."""
    keep, draws = Fraction(1, 2), 60_000
    for code in range(3):
        found = randomize_codes(np.full(draws, code), 3, keep, generator)
        for value, share in enumerate(np.bincount(found, minlength=3) / draws):
            wanted = 0.5 if value == code else 0.25
            assert abs(share - wanted) < 6 * math.sqrt(wanted * (1 - wanted) / draws)


def test_pure_noise_reveals_nothing_of_the_code() -> None:
    """A third is not a multiple of 2^-64; rounded down, it would reveal a little of the code."""
    shown = [randomize_codes(np.full(50, code), 3, Fraction(1, 3), np.random.default_rng(3)) for code in range(3)]
    assert (shown[0] == shown[1]).all()
    assert (shown[0] == shown[2]).all()
    assert set(shown[0]) == {0, 1, 2}


def test_uniform_numbers_reach_every_value() -> None:
    drawn = uniform_below(5, 50_000, None)
    assert np.abs(np.bincount(drawn, minlength=5) / 50_000 - 0.2).max() < 6 * math.sqrt(0.16 / 50_000)


def response(released: list[str], keep: Fraction) -> RandomizedCells:

    any_ledger = randomize_cells(pp.frequency_table(PEOPLE, ["smokes"]), epsilon=1).ledger
    table = pp.FrequencyTable.from_rows(["bit"], [(bit,) for bit in released])
    return RandomizedCells(frequencies=table, keep={"bit": keep}, domains={"bit": ("0", "1")}, ledger=any_ledger)


def test_the_published_estimate() -> None:
    found = response(["1"] * 55 + ["0"] * 45, Fraction(3, 4)).itemset_count({"bit": "1"})
    assert found.share == pytest.approx(3 / 5)
    # each row's score has variance p (1 - p) / (2 p - 1)^2 whatever its truth
    assert found.standard_error == pytest.approx(math.sqrt(100 * 0.1875 / 0.25))


def test_an_estimate_is_unbiased_and_its_error_is_the_spread() -> None:
    """All outcomes of three rows of two bits, weighted by their exact probability."""
    from itertools import product

    truth = [("1", "1"), ("1", "0"), ("0", "1")]
    keep = {"a": Fraction(3, 4), "b": Fraction(2, 3)}
    ledger = response(["1"], Fraction(3, 4)).ledger
    mean = square = stated = 0.0
    for shown in product(product("01", repeat=2), repeat=3):
        weight = math.prod(
            keep[c] if s == t else 1 - keep[c]
            for row, true in zip(shown, truth, strict=True)
            for c, s, t in zip("ab", row, true, strict=True)
        )
        cells = RandomizedCells(
            frequencies=pp.FrequencyTable.from_rows(["a", "b"], shown),
            keep=keep,
            domains={"a": ("0", "1"), "b": ("0", "1")},
            ledger=ledger,
        )
        scores = cells.itemset_count({"a": "1", "b": "1"})
        mean += float(weight) * scores.count
        square += float(weight) * scores.count**2
        unclipped = (
            sum(
                math.prod(
                    ((bit == "1") - float(1 - keep[c])) / float(2 * keep[c] - 1) for c, bit in {"a": a, "b": b}.items()
                )
                ** 2
                for a, b in shown
            )
            - scores.count
        )
        assert scores.standard_error == pytest.approx(math.sqrt(max(unclipped, 0)), abs=1e-9)
        stated += float(weight) * unclipped
    assert mean == pytest.approx(1)
    assert stated == pytest.approx(square - mean**2)


@pytest.mark.parametrize(("items", "deviation"), [(1, 0.045), (2, 0.45), (3, 4.5)])
def test_the_standard_error_of_a_support_at_epsilon_a_tenth(items: int, deviation: float) -> None:
    """The deviation of a support among 48,842 rows at epsilon 0.1 a cell: a pair is lost, a triple absurd."""
    names = list("abc")[:items]
    data = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (48_842, items)), columns=names)
    found = pp.randomized_response(data, columns=names, epsilon=0.1, generator=np.random.default_rng(2))
    estimate = found.itemset_count(dict.fromkeys(names, 1))
    assert estimate.standard_error / estimate.rows == pytest.approx(deviation, rel=0.05)


def test_the_account_names_unit_row_total_and_assumptions() -> None:
    found = pp.randomized_response(PEOPLE, columns=["smokes", "town"], epsilon=0.5, domains={"smokes": ["yes", "no"]})
    stated = found.ledger.to_dict()
    assert (stated["unit"], stated["private"]) == ("cell", True)
    assert stated["epsilon"] <= 0.5
    assert stated["epsilon_row"] == pytest.approx(1.0)
    assert any("town" in text and "smokes" not in text for text in stated["assumptions"])
    assert "a cell" in str(found.ledger)
    seeded = pp.randomized_response(PEOPLE, columns=["town"], epsilon=1, generator=np.random.default_rng(1))
    assert "NOT PRIVATE" in str(seeded.ledger)
    assert len(found.table) == 120
    assert sum(found.channel("town")[0]) == 1


def test_a_column_with_one_value_costs_nothing() -> None:
    found = pp.randomized_response(PEOPLE.assign(land="x"), columns=["land"], epsilon=1)
    assert found.ledger.epsilon == 0
    with pytest.raises(ParameterError, match="pure noise"):
        found.itemset_count({"land": "x"})


def test_invalid_arguments_are_refused_without_quoting_values() -> None:
    for epsilon in (0, -1, 41, float("inf")):
        with pytest.raises(ParameterError):
            pp.randomized_response(PEOPLE, columns=["town"], epsilon=epsilon)
    with pytest.raises(ColumnError, match="1 values") as raised:
        pp.randomized_response(PEOPLE, columns=["smokes"], epsilon=1, domains={"smokes": ["no"]})
    assert "yes" not in str(raised.value)
    with pytest.raises(ColumnError):
        pp.randomized_response(PEOPLE, columns=["smokes"], epsilon=1, domains={"town": ["a"]})
    with pytest.raises(ColumnError):
        pp.randomized_response(PEOPLE, columns=["smokes"], epsilon=1, domains={"smokes": ["no", "no", "yes"]})
    letters = pd.DataFrame({"grade": ["A", "B"] * 5})
    with pytest.raises(ColumnError, match="a list of values, not a string"):
        pp.randomized_response(letters, columns=["grade"], epsilon=1, domains={"grade": "AB"})


def test_the_budget_is_reserved_for_the_whole_row(tmp_path: Path) -> None:
    ledger = BudgetLedger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.set_cap(dataset="people", unit="row", epsilon=1.5)
    pp.randomized_response(PEOPLE, columns=["smokes", "town"], epsilon=0.5, ledger=ledger, dataset="people")
    assert ledger.spent(dataset="people", unit="row").epsilon == 1
    with pytest.raises(BudgetError):
        pp.randomized_response(PEOPLE, columns=["smokes", "town"], epsilon=0.5, ledger=ledger, dataset="people")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rho=st.floats(1e-4, 20), delta=st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_the_sharper_conversion_is_never_worse(rho: float, delta: float) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert rho_within(epsilon, delta) >= rho * (1 - 1e-9)
    for a in (1.5, 2.0, 5.0, 50.0):  # the bound is the least over all orders
        bound = math.exp(min((a - 1) * (a * rho - epsilon), 700)) / (a - 1) * (1 - 1 / a) ** a
        assert zcdp_delta(rho, epsilon) <= bound * (1 + 1e-6)


def test_zcdp_of_pure_mechanisms() -> None:
    assert pure_rho(0.1) == pytest.approx(0.005)
    assert exponential_rho(0.4) == pytest.approx(0.02)
    for wrong in ((-1, 0.1), (1, 0), (1, 1)):
        with pytest.raises(ParameterError):
            zcdp_epsilon(*wrong)


weights = st.integers(1, 6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    epsilons=st.tuples(st.sampled_from([0.1, 0.7, 2]), st.sampled_from([0.3, 1, 3])),
    one=st.lists(weights, min_size=2, max_size=2),
    other=st.lists(weights, min_size=3, max_size=3),
)
def test_every_column_has_its_own_epsilon(epsilons: tuple[float, float], one: list[int], other: list[int]) -> None:
    """Theorem 3 by enumeration: an independent cell and (the release, all other cells) have the cell's epsilon."""
    data = pd.DataFrame({"a": [0, 1, 0], "b": [0, 1, 2]})
    found = pp.randomized_response(data, columns=["a", "b"], epsilon=dict(zip("ab", epsilons, strict=True)))
    channels = [found.channel("a"), found.channel("b")]
    stated = [part.epsilon for part in found.ledger.parts]
    joint = {
        (x, y): Fraction(p, sum(one)) * Fraction(q, sum(other)) for x, p in enumerate(one) for y, q in enumerate(other)
    }
    for part, (epsilon, spent) in enumerate(zip(epsilons, stated, strict=True)):
        assert spent is not None
        assert spent <= epsilon
        factor = oracle.factor_of_a_part(joint, channels, part)
        assert oracle.logarithm(factor) <= spent
    row = [[p * q for p in one_row for q in other_row] for one_row in channels[0] for other_row in channels[1]]
    assert oracle.logarithm(oracle.factor_without_prior(row)) <= found.ledger.epsilon_row <= sum(epsilons) + 1e-12
    assert found.ledger.epsilon == max(stated)  # type: ignore[type-var]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(table=st.lists(weights, min_size=6, max_size=6), epsilon=st.sampled_from([0.2, 1, 2.5]))
def test_dependent_rows_by_enumeration(table: list[int], epsilon: float) -> None:
    """Theorem 4, corrected: for two dependent rows, the stated bound holds, and half of it can be needed."""
    joint = {(n // 3, n % 3): Fraction(weight, sum(table)) for n, weight in enumerate(table)}
    found = pp.randomized_response(pd.DataFrame({"a": [0, 1, 2]}), columns=["a"], epsilon=epsilon)
    wide = found.channel("a")
    narrow = pp.randomized_response(pd.DataFrame({"a": [0, 1]}), columns=["a"], epsilon=epsilon).channel("a")
    prior = [sum(joint[x, y] for y in range(3)) for x in range(2)]
    dependence = pp.epsilon_dependence([[joint[x, y] / prior[x] for y in range(3)] for x in range(2)], prior=prior)
    assert dependence.with_prior is not None
    stated = randomize_cells(
        pp.frequency_table(pd.DataFrame({"a": [0, 1, 2]}), ["a"]), epsilon=epsilon, row_dependence=dependence.with_prior
    ).ledger
    assert stated.epsilon_dependent_rows is not None
    for part in (0, 1):
        factor = oracle.factor_of_a_part(joint, [narrow, wide], part)
        assert oracle.logarithm(factor) <= stated.epsilon_dependent_rows + 1e-12
    assert stated.epsilon_dependent_rows == pytest.approx(stated.epsilon_row + dependence.with_prior)


def test_the_dependence_of_rows_is_stated_and_nothing_else_changes() -> None:
    plain = pp.randomized_response(PEOPLE, columns=["smokes"], epsilon=1)
    assert plain.ledger.epsilon_dependent_rows is None
    assert "row_dependence" not in plain.ledger.to_dict()
    found = pp.randomized_response(PEOPLE, columns=["smokes"], epsilon=1, row_dependence="1/2")
    assert found.keep == plain.keep
    assert found.ledger.epsilon_row == plain.ledger.epsilon_row
    stated = found.ledger.to_dict()
    assert stated["row_dependence"] == 0.5
    assert stated["epsilon_dependent_rows"] == pytest.approx(plain.ledger.epsilon_row + 0.5)
    assert "1.5-dependent" in str(found.describe())
    for wrong in (-1, "much", float("inf")):
        with pytest.raises(ParameterError, match="row_dependence"):
            pp.randomized_response(PEOPLE, columns=["smokes"], epsilon=1, row_dependence=wrong)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        ({"smokes": 1}, "epsilon must also state that of a cell of 'town'"),
        ({"smokes": 1, "town": 1, "twon": 1}, "unknown column in epsilon 'twon'"),
        ({"smokes": 1, "town": 0}, "above 0 and at most 40"),
    ],
)
def test_an_epsilon_for_each_column_is_checked(epsilon: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pp.randomized_response(PEOPLE, columns=["smokes", "town"], epsilon=epsilon)


def test_a_policy_gives_every_column_its_epsilon(tmp_path: Path) -> None:
    domains = {"sex": ["f", "m"], "zip": ["100", "101", "102"]}
    method = {**policies.RESPONSE, "epsilon": {"sex": 0.25, "zip": 1}, "domains": domains, "row_dependence": 0.1}
    policy = pp.Policy.from_dict(policies.policy_dict(anonymize=method))
    ledger = policies.open_ledger()
    result = anonymize(pd.DataFrame(policies.people()), policy=policy, ledger=ledger)
    assert ledger.spent(dataset="visits", unit="row").epsilon == Fraction(5, 4)
    account = result.to_dict()[policy.anonymizer.makes]["ledger"]
    assert account["epsilon_row"] == pytest.approx(1.25)
    assert account["epsilon_dependent_rows"] == pytest.approx(1.35)
    assert [part["epsilon"] for part in account["parts"]] == pytest.approx([0.25, 1])
    for wrong, words in (
        ({"epsilon": {"sex": 1}}, "must also state that of a cell of 'zip'"),
        ({"epsilon": {"sex": 1, "zop": 1}}, "column in epsilon"),
        ({"epsilon": {"sex": 2, "zip": 1}}, "does not meet"),
        ({"row_dependence": -1}, "row_dependence"),
    ):
        with pytest.raises(PolicyError, match=words):
            pp.Policy.from_dict(policies.policy_dict(anonymize={**method, **wrong}))


ONE_EPSILON = [policies.SYNTHESIZE, policies.EPSILON_SAFE, policies.ITEMSETS, policies.ITEMSET_COUNTS, policies.KRIMP]
ONE_EPSILON += [{key: value for key, value in {**policies.SYNTHESIZE, "unit": "cell"}.items() if key != "delta"}]


@pytest.mark.parametrize("given", ONE_EPSILON, ids=lambda given: given["method"])
def test_methods_with_one_epsilon_refuse_several(given: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="epsilon"):
        pp.Policy.from_dict(policies.policy_dict(anonymize={**given, "epsilon": {"sex": 1, "zip": 1}}))
