"""Data that cannot be judged, and verdicts that cannot be recorded, release nothing."""

from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.policy.policy import Policy
from tests.certificates import TEST_KEY
from tests.orchestration.pipeline import (
    Pipeline,
    gate_and_release,
    judging,
    outcome,
    released,
    safe_rows,
)
from tests.orchestration.refused_release import refuses, the_certificate


def test_an_empty_table_is_not_released(any_pipeline: Pipeline) -> None:
    judging(any_pipeline, safe_rows(0).astype({"age": "int64"}))
    result = any_pipeline.run()
    assert outcome(result) == dict.fromkeys(("privacy_structure", "k_anonymity", "l_diversity_distinct_disease"), False)
    refuses(any_pipeline, "no rows")


def test_a_table_with_an_identifier_is_not_released(pipeline: Pipeline) -> None:
    judging(pipeline, safe_rows().assign(name="x"))
    result = pipeline.run()
    assert outcome(result)["privacy_structure"] is False
    refuses(pipeline, "the identifier column 'name' is still in the table")


def test_a_table_with_an_undeclared_column_is_not_released(pipeline: Pipeline) -> None:
    judging(pipeline, safe_rows().assign(note="x"))
    assert not pipeline.run().success
    refuses(pipeline, "'note' has no role")


def test_a_missing_table_is_not_released(pipeline: Pipeline) -> None:
    judging(pipeline)
    pipeline.execute("DROP TABLE judged")
    result = pipeline.run("judged")
    assert not result.success
    assert outcome(result)["privacy_structure"] is False
    pipeline.write("judged", safe_rows())
    refuses(pipeline, "is closed")


def test_a_check_that_raises_closes_the_gate(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success

    def raising(*_: Any, **__: Any) -> None:
        raise RuntimeError("driver text with MARKER-VALUE")

    monkeypatch.setattr(Policy, "judge", raising)
    result = pipeline.run()
    assert not result.success
    assert not released(result)
    monkeypatch.undo()
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    refuses(pipeline, "is closed", "RuntimeError")
    assert "MARKER-VALUE" not in the_certificate(pipeline).read_text()


def test_a_verdict_that_cannot_be_recorded_fails_the_run(pipeline: Pipeline) -> None:
    judging(pipeline)
    pipeline.folder.mkdir(parents=True)
    (pipeline.folder / "certificates").write_text("a file where the folder should be")
    result = pipeline.run()
    assert not result.success
    assert not released(result)
    assert outcome(result) == {}
    assert pipeline.read("release") is None


def test_an_input_that_cannot_be_loaded_fails_the_run(pipeline: Pipeline) -> None:
    @dg.asset
    def judged() -> pd.DataFrame:
        return safe_rows()

    pipeline.definitions = [judged, *gate_and_release(pipeline, judged)]
    assert pipeline.run("judged").success
    for value in (pipeline.folder / "values").rglob("judged"):
        value.write_bytes(b"not a pickle")
    assert not pipeline.run("release").success


def test_an_unreadable_value_is_not_released(pipeline: Pipeline) -> None:
    @dg.asset
    def judged() -> list[int]:
        return [1, 2, 3]

    pipeline.definitions = [judged, *gate_and_release(pipeline, judged)]
    result = pipeline.run()
    assert not result.success
    assert outcome(result)["privacy_structure"] is False
