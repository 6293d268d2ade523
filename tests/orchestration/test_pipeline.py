"""A table that meets its policy is released with certificate, report and metadata."""

from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.gate.certificate import read_certificate
from privacy_plugin.generalization.plan import load_plan
from privacy_plugin.orchestration import build_anonymized_asset, build_privacy_checks, build_release_asset
from privacy_plugin.policy.policy import Policy
from tests.orchestration.pipeline import (
    Pipeline,
    anonymizing,
    errors,
    gate_and_release,
    judging,
    outcome,
    policy_dict,
    raw_rows,
    released,
    safe_rows,
    with_the_table_as_it_is,
)

CHECKS = {"privacy_structure", "k_anonymity", "l_diversity_distinct_disease"}


def metadata(result: dg.ExecuteInProcessResult, node: str) -> dict[str, Any]:
    (materialization,) = result.asset_materializations_for_node(node)
    return {
        name: value.records if isinstance(value, dg.TableMetadataValue) else value.value
        for name, value in materialization.metadata.items()
    }


@pytest.mark.parametrize("method", ["generalize", "generalize_locally"])
def test_a_table_is_generalized_judged_and_released_in_the_database(any_pipeline: Pipeline, method: str) -> None:
    given = policy_dict(anonymize={"method": method, "max_suppression": 0.1})
    any_pipeline.policy = Policy.from_dict(given)
    result = anonymizing(any_pipeline).run()
    assert result.success, errors(result)
    assert outcome(result) == dict.fromkeys(CHECKS, True)
    rows = any_pipeline.read("release")
    assert rows
    assert len(rows) == metadata(result, "release")["dagster/row_count"]
    classes = [row[:2] for row in rows]
    assert min(classes.count(one) for one in classes) >= 3


def test_assets_have_table_name_metadata(pipeline: Pipeline) -> None:
    asset: dg.AssetsDefinition = gate_and_release(pipeline, "judged", table="judged", name="shown")[1]
    handed: dg.AssetsDefinition = gate_and_release(pipeline, "judged", name="shown")[1]
    assert asset.metadata_by_key[dg.AssetKey("shown")]["dagster/table_name"] == "shown"
    assert "dagster/table_name" not in handed.metadata_by_key[dg.AssetKey("shown")]


def test_the_generalized_table_has_no_identifiers(pipeline: Pipeline) -> None:
    result = anonymizing(pipeline).run()
    assert result.success, errors(result)
    assert metadata(result, "anonymized")["left out"] == "name"
    assert {len(row) for row in pipeline.read("release") or ()} == {3}


def test_a_column_without_a_role_raises_an_error(pipeline: Pipeline) -> None:
    """Dropping it silently would lose a new or forgotten column of the source."""
    result = anonymizing(pipeline, raw_rows().assign(note="free text")).run()
    assert not result.success
    assert "column 'note' has no role in the policy; add it to columns" in errors(result)
    assert pipeline.read("release") is None


def test_the_plan_is_saved_with_its_loss(pipeline: Pipeline) -> None:
    result = anonymizing(pipeline).run()
    found = metadata(result, "anonymized")
    plan = load_plan(found["plan"])
    assert found["loss"] == plan.loss
    assert found["suppressed rows"] == plan.suppressed


def test_level_metadata_describes_the_values(pipeline: Pipeline) -> None:
    """A coarse policy, so that both columns have to change."""
    pipeline.policy = Policy.from_dict(policy_dict(requirements=[{"k_anonymity": {"at_least": 9}}]))
    result = anonymizing(pipeline).run()
    levels = {record.data["column"]: record.data for record in metadata(result, "anonymized")["levels"]}
    assert levels["age"]["level"] == "1 of 3"
    assert levels["age"]["its values became"] == "intervals of width 10"
    assert levels["zip"]["its values became"] == "codes with 1 of 3 characters masked, from the right"


def test_check_results_have_a_table_numbers_and_the_report(pipeline: Pipeline) -> None:
    result = anonymizing(pipeline).run()
    evaluation = next(e for e in result.get_asset_check_evaluations() if e.check_name == "k_anonymity")
    assert evaluation.severity == dg.AssetCheckSeverity.ERROR
    assert isinstance(evaluation.metadata["value"], dg.IntMetadataValue)
    assert evaluation.metadata["limit"].value == 3
    assert evaluation.metadata["value"].value >= 3
    assert evaluation.metadata["people affected"].value == 0
    records = evaluation.metadata["verdict"].records
    assert [record.data["status"] for record in records] == ["passed", "passed"]
    assert Path(str(evaluation.metadata["report file"].value)).read_text().startswith("<!")


