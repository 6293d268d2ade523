"""Randomized response: its channel, its draw, its estimates, its account; and the accounting all releases share."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.randomized_response import (
    RandomizedCells,
    keep_probability,
    randomize_cells,
    randomize_codes,
    uniform_below,
)
from privacy_plugin.errors import BudgetError, ColumnError, ParameterError
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.zero_concentrated import exponential_rho, pure_rho, rho_within, zcdp_delta, zcdp_epsilon

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
