"""Presence as expectations: the population on every engine, and no hierarchy or marginal in results."""

import json
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
import pytest
from great_expectations.compatibility.pydantic import ValidationError

import privacy_plugin as pp
from privacy_plugin.expectations import (
    ExpectTableDeltaPresenceToBeBetween,
    ExpectTableJournalistRiskToBeAtMost,
    ExpectTableKMapToBeAtLeast,
    ExpectTablePresenceConfidenceToBeAtLeast,
)
from privacy_plugin.expectations.suite import build_suite, runner_parameters
from tests.expectations.two_tables import Placed, everywhere, on_pandas

REGISTER = pd.DataFrame({"age": [30, 30, 30, 30, 41, 41, 55, 55], "zip": ["zq01"] * 4 + ["zq02"] * 4})
VISITS = REGISTER.iloc[[0, 1, 4]]
QI = ["age", "zip"]
ZIPS = {"table": [["zq01", "zq0*", "*"], ["zq02", "zq0*", "*"]]}
TOGETHER = [{"columns": QI, "counts": [["30", "zq01", 4], ["41", "zq02", 2], ["55", "zq02", 2]]}]
MARGINALS = {"age": {"30": 4, "41": 2, "55": 2}, "zip": {"zq01": 4, "zq02": 4}}


@everywhere
def test_the_second_table_on_every_engine(engine: Placed, tmp_path: Path) -> None:
    batch, population = engine(VISITS, REGISTER, tmp_path)
    common: dict[str, Any] = {"quasi_identifiers": QI, "population": population}
    for expectation, success, value in (
        (ExpectTableDeltaPresenceToBeBetween(**common, between=[0, 0.5]), True, 0.5),
        (ExpectTableDeltaPresenceToBeBetween(**common, between=[0.1, 0.5]), False, 0.5),
        (ExpectTableKMapToBeAtLeast(**common, at_least=2), True, 2),
        (ExpectTableJournalistRiskToBeAtMost(**common, below=0.5), False, 0.5),
    ):
        result = batch.validate(expectation)
        assert (result.success, result.result["observed_value"]) == (success, value), expectation
    known = {"marginals": MARGINALS, "population_size": 8, "delta": [0, 0.5]}
    result = batch.validate(ExpectTablePresenceConfidenceToBeAtLeast(quasi_identifiers=QI, **known, at_least=0.5))
    assert result.success is False
    assert result.result["observed_value"] == pytest.approx(
        float(pp.presence_confidence(VISITS, quasi_identifiers=QI, **known).value)
    )
    together = {**known, "marginals": {}, "joint": TOGETHER}
    result = batch.validate(ExpectTablePresenceConfidenceToBeAtLeast(quasi_identifiers=QI, **together, at_least=0.5))
    assert (result.success, result.result["observed_value"]) == (True, 1)  # nothing is left to chance


def test_rows_missing_from_the_population_are_not_evaluated(tmp_path: Path) -> None:
    batch, population = on_pandas(VISITS, REGISTER, tmp_path)
    REGISTER.iloc[2:].assign(age=REGISTER["age"].astype(float)).to_parquet(tmp_path / "register.parquet")
    ask = ExpectTableDeltaPresenceToBeBetween(quasi_identifiers=QI, population=population, between=[0, 1])
    assert batch.validate(ask).success is True  # 30.0 is 30
    REGISTER.assign(age=REGISTER["age"].astype(str)).to_parquet(tmp_path / "register.parquet")
    result = batch.validate(ask)
    assert (result.success, result.exception_info["raised_exception"]) == (False, True)
    assert "holds numbers in the table and text in the population" in result.exception_info["exception_message"]
    assert "zq" not in json.dumps(result.exception_info)


def test_results_contain_neither_hierarchies_nor_marginals(tmp_path: Path) -> None:
    batch, population = on_pandas(VISITS, REGISTER, tmp_path)
    presence = ExpectTableDeltaPresenceToBeBetween(
        quasi_identifiers=QI, population=population, hierarchies={"zip": ZIPS}, between=[0, 1]
    )
    confidence = ExpectTablePresenceConfidenceToBeAtLeast(
        quasi_identifiers=QI, marginals=MARGINALS, population_size=8, delta=[0, 1], at_least=0.5
    )
    jointly = ExpectTablePresenceConfidenceToBeAtLeast(
        quasi_identifiers=QI, marginals={}, joint=TOGETHER, population_size=8, delta=[0, 0.5], at_least=0.5
    )
    for expectation in (presence, confidence, jointly):
        result = batch.validate(expectation)
        assert result.success is True
        stored = json.dumps(result.to_json_dict())
        assert "zq0" not in stored
        assert "withheld" in stored
        type(expectation)(**result.expectation_config.kwargs)  # a stored result is read back


def test_fields_are_checked_by_the_rules_of_requirements() -> None:
    common: dict[str, Any] = {"quasi_identifiers": QI, "population": "register"}
    for wrong in (
        {"between": [0.5, 0.1]},
        {"between": None},
        {"between": [0, 1], "hierarchies": {"zip": {"tabel": []}}},
        {"between": [0, 1], "population": None},
    ):
        with pytest.raises(ValidationError):
            ExpectTableDeltaPresenceToBeBetween(**{**common, **wrong})
    good: dict[str, Any] = {"marginals": MARGINALS, "population_size": 8, "delta": [0, 1], "at_least": 0.5}
    for wrong in ({"marginals": {}}, {"population_size": "8"}, {"delta": [1, 0]}, {"at_least": 2}, {"marginals": None}):
        with pytest.raises(ValidationError):
            ExpectTablePresenceConfidenceToBeAtLeast(quasi_identifiers=QI, **{**good, **wrong})


def test_a_suite_has_the_hierarchies_of_the_policy(tmp_path: Path) -> None:
    policy = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {"age": "quasi_identifier", "zip": {"role": "quasi_identifier", "hierarchy": ZIPS}},
            "population": str(tmp_path / "register.parquet"),
            "anonymize": {"method": "generalize"},
            "requirements": [
                {"delta_presence": {"between": [0, 0.5]}},
                {"presence_confidence": {"marginals": MARGINALS, "population_size": 8, "delta": [0, 1], "at_least": 1}},
            ],
        }
    )
    REGISTER.to_parquet(tmp_path / "register.parquet")
    general = VISITS.assign(zip="zq0*")
    asset = gx.get_context(mode="ephemeral").data_sources.add_pandas("frames").add_dataframe_asset("visits")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": general})
    suite = build_suite(policy, name="visits")
    result = batch.validate(suite, expectation_parameters=runner_parameters(suite))
    assert result.success, result
    assert len(result.results) == 4
    assert policy.judge(general, population=REGISTER).passed
