"""What the ledger keeps: exact amounts by dataset and unit, and which table came of which spend."""

import math
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.ledger import BudgetLedger, Release
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.composition import SUBSTITUTED, Sums
from privacy_plugin.sources import open_source

VISITS = {"dataset": "visits", "unit": "row"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def spend(ledger: BudgetLedger, epsilon: object, delta: object = 0) -> None:
    with ledger.spend(**VISITS, epsilon=epsilon, delta=delta, mechanism="test"):
        pass


def test_amounts_add_up_exactly(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1, delta="1/1000000")
    for _ in range(10):
        spend(ledger, 0.1, "1/10000000")
    assert ledger.spent(**VISITS).epsilon == 1
    assert ledger.remaining(**VISITS).delta == 0
    with pytest.raises(BudgetError, match="has only epsilon 0"):
        spend(ledger, "1/1000000000000")


def test_delta_alone_can_exhaust_the_budget(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=10, delta=0)
    with pytest.raises(BudgetError):
        spend(ledger, 1, 1e-9)
    assert ledger.entries() == ()


def test_nothing_is_spent_without_a_cap_or_under_another_unit_or_dataset(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    for dataset, unit in (("visits", "cell"), ("others", "row")):
        with pytest.raises(BudgetError, match="no budget was set"):
            ledger.reserve(dataset=dataset, unit=unit, epsilon=0.1, mechanism="test")


def test_lowering_the_cap_below_what_is_spent_closes_it(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    spend(ledger, 0.5)
    ledger.set_cap(**VISITS, epsilon=0.4)
    with pytest.raises(BudgetError):
        spend(ledger, 0.01)


def test_a_mechanism_that_fails_stays_spent_as_reserved(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    with pytest.raises(ZeroDivisionError), ledger.spend(**VISITS, epsilon=0.3, mechanism="test"):
        raise ZeroDivisionError
    assert [entry.status for entry in ledger.entries()] == ["reserved"]
    assert ledger.spent(**VISITS).epsilon == Fraction(3, 10)


def test_a_spend_is_committed_once(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    number = ledger.reserve(**VISITS, epsilon=0.3, mechanism="test")
    ledger.commit(number)
    for wrong in (number, "unknown"):
        with pytest.raises(BudgetError):
            ledger.commit(wrong)
    assert [entry.to_dict()["status"] for entry in ledger.entries(dataset="visits")] == ["committed"]
    assert ledger.entries(dataset="others") == ()


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), True, "x", None])
def test_invalid_amounts_are_refused(url: str, epsilon: object) -> None:
    with pytest.raises(ParameterError):
        BudgetLedger(url).set_cap(**VISITS, epsilon=epsilon)


@pytest.mark.parametrize("other", ["duckdb:///x.db", "mysql://x/y"])
def test_only_databases_with_known_locks_hold_a_ledger(other: str) -> None:
    with pytest.raises(ParameterError, match="SQLite or PostgreSQL"):
        BudgetLedger(other)


@pytest.mark.parametrize(
    "address",
    ["postgresql+psycopg://anna:secret@127.0.0.1:1/ledger", "sqlite:////no/secret/folder/x.db", "secret://", "secret"],
)
def test_an_address_never_shows_in_a_message(address: str) -> None:
    with pytest.raises((BudgetError, ParameterError)) as raised:
        BudgetLedger(address)
    assert "secret" not in str(raised.value)
    assert "anna" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_missing_ledger_is_not_created_without_create(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with pytest.raises(BudgetError, match="no budget ledger"):
        BudgetLedger(f"sqlite:///{place}", create=False)
    assert not place.exists()
    place.touch()  # a database, but no ledger
    with pytest.raises(BudgetError, match="no budget ledger"):
        BudgetLedger(f"sqlite:///{place}", create=False)


def test_a_release_is_found_by_its_content_and_only_once_it_is_committed(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    made = open_source(pd.DataFrame({"age": [30, 30, 41]})).fingerprint()
    other = open_source(pd.DataFrame({"age": [30, 41, 41]})).fingerprint()
    number = ledger.reserve(**VISITS, epsilon=0.3, mechanism="test")
    assert ledger.releases_of(made) == ()
    account = {"neighbours": "tables that differ in one row", "assumptions": ["n is public"]}
    ledger.commit(number, Release(private=True, fingerprints=(made, made), account=account))
    (found,) = ledger.releases_of(made)
    assert (found.id, found.private, found.account) == (number, True, account)
    assert ledger.releases_of(other) == ()
    assert BudgetLedger(url, create=False).entries() == (found,)


def test_neighbour_relations_are_not_simply_added(url: str) -> None:
    """A row substituted is one removed and one added: (2 epsilon, (1 + e^epsilon) delta) by group privacy."""
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=3, delta=0.01)
    lattice = {"epsilon": 1, "delta": 0.001, "mechanism": "test", "neighbours": "added or removed"}
    ledger.reserve(**VISITS, **lattice)
    assert ledger.spent(**VISITS) == Budget.of(1, 0.001)
    before = ledger.total(**VISITS).after(Sums.of(Budget.of(1)), SUBSTITUTED).added
    assert before.epsilon == 3
    assert 0 <= float(before.delta) - 0.001 * (1 + math.e) < 1e-12
    with pytest.raises(BudgetError, match="counts as two steps"):
        ledger.reserve(**VISITS, epsilon=1.1, mechanism="test")
    ledger.reserve(**VISITS, epsilon=1, mechanism="test")
    assert ledger.spent(**VISITS) == before
    with pytest.raises(BudgetError):
        ledger.reserve(**VISITS, **{**lattice, "epsilon": 0.01})
    with pytest.raises(ParameterError, match="neighbours must be 'substituted'"):
        ledger.reserve(**VISITS, epsilon=1, mechanism="test", neighbours="rows")


def test_an_epsilon_whose_power_overflows_is_composed(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=10_000, delta=1)
    ledger.reserve(**VISITS, epsilon=800, delta=1e-300, mechanism="test", neighbours="added or removed")
    ledger.reserve(**VISITS, epsilon=900, mechanism="test", neighbours="added or removed")
    ledger.reserve(**VISITS, epsilon=1, mechanism="test")
    assert ledger.spent(**VISITS) == Budget.of(3401, 1)


def test_caps_are_listed(url: str) -> None:
    ledger = BudgetLedger(url)
    ledger.set_cap(**VISITS, epsilon=1)
    ledger.set_cap(dataset="visits", unit="cell", epsilon=2, delta=1e-6)
    ledger.set_cap(**VISITS, epsilon=3)
    assert [(dataset, unit, cap.epsilon) for dataset, unit, cap in ledger.caps()] == [
        ("visits", "cell", 2),
        ("visits", "row", 3),
    ]
