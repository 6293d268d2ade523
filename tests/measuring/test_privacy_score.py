"""The privacy score at every door: engines, requirement, policy, Great Expectations, Dagster, command line."""

import json
from fractions import Fraction
from pathlib import Path

import great_expectations as gx
import pandas as pd
import pytest
from great_expectations.compatibility.pydantic import ValidationError
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app
from privacy_plugin.errors import PolicyError
from privacy_plugin.expectations import ExpectTablePrivacyScoreToBeLessThan
from privacy_plugin.expectations.suite import runner_parameters
from tests.oracles import score_tables as oracle
from tests.sources.loading import ENGINES, LOADERS, Table

pytestmark = pytest.mark.great_expectations

TABLE = Table(
    kinds={"smoker": "boolean", "city": "text", "age": "integer", "disease": "text"},
    values={
        "smoker": [True, True, False, None, True, False],
        "city": ["Bern", "Bern", "Basel", "Basel", None, None],
        "age": [30, 30, 41, 41, 41, 58],
        "disease": ["flu", "flu", "gout", "flu", "gout", None],
    },
)
OPTIONS = {"likelihood": {"age": 0.5}, "danger": {"city": {"Bern": 0.2}, ("disease", None): 0}}
NAMES = list(TABLE.kinds)

COLUMNS = {"city": "quasi_identifier", "age": "quasi_identifier", "disease": "sensitive"}
PEOPLE = pd.DataFrame(
    {
        "city": ["Bern", "Bern", "Bern", "Basel", "Basel", "Basel"],
        "age": [30, 30, 41, 30, 41, 41],
        "disease": ["flu", "gout", "flu", "flu", "gout", "gout"],
    }
)


def policy(*lines, columns=COLUMNS, folder="."):
    requirements = [{"privacy_score": line} for line in lines]
    return pp.Policy.from_dict({"dataset": "ward", "columns": columns, "requirements": requirements}, folder=folder)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name.id != "csv"])
def test_every_engine_gives_the_same_scores(engine, tmp_path):
    expected = pp.privacy_score(LOADERS["arrow"](TABLE, tmp_path), attributes=NAMES, **OPTIONS)
    found = pp.privacy_score(LOADERS[engine](TABLE, tmp_path), attributes=NAMES, **OPTIONS)
    assert found.to_dict(reveal=True) == expected.to_dict(reveal=True)
    assert found.individuals.tolist() == expected.individuals.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    danger = {("city", "Bern"): Fraction(1, 5), ("disease", None): Fraction(0)}
    exact = oracle.table_scores(
        [dict(zip(NAMES, row, strict=True)) for row in TABLE.rows],
        booleans=["smoker"],
        likelihood=lambda name: Fraction(1, 2) if name[0] == "age" else Fraction(1),
        danger=lambda name: danger.get(name, Fraction(1)),
    )
    frame = LOADERS["pandas"](TABLE, tmp_path)
    assert found.of(frame).tolist() == pytest.approx([float(value) for value in exact], abs=1e-12)
    assert found.value == sum(exact) / len(exact)


def test_the_roles_of_a_policy_are_the_weights():
    judged = policy({"statistic": "average", "below": 0.3})
    assert judged.requirements[0].options["roles"] == COLUMNS
    verdict = judged.judge(PEOPLE)
    explicit = pp.privacy_score(
        PEOPLE,
        attributes=list(COLUMNS),
        likelihood={"city": 1, "age": 1, "disease": 0},
        danger={"city": 0, "age": 0, "disease": 1},
    )
    assert verdict.findings[0].value == explicit.value == Fraction(1, 3)
    assert not verdict.passed
    assert policy({"at_most": "1/3"}).judge(PEOPLE).passed
    assert str(judged.requirements[0]) == "privacy_score(average) below 0.3"


def test_weights_of_the_line_override_the_roles():
    found = policy({"likelihood": {"age": 0}, "below": 0.9}).judge(PEOPLE).findings[0]
    assert found.value == 0  # without the age, no city gives a disease away
    found = policy({"danger": {"disease": {"gout": 0.5}}, "below": 0.9}).judge(PEOPLE).findings[0]
    assert found.value == (Fraction(1, 2) * 2 + Fraction(1, 3) * 2) / 6
    own = policy({"roles": {"age": "sensitive"}, "below": 0.9})
    assert own.requirements[0].options["roles"]["age"] == "sensitive"
    assert own.digest != policy({"below": 0.9}).digest


def test_a_policy_without_danger_raises():
    columns = {"city": "quasi_identifier", "age": "insensitive", "disease": "insensitive"}
    with pytest.raises(PolicyError, match="needs a column with the role sensitive"):
        policy({"below": 0.3}, columns=columns)
    weighed = policy({"below": 0.3, "danger": {"city": 1}}, columns=columns)
    assert weighed.judge(PEOPLE).findings[0].status != "not_evaluated"


@pytest.mark.parametrize(
    "line",
    [
        {"statistic": "median", "below": 0.3},
        {"danger": {"disease": 2}, "below": 0.3},
        {"threshold": 0.5, "below": 0.3},
        {"at_least": 0.3},
        {"below": 1.5},
        {"roles": {"age": "identifier"}, "below": 0.3},
    ],
)
def test_invalid_lines_raise_when_the_policy_is_read(line):
    with pytest.raises(PolicyError, match="requirement 1"):
        policy(line)


def test_a_column_that_is_not_an_attribute_closes_the_gate():
    finding = policy({"danger": {"town": 1}, "below": 0.9}).judge(PEOPLE).findings[0]
    assert finding.status == "not_evaluated"
    assert "unknown column in danger 'town'" in finding.reason


