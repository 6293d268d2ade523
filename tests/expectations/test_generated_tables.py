"""Audits of generated tables and of channels as expectations, on every engine."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from great_expectations.compatibility.pydantic import ValidationError

import privacy_plugin as pp
from privacy_plugin.expectations import (
    ExpectTableCompressionDifferenceToBeAtMost,
    ExpectTableEpsilonDependenceToBeAtMost,
    ExpectTableItemsetDifferenceToBeAtMost,
    ExpectTableLearnedAccuracyToBeAtLeast,
    ExpectTableRepeatedRecordsToBeAtMost,
    ExpectTableUniqueItemsetsToBeAtMost,
)
from privacy_plugin.expectations.rendering import describe_requirement
from privacy_plugin.expectations.suite import runner_parameters
from privacy_plugin.metrics.registry import CAVEATS, find_metric
from tests.expectations.two_tables import Placed, everywhere, on_pandas

REAL = pd.DataFrame({"age": [30, 30, 41, 55, 62] * 8, "ill": ["zqyes", "zqno"] * 20, "truth": ["zqa", "zqb"] * 20})
MADE = pd.DataFrame({"age": [30, 41, 41, 55, 71] * 8, "ill": ["zqyes", "zqno"] * 20})
MADE["truth"] = ["zqa", "zqb"] * 20
MADE["shown"] = ["zqa", "zqb", "zqb", "zqa", "zqa"] * 8
ATTRIBUTES = ["age", "ill"]
CHANNEL = [["3/4", "1/4"], ["1/4", "3/4"]]

ASKED: list[tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (ExpectTableRepeatedRecordsToBeAtMost, {}, {"at_most": 0.8}, {"below": 0.8}),
    (ExpectTableUniqueItemsetsToBeAtMost, {"largest": 2}, {"at_most": 0}, {"below": 0}),
    (ExpectTableItemsetDifferenceToBeAtMost, {"variant": "lost"}, {"at_most": "1/2"}, {"at_most": 0.1}),
    (ExpectTableCompressionDifferenceToBeAtMost, {}, {"at_most": 5}, {"at_most": 0.01}),
    (ExpectTableLearnedAccuracyToBeAtLeast, {"target": "ill"}, {"at_least": 0}, {"above": 1}),
]


@everywhere
def test_every_engine_gives_the_same_result(engine: Placed, tmp_path: Path) -> None:
    batch, place = engine(MADE, REAL, tmp_path)
    for kind, options, meets, fails in ASKED:
        wanted = getattr(pp, kind.metric)(MADE, attributes=ATTRIBUTES, original=REAL, **options)
        common = {"attributes": ATTRIBUTES, "population": place, **options}
        good = batch.validate(kind(**common, **meets))
        assert good.success is True, kind.metric
        assert good.result["details"]["measurement"] == wanted.to_dict()
        assert CAVEATS[find_metric(kind.metric).kind] in good.result["details"]["reason"]
        assert "zq" not in json.dumps(good.to_json_dict(), allow_nan=False)
        if engine is on_pandas:
            bad = batch.validate(kind(**common, **fails))
            assert (bad.success, bad.exception_info["raised_exception"]) == (False, False), kind.metric


@everywhere
def test_a_declared_channel_on_every_engine(engine: Placed, tmp_path: Path) -> None:
    batch, _ = engine(MADE, REAL, tmp_path)
    common: dict[str, Any] = {"attributes": ["truth", "shown"], "channel": CHANNEL}
    wanted = pp.require("epsilon_dependence", channel=CHANNEL, at_most=1.1).judge(MADE, attributes=["truth", "shown"])
    passed = batch.validate(ExpectTableEpsilonDependenceToBeAtMost(**common, at_most=1.1))
    assert passed.success is True
    assert passed.result["details"] == wanted.to_dict()
    assert CAVEATS["audit"] in passed.result["details"]["reason"]
    assert batch.validate(ExpectTableEpsilonDependenceToBeAtMost(**common, at_most=1)).success is False
    prior = ExpectTableEpsilonDependenceToBeAtMost(**common, prior=["1/2", "1/2"], at_most=0.7)
    assert batch.validate(prior).success is True
    few = ExpectTableEpsilonDependenceToBeAtMost(**{**common, "channel": [[1]]}, at_most=1)
    refuted = batch.validate(few)
    assert (refuted.success, refuted.result["observed_value"]) == (False, "infinite")
    assert "zq" not in json.dumps(refuted.to_json_dict(), allow_nan=False)


def test_a_column_of_another_type_is_not_evaluated(tmp_path: Path) -> None:
    batch, place = on_pandas(MADE, REAL.assign(age=REAL["age"].astype(str)), tmp_path)
    result = batch.validate(ExpectTableRepeatedRecordsToBeAtMost(attributes=ATTRIBUTES, population=place, at_most=1))
    assert (result.success, result.exception_info["raised_exception"]) == (False, True)
    assert "holds numbers in the table and text in the original" in result.exception_info["exception_message"]


def test_a_policy_becomes_a_suite(tmp_path: Path) -> None:
    roles = {"age": "quasi_identifier", "ill": "sensitive", "truth": "insensitive", "shown": "insensitive"}
    asked = [
        {"repeated_records": {"at_most": 0.8}},
        {"itemset_difference": {"support": "1/5", "attributes": ["truth", "ill"], "at_most": 1}},
        {"epsilon_dependence": {"channel": CHANNEL, "attributes": ["truth", "shown"], "at_most": 1.1}},
    ]
    batch, place = on_pandas(MADE, REAL, tmp_path)
    policy = pp.Policy.from_dict({"dataset": "made", "columns": roles, "requirements": asked, "population": place})
    suite = policy.to_expectation_suite()
    result = batch.validate(suite, expectation_parameters=runner_parameters(suite))
    assert result.success, result
    found = [each.result["details"]["measurement"] for each in result.results[2:]]
    assert [one["parameters"]["attributes"] for one in found] == [["age", "ill"], ["truth", "ill"], ["truth", "shown"]]
    assert found == [one.to_dict()["measurement"] for one in policy.judge(MADE, population=REAL).findings]


def test_the_description_names_the_original() -> None:
    arguments = {"attributes": ["age"], "population": "visits", "at_most": 0.2}
    template, parameters = describe_requirement(find_metric("repeated_records"), arguments)
    assert "compared with the original ${population}" in template
    assert parameters["population"] == "visits"
    channel = {"attributes": ["truth", "shown"], "channel": CHANNEL, "at_most": 1}
    assert describe_requirement(find_metric("epsilon_dependence"), channel)[1]["channel"] == "channel given"


@pytest.mark.parametrize(
    "wrong", [{"population": None}, {"at_most": 2}, {"at_most": None}, {"attributes": []}, {"variant": "x"}]
)
def test_fields_are_checked_by_the_rules_of_requirements(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExpectTableRepeatedRecordsToBeAtMost(**{"attributes": ["age"], "population": "visits", "at_most": 0.2, **wrong})
