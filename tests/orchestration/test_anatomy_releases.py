"""An Anatomy pair, from the raw table to the release, in real runs of Dagster and from the command line."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app
from privacy_plugin.gate.certificate import read_certificate
from privacy_plugin.orchestration import build_anonymized_asset, build_candidate_asset
from tests.engines import postgresql_database
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, outcome, released

POLICY: dict[str, Any] = {
    "dataset": "visits",
    "columns": {
        "name": "identifier",
        "age": "quasi_identifier",
        "zip": "quasi_identifier",
        "disease": "sensitive",
        "cost": "insensitive",
    },
    "requirements": [
        {"maximum_disclosure": {"knowledge": 1, "below": 0.6}},
        {"l_diversity": {"variant": "distinct", "at_least": 3}},
    ],
    "anonymize": {"method": "bucketize", "knowledge": 1, "below": 0.6},
}
CHECKS = {
    "privacy_structure": True,
    "maximum_disclosure_knowledge_1_disease": True,
    "l_diversity_distinct_disease": True,
}


def people(count: int = 60) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"MARKER {i}" for i in range(count)],
            "age": [20 + i for i in range(count)],
            "zip": [str(100 + i % 7) for i in range(count)],
            "disease": ["abcde"[i % 5] for i in range(count)],
            "cost": [i * 10 for i in range(count)],
        }
    )


@pytest.fixture(params=["duckdb", "postgresql"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    url = f"duckdb:///{tmp_path / 'warehouse' / 'house.db'}"
    if request.param == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    with dg.DagsterInstance.ephemeral() as instance:
        yield dealing(Pipeline(folder=tmp_path / "records", url=url, instance=instance))


def dealing(pipeline: Pipeline, changes: dict[str, Any] | None = None, **arguments: Any) -> Pipeline:
    pipeline.policy = pp.Policy.from_dict({**POLICY, **(changes or {})})
    pipeline.write("raw", people())
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(name="dealt", asset="raw", table="raw", policy=pipeline.policy),
        *gate_and_release(pipeline, "dealt", table="dealt", **arguments),
    ]
    return pipeline


def pair(pipeline: Pipeline, table: str) -> tuple[Any, Any]:
    return pipeline.read(f"{table}_people"), pipeline.read(f"{table}_values")


def test_a_pair_is_dealt_judged_and_released_together(pipeline: Pipeline) -> None:
    result = pipeline.run()
    assert result.success, errors(result)
    assert outcome(result) == CHECKS
    assert released(result)
    individuals, values = pair(pipeline, "release")
    assert (individuals, values) == pair(pipeline, "dealt")
    raw = people()
    assert sorted(row[:2] for row in individuals) == sorted(zip(raw["age"], raw["zip"], strict=True))
    assert Counter(row[1] for row in values) == Counter(raw["disease"])
    assert Counter(row[2] for row in individuals) == Counter(row[0] for row in values)
    truth = dict(zip(raw["age"], raw["disease"], strict=True))
    held = {(row[0], row[1]) for row in values}
    assert all((bucket, truth[age]) in held for age, _, bucket in individuals)
    certificate = read_certificate(next((pipeline.folder / "releases").rglob("*.json")))
    assert [table.name for table in certificate.tables] == ["people", "values"]
    (judged,) = [e for e in result.get_asset_check_evaluations() if e.check_name == "privacy_structure"]
    page = next((pipeline.folder / "reports").rglob("*.html")).read_text()
    assert "left out, because it would link values to people: cost" in page
    assert "MARKER" not in page
    assert judged.passed


def test_a_pair_that_changed_is_not_released_and_none_of_it_is_replaced(pipeline: Pipeline) -> None:
    assert pipeline.run().success
    before = pair(pipeline, "release")
    for statement in (
        "UPDATE dealt_values SET disease = 'a' WHERE disease = 'b'",
        "UPDATE dealt_people SET age = age + 1",
    ):
        pipeline.execute(statement)
        result = pipeline.run("release")
        assert not result.success
        assert "changed after its privacy checks" in errors(result)
        assert pair(pipeline, "release") == before


def test_tables_of_two_deals_do_not_belong_together(pipeline: Pipeline) -> None:
    assert pipeline.run("dealt").success
    pipeline.execute("UPDATE dealt_people SET bucket = bucket + 1000 WHERE age < 30")
    result = pipeline.run_selection(dg.AssetSelection.checks_for_assets("dealt"))
    assert outcome(result)["privacy_structure"] is False
    reasons = pipeline.policy.judge(
        {"people": pd.DataFrame({"age": [1], "zip": ["1"], "bucket": [1]}), "values": values_frame([2])}
    ).reasons
    assert reasons == ("the tables do not belong together: they do not have the same rows by bucket",)


def values_frame(buckets: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"bucket": buckets, "disease": ["a"] * len(buckets)})


def test_an_unchanged_source_keeps_its_deal_and_another_deal_is_refused(pipeline: Pipeline) -> None:
    assert pipeline.run().success
    first = pair(pipeline, "release")
    again = pipeline.run()
    assert again.success, errors(again)
    assert pair(pipeline, "release") == first
    (made,) = again.asset_materializations_for_node("dealt")
    assert "the last deal was kept" in str(made.metadata["notes"].value)
    pipeline.execute("UPDATE raw SET age = age + 1 WHERE age = 20")
    changed = pipeline.run()
    assert not changed.success
    assert "another deal of 'visits' was released already" in errors(changed)
    assert pair(pipeline, "release") == first
    assert pair(pipeline, "dealt") != first


def test_frames_travel_as_a_mapping(tmp_path: Path) -> None:
    @dg.asset
    def raw() -> pd.DataFrame:
        return people()

    policy = pp.Policy.from_dict(POLICY)
    with dg.DagsterInstance.ephemeral() as instance:
        held = Pipeline(folder=tmp_path / "records", url="sqlite://", instance=instance, policy=policy)
        made = build_anonymized_asset(name="dealt", asset="raw", policy=policy)
        held.definitions = [raw, made, *gate_and_release(held, "dealt")]
        result = held.run()
    assert result.success, errors(result)
    frames = result.output_for_node("release")
    assert {name: list(frame) for name, frame in frames.items()} == {
        "people": ["age", "zip", "bucket"],
        "values": ["bucket", "disease"],
    }


def test_a_pair_of_generalized_people_is_recognized_by_nobody(pipeline: Pipeline) -> None:
    ages = {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}}
    columns = {
        **POLICY["columns"],
        "age": {"role": "quasi_identifier", "hierarchy": ages},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3}}},
    }
    changes = {
        "columns": columns,
        "requirements": [*POLICY["requirements"], {"k_anonymity": {"at_least": 5}}],
        "anonymize": {**POLICY["anonymize"], "generalize": True},
    }
    pipeline = dealing(pipeline, changes=changes)
    result = pipeline.run()
    assert result.success, errors(result)
    assert outcome(result) == {**CHECKS, "k_anonymity": True}
    individuals, values = pair(pipeline, "release")
    assert len(individuals) == len(values) == 60
    assert min(Counter(row[:2] for row in individuals).values()) >= 5


@pytest.mark.great_expectations
def test_great_expectations_judges_the_pair(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        url = f"duckdb:///{tmp_path / 'house.db'}"
        pipeline = dealing(Pipeline(folder=tmp_path / "records", url=url, instance=instance), via="great_expectations")
        result = pipeline.run()
    assert result.success, errors(result)
    assert outcome(result) == {**CHECKS, "great_expectations": True}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"requirements": [{"k_anonymity": {"at_least": 2}}]}, "everyone in it can be recognized"),
        ({"requirements": [{"privacy_score": {"at_most": 1}}]}, "everyone in it can be recognized"),
        ({"requirements": [{"delta_presence": {"between": [0, 1]}}]}, "compares whole rows with another table"),
        ({"requirements": [{"privacy_budget": {"at_most": 1, "privacy_unit": "row"}}]}, "spends no privacy budget"),
        ({"columns": {**POLICY["columns"], "cost": "sensitive"}}, "one sensitive column, and the policy has 2"),
        ({"columns": {**POLICY["columns"], "bucket": "insensitive"}}, "adds a column 'bucket'"),
        ({"columns": {**POLICY["columns"], "name": "unit"}}, "one row per person"),
        ({"anonymize": {"method": "bucketize", "below": 0.5}}, "needs knowledge"),
        ({"anonymize": {**POLICY["anonymize"], "below": 2}}, "below must lie above 0"),
        ({"anonymize": {**POLICY["anonymize"], "dealing": "fair"}}, "unknown dealing 'fair'"),
        ({"anonymize": {**POLICY["anonymize"], "dealing": "similar", "neighbours": 9}}, "neighbours need dealing"),
    ],
)
def test_policies_that_no_pair_meets_are_refused_when_loaded(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(pp.PrivacyPluginError, match=problem):
        pp.Policy.from_dict({**POLICY, **changes})


def test_one_table_is_no_pair_and_a_pair_is_no_table() -> None:
    policy = pp.Policy.from_dict(POLICY)
    verdict = policy.judge(people())
    assert "is released as a pair of tables, with people age, zip, bucket and values" in verdict.reasons[0]
    with pytest.raises(pp.PrivacyPluginError, match="use build_anonymized_asset"):
        build_candidate_asset(name="as_is", asset="raw", table="raw", policy=policy)
    plain = pp.Policy.from_dict({**POLICY, "anonymize": {"method": "generalize"}})
    both = {"people": people(), "values": values_frame([1])}
    assert "released as one table" in plain.judge(both).reasons[0]
    more = {"people": people().assign(bucket=1), "values": values_frame([1])}
    assert "remove: cost, disease, name" in policy.judge(more).reasons[0]


@pytest.mark.parametrize("engine", ["files", "duckdb"])
def test_the_command_line_writes_and_checks_a_pair(tmp_path: Path, engine: str) -> None:
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    given = ["--policy", str(tmp_path / "policy.yaml")]
    read, output, places = [str(tmp_path / "raw.csv")], str(tmp_path / "out.csv"), [str(tmp_path / "out.csv")]
    people().to_csv(tmp_path / "raw.csv", index=False)
    if engine == "duckdb":
        url = f"duckdb:///{tmp_path / 'house.db'}"
        Pipeline(folder=tmp_path, url=url).write("raw", people())
        read, output, places = ["--url", url, "--table", "raw"], "out", ["--url", url, "--table", "out"]
    report = ["--report", str(tmp_path / "report.html")]
    made = CliRunner().invoke(app, ["anonymize", *read, *given, "--output", output, *report])
    assert made.exit_code == 0, made.output
    assert "buckets" in made.output
    assert "A person shares a bucket with" in (tmp_path / "report.html").read_text()
    checked = CliRunner().invoke(app, ["check", *places, *given])
    assert checked.exit_code == 0, checked.output
    again = CliRunner().invoke(app, ["anonymize", *read, *given, "--output", output, "--force"])
    assert again.exit_code == 2
    assert "Two deals of the same people intersect" in " ".join(again.output.split())
    if engine == "files":
        assert list(pd.read_csv(tmp_path / "out_people.csv")) == ["age", "zip", "bucket"]
        assert list(pd.read_csv(tmp_path / "out_values.csv")) == ["bucket", "disease"]
        assert sorted(path.name for path in tmp_path.glob("*out*")) == ["out_people.csv", "out_values.csv"]
