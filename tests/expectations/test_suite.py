"""A policy as a suite, in storage and in another process."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import great_expectations as gx
import pytest

from privacy_plugin.expectations.checkpoint import run_suite
from privacy_plugin.expectations.suite import META, build_suite, declare_expectations, declared_expectations
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
    stated = [expectation.configuration.kwargs for expectation in suite.expectations[1:]]
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
    assert len(suite.expectations) == len(declared_expectations(suite) or []) == 2


def test_a_unit_is_passed_to_the_expectations() -> None:
    columns = {"person": "unit", "age": "quasi_identifier", "disease": "sensitive"}
    suite = build_suite(policy(columns=columns), name="people")
    assert suite.expectations[1].unit == "person"
    diverse = build_suite(policy(columns=columns, requirements=[{"l_diversity": {"at_least": 2}}]), name="people")
    assert diverse.expectations[1].unit == "person"


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
context = gx.get_context(mode="file", project_root_dir=folder)
early = context.suites.get("privacy of visits")
asset = context.data_sources.add_pandas("plain").add_dataframe_asset("visits")
batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": data})
print(json.dumps({"plain_gx": [batch.validate(early).success, len(early.expectations)]}))

from privacy_plugin.expectations.checkpoint import run_suite
for name, suite in (("early", early), ("late", context.suites.get("privacy of visits"))):
    outcome = run_suite(data, suite)
    print(json.dumps({name: [outcome.success, outcome.evaluated, outcome.declared, list(outcome.reasons)]}))
"""


def test_a_stored_suite_is_complete_in_a_new_process_or_fails(tmp_path: Path) -> None:
    """GX loses expectations if it loads a suite before they are imported, and reports success on the rest."""
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    suite = policy(
        requirements=[{"k_anonymity": {"at_least": 3}}, {"t_closeness": {"ground": HIERARCHY, "at_most": 1}}]
    )
    stored = context.suites.add(suite.to_expectation_suite())
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
    assert outcomes["plain_gx"] == [True, 1]
    assert outcomes["early"][:3] == [False, 0, 3]
    assert "3 of 3 declared expectations are not in the suite" in outcomes["early"][3][0]
    assert outcomes["late"][:3] == [False, 4, 3]
    assert ["k-anonymity is 2" in reason for reason in outcomes["late"][3]] == [True]


def test_a_changed_suite_fails_until_it_is_declared_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    suite = policy(requirements=[{"k_anonymity": {"at_least": 5}}]).to_expectation_suite()
    suite.expectations[1].at_least = 1
    assert run_suite(frame(), suite).success is False
    assert "1 of 2 declared expectations are not in the suite" in run_suite(frame(), suite).reasons[0]
    assert run_suite(frame(), declare_expectations(suite)).success is True
    del suite.expectations[1]
    assert run_suite(frame(), suite).success is False


def test_a_suite_without_declarations_fails() -> None:
    empty = gx.ExpectationSuite(name="empty")
    assert "does not declare its expectations" in run_suite(frame(), empty).reasons[0]
    assert run_suite(frame(), declare_expectations(empty)).success is False
