"""Errors of a rejected release: what Dagster shows first, and that no data was copied."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.plan.objects import StepFailureData

from privacy_plugin.errors import CertificateError
from privacy_plugin.orchestration import build_privacy_checks, build_release_asset
from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    judging,
    outcome,
    raw_rows,
    safe_rows,
    unsafe_rows,
)


def refusal(result: dg.ExecuteInProcessResult) -> StepFailureData:
    (failure,) = [event.step_failure_data for event in result.all_events if event.is_step_failure]
    return failure


def test_an_error_states_the_refusal_first_and_then_the_reasons(pipeline: Pipeline) -> None:
    judging(pipeline, unsafe_rows())
    assert not pipeline.run("judged").success
    shown = refusal(pipeline.run("release"))
    assert shown.error is not None
    assert shown.error.cls_name == "CertificateError"
    assert shown.error.cause is None
    assert shown.user_failure_data is not None
    first, *reasons = str(shown.user_failure_data.description).splitlines()
    assert first == "the gate of dataset 'visits' is closed, for 2 reasons:"
    assert [reason[:14] for reason in reasons] == ["- k-anonymity ", "- l-diversity "]
    assert shown.error.message.startswith(f"privacy_plugin.errors.CertificateError: {first}\n")


def test_a_dagster_failure_is_still_a_privacy_plugin_error(pipeline: Pipeline) -> None:
    judging(pipeline)
    with pytest.raises(CertificateError, match="no certificate for"):
        dg.materialize(
            pipeline.definitions, selection="release", resources=pipeline.resources, instance=pipeline.instance
        )


def test_structure_problems_are_listed_one_per_line(pipeline: Pipeline) -> None:
    judging(pipeline, raw_rows().assign(note="free text"))
    result = pipeline.run("judged")
    described = {e.check_name: str(e.description).splitlines() for e in result.get_asset_check_evaluations()}
    assert not any(outcome(result).values())
    assert [line[:20] for line in described["privacy_structure"]] == [
        "The gate is closed, ",
        "- column 'note' has ",
        "- the identifier col",
    ]
    assert described["k_anonymity"] == ["Not evaluated: see the check privacy_structure for the reason."]


def test_a_closed_gate_copies_no_data(pipeline: Pipeline, tmp_path: Path) -> None:
    """A staging copy could outlive a killed run: the missing folder would raise only if something were written."""
    path = tmp_path / "judged.csv"

    @dg.asset
    def judged() -> str:
        return str(path)

    target = tmp_path / "nowhere" / "release.csv"
    common = {"asset": judged, "policy": pipeline.policy}
    release = build_release_asset(name="release", target=str(target), **common)
    pipeline.definitions = [judged, build_privacy_checks(**common), release]
    unsafe_rows().to_csv(path, index=False)
    assert not pipeline.run("judged").success
    assert "is closed" in errors(pipeline.run("release"))
    safe_rows().to_csv(path, index=False)
    assert pipeline.run("judged").success
    assert "nowhere" in errors(pipeline.run("release"))


def test_no_release_if_its_certificate_cannot_be_written(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    (pipeline.folder / "releases").write_text("a file where the folder of papers should be")
    result = pipeline.run("release")
    assert not result.success
    assert pipeline.read("release") is None


def test_a_failed_release_keeps_the_certificate_of_the_previous_one(any_pipeline: Pipeline) -> None:
    """A view has the target's name: the new certificate would describe rows that were not released."""
    judging(any_pipeline)
    assert any_pipeline.run().success
    (paper,) = (any_pipeline.folder / "releases").iterdir()
    before = paper.read_text()
    for statement in ("CREATE TABLE kept AS SELECT * FROM release", "DROP TABLE release"):
        any_pipeline.execute(statement)
    any_pipeline.execute("CREATE VIEW release AS SELECT * FROM kept")
    any_pipeline.write("judged", safe_rows(80))
    assert any_pipeline.run("judged").success
    assert "publishing failed" in errors(any_pipeline.run("release"))
    assert paper.read_text() == before
    any_pipeline.execute("DROP VIEW release")
    result = any_pipeline.run("release")
    assert result.success
    assert paper.read_text() == before
    assert len({path.name for path in (any_pipeline.folder / "releases").iterdir()} - {paper.name}) == 1
