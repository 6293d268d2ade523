"""The privacy budget through Great Expectations: a recorded release is recognized on every engine."""

import json
from typing import Any

import pytest
from great_expectations.compatibility.pydantic import ValidationError

import privacy_plugin as pp
from privacy_plugin.expectations import ExpectTablePrivacyBudgetToBeAtMost
from privacy_plugin.expectations.checkpoint import validate
from privacy_plugin.ledger import BudgetLedger, Release
from privacy_plugin.sources.fingerprint import content_fingerprint
from tests.expectations.examples import COLUMNS, ROWS, frame

BUDGET = {"privacy_unit": "row", "delta": 1e-6}


def ledger_of(rows: list[tuple[Any, ...]]) -> BudgetLedger:
    """A ledger in which these rows are a release that spent (1/2, 1e-7)."""
    ledger = BudgetLedger("sqlite://")
    ledger.set_cap(dataset="visits", unit="row", epsilon=1, delta=1e-6)
    number = ledger.reserve(dataset="visits", unit="row", epsilon=0.5, delta=1e-7, mechanism="test")
    made = content_fingerprint(pp.FrequencyTable.from_rows(COLUMNS, rows))
    ledger.commit(number, Release(private=True, fingerprints=(made,)))
    return ledger


def test_a_release_is_recognized_on_every_engine(anywhere: Any) -> None:
    asked = [
        (ExpectTablePrivacyBudgetToBeAtMost(**BUDGET, at_most=0.5), True),
        (ExpectTablePrivacyBudgetToBeAtMost(**BUDGET, below=0.5), False),
        (ExpectTablePrivacyBudgetToBeAtMost(privacy_unit="row", at_most=0.5), False),
        (ExpectTablePrivacyBudgetToBeAtMost(**BUDGET, dataset="others", at_most=0.5), False),
    ]
    with anywhere() as (definition, parameters):
        batch = definition.get_batch(parameters)
        with pp.using_ledger(ledger_of(ROWS)):
            results = [batch.validate(expectation) for expectation, _ in asked]
        with pp.using_ledger(ledger_of(ROWS[1:])):
            unknown = batch.validate(asked[0][0])
    assert [result.success for result in results] == [expected for _, expected in asked]
    assert results[0].result["details"]["measurement"]["exact_value"] == "1/2"
    assert not unknown.success
    assert unknown.exception_info["raised_exception"]
    assert not any(value in json.dumps(results[0].to_json_dict()) for value in ("flu", "asthma", "8001", "sqlite"))


@pytest.mark.parametrize(
    "wrong",
    [{}, {"at_most": 1, "below": 1}, {"at_least": 1}, {"at_most": 1, "delta": 2}, {"at_most": 1, "unit": "row"}],
)
def test_invalid_budgets_raise_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExpectTablePrivacyBudgetToBeAtMost(privacy_unit="row", **wrong)
    with pytest.raises(ValidationError):
        ExpectTablePrivacyBudgetToBeAtMost(at_most=1)


def test_a_suite_uses_the_ledger() -> None:
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": dict.fromkeys(COLUMNS, "quasi_identifier"),
            "requirements": [{"privacy_budget": {**BUDGET, "at_most": 1}}],
        }
    )
    with pp.using_ledger(ledger_of(ROWS)):
        assert validate(policy, frame()).success
    with pp.using_ledger(ledger_of(ROWS[1:])):
        assert not validate(policy, frame()).success
