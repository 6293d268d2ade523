"""Every way around the gate that we know of, tried for real: none of them releases anything."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.errors import CertificateError
from privacy_plugin.orchestration import build_privacy_checks, build_release_asset
from privacy_plugin.orchestration.certificates import file_name
from privacy_plugin.policy import Policy
from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    judging,
    outcome,
    policy_dict,
    raw_rows,
    released,
    safe_rows,
)

GATE = dg.AssetKey("judged")


def unsafe_rows() -> pd.DataFrame:
    return raw_rows().drop(columns="name")


def refuses(pipeline: Pipeline, *words: str) -> None:
    """Select only the release, in a run of its own: it must fail for the reason given and write nothing."""
    before = pipeline.read("release")
    result = pipeline.run("release")
    assert not result.success
    assert not released(result)
    assert pipeline.read("release") == before
    told = errors(result)
    assert "CertificateError" in told
    for word in words:
        assert word in told


def the_certificate(pipeline: Pipeline) -> Path:
    (path,) = pipeline.certificate_files()
    return path


def rewrite(path: Path, **content: Any) -> None:
    given = json.loads(path.read_text())
    given["content"].update(content)
    path.write_text(json.dumps(given))


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


def test_a_gate_that_never_judged(any_pipeline: Pipeline) -> None:
    judging(any_pipeline)
    refuses(any_pipeline, "no gate has judged")


def test_checks_left_out_of_the_run(pipeline: Pipeline) -> None:
    judging(pipeline)
    selection = dg.AssetSelection.assets("judged", "release").without_checks()
    result = dg.materialize(
        pipeline.definitions, selection=selection, resources=pipeline.resources, raise_on_error=False
    )
    assert not result.success
    assert pipeline.read("release") is None


def test_a_refusal_revokes_an_earlier_certificate_and_keeps_the_earlier_release(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run().success
    before = pipeline.read("release")
    pipeline.write("judged", unsafe_rows())
    assert not pipeline.run("judged").success
    refuses(pipeline, "is closed")
    assert pipeline.read("release") == before


def test_someones_own_check_of_severity_warn(pipeline: Pipeline) -> None:
    """Dagster does not block on WARN; the release asks for the gate's certificate all the same."""
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
    assert "no gate has judged" in errors(result)
    assert pipeline.read("release") is None


def test_our_own_gate_turned_down_to_warn(pipeline: Pipeline) -> None:
    """Whoever rewraps our results as warnings gets a run that goes on, and a release that refuses."""
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


def test_there_is_no_severity_to_pass(pipeline: Pipeline) -> None:
    with pytest.raises(TypeError):
        build_privacy_checks(
            asset="judged",
            policy=pipeline.policy,
            severity=dg.AssetCheckSeverity.WARN,  # type: ignore[call-arg]
        )


def test_every_check_blocks(pipeline: Pipeline) -> None:
    gate = build_privacy_checks(asset="judged", policy=pipeline.policy)
    assert all(spec.blocking for spec in gate.check_specs)


def test_one_check_run_alone_judges_and_records_the_whole_policy(pipeline: Pipeline) -> None:
    """The one that was picked passes; the release still knows of the other."""
    judging(pipeline, safe_rows().assign(disease="a"))
    picked = dg.AssetSelection.checks(dg.AssetCheckKey(GATE, "k_anonymity"))
    result = dg.materialize(
        pipeline.definitions,
        selection=picked | dg.AssetSelection.assets("release").without_checks(),
        resources=pipeline.resources,
        raise_on_error=False,
    )
    assert outcome(result) == {"k_anonymity": True}
    assert not released(result)
    refuses(pipeline, "l-diversity (distinct, disease) is 1")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE judged SET disease = 'x' WHERE rowid = 1",
        "INSERT INTO judged VALUES (99, '999', 'a')",
        "DELETE FROM judged WHERE rowid = 1",
        "INSERT INTO judged SELECT * FROM judged",
    ],
)
def test_data_that_changed_after_its_checks(pipeline: Pipeline, change: str) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    pipeline.execute(change)
    refuses(pipeline, "the data is not the data that was judged")


def test_data_that_changed_after_its_checks_in_duckdb(any_pipeline: Pipeline) -> None:
    judging(any_pipeline)
    assert any_pipeline.run("judged").success
    any_pipeline.execute("UPDATE judged SET disease = 'x' WHERE age = 30 AND zip = '100' AND disease = 'a'")
    refuses(any_pipeline, "the data is not the data that was judged")


@pytest.mark.parametrize("any_pipeline", ["duckdb"], indirect=True)
def test_a_view_with_other_rows_at_every_read(any_pipeline: Pipeline) -> None:
    """The checks and the fingerprint see its first rows, the release would see others."""
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
    refuses(any_pipeline, "the data is not the data that was judged")


def test_a_frame_that_changed_after_its_checks(pipeline: Pipeline) -> None:
    frames = {"now": safe_rows()}

    class Changing(dg.ConfigurableIOManager):
        def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
            frames["written"] = obj

        def load_input(self, context: dg.InputContext) -> Any:
            return frames["now"]

    @dg.asset
    def judged() -> pd.DataFrame:
        return frames["now"]

    common: dict[str, Any] = {"asset": judged, "policy": pipeline.policy}
    pipeline.definitions = [judged, build_privacy_checks(**common), build_release_asset(name="release", **common)]
    pipeline.extra_resources = {"io_manager": Changing()}
    assert pipeline.run("judged").success
    frames["now"] = unsafe_rows()
    result = pipeline.run("release")
    assert not result.success
    assert "the data is not the data that was judged" in errors(result)


