"""`suggest`: numbers that hold, the next ones that do not, and lines that a policy accepts."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app

COLUMNS = {"age": "quasi_identifier", "disease": "sensitive"}
POLICY = {"dataset": "visits", "columns": COLUMNS, "requirements": [{"k_anonymity": {"at_least": 2}}]}


def suggested(*arguments: str, code: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["suggest", *arguments, "--json"])
    assert result.exit_code == code, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def test_presence_bounds_are_those_of_the_paper() -> None:
    sizes = ("--population-size", "10000", "--research-size", "400")
    found = suggested("presence-bounds", "--prior", "0.07", "--gain", "0.01", "--drop", "0.02", *sizes)
    assert (round(found["minimum"], 4), round(found["maximum"], 4)) == (0.0194, 0.0503)
    requirement = yaml.safe_load(found["line"])
    assert pp.Policy.from_dict({**POLICY, "requirements": [requirement]}).requirements


def test_the_smallest_k_keeps_delta_and_the_next_smaller_does_not() -> None:
    found = suggested("smallest-k", "--beta", "0.7", "--delta", "3.3e-6", "--choice-epsilon", "0.5")
    assert pp.sampling_delta(k=found["k"], beta=0.7, choice_epsilon=0.5) <= 3.3e-6
    assert pp.sampling_delta(k=found["k"] - 1, beta=0.7, choice_epsilon=0.5) > 3.3e-6


@pytest.fixture
def released(tmp_path: Path) -> list[str]:
    rows = [(age, disease) for age in ("30", "40") for disease in "abcdef"]
    pd.DataFrame(rows, columns=["age", "disease"]).to_csv(tmp_path / "released.csv", index=False)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return [str(tmp_path / "released.csv"), "--policy", str(tmp_path / "policy.yaml")]


def test_knowledge_is_the_most_that_the_table_withstands(released: list[str]) -> None:
    found = suggested("knowledge", *released, "--below", "0.5")
    assert found["line"] == f"maximum_disclosure: {{knowledge: {found['knowledge']}, below: 0.5}}"
    disclosures = {int(facts): value for facts, value in found["disclosure"].items()}
    assert disclosures[0] == pytest.approx(1 / 6)
    assert disclosures[found["knowledge"]] < 0.5 <= disclosures[found["knowledge"] + 1]
    table = pd.read_csv(released[0], dtype=str)
    for facts, value in disclosures.items():
        measured = pp.maximum_disclosure(table, quasi_identifiers=["age"], sensitive="disease", knowledge=facts)
        assert float(measured.value) == pytest.approx(value)


def test_a_table_that_withstands_nothing_has_no_line(released: list[str]) -> None:
    assert suggested("knowledge", *released, "--below", "0.1", code=1)["line"] is None


def test_good_nodes_says_that_it_is_not_private(tmp_path: Path) -> None:
    pd.DataFrame({"sex": ["f", "m"] * 200}).to_csv(tmp_path / "public.csv", index=False)
    columns = {"sex": {"role": "quasi_identifier", "hierarchy": {"tree": {"*": ["f", "m"]}}}}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "columns": columns}))
    given = [str(tmp_path / "public.csv"), "--policy", str(tmp_path / "policy.yaml"), "--k", "10", "--beta", "0.5"]
    assert "without noise" in suggested("good-nodes", *given)["reason"]
