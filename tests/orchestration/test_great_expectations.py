"""Great Expectations as an additional check: it can close the gate, and never opens it."""

import importlib.util
import logging
import subprocess
import sys
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration import build_privacy_checks
from tests.orchestration.markers import MARKERS, marked_rows, written_down
from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    gate_and_release,
    judging,
    outcome,
    released,
    safe_rows,
    unsafe_rows,
)

pytest.importorskip("great_expectations", reason="needs the gx extra")
pytestmark = pytest.mark.great_expectations


def evaluation(result: dg.ExecuteInProcessResult) -> Any:
    return next(e for e in result.get_asset_check_evaluations() if e.check_name == "great_expectations")


def test_the_checkpoint_passes_a_safe_table(pipeline: Pipeline) -> None:
    result = judging(pipeline, via="great_expectations").run()
    assert result.success, errors(result)
    assert outcome(result) == dict.fromkeys(
        ("privacy_structure", "k_anonymity", "l_diversity_distinct_disease", "great_expectations"), True
    )
    assert evaluation(result).metadata["expectations evaluated"].value == 3
    assert released(result)


def test_the_checkpoint_fails_an_unsafe_frame(pipeline: Pipeline) -> None:
    @dg.asset
    def judged() -> pd.DataFrame:
        return unsafe_rows()

    pipeline.definitions = [judged, *gate_and_release(pipeline, judged, via="great_expectations")]
    result = pipeline.run()
    assert not result.success
    assert outcome(result)["great_expectations"] is False
    assert "k-anonymity is 1" in str(evaluation(result).description)


def test_a_failed_checkpoint_closes_the_gate_for_later_runs(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privacy_plugin.expectations import checkpoint

    def raising(*_: Any, **__: Any) -> None:
        raise RuntimeError("MARKER-VALUE")

    judging(pipeline, safe_rows(), via="great_expectations")
    monkeypatch.setattr(checkpoint, "validate", raising)
    result = pipeline.run("judged")
    assert not result.success
    assert outcome(result) == {
        "privacy_structure": True,
        "k_anonymity": True,
        "l_diversity_distinct_disease": True,
        "great_expectations": False,
    }
    later = pipeline.run("release")
    assert not later.success
    assert "Great Expectations checkpoint failed" in errors(later)
    assert "MARKER-VALUE" not in str(evaluation(result).description) + errors(later)


def test_the_checkpoint_result_contains_no_value(pipeline: Pipeline, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    judging(pipeline, marked_rows().drop(columns="name"), via="great_expectations")
    assert not pipeline.run("judged").success
    written = written_down(pipeline, caplog)
    assert "Great Expectations checkpoint failed" in written
    for marker in MARKERS:
        assert marker not in written


def test_an_unknown_via_raises_an_error(pipeline: Pipeline) -> None:
    with pytest.raises(ParameterError, match="via must be"):
        build_privacy_checks(asset="judged", policy=pipeline.policy, via="gx")  # type: ignore[arg-type]


def test_a_missing_gx_extra_raises_when_definitions_load(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privacy_plugin.orchestration.privacy_checks.find_spec", lambda _: None)
    with pytest.raises(ParameterError, match=r"privacy-plugin\[gx\]"):
        build_privacy_checks(asset="judged", policy=pipeline.policy, via="great_expectations")
    assert importlib.util.find_spec("great_expectations") is not None


def test_importing_orchestration_does_not_import_great_expectations() -> None:
    program = (
        "import sys, privacy_plugin.orchestration\n"
        "print([name for name in ('great_expectations', 'pyspark', 'altair') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