def test_a_policy_line_with_every_option_is_read_back_the_same(tmp_path):
    (tmp_path / "city.csv").write_text("Bern;west;*\nBasel;north;*\n")
    (tmp_path / "policy.yaml").write_text(
        """
dataset: ward
columns: {city: quasi_identifier, age: quasi_identifier, disease: sensitive}
requirements:
  - privacy_score:
      statistic: threshold_share
      threshold: 0.4
      likelihood: {age: {otherwise: 0.9, "[0, 35)": 0.5}}
      danger: {disease: {flu: 0.1, gout: 1}}
      bins: {age: [0, 35, 100]}
      generalized: {city: {file: city.csv}}
      saturation: 0.5
      confidence: 0.9
      budget: 100000
      at_most: 0.4
"""
    )
    read = pp.Policy.load(tmp_path / "policy.yaml")
    plain = json.loads(json.dumps(read.requirements[0].to_dict()))
    again = policy(plain["privacy_score"])
    assert again.requirements[0].to_dict() == read.requirements[0].to_dict()
    found = [each.judge(PEOPLE).findings[0] for each in (read, again)]
    assert found[0].status in ("passed", "failed")
    assert found[0].to_dict() == found[1].to_dict()
    west = PEOPLE.assign(city=PEOPLE.city.replace({"Bern": "west"}))
    assert read.judge(west).findings[0].status in ("passed", "failed")


@pytest.mark.parametrize("limit", [3, 4])
def test_the_number_of_people_above_a_score_gates_the_command_line(tmp_path, limit):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    expected = int((pp.privacy_score(PEOPLE, attributes=list(COLUMNS), roles=COLUMNS).of(PEOPLE) >= 0.5).sum())
    assert expected == 4
    line = f"{{statistic: threshold_count, threshold: 0.5, at_most: {limit}}}"
    (tmp_path / "policy.yaml").write_text(
        "dataset: ward\ncolumns: {city: quasi_identifier, age: quasi_identifier, disease: sensitive}\n"
        f"requirements:\n  - privacy_score: {line}\n"
    )
    arguments = [str(tmp_path / "people.csv"), "--policy", str(tmp_path / "policy.yaml"), "--json"]
    result = CliRunner().invoke(app, ["check", *arguments])
    assert result.exit_code == (0 if limit >= expected else 1), result.output
    assert json.loads(result.stdout)["findings"][0]["value"] == expected


def test_a_verdict_warns_of_an_average():
    assert any("an average hides" in note for note in policy({"below": 0.9}).judge(PEOPLE).notes)
    assert not any("average" in note for note in policy({"statistic": "maximum", "below": 0.9}).judge(PEOPLE).notes)


@pytest.mark.parametrize(
    "line",
    [
        {"below": 0.3},
        {"statistic": "maximum", "at_most": 0.5},
        {"statistic": "threshold_share", "threshold": 0.5, "below": 0.2},
        {"statistic": "threshold_count", "threshold": 0.5, "at_most": 3},
        {"below": 0.9, "danger": {"disease": {"flu": 0.1}}, "bins": {"age": [0, 35, 100]}, "budget": 100_000},
        {"below": 0.9, "generalized": {"city": {"tree": {"west": ["Bern"], "north": ["Basel"]}}}},
    ],
)
def test_great_expectations_finds_what_the_gate_finds(line):
    rules = policy(line)
    asset = gx.get_context(mode="ephemeral").data_sources.add_pandas("ward").add_dataframe_asset("people")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": PEOPLE})
    suite = rules.to_expectation_suite()
    result = batch.validate(suite, expectation_parameters=runner_parameters(suite)).results[-1]
    finding = rules.judge(PEOPLE).findings[0]
    assert result.result["details"] == json.loads(json.dumps(finding.to_dict()))
    assert result.success is finding.passed
    stored = json.dumps(result.to_json_dict())
    for value in ("Bern", "Basel", "flu", "gout"):
        assert value not in stored


def test_the_expectation_is_strict():
    for wrong in (
        {"below": "0.3"},
        {"below": 0.3, "budget": 2.5},
        {"below": 0.3, "statistic": "median"},
        {"below": 0.3, "danger": {"age": 2}},
        {"below": 0.3, "roles": {"age": "identifier"}},
        {"below": 0.3, "unit": 3},
        {"at_least": 0.3},
        {},
    ):
        with pytest.raises(ValidationError):
            ExpectTablePrivacyScoreToBeLessThan(attributes=["age"], **wrong)


def test_dagster_shows_it_as_a_check():
    import dagster as dg

    from privacy_plugin.orchestration.check_results import check_results

    rules = policy({"statistic": "average", "below": 0.3}, {"statistic": "maximum", "below": 0.3})
    results = check_results(dg.AssetKey("ward"), rules, rules.judge(PEOPLE), common={})
    assert [result.check_name for result in results[1:]] == ["privacy_score_average", "privacy_score_maximum"]
    assert [result.passed for result in results[1:]] == [False, False]
    assert results[1].metadata["value"].value == pytest.approx(1 / 3)
    assert "who knows some of city, age, disease of a person" in results[1].description


def test_the_command_line_evaluates_it(tmp_path: Path):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    line = "requirements: [{privacy_score: {statistic: average, below: LIMIT}}]\n"
    columns = "dataset: ward\ncolumns: {city: quasi_identifier, age: quasi_identifier, disease: sensitive}\n"
    for limit, code in (("0.3", 1), ("0.4", 0), ("2", 2)):
        (tmp_path / "policy.yaml").write_text(columns + line.replace("LIMIT", limit))
        result = CliRunner().invoke(
            app, ["check", str(tmp_path / "people.csv"), "--policy", str(tmp_path / "policy.yaml")]
        )
        assert result.exit_code == code, result.output
        assert "gout" not in result.output
