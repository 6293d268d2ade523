"""The JSON Schema of the policy accepts every policy that loads, and names what no policy can have."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.cli.app import app
from privacy_plugin.errors import PolicyError
from privacy_plugin.metrics.registry import metrics
from privacy_plugin.policy import policy as policy_file
from privacy_plugin.policy.schema import policy_schema, verdict_schema
from tests.documents import policies

VALID = Draft202012Validator(policy_schema())
PLAIN: dict[str, Any] = {
    "dataset": "visits",
    "columns": {"age": "quasi_identifier", "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}}},
    "requirements": [{"k_anonymity": {"at_least": 5}}],
}


def changed(**parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(PLAIN), **parts}


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(policy_schema())


@pytest.mark.parametrize("text", policies())
def test_the_policies_of_the_documents_are_accepted(text: str) -> None:
    problems = [problem.message for problem in VALID.iter_errors(yaml.safe_load(text))]
    assert not problems


def test_it_knows_every_key_metric_and_method() -> None:
    schema = policy_schema()
    assert set(schema["properties"]) == set(policy_file._KEYS)
    items = schema["properties"]["requirements"]["items"]["anyOf"]
    assert {next(iter(item["properties"])) for item in items} == {"preset", *metrics()}
    methods = schema["properties"]["anonymize"]["anyOf"]
    assert [method["properties"]["method"]["const"] for method in methods] == list(ANONYMIZERS)


@pytest.mark.parametrize(
    "wrong",
    [
        changed(datset="visits"),
        changed(columns={"age": "quasi_identifer"}),
        changed(columns={"age": {"role": "quasi_identifier", "hierachy": "age.csv"}}),
        changed(requirements=[{"k_anonymity": {"at_most": 5}}]),
        changed(requirements=[{"k_anonymity": {"k": 5}}]),
        changed(requirements=[{"k_anonymity": {}}]),
        changed(requirements=[{"l_diversity": {"variant": "distinkt", "at_least": 2}}]),
        changed(requirements=[{"preset": "k6"}]),
        changed(anonymize={"method": "generalise"}),
        changed(anonymize={"method": "generalize", "loss": "accuracy"}),
        changed(valid_for="90"),
    ],
)
def test_what_the_parser_refuses_it_refuses_too(wrong: dict[str, Any]) -> None:
    assert VALID.is_valid(PLAIN)
    pp.Policy.from_dict(PLAIN)
    assert not VALID.is_valid(wrong)
    with pytest.raises(PolicyError):
        pp.Policy.from_dict(wrong)


def test_a_file_in_the_folder_of_packs_is_known() -> None:
    folder = Path(policy_file.__file__).parent / "packs"
    named = policy_schema()["properties"]["packs"]["items"]["enum"]
    assert sorted(named) == sorted(path.stem for path in folder.glob("*.yaml"))


@pytest.mark.parametrize("rows", ["30-39,flu\n30-39,flu\n", "30-39,flu\n30-39,cold\n40-49,flu\n", ""])
def test_what_check_prints_has_the_form_of_its_schema(rows: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        "dataset: visits\ncolumns: {age: quasi_identifier, disease: sensitive}\npacks: [cms_cell_11]\n"
        "requirements: [k_anonymity: {at_least: 2}, l_diversity: {at_least: 2}]\n"
    )
    (tmp_path / "visits.csv").write_text(f"age,disease\n{rows}")
    asked = ["check", str(tmp_path / "visits.csv"), "--policy", str(tmp_path / "policy.yaml"), "--json"]
    printed = json.loads(CliRunner().invoke(app, asked).stdout)
    Draft202012Validator(verdict_schema()).validate(printed)
    broken = json.loads(CliRunner().invoke(app, [*asked[:1], str(tmp_path / "missing.csv"), *asked[2:]]).stdout)
    assert "error" in broken
    Draft202012Validator(verdict_schema()).validate(broken)


def test_the_command_prints_the_schemas() -> None:
    for of, wanted in (([], policy_schema()), (["policy"], policy_schema()), (["verdict"], verdict_schema())):
        printed = CliRunner().invoke(app, ["schema", *of])
        assert printed.exit_code == 0
        assert json.loads(printed.stdout) == json.loads(json.dumps(wanted))
