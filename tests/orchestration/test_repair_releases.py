"""A repaired table, from the raw table to the release, in real runs of Dagster and from the command line."""

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
from privacy_plugin.orchestration import build_anonymized_asset
from tests.engines import postgresql_database
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, outcome, released

POLICY: dict[str, Any] = {
    "dataset": "visits",
    "columns": {"name": "identifier", "zip": "quasi_identifier", "ill": "quasi_identifier", "disease": "sensitive"},
    "requirements": [{"privacy_score": {"statistic": "maximum", "at_most": 0}}, {"k_anonymity": {"at_least": 5}}],
    "anonymize": {"method": "greedy_repair", "max_false_share": 0.3},
}
CHECKS = {"privacy_structure": True, "privacy_score_maximum": True, "k_anonymity": True}
METHODS = ["greedy_repair", "fill_holes"]


def people() -> pd.DataFrame:
    """Everybody of 8001 who is ill has flu."""
    rows = [("8001", "yes", "flu")] * 6 + [("8001", "no", "flu"), ("8001", "no", "gout")] * 4
    rows += [("8002", "yes", "gout"), ("8002", "yes", "flu")] * 5 + [("8002", "no", "flu"), ("8002", "no", "gout")] * 3
    frame = pd.DataFrame(rows, columns=["zip", "ill", "disease"])
    return frame.assign(name=[f"MARKER {number}" for number in range(len(frame))])


def repairing(pipeline: Pipeline, method: str = "greedy_repair") -> Pipeline:
    pipeline.policy = pp.Policy.from_dict({**POLICY, "anonymize": {**POLICY["anonymize"], "method": method}})
    pipeline.write("raw", people())
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(name="repaired", asset="raw", table="raw", policy=pipeline.policy),
        *gate_and_release(pipeline, "repaired", table="repaired", population="raw", population_table="raw"),
    ]
    return pipeline


@pytest.fixture(params=["duckdb", "postgresql"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    url = f"duckdb:///{tmp_path / 'warehouse' / 'house.db'}"
    if request.param == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    with dg.DagsterInstance.ephemeral() as instance:
        yield repairing(Pipeline(folder=tmp_path / "records", url=url, instance=instance))


def test_a_repaired_table_is_judged_and_released_without_its_marks(pipeline: Pipeline) -> None:
    result = pipeline.run()
    assert result.success, errors(result)
    assert outcome(result) == CHECKS
    assert released(result)
    raw = people()
    source = Counter(zip(raw["zip"], raw["ill"], raw["disease"], strict=True))
    rows = Counter(pipeline.read("release") or [])
    assert source < rows
    (extra,) = (rows - source).elements()
    assert extra == ("8001", "yes", "gout")
    marked = pipeline.read("repaired") or []
    assert Counter(row[-1] for row in marked) == {"person": len(raw), "added": 1}
    (made,) = result.asset_materializations_for_node("repaired")
    assert made.metadata["added rows"].value == 1
    page = next((pipeline.folder / "reports").rglob("*.html")).read_text()
    assert "some rows were added and are false" in page
    assert "MARKER" not in page


def test_an_unchanged_source_keeps_its_repair_and_another_one_is_refused(pipeline: Pipeline) -> None:
    assert pipeline.run().success
    first = pipeline.read("release")
    again = pipeline.run()
    assert again.success, errors(again)
    assert pipeline.read("release") == first
    (made,) = again.asset_materializations_for_node("repaired")
    assert "the last repair was kept" in str(made.metadata["notes"].value)
    pipeline.execute("INSERT INTO raw (zip, ill, disease, name) VALUES ('8002', 'yes', 'gout', 'new')")
    changed = pipeline.run()
    assert not changed.success
    assert "another repair of 'visits' was released already" in errors(changed)
    assert pipeline.read("release") == first


def test_marks_and_source_are_verified(pipeline: Pipeline) -> None:
    assert pipeline.run("repaired").success
    pipeline.execute("UPDATE repaired SET added = 'added' WHERE ill = 'no'")
    result = pipeline.run_selection(dg.AssetSelection.checks_for_assets("repaired"))
    assert outcome(result)["privacy_structure"] is False
    pipeline.execute("DELETE FROM raw WHERE ill = 'no'")
    assert pipeline.run("repaired").success
    pipeline.execute("UPDATE raw SET disease = 'acne' WHERE disease = 'gout'")
    late = pipeline.run("release")
    assert not late.success
    assert "the population changed after the privacy checks" in errors(late)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["files", "duckdb"])
def test_the_command_line_repairs_once(tmp_path: Path, engine: str, method: str) -> None:
    policy = {**POLICY, "anonymize": {**POLICY["anonymize"], "method": method}}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    given = ["--policy", str(tmp_path / "policy.yaml")]
    people().to_csv(tmp_path / "raw.csv", index=False)
    read, output = [str(tmp_path / "raw.csv")], str(tmp_path / "out.csv")
    if engine == "duckdb":
        url = f"duckdb:///{tmp_path / 'house.db'}"
        Pipeline(folder=tmp_path, url=url).write("raw", people())
        read, output = ["--url", url, "--table", "raw"], "out"
    report = ["--report", str(tmp_path / "report.html")]
    made = CliRunner().invoke(app, ["anonymize", *read, *given, "--output", output, *report])
    assert made.exit_code == 0, made.output
    assert "added rows" in made.output
    assert "Highest score of a person" in (tmp_path / "report.html").read_text()
    if engine == "files":
        written = pd.read_csv(output)
        assert sorted(written) == ["disease", "ill", "zip"]
        assert len(written) == len(people()) + 1
    again = CliRunner().invoke(app, ["anonymize", *read, *given, "--output", output, "--force"])
    assert again.exit_code == 2
    assert "Two repairs of the same people intersect" in " ".join(again.output.split())
