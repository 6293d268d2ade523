"""`privacy-plugin hierarchy`: a column's levels, shown without values, and replaced in the policy."""

from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from tests.cli.conftest import Run

POLICY = """\
dataset: visits
columns:
  age: {role: quasi_identifier, hierarchy: {intervals: {start: 0, stop: 100, widths: [10, 20]}}}  # years
  town: quasi_identifier
requirements:
  - k_anonymity: {at_least: 2}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY)
    towns = ["zqsecret", "Bern", "Basel", "Genf"] * 5
    pd.DataFrame({"age": range(20, 40), "town": towns}).to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path


def test_levels_are_shown_without_values(run: Run, folder: Path) -> None:
    shown = run("hierarchy", "age", "--policy", folder / "policy.yaml", "--data", folder / "visits.csv")
    assert shown.exit_code == 0
    lines = [line.split() for line in shown.stdout.splitlines() if "rows" in line]
    assert [line[:3] for line in lines] == [["0", "20", "1"], ["1", "2", "10"], ["2", "1", "20"], ["3", "1", "20"]]
    assert "[20, 30)" not in shown.stdout


def test_labels_are_shown_on_request(run: Run, folder: Path) -> None:
    shown = run(
        *("hierarchy", "age", "--policy", folder / "policy.yaml", "--data", folder / "visits.csv", "--reveal"),
        reveals=True,
    )
    assert "[20, 30)" in shown.stdout


def test_a_hierarchy_is_replaced_in_the_policy(run: Run, folder: Path) -> None:
    policy = folder / "policy.yaml"
    assert run("hierarchy", "town", "--policy", policy, "--set", "vocabulary: countries").exit_code == 0
    assert pp.Policy.load(policy).hierarchies["town"].specification == {"vocabulary": "countries"}
    assert "# years" in policy.read_text()


def test_a_proposed_hierarchy_is_written_without_values(run: Run, folder: Path) -> None:
    policy = folder / "policy.yaml"
    assert run("hierarchy", "town", "-p", policy, "--data", folder / "visits.csv", "--propose").exit_code == 0
    assert pp.Policy.load(policy).hierarchies["town"].specification == {"flat": {}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "intervals: {start: 0}"], "give either boundaries"),
        (["--set", "vocabulary: contries"], "countries"),
        (["--set", "{"], "--set takes a hierarchy"),
        (["--propose"], "--data"),
        ([], "no hierarchy for column"),
    ],
)
def test_an_invalid_hierarchy_raises_and_nothing_is_written(
    run: Run, folder: Path, options: list[str], message: str
) -> None:
    refused = run("hierarchy", "town", "--policy", folder / "policy.yaml", *options)
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert (folder / "policy.yaml").read_text() == POLICY
