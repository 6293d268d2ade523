"""Rare values are seeded everywhere, and nothing that is written down afterwards holds one of them."""

import logging
from typing import Any

import dagster as dg
import pytest

from privacy_plugin.orchestration import (
    build_anonymized_asset,
    build_candidate_asset,
    build_privacy_checks,
    build_release_asset,
)
from privacy_plugin.sources import SqlTable
from tests.orchestration.marked import DISEASE, MARKERS, NAME, marked_rows, written_down
from tests.orchestration.pipeline import Pipeline, errors, raw_rows


def marked(pipeline: Pipeline) -> Pipeline:
    pipeline.write("raw", marked_rows())
    common: dict[str, Any] = {"policy": pipeline.policy}
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_candidate_asset(name="as_is", asset="raw", table="raw", **common),
        build_privacy_checks(asset="as_is", table="as_is", **common),
        build_release_asset(name="as_is_release", asset="as_is", table="as_is", **common),
        build_anonymized_asset(name="anonymized", asset="raw", table="raw", **common),
        build_privacy_checks(asset="anonymized", table="anonymized", **common),
        build_release_asset(name="release", asset="anonymized", table="anonymized", **common),
    ]
    return pipeline


def test_neither_the_red_nor_the_green_path_tells_a_value(
    any_pipeline: Pipeline, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    marked(any_pipeline)
    assert not any_pipeline.run("as_is").success
    assert not any_pipeline.run("as_is_release").success
    green = any_pipeline.run("anonymized", "release")
    assert green.success, errors(green)
    told = written_down(any_pipeline, caplog) + "".join(capfd.readouterr())
    assert "k-anonymity is 1" in told
    for marker in MARKERS:
        assert marker not in told


def test_an_error_of_a_driver_is_told_without_its_text(
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
    pipeline.write("anonymized", raw_rows().drop(columns="name"))
    assert not pipeline.run("release").success
    monkeypatch.setattr(SqlTable, "row_count", raising)
    assert not dg.materialize(
        pipeline.definitions,
        selection=dg.AssetSelection.checks_for_assets("anonymized"),
        resources=pipeline.resources,
        instance=pipeline.instance,
        raise_on_error=False,
    ).success
    told = written_down(pipeline, caplog)
    assert "RuntimeError" in told
    for marker in MARKERS:
        assert marker not in told


def test_the_search_would_find_a_leak(pipeline: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    marked(pipeline)

    @dg.asset
    def leaking() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"worst": DISEASE})

    pipeline.definitions.append(leaking)
    pipeline.run("as_is")
    pipeline.run("leaking")
    assert DISEASE in written_down(pipeline, caplog)
