"""A policy as a suite, in storage and in another process."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import great_expectations as gx
import pytest

from privacy_plugin.errors import PolicyError
from privacy_plugin.expectations.checkpoint import run_suite
from privacy_plugin.expectations.stored_checkpoint import run_checkpoint, store_checkpoint
from privacy_plugin.expectations.suite import (
    GUARD_PARAMETER,
    META,
    build_suite,
    declare_expectations,
    declared_expectations,
    is_guard,
    runner_parameters,
)
from privacy_plugin.policy.policy import Policy
from tests.expectations.examples import POLICY, frame

HIERARCHY = {"tree": {"*": {"lungs": ["asthma", "flu"], "joints": ["gout"]}}}

AS_STORED = {"table": [["asthma", "lungs", "*"], ["flu", "lungs", "*"], ["gout", "joints", "*"]]}


def policy(**changes: Any) -> Policy:
    given = {
        "dataset": "visits",
        "columns": {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive", "name": "identifier"},
        "requirements": [{"k_anonymity": {"at_least": 2}}],
    }
    return Policy.from_dict({**given, **changes})


def test_a_suite_has_the_columns_and_one_expectation_per_requirement() -> None:
    suite = POLICY.to_expectation_suite(name="release")
    assert suite.name == "release"
    assert [expectation.expectation_type for expectation in suite.expectations] == [
        "expect_table_column_count_to_be_between",
        "expect_table_columns_to_match_policy",
        "expect_table_k_anonymity_to_be_at_least",
        "expect_table_l_diversity_to_be_at_least",
        "expect_table_t_closeness_to_be_at_most",
        "expect_table_reidentification_risk_to_be_at_most",
    ]
    assert len(declared_expectations(suite) or []) == 5
    assert suite.meta[META]["policy_digest"] == POLICY.digest


def test_expectations_have_every_part_of_a_requirement() -> None:
    requirements = [
        {"l_diversity": {"variant": "recursive", "c": 2.5, "above": 1}},
        {"t_closeness": {"ground": HIERARCHY, "below": "1/3"}},
        {"reidentification_risk": {"variant": "share_at_risk", "threshold": 0.2, "at_most": 0.05}},
        {"preset": "k11"},
    ]
    suite = build_suite(policy(requirements=requirements), name="all")
    stated = [expectation.configuration.kwargs for expectation in suite.expectations[2:]]
    roles = {"quasi_identifiers": ["age", "zip"]}
    assert stated == [
        {**roles, "sensitive": "disease", "variant": "recursive", "c": 2.5, "above": 1},
        {**roles, "sensitive": "disease", "ground": AS_STORED, "below": "1/3"},
        {**roles, "variant": "share_at_risk", "threshold": 0.2, "at_most": 0.05},
        {**roles, "at_least": 11},
    ]
    assert "Centers for Medicare" in suite.expectations[-1].notes


def test_equal_requirements_become_one_expectation() -> None:
    """GX treats a suite as a set and drops the second silently, which would look like a loss."""
    suite = build_suite(policy(requirements=[{"preset": "k5"}, {"k_anonymity": {"at_least": 5}}]), name="twice")
    assert len(suite.expectations[1:]) == len(declared_expectations(suite) or []) == 2


def test_a_unit_is_passed_to_the_expectations() -> None:
    columns = {"person": "unit", "age": "quasi_identifier", "disease": "sensitive"}
    suite = build_suite(policy(columns=columns), name="people")
    assert suite.expectations[2].unit == "person"
    diverse = build_suite(policy(columns=columns, requirements=[{"l_diversity": {"at_least": 2}}]), name="people")
    assert diverse.expectations[2].unit == "person"


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (["age", "zip", "disease", "phone"], "'phone' has no role"),
        (["age", "zip", "disease", "name"], "the identifier column 'name' is still in the table"),
        (["age", "zip"], "'disease' has the role sensitive but is not in the table"),
    ],
)
def test_columns_are_judged_as_the_gate_judges_them(columns: list[str], problem: str) -> None:
    data = frame([("x",) * len(columns)] * 2, columns)
    assert POLICY.judge(data).passed is False
    outcome = run_suite(data, build_suite(policy(), name="columns"))
    assert outcome.success is False
    assert (outcome.evaluated, outcome.declared) == (2, 2)
    assert any(problem in reason for reason in outcome.reasons)


def test_an_index_of_names_fails_the_columns_expectation() -> None:
    data = frame([("x",) * 3] * 2, ["age", "zip", "disease"])
    suite = build_suite(policy(), name="columns")
    assert run_suite(data, suite).success
    outcome = run_suite(data.set_axis(["Ada", "Bob"]), suite)
    assert outcome.success is False
    assert any("more than row numbers" in reason for reason in outcome.reasons)


_ELSEWHERE = """
import json, logging, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import great_expectations as gx
import pandas

folder, data = sys.argv[1], pandas.read_json(sys.argv[2], dtype={"zip": str})
given = {"dataframe": data}

def attempt(name, action):
    try:
        print(json.dumps({name: action()}))
    except Exception as problem:
        print(json.dumps({name: [type(problem).__name__, str(problem)]}))

context = gx.get_context(mode="file", project_root_dir=folder)
early = context.suites.get("privacy of visits")
definition = context.data_sources.get("hospital").get_asset("visits").get_batch_definition("all")
stored = context.validation_definitions.get("privacy of visits")
attempt("left", lambda: [expectation.expectation_type for expectation in early.expectations])
attempt("batch", lambda: definition.get_batch(given).validate(early).success)
attempt("validation", lambda: stored.run(batch_parameters=given).success)
attempt("checkpoint", lambda: context.checkpoints.get("privacy of visits").run(batch_parameters=given).success)

