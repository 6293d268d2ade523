"""Fields are never converted, limits are required, and runtime parameters follow the same rules."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import great_expectations as gx
import pytest
from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.exceptions import SuiteParameterError

from privacy_plugin.expectations import (
    ExpectTableColumnsToMatchPolicy,
    ExpectTableKAnonymityToBeAtLeast,
    ExpectTableLDiversityToBeAtLeast,
    ExpectTableReidentificationRiskToBeAtMost,
    ExpectTableTClosenessToBeAtMost,
)
from tests.expectations.examples import frame

SENSITIVE = {"quasi_identifiers": ["age"], "sensitive": "disease"}


@pytest.mark.parametrize("limit", [2.7, "5", "five", True, 0, -1, float("nan"), None, [2], b"2"])
def test_a_number_of_people_is_an_integer(limit: Any) -> None:
    with pytest.raises(ValidationError):
        ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age"], at_least=limit)


@pytest.mark.parametrize("limit", ["0.2", True, -0.1, 1.5, None, float("inf")])
def test_a_distance_is_a_number_between_0_and_1(limit: Any) -> None:
    with pytest.raises(ValidationError):
        ExpectTableTClosenessToBeAtMost(**SENSITIVE, at_most=limit)


@pytest.mark.parametrize(
    ("given", "kept"), [(Fraction(1, 11), "1/11"), (Decimal("0.09"), 0.09), ("1/11", "1/11"), (0.09, 0.09), (1, 1)]
)
def test_exact_limits_are_kept_exactly(given: Any, kept: Any) -> None:
    expectation = ExpectTableReidentificationRiskToBeAtMost(quasi_identifiers=["age"], at_most=given)
    assert (expectation.at_most, type(expectation.at_most)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"at_least": 2}, "needs quasi_identifiers"),
        ({"quasi_identifiers": [], "at_least": 2}, "name at least one column"),
        ({"quasi_identifiers": "age", "at_least": 2}, "must be a list"),
        ({"quasi_identifiers": ["age", "age"], "at_least": 2}, "more than once"),
        ({"quasi_identifiers": [1], "at_least": 2}, "must be a list of strings"),
        ({"quasi_identifiers": ["age"]}, "exactly one limit"),
        ({"quasi_identifiers": ["age"], "at_least": 2, "above": 2}, "exactly one limit"),
        ({"quasi_identifiers": ["age"], "at_most": 2}, "safer when higher"),
        ({"quasi_identifiers": ["age"], "at_least": 2, "k": 5}, "unknown field of ExpectTableKAnonymityToBeAtLeast"),
        (
            {"quasi_identifiers": ["age"], "at_least": 2, "sensitive": "disease"},
            "unknown field of ExpectTableKAnonymityToBeAtLeast",
        ),
        (
            {"quasi_identifiers": ["age"], "at_least": 2, "population": "register"},
            "unknown field of ExpectTableKAnonymityToBeAtLeast",
        ),
        ({"quasi_identifiers": ["age"], "at_least": {"$PARAMETER": ""}}, "name of the parameter"),
        ({"quasi_identifiers": ["age"], "at_least": {"$PARAMETER": "k", "or": 2}}, "name of the parameter"),
        ({"quasi_identifiers": ["age"], "at_least": {"$PARAMETER": "k"}, "above": 2}, "exactly one limit"),
        ({"quasi_identifiers": [], "at_least": {"$PARAMETER": "k"}}, "name at least one column"),
    ],
)
def test_invalid_fields_raise_an_error(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        ExpectTableKAnonymityToBeAtLeast(**arguments)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"quasi_identifiers": ["age"]}, "needs sensitive"),
        ({"quasi_identifiers": ["age"], "sensitive": "age"}, "more than once"),
        ({"quasi_identifiers": ["age"], "sensitive": ["disease"]}, "name of one column"),
        (
            {"quasi_identifiers": {"$PARAMETER": "q"}, "sensitive": ["disease"]},
            "sensitive must be the name of one column",
        ),
        ({**SENSITIVE, "variant": "entropic"}, "variant must be"),
        ({**SENSITIVE, "c": 2}, "c goes with"),
        ({**SENSITIVE, "variant": "recursive"}, "c goes with"),
        ({**SENSITIVE, "unit": "person", "count": "rows"}, "count"),
    ],
)
def test_options_are_checked_before_data_is_read(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        ExpectTableLDiversityToBeAtLeast(**arguments, at_least=2)


@pytest.mark.parametrize("ground", ["equals", {"hills": {}}, {"tree": 3}, {"withhold": "x"}, 3])
def test_a_ground_is_a_name_or_a_hierarchy(ground: Any) -> None:
    with pytest.raises(ValidationError):
        ExpectTableTClosenessToBeAtMost(**SENSITIVE, ground=ground, at_most=0.2)


@pytest.mark.parametrize("columns", [{}, {"age": "quasi"}, {"age": None}, ["age"], None])
def test_the_columns_of_a_policy_have_roles(columns: Any) -> None:
    with pytest.raises(ValidationError):
        ExpectTableColumnsToMatchPolicy(columns=columns)


@pytest.fixture
def batch() -> Any:
    asset = gx.get_context(mode="ephemeral").data_sources.add_pandas("hospital").add_dataframe_asset("visits")
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame()})


def test_runtime_parameters_are_substituted(batch: Any) -> None:
    expectation = ExpectTableKAnonymityToBeAtLeast(
        quasi_identifiers={"$PARAMETER": "columns"}, at_least={"$PARAMETER": "k"}
    )
    answers = [
        batch.validate(expectation, expectation_parameters={"columns": ["age", "zip"], "k": limit}).success
        for limit in (2, 3)
    ]
    assert answers == [True, False]


@pytest.mark.parametrize("limit", [2.7, "2", True, 0, None, {"$PARAMETER": "k"}])
def test_runtime_parameters_are_checked_strictly(batch: Any, limit: Any) -> None:
    expectation = ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age"], at_least={"$PARAMETER": "k"})
    try:
        result = batch.validate(expectation, expectation_parameters={"k": limit})
    except ValidationError:
        return
    assert result.success is False
    assert any(error["raised_exception"] for error in [*result.exception_info.values()] if isinstance(error, dict))


def test_a_missing_runtime_parameter_raises_an_error(batch: Any) -> None:
    expectation = ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age"], at_least={"$PARAMETER": "k"})
    with pytest.raises(SuiteParameterError):
        batch.validate(expectation)


def test_a_removed_field_does_not_open_the_gate(batch: Any) -> None:
    """pydantic does not check assignments: GX reads the fields again before it validates."""
    expectation = ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age"], at_least=3)
    expectation.at_least = None
    with pytest.raises(ValidationError, match="exactly one limit"):
        batch.validate(expectation)


def test_a_runtime_parameter_of_none_is_not_evaluated(batch: Any) -> None:
    """Without its unit, every row of a table of visits would count as a person."""
    expectation = ExpectTableKAnonymityToBeAtLeast(
        quasi_identifiers=["age", "zip"], unit={"$PARAMETER": "person"}, at_least=2
    )
    result = batch.validate(expectation, expectation_parameters={"person": None})
    assert (result.success, result.result["details"]["status"]) == (False, "not_evaluated")
    assert result.result["observed_value"] is None
    assert "the runtime parameter of unit is None" in result.exception_info["exception_message"]
    by_rows = ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age", "zip"], unit=None, at_least=2)
    assert batch.validate(by_rows).success is True
