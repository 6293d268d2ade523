"""Data that changed after its checks is not released."""

from typing import Any

import dagster as dg
import pandas as pd
import pytest

from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    gate_and_release,
    judging,
    safe_rows,
    unsafe_rows,
)
from tests.orchestration.refused_release import refuses


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE judged SET disease = 'x' WHERE rowid = 1",
        "INSERT INTO judged VALUES (99, '999', 'a')",
        "DELETE FROM judged WHERE rowid = 1",
        "INSERT INTO judged SELECT * FROM judged",
    ],
)
def test_data_changed_after_its_checks_is_not_released(pipeline: Pipeline, change: str) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    pipeline.execute(change)
    refuses(pipeline, "the data changed after its privacy checks")


def test_data_changed_after_its_checks_in_duckdb_is_not_released(any_pipeline: Pipeline) -> None:
    judging(any_pipeline)
    assert any_pipeline.run("judged").success
    any_pipeline.execute("UPDATE judged SET disease = 'x' WHERE age = 30 AND zip = '100' AND disease = 'a'")
    refuses(any_pipeline, "the data changed after its privacy checks")


@pytest.mark.parametrize("any_pipeline", ["duckdb"], indirect=True)
def test_a_view_with_random_rows_is_not_released(any_pipeline: Pipeline) -> None:
    """The checks and the fingerprint read its first rows; the release would read others."""
    judging(any_pipeline)
    any_pipeline.write("safe", safe_rows())
    any_pipeline.write("unsafe", unsafe_rows())
    any_pipeline.execute("DROP TABLE judged")
    any_pipeline.execute("CREATE SEQUENCE reads")
    any_pipeline.execute(
        "CREATE VIEW judged AS WITH turn AS MATERIALIZED (SELECT nextval('reads') AS n) "
        "SELECT safe.* FROM safe, turn WHERE n = 1 UNION ALL SELECT unsafe.* FROM unsafe, turn WHERE n > 1"
    )
    assert any_pipeline.run("judged").success
    refuses(any_pipeline, "the data changed after its privacy checks")


def test_a_frame_changed_after_its_checks_is_not_released(pipeline: Pipeline) -> None:
    frames = {"now": safe_rows()}

    class Changing(dg.ConfigurableIOManager):
        def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
            frames["written"] = obj

        def load_input(self, context: dg.InputContext) -> Any:
            return frames["now"]

    @dg.asset
    def judged() -> pd.DataFrame:
        return frames["now"]

    pipeline.definitions = [judged, *gate_and_release(pipeline, judged)]
    pipeline.extra_resources = {"io_manager": Changing()}
    assert pipeline.run("judged").success
    frames["now"] = unsafe_rows()
    result = pipeline.run("release")
    assert not result.success
    assert "the data changed after its privacy checks" in errors(result)


def test_a_column_added_after_the_checks_is_not_released(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    pipeline.execute("ALTER TABLE judged ADD COLUMN note VARCHAR DEFAULT 'free text'")
    result = pipeline.run("release")
    assert result.success, errors(result)
    assert {len(row) for row in pipeline.read("release") or ()} == {3}