def test_a_certificate_of_another_policy(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    stricter = Policy.from_dict(policy_dict(requirements=[{"k_anonymity": {"at_least": 4}}]))
    pipeline.definitions[-1] = build_release_asset(name="release", asset="judged", policy=stricter, table="judged")
    refuses(pipeline, "another policy digest")


def test_a_certificate_of_another_dataset(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    other = Policy.from_dict(policy_dict(dataset="staff"))
    pipeline.definitions[-1] = build_release_asset(name="release", asset="judged", policy=other, table="judged")
    refuses(pipeline, "no gate has judged")
    store = pipeline.certificates.store(GATE)
    store.path("staff").write_text(the_certificate(pipeline).read_text())
    refuses(pipeline, "another dataset")


def test_a_certificate_of_another_gate(pipeline: Pipeline) -> None:
    judging(pipeline, unsafe_rows())
    assert not pipeline.run("judged").success
    passed = replace(pipeline.policy.judge(safe_rows(), fingerprint=True))
    pipeline.certificates.store(dg.AssetKey("other")).record(passed)
    other = pipeline.folder / "certificates" / file_name(dg.AssetKey("other"))
    (source,) = other.glob("*.json")
    target = pipeline.certificates.store(GATE).path("visits")
    target.write_text(source.read_text())
    refuses(pipeline, "the data is not the data that was judged")


@pytest.mark.parametrize(
    "content",
    [
        {"passed": True, "problems": [], "findings": []},
        {"policy_digest": "0" * 64},
        {"fingerprint": None},
        {"judged_at": "2020-01-01T00:00:00+00:00"},
    ],
)
def test_a_tampered_certificate(pipeline: Pipeline, content: dict[str, Any]) -> None:
    judging(pipeline, unsafe_rows() if "passed" in content else safe_rows())
    pipeline.run("judged")
    rewrite(the_certificate(pipeline), **content)
    refuses(pipeline, "was changed after it was issued")


def test_a_certificate_signed_with_another_key(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", "quite another key, long enough")
    refuses(pipeline, "signed with another key")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"content": 1, "signature": "x"}', "no json"])
def test_a_certificate_that_is_none(pipeline: Pipeline, text: str) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    the_certificate(pipeline).write_text(text)
    refuses(pipeline)


def test_a_table_without_rows(any_pipeline: Pipeline) -> None:
    judging(any_pipeline, safe_rows(0).astype({"age": "int64"}))
    result = any_pipeline.run()
    assert outcome(result) == dict.fromkeys(("privacy_structure", "k_anonymity", "l_diversity_distinct_disease"), False)
    refuses(any_pipeline, "no rows")


def test_an_identifier_that_is_still_there(pipeline: Pipeline) -> None:
    judging(pipeline, safe_rows().assign(name="x"))
    result = pipeline.run()
    assert outcome(result)["privacy_structure"] is False
    refuses(pipeline, "'name' identifies people")


def test_a_column_nobody_declared(pipeline: Pipeline) -> None:
    judging(pipeline, safe_rows().assign(note="x"))
    assert not pipeline.run().success
    refuses(pipeline, "'note' has no role")


def test_a_column_added_after_the_checks_is_not_released(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success
    pipeline.execute("ALTER TABLE judged ADD COLUMN note VARCHAR DEFAULT 'free text'")
    result = pipeline.run("release")
    assert result.success, errors(result)
    assert {len(row) for row in pipeline.read("release") or ()} == {3}


def test_a_table_that_is_not_there(pipeline: Pipeline) -> None:
    judging(pipeline)
    pipeline.execute("DROP TABLE judged")
    result = pipeline.run("judged")
    assert not result.success
    assert outcome(result)["privacy_structure"] is False
    pipeline.write("judged", safe_rows())
    refuses(pipeline, "is closed")


def test_a_check_that_raises_shuts_the_gate_for_good(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    judging(pipeline)
    assert pipeline.run("judged").success

    def raising(*_: Any, **__: Any) -> None:
        raise RuntimeError("driver text with MARKER-VALUE")

    monkeypatch.setattr(Policy, "judge", raising)
    result = pipeline.run()
    assert not result.success
    assert not released(result)
    monkeypatch.undo()
    monkeypatch.setenv("PRIVACY_PLUGIN_KEY", "the tests' own key, long enough")
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

    common: dict[str, Any] = {"asset": judged, "policy": pipeline.policy}
    pipeline.definitions = [judged, build_privacy_checks(**common), build_release_asset(name="release", **common)]
    assert pipeline.run("judged").success
    for value in (pipeline.folder / "values").rglob("judged"):
        value.write_bytes(b"not a pickle")
    assert not pipeline.run("release").success


def test_an_asset_that_hands_over_nothing_readable(pipeline: Pipeline) -> None:
    @dg.asset
    def judged() -> list[int]:
        return [1, 2, 3]

    common: dict[str, Any] = {"asset": judged, "policy": pipeline.policy}
    pipeline.definitions = [judged, build_privacy_checks(**common), build_release_asset(name="release", **common)]
    result = pipeline.run()
    assert not result.success
    assert outcome(result)["privacy_structure"] is False


def test_a_source_that_does_not_ask_is_not_believed(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from privacy_plugin.sources import SqlTable

    judging(pipeline)
    assert pipeline.run("judged").success
    monkeypatch.setattr(SqlTable, "publish", lambda self, target, *, columns, verify: self)
    result = pipeline.run("release")
    assert not result.success
    assert CertificateError.__name__ in errors(result)