from privacy_plugin.expectations.checkpoint import run_suite
from privacy_plugin.expectations.stored_checkpoint import run_checkpoint
from privacy_plugin.expectations.suite import runner_parameters

attempt("parameters", lambda: runner_parameters(early))
late = context.suites.get("privacy of visits")
attempt("unsupplied", lambda: definition.get_batch(given).validate(late).success)
checkpoint = context.checkpoints.get("privacy of visits")
parameters = runner_parameters(late)
attempt("supplied", lambda: checkpoint.run(batch_parameters=given, expectation_parameters=parameters).success)
def outcome(result):
    return [result.success, result.evaluated, result.declared, list(result.reasons)]
attempt("early", lambda: outcome(run_suite(data, early)))
attempt("late", lambda: outcome(run_suite(data, late)))
attempt("run", lambda: outcome(run_checkpoint(checkpoint, batch_parameters=given)))
"""


@pytest.mark.parametrize("k", [2, 3])
def test_a_stored_suite_is_complete_in_a_new_process_or_fails(tmp_path: Path, k: int) -> None:
    """GX loses expectations if it loads a suite before they are imported, and would report success on the rest."""
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    asset = context.data_sources.add_pandas("hospital").add_dataframe_asset("visits")
    chosen = policy(
        requirements=[{"k_anonymity": {"at_least": k}}, {"t_closeness": {"ground": HIERARCHY, "at_most": 1}}]
    )
    store_checkpoint(chosen, asset.add_batch_definition_whole_dataframe("all"))
    stored = context.suites.get("privacy of visits")
    stored.add_expectation(gx.expectations.ExpectColumnToExist(column="age"))
    frame().to_json(tmp_path / "visits.json", orient="records")
    # without a main file, where importing pyspark without its connect parts would end the process with success
    command = [sys.executable, "-c", _ELSEWHERE, str(tmp_path), str(tmp_path / "visits.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            outcomes |= json.loads(line)
    assert outcomes["left"] == ["expect_table_column_count_to_be_between", "expect_column_to_exist"]
    for attempt in ("batch", "validation", "unsupplied"):
        assert outcomes[attempt] == ["SuiteParameterError", f"No value found for $PARAMETER {GUARD_PARAMETER}"]
    assert outcomes["checkpoint"][0] == "ValidationActionRegistryRetrievalError"
    assert outcomes["parameters"][0] == "PolicyError"
    assert "3 of 3 declared expectations are not in the suite" in outcomes["parameters"][1]
    assert outcomes["early"][:3] == [False, 0, 3]
    assert "3 of 3 declared expectations are not in the suite" in outcomes["early"][3][0]
    assert outcomes["supplied"] is (k == 2)
    for attempt in ("late", "run"):
        assert outcomes[attempt][:3] == [k == 2, 4, 3]
        assert ["k-anonymity is 2" in reason for reason in outcomes[attempt][3]] == [True] * (k == 3)


def test_the_action_of_a_stored_checkpoint_raises_if_the_suite_is_incomplete(tmp_path: Path) -> None:
    """A suite that was saved without our import has lost its expectations for good; the guard is still in it."""
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    definition = context.data_sources.add_pandas("hospital").add_dataframe_asset("visits")
    chosen = store_checkpoint(policy(), definition.add_batch_definition_whole_dataframe("all"))
    given = {"dataframe": frame()}
    assert run_checkpoint(chosen, batch_parameters=given).success is True
    assert len(list(tmp_path.rglob("data_docs/local_site/validations/**/*.html"))) == 1
    suite = context.suites.get("privacy of visits")
    parameters = runner_parameters(suite)
    suite.expectations = [expectation for expectation in suite.expectations if is_guard(expectation)]
    suite.save()
    with pytest.raises(PolicyError, match="2 of 2 declared expectations are not in the suite"):
        context.checkpoints.get("privacy of visits").run(batch_parameters=given, expectation_parameters=parameters)
    outcome = run_checkpoint(context.checkpoints.get("privacy of visits"), batch_parameters=given)
    assert (outcome.success, outcome.declared) == (False, 2)
    open_checkpoint = store_checkpoint(policy(), definition.get_batch_definition("all"))
    open_checkpoint.actions = []
    open_checkpoint.save()
    outcome = run_checkpoint(open_checkpoint, batch_parameters=given)
    assert "has no action of privacy_plugin" in outcome.reasons[0]


def test_a_suite_without_its_guard_fails() -> None:
    suite = policy().to_expectation_suite()
    suite.expectations = [expectation for expectation in suite.expectations if not is_guard(expectation)]
    assert run_suite(frame(), suite).reasons == (
        "the suite has no guard; call declare_expectations(suite) and store it again",
    )
    assert run_suite(frame(), declare_expectations(suite)).success is True


def test_a_changed_suite_fails_until_it_is_declared_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    suite = policy(requirements=[{"k_anonymity": {"at_least": 5}}]).to_expectation_suite()
    suite.expectations[2].at_least = 1
    assert run_suite(frame(), suite).success is False
    assert "1 of 2 declared expectations are not in the suite" in run_suite(frame(), suite).reasons[0]
    assert run_suite(frame(), declare_expectations(suite)).success is True
    del suite.expectations[2]
    assert run_suite(frame(), suite).success is False


def test_a_suite_without_declarations_fails() -> None:
    empty = gx.ExpectationSuite(name="empty")
    assert "does not declare its expectations" in run_suite(frame(), empty).reasons[0]
    assert run_suite(frame(), declare_expectations(empty)).success is False
