"""(c, k)-safety through Great Expectations, on every engine."""

import json
from typing import Any

import pytest
from great_expectations.compatibility.pydantic import ValidationError

from privacy_plugin.expectations import ExpectTableMaximumDisclosureToBeLessThan
from tests.expectations.examples import QUASI_IDENTIFIERS, ROWS

ASKED = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "disease"}
WEIGHTS = {"otherwise": 0.5}
SKEWED = [*ROWS, *[(30, "8001", disease) for disease in ("gout", "cold", "mumps")]] * 2


@pytest.mark.parametrize(
    "limit", [{"below": 1.1}, {"below": "0.6"}, {"at_least": 0.5}, {}, {"below": 0.5, "at_most": 1}]
)
def test_limits_are_probabilities_and_only_one_is_given(limit: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=1, **limit)


@pytest.mark.parametrize(
    "options", [{}, {"knowledge": 1.0}, {"knowledge": "1"}, {"knowledge": -1}, {"knowledge": True}]
)
def test_knowledge_is_a_non_negative_integer(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExpectTableMaximumDisclosureToBeLessThan(**ASKED, **options, below=0.6)


def test_the_limit_is_strict_on_every_engine(anywhere: Any) -> None:
    """In one class two of three people have the same disease; the other classes are balanced."""
    asked = [
        (ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=0, below="2/3"), False),
        (ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=0, at_most="2/3"), True),
        (ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=0, below=0.67), True),
        (ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=1, attacker="negations", below=1), False),
        (ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=0, weights=WEIGHTS, below="1/3"), False),
        (ExpectTableMaximumDisclosureToBeLessThan(**ASKED, knowledge=0, weights=WEIGHTS, at_most="1/3"), True),
    ]
    with anywhere() as (definition, parameters):
        batch = definition.get_batch(parameters)
        results = [batch.validate(expectation) for expectation, _ in asked]
    assert [result.success for result in results] == [expected for _, expected in asked]
    details = results[0].result["details"]
    assert details["measurement"]["exact_value"] == "2/3"
    assert details["people_affected"] == 3
    assert details["measurement"]["witness"]["words"].startswith("An attacker who knows nothing more names disease")
    assert not any(value in json.dumps(results[0].to_json_dict()) for value in ("flu", "asthma", "8001"))


def test_knowledge_can_be_a_runtime_parameter(anywhere: Any) -> None:
    expectation = ExpectTableMaximumDisclosureToBeLessThan(
        quasi_identifiers=["zip"], sensitive="disease", knowledge={"$PARAMETER": "k"}, below=0.9
    )
    with anywhere(SKEWED) as (definition, parameters):
        batch = definition.get_batch(parameters)
        answers = [batch.validate(expectation, expectation_parameters={"k": k}).success for k in (0, 1, 4)]
    assert answers == [True, True, False]
