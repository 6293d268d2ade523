"""Mechanisms spend the same way: reserve before, draw, commit with what was made."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.spending import Cost, spending
from privacy_plugin.sources import open_source

PEOPLE = pd.DataFrame({"sex": ["f", "m"] * 40, "smokes": ["no", "yes", "no", "no"] * 20})
HIERARCHIES = {"sex": pp.tree_hierarchy({"*": ["f", "m"]}), "smokes": pp.tree_hierarchy({"*": ["no", "yes"]})}
LATTICE = {"hierarchies": HIERARCHIES, "k": 5, "beta": 0.5, "epsilon": 0.5, "penalty": 1}


@pytest.fixture
def ledger() -> BudgetLedger:
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="people", unit="row", epsilon=10, delta=1)
    return ledger


MECHANISMS = [
    (pp.epsilon_safe_lattice, LATTICE),
    (pp.randomized_response, {"columns": ["sex", "smokes"], "epsilon": 1}),
    (pp.synthesize, {"columns": ["sex", "smokes"], "epsilon": 1}),
    (pp.synthesize, {"columns": ["sex", "smokes"], "epsilon": 1, "unit": "cell"}),
]


@pytest.mark.parametrize(("mechanism", "options"), MECHANISMS)
@pytest.mark.parametrize("seed", [None, 1])
def test_a_mechanism_records_its_release(
    ledger: BudgetLedger, mechanism: Any, options: dict[str, Any], seed: int | None
) -> None:
    generator = None if seed is None else np.random.default_rng(seed)
    made = mechanism(PEOPLE, **options, ledger=ledger, dataset="people", generator=generator)
    (spend,) = ledger.releases_of(open_source(made.table).fingerprint())
    assert spend.private is (seed is None)
    assert spend.account["neighbours"]
    assert spend.account["assumptions"]
    stated = made.ledger.epsilon_row if hasattr(made, "ledger") else made.epsilon
    assert float(spend.budget.epsilon) == pytest.approx(stated, rel=1e-9)
    assert spend.budget.epsilon >= Fraction(stated) * (1 - Fraction(1, 10**12))


def test_without_a_ledger_nothing_is_recorded() -> None:
    with spending(Cost(mechanism="test", epsilon=1), ledger=None, dataset=None, private=True) as spent:
        spent.released(PEOPLE, account={})
    assert spent.fingerprints == []


def test_a_ledger_without_a_dataset_is_refused_and_the_reverse(ledger: BudgetLedger) -> None:
    for given in ({"ledger": ledger, "dataset": None}, {"ledger": None, "dataset": "people"}):
        with (
            pytest.raises(ParameterError, match="give both ledger and dataset"),
            spending(Cost(mechanism="test", epsilon=1), private=True, **given),
        ):
            pass


def test_an_error_inside_leaves_the_budget_spent_and_nothing_released(ledger: BudgetLedger) -> None:
    cost = Cost(mechanism="test", epsilon=1, delta="1/2")
    under_way = spending(cost, ledger=ledger, dataset="people", private=True)
    under_way.__enter__().released(PEOPLE, account={})
    error = ZeroDivisionError()
    assert not under_way.__exit__(ZeroDivisionError, error, None)
    assert str(cost) == "epsilon 1, delta 0.5 a row"
    assert ledger.releases_of(open_source(PEOPLE).fingerprint()) == ()
    assert ledger.spent(dataset="people", unit="row").epsilon == 1
