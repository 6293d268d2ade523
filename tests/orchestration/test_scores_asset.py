"""The private table of scores: everybody's score by the definition, witnesses, and nothing of it anywhere else."""

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.orchestration import build_anonymized_asset, build_scores_asset
from tests.engines import postgresql_database
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release

ROLES = {"zip": "quasi_identifier", "age": "quasi_identifier", "disease": "sensitive"}
POLICY = pp.Policy.from_dict(
    {
        "dataset": "visits",
        "columns": {
            "name": "identifier",
            "zip": {"role": "quasi_identifier", "hierarchy": {"flat": {}}},
            "age": {"role": "quasi_identifier", "hierarchy": {"flat": {}}},
            "disease": "sensitive",
        },
        "requirements": [
            {"k_anonymity": {"at_least": 3}},
            {"privacy_score": {"statistic": "maximum", "below": 0.5}},
        ],
        "anonymize": {"method": "generalize", "max_suppression": 0.5},
    }
)


def people() -> pd.DataFrame:
    rows = [("8001", 30, "zqmarkerflu")] * 3 + [("8001", 40, "zqmarkergout"), ("8001", 40, "zqmarkerflu")] * 3
    rows += [("8002", 30, disease) for disease in ("zqmarkerflu", "zqmarkergout")] * 3
    return pd.DataFrame(rows, columns=["zip", "age", "disease"]).assign(name=[f"n{i}" for i in range(len(rows))])


@pytest.fixture(params=["duckdb", "postgresql"])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipeline]:
    url = f"duckdb:///{tmp_path / 'warehouse' / 'house.db'}"
    if request.param == "postgresql":
        url = postgresql_database().url.render_as_string(hide_password=False)
    with dg.DagsterInstance.ephemeral() as instance:
        made = Pipeline(folder=tmp_path / "records", url=url, instance=instance)
        made.policy = POLICY
        made.write("raw", people())
        made.definitions = [
            dg.AssetSpec("raw"),
            build_scores_asset(name="scores", asset="raw", table="raw", target="private_scores", policy=POLICY),
            build_anonymized_asset(name="generalized", asset="raw", table="raw", policy=POLICY),
            *gate_and_release(made, "generalized", table="generalized"),
        ]
        yield made


def test_everybody_is_scored_in_a_private_table_and_nowhere_else(pipeline: Pipeline) -> None:
    result = pipeline.run()
    assert result.success, errors(result)
    rows = pipeline.read("private_scores") or []
    frame = people()
    expected = pp.privacy_score(frame, attributes=list(ROLES), roles=ROLES)
    scores = {tuple(row[:3]): row[4] for row in rows}
    assert sum(row[3] for row in rows) == len(frame)
    for row, score in zip(frame[list(ROLES)].itertuples(index=False), expected.of(frame), strict=True):
        assert scores[tuple(row)] == pytest.approx(score)
    certain = next(row for row in rows if row[4] > 0)
    assert certain[:5] == ("8001", 30, "zqmarkerflu", 3, 0.5)
    assert (certain[5], certain[6]) == ("zip, age", "disease")
    assert all(row[5] is None and row[6] is None for row in rows if row[4] == 0)
    (made,) = result.asset_materializations_for_node("scores")
    assert made.metadata["scored people"].value == len(frame)
    assert not {"people", "privacy_score", "known", "learned"} & set(made.metadata)
    recorded = json.dumps([str(event) for event in result.all_events])
    assert "zqmarker" not in recorded
    assert "private_scores" not in str(result.asset_materializations_for_node("release"))
    release = pipeline.read("release") or []
    assert release
    assert all(len(row) == 3 for row in release)


def test_witnesses_are_those_of_the_highest_scores_and_can_be_left_out() -> None:
    with dg.DagsterInstance.ephemeral():
        scores = build_scores_asset(name="scores", asset="raw", policy=POLICY, witnesses=0)
        result = dg.materialize(
            [dg.asset(name="raw")(people), scores],
            resources={"io_manager": dg.mem_io_manager},
        )
    frame = result.output_for_node("scores")
    assert isinstance(frame, pd.DataFrame)
    assert frame["known"].isna().all()
    assert frame["privacy_score"].max() == 0.5


def test_a_policy_without_one_score_or_with_its_columns_is_refused() -> None:
    columns = {"zip": "quasi_identifier", "disease": "sensitive"}
    without = pp.Policy.from_dict(
        {"dataset": "visits", "columns": columns, "requirements": [{"k_anonymity": {"at_least": 2}}]}
    )
    with pytest.raises(PolicyError, match="one requirement privacy_score"):
        build_scores_asset(name="scores", asset="raw", policy=without)
    taken = pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {**columns, "people": "quasi_identifier"},
            "requirements": [{"privacy_score": {"statistic": "maximum", "below": 0.5}}],
        }
    )
    with pytest.raises(PolicyError, match="rename it"):
        build_scores_asset(name="scores", asset="raw", policy=taken)
    with pytest.raises(ParameterError, match="witnesses"):
        build_scores_asset(name="scores", asset="raw", policy=POLICY, witnesses=-1)
