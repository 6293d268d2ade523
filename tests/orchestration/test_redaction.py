"""Marker values are planted in the data, and no event, log line or file contains them."""

import logging
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from privacy_plugin.sources import SqlTable
from tests.certificates import TEST_KEY
from tests.orchestration.markers import DISEASE, MARKERS, NAME, marked_rows, written_down
from tests.orchestration.pipeline import Pipeline, anonymizing, errors, unsafe_rows, with_the_table_as_it_is


def marked(pipeline: Pipeline) -> Pipeline:
    return with_the_table_as_it_is(anonymizing(pipeline, marked_rows()))


def test_failed_and_passed_runs_log_no_value(
    any_pipeline: Pipeline, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    marked(any_pipeline)
    assert not any_pipeline.run("as_is").success
    assert not any_pipeline.run("as_is_release").success
    green = any_pipeline.run("anonymized", "release")
    assert green.success, errors(green)
    written = written_down(any_pipeline, caplog) + "".join(capfd.readouterr())
    assert "k-anonymity is 1" in written
    for marker in MARKERS:
        assert marker not in written


def test_driver_errors_are_redacted(
    pipeline: Pipeline, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    marked(pipeline)

    def raising(*_: Any, **__: Any) -> None:
        try:
            raise ValueError(f"could not convert {NAME}")
        except ValueError as problem:
            raise RuntimeError(f"bad value {DISEASE}") from problem

    monkeypatch.setattr(SqlTable, "recode", raising)
    monkeypatch.setattr(SqlTable, "publish", raising)
    assert not pipeline.run("anonymized").success
    assert not pipeline.run("as_is").success
    pipeline.write("anonymized", unsafe_rows())
    assert not pipeline.run("release").success
    monkeypatch.setattr(SqlTable, "row_count", raising)
    assert not pipeline.run_selection(dg.AssetSelection.checks_for_assets("anonymized")).success
    written = written_down(pipeline, caplog)
    assert "RuntimeError" in written
    for marker in MARKERS:
        assert marker not in written


@pytest.mark.parametrize("field", ["folder", "reports_url"])
def test_a_run_configuration_cannot_show_the_signing_key(
    pipeline: Pipeline, field: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run configuration may replace a value of a resource by any environment variable."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", TEST_KEY)
    marked(pipeline)
    assert pipeline.run("anonymized").success
    asking = {"resources": {"certificates": {"config": {field: {"env": "PRIVACY_PLUGIN_KEY"}}}}}
    for selected in ("anonymized", "release"):
        refused = pipeline.run(selected, run_config=asking)
        assert "names another folder of certificates and reports than the definitions" in errors(refused)
    assert TEST_KEY not in written_down(pipeline, caplog)
    assert pipeline.run("release").success


def test_the_leak_search_finds_a_planted_value(pipeline: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    marked(pipeline)

    @dg.asset
    def leaking() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"worst": DISEASE})

    pipeline.definitions.append(leaking)
    pipeline.run("as_is")
    pipeline.run("leaking")
    assert DISEASE in written_down(pipeline, caplog)
