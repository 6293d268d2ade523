"""Every known way around a closed gate, run for real: none of them releases anything."""

from typing import Any

import dagster as dg
import pytest

from privacy_plugin.errors import CertificateError, ParameterError
from privacy_plugin.orchestration import build_privacy_checks
from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    judging,
    outcome,
    released,
    safe_rows,
    unsafe_rows,
)
from tests.orchestration.refused_release import GATE, refuses


def test_a_failed_gate_stops_its_run(any_pipeline: Pipeline) -> None:
    judging(any_pipeline, unsafe_rows())
    result = any_pipeline.run()
    assert not result.success
    assert outcome(result)["k_anonymity"] is False
    assert not released(result)
    assert any_pipeline.read("release") is None


def test_a_failed_gate_stops_a_second_run_of_the_release_alone(any_pipeline: Pipeline) -> None:
    judging(any_pipeline, unsafe_rows())
    assert not any_pipeline.run("judged").success
    refuses(any_pipeline, "the gate of dataset 'visits' is closed", "k-anonymity is 1")


def test_a_missing_verdict_stops_the_release(any_pipeline: Pipeline) -> None:
    judging(any_pipeline)
    refuses(any_pipeline, "no certificate for")


def test_a_run_without_checks_stops_the_release(pipeline: Pipeline) -> None:
    judging(pipeline)
    selection = dg.AssetSelection.assets("judged", "release").without_checks()
    assert not pipeline.run_selection(selection).success
    assert pipeline.read("release") is None


def test_a_refusal_revokes_an_earlier_certificate_and_keeps_the_earlier_release(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run().success
    before = pipeline.read("release")
    pipeline.write("judged", unsafe_rows())
    assert not pipeline.run("judged").success
    refuses(pipeline, "is closed")
    assert pipeline.read("release") == before


def test_a_custom_check_of_severity_warn_does_not_open_the_gate(pipeline: Pipeline) -> None:
    """Dagster does not block on WARN; the release verifies the certificate anyway."""
    judging(pipeline, unsafe_rows())
    policy = pipeline.policy

    @dg.asset_check(asset="judged", blocking=True)
    def soft_gate() -> dg.AssetCheckResult:
        passed = policy.judge(unsafe_rows()).passed
        return dg.AssetCheckResult(passed=passed, severity=dg.AssetCheckSeverity.WARN)

    asset, _, release = pipeline.definitions
    pipeline.definitions = [asset, soft_gate, release]
    result = pipeline.run()
    assert outcome(result) == {"soft_gate": False}
    assert not result.success
    assert "no certificate for" in errors(result)
    assert pipeline.read("release") is None


def test_results_changed_to_warn_do_not_open_the_gate(pipeline: Pipeline) -> None:
    """Results changed to warnings let the run continue, but the release raises an error."""
    judging(pipeline, unsafe_rows())
    asset, gate, release = pipeline.definitions

    @dg.multi_asset_check(
        specs=list(gate.check_specs), name="soft", required_resource_keys={"warehouse", "certificates"}
    )
    def soft(context: dg.AssetCheckExecutionContext) -> Any:
        for result in gate.op.compute_fn.decorated_fn(context):
            yield result._replace(severity=dg.AssetCheckSeverity.WARN)

    pipeline.definitions = [asset, soft, release]
    result = pipeline.run()
    assert outcome(result)["k_anonymity"] is False
    assert {e.severity for e in result.get_asset_check_evaluations()} == {dg.AssetCheckSeverity.WARN}
    assert not released(result)
    assert "is closed" in errors(result)
    assert pipeline.read("release") is None


def test_the_severity_is_not_an_argument(pipeline: Pipeline) -> None:
    with pytest.raises(ParameterError, match="severity"):
        build_privacy_checks(asset="judged", policy=pipeline.policy, severity=dg.AssetCheckSeverity.WARN)


def test_every_check_blocks(pipeline: Pipeline) -> None:
    gate = build_privacy_checks(asset="judged", policy=pipeline.policy)
    assert all(spec.blocking for spec in gate.check_specs)


def test_check_descriptions_state_the_requirement(pipeline: Pipeline) -> None:
    gate = build_privacy_checks(asset="judged", policy=pipeline.policy)
    described = {spec.name: spec.description for spec in gate.check_specs}
    assert described["k_anonymity"] == "k-anonymity must be at least 3"
    assert described["l_diversity_distinct_disease"] == "l-diversity (distinct, disease) must be at least 2"


def test_a_reported_pass_does_not_open_the_gate(pipeline: Pipeline) -> None:
    """Dagster accepts and shows any reported check result; the release does not."""
    judging(pipeline, unsafe_rows())
    assert not pipeline.run("judged").success
    for spec in pipeline.definitions[1].check_specs:
        pipeline.instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(asset_key=GATE, check_name=spec.name, passed=True, metadata={}, blocking=True)
        )
    refuses(pipeline, "is closed")


def test_one_check_run_alone_judges_and_records_the_whole_policy(pipeline: Pipeline) -> None:
    """The selected check passes; the release still rejects the failed one."""
    judging(pipeline, safe_rows().assign(disease="a"))
    picked = dg.AssetSelection.checks(dg.AssetCheckKey(GATE, "k_anonymity"))
    result = pipeline.run_selection(picked | dg.AssetSelection.assets("release").without_checks())
    assert outcome(result) == {"k_anonymity": True}
    assert not released(result)
    refuses(pipeline, "l-diversity (distinct, disease) is 1")


def test_a_source_that_does_not_verify_raises_an_error(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from privacy_plugin.sources import SqlTable

    judging(pipeline)
    assert pipeline.run("judged").success
    monkeypatch.setattr(SqlTable, "publish", lambda self, target, *, columns, verify: self)
    result = pipeline.run("release")
    assert not result.success
    assert CertificateError.__name__ in errors(result)