def test_a_gate_that_reads_the_original_reports_what_is_left(pipeline: Pipeline) -> None:
    requirements = [{"k_anonymity": {"at_least": 3}}, {"usability": {"at_least": 0.01}}]
    pipeline.policy = Policy.from_dict(policy_dict(requirements=requirements))
    result = anonymizing(pipeline, population="raw", population_table="raw").run()
    assert result.success
    page = (pipeline.folder / "reports" / "anonymized.html").read_text(encoding="utf-8")
    assert "What is left" in page
    assert "Histogram of age before and after" in page
    assert "Line chart: least loss for every k." in page
    assert "person 1" not in page


def test_the_release_has_the_certificate_of_its_gate(pipeline: Pipeline) -> None:
    result = anonymizing(pipeline).run()
    paper = Path(metadata(result, "release")["certificate"])
    (recorded,) = pipeline.certificate_files()
    assert paper.read_text() == recorded.read_text()
    assert read_certificate(paper).passed


def test_the_certificate_holds_in_a_later_run(any_pipeline: Pipeline) -> None:
    judging(any_pipeline)
    assert any_pipeline.run("judged").success
    assert any_pipeline.read("release") is None
    later = any_pipeline.run("release")
    assert later.success, errors(later)
    assert any_pipeline.read("release") == any_pipeline.read("judged")


def test_frames_of_an_io_manager_are_released(pipeline: Pipeline) -> None:
    @dg.asset
    def raw() -> pd.DataFrame:
        return raw_rows()

    anonymized = build_anonymized_asset(name="anonymized", asset=raw, policy=pipeline.policy)
    pipeline.definitions = [raw, anonymized, *gate_and_release(pipeline, anonymized)]
    first = pipeline.run("raw", "anonymized")
    assert first.success, errors(first)
    later = pipeline.run("release")
    assert later.success, errors(later)
    frame = later.output_for_node("release")
    assert list(frame.columns) == ["age", "zip", "disease"]
    assert frame.groupby(["age", "zip"]).size().min() >= 3


def test_files_of_an_io_manager_are_released(pipeline: Pipeline, tmp_path: Path) -> None:
    """The IO manager stores their paths, because it cannot store an open source."""

    @dg.asset
    def raw() -> str:
        raw_rows().to_csv(tmp_path / "raw.csv", index=False)
        return str(tmp_path / "raw.csv")

    anonymized, release = tmp_path / "anonymized.csv", tmp_path / "release.csv"
    pipeline.definitions = [
        raw,
        build_anonymized_asset(name="anonymized", asset="raw", policy=pipeline.policy, target=str(anonymized)),
        build_privacy_checks(asset="anonymized", policy=pipeline.policy),
        build_release_asset(name="release", asset="anonymized", policy=pipeline.policy, target=str(release)),
    ]
    result = pipeline.run()
    assert result.success, errors(result)
    assert result.output_for_node("release") == str(release)
    assert sorted(release.read_text().splitlines()) == sorted(anonymized.read_text().splitlines())


def test_two_gates_of_a_dataset_keep_separate_certificates(any_pipeline: Pipeline) -> None:
    with_the_table_as_it_is(anonymizing(any_pipeline))
    assert any_pipeline.run("anonymized").success
    red = any_pipeline.run("as_is", "as_is_release")
    assert not red.success
    assert outcome(red) == {"privacy_structure": True, "k_anonymity": False, "l_diversity_distinct_disease": False}
    assert any_pipeline.read("as_is_release") is None
    assert len(any_pipeline.read("as_is") or ()) == 40
    green = any_pipeline.run("release")
    assert green.success, errors(green)


def test_a_released_table_is_replaced_by_the_next_certified_one(pipeline: Pipeline) -> None:
    judging(pipeline)
    assert pipeline.run().success
    pipeline.write("judged", safe_rows(80))
    assert pipeline.run().success
    assert len(pipeline.read("release") or ()) == 80


@pytest.mark.parametrize("column", ["unit", "insensitive"])
def test_roles_decide_what_is_released(pipeline: Pipeline, column: str) -> None:
    given = policy_dict(requirements=[{"k_anonymity": {"at_least": 3}}])
    given["columns"]["extra"] = column
    pipeline.policy = Policy.from_dict(given)
    judging(pipeline, safe_rows().assign(extra=range(40)))
    result = pipeline.run()
    assert result.success, errors(result)
    assert released(result)
    assert {len(row) for row in pipeline.read("release") or ()} == {3 if column == "unit" else 4}
