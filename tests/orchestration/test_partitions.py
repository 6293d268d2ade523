"""Every partition is judged, certified and released separately."""

from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.orchestration import build_anonymized_asset, build_privacy_checks, build_release_asset
from privacy_plugin.policy.policy import Policy
from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    gate_and_release,
    made_elsewhere,
    outcome,
    policy_dict,
    raw_rows,
    released,
    safe_rows,
    unsafe_rows,
)

MONTHS = dg.StaticPartitionsDefinition(["2024-01", "2024-02", 'odd "key".x'])
JANUARY, FEBRUARY, ODD = MONTHS.get_partition_keys()


def monthly_policy() -> Policy:
    given = policy_dict()
    given["columns"]["month"] = "insensitive"
    return Policy.from_dict(given)


def monthly(pipeline: Pipeline, frames: dict[str, pd.DataFrame]) -> Pipeline:
    """One table with a month column, judged and released month by month."""
    pipeline.policy = monthly_policy()
    pipeline.write("judged", pd.concat([frame.assign(month=month) for month, frame in frames.items()]))

    judged = made_elsewhere("judged", partitions_def=MONTHS)
    pipeline.definitions = [
        judged,
        *gate_and_release(pipeline, judged, table="judged", partition_column="month"),
    ]
    return pipeline


def test_a_partition_is_judged_and_released_without_the_others(any_pipeline: Pipeline) -> None:
    monthly(any_pipeline, {JANUARY: safe_rows(), FEBRUARY: unsafe_rows(), ODD: safe_rows(80)})
    january = any_pipeline.run(partition_key=JANUARY)
    assert january.success, errors(january)
    february = any_pipeline.run(partition_key=FEBRUARY)
    assert not february.success
    assert outcome(february)["k_anonymity"] is False
    odd = any_pipeline.run(partition_key=ODD)
    assert odd.success, errors(odd)
    assert len(any_pipeline.read("release_2024-01") or ()) == 40
    assert any_pipeline.read("release_2024-02") is None
    assert len(any_pipeline.read('release_odd ""key"".x') or ()) == 80
    assert len(any_pipeline.certificate_files()) == 3


def test_a_check_result_belongs_to_its_partition(pipeline: Pipeline) -> None:
    monthly(pipeline, {JANUARY: safe_rows(), FEBRUARY: safe_rows()})
    result = pipeline.run(partition_key=JANUARY)
    assert {evaluation.partition for evaluation in result.get_asset_check_evaluations()} == {JANUARY}


def test_a_certificate_of_another_partition_is_rejected(pipeline: Pipeline) -> None:
    """February has the rows of January, so that only the partition key distinguishes the certificates."""
    same = safe_rows()
    monthly(pipeline, {JANUARY: same, FEBRUARY: same})
    assert pipeline.run("judged", partition_key=JANUARY).success
    refused = pipeline.run("release", partition_key=FEBRUARY)
    assert not refused.success
    assert "no certificate for partition '2024-02'" in errors(refused)
    store = pipeline.certificates.store(dg.AssetKey("judged"))
    store.path("visits", FEBRUARY).write_text(store.path("visits", JANUARY).read_text())
    refused = pipeline.run("release", partition_key=FEBRUARY)
    assert not refused.success
    assert "another partition" in errors(refused)
    assert pipeline.read("release_2024-02") is None


def test_a_failed_partition_stays_closed_in_later_runs(pipeline: Pipeline) -> None:
    monthly(pipeline, {JANUARY: safe_rows(), FEBRUARY: unsafe_rows()})
    assert pipeline.run("judged", partition_key=JANUARY).success
    assert not pipeline.run("judged", partition_key=FEBRUARY).success
    assert not released(pipeline.run("release", partition_key=FEBRUARY))
    assert released(pipeline.run("release", partition_key=JANUARY))


def test_an_empty_partition_fails(pipeline: Pipeline) -> None:
    monthly(pipeline, {JANUARY: safe_rows()})
    result = pipeline.run(partition_key=FEBRUARY)
    assert not result.success
    assert outcome(result)["privacy_structure"] is False


def test_a_gate_without_partitions_opens_no_partition(pipeline: Pipeline) -> None:
    monthly(pipeline, {JANUARY: safe_rows(), FEBRUARY: safe_rows()})
    asset, _, release = pipeline.definitions
    whole = build_privacy_checks(asset="judged", policy=pipeline.policy, table="judged")
    pipeline.definitions = [asset, whole, release]
    assert pipeline.run("judged", partition_key=JANUARY).success
    refused = pipeline.run("release", partition_key=JANUARY)
    assert not refused.success
    assert "no certificate for partition" in errors(refused)


def test_partitions_are_generalized_separately(any_pipeline: Pipeline) -> None:
    any_pipeline.policy = monthly_policy()
    any_pipeline.write("raw", pd.concat([raw_rows().assign(month=JANUARY), raw_rows(70).assign(month=FEBRUARY)]))
    any_pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(
            name="anonymized",
            asset="raw",
            policy=any_pipeline.policy,
            table="raw",
            partitions_def=MONTHS,
            partition_column="month",
        ),
        *gate_and_release(any_pipeline, "anonymized", table="anonymized_{partition}", partitions_def=MONTHS),
    ]
    for month in (JANUARY, FEBRUARY):
        result = any_pipeline.run(partition_key=month)
        assert result.success, errors(result)
    months = {row[-1] for row in any_pipeline.read("release_2024-02") or ()}
    assert months == {FEBRUARY}
    assert len(list((any_pipeline.folder / "plans").iterdir())) == 2


def test_frames_are_loaded_by_partition(pipeline: Pipeline) -> None:
    @dg.asset(partitions_def=MONTHS)
    def judged(context: dg.AssetExecutionContext) -> pd.DataFrame:
        return safe_rows() if context.partition_key == JANUARY else unsafe_rows()

    pipeline.definitions = [judged, *gate_and_release(pipeline, judged)]
    assert pipeline.run(partition_key=JANUARY).success
    assert not pipeline.run(partition_key=FEBRUARY).success
    assert not pipeline.run("release", partition_key=FEBRUARY).success


def test_a_gate_without_partitions_def_raises_for_several_partitions(pipeline: Pipeline) -> None:
    @dg.asset(partitions_def=MONTHS)
    def judged() -> pd.DataFrame:
        return safe_rows()

    pipeline.definitions = [judged, *gate_and_release(pipeline, "judged")]
    unchecked = dg.AssetSelection.assets("judged").without_checks()
    assert all(pipeline.run_selection(unchecked, partition_key=month).success for month in MONTHS.get_partition_keys())
    result = pipeline.run_selection(dg.AssetSelection.checks_for_assets("judged"))
    (evaluation, *_) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert "the IO manager loaded several partitions of 'judged'" in str(evaluation.description)


@pytest.mark.parametrize(
    "arguments",
    [
        {"table": "judged", "partitions_def": MONTHS},
        {"table": "judged_{partition}"},
        {"table": "judged", "partition_column": "month"},
        {"partitions_def": MONTHS, "partition_column": "month"},
    ],
)
def test_ambiguous_partitions_raise_at_definition(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        build_privacy_checks(asset="judged", policy=monthly_policy(), **arguments)


def test_partitions_never_replace_each_other() -> None:
    with pytest.raises(ParameterError, match="every partition would replace"):
        build_release_asset(
            name="release",
            asset="judged",
            policy=monthly_policy(),
            table="judged",
            target="release",
            partitions_def=MONTHS,
            partition_column="month",
        )


def test_keys_that_differ_in_case_only_raise_an_error(any_pipeline: Pipeline) -> None:
    """The release of one partition would contain the people of the other without an error."""
    clinics = dg.DynamicPartitionsDefinition(name="clinics")
    any_pipeline.policy = monthly_policy()
    any_pipeline.write("judged", pd.concat([safe_rows(40 + 40 * n).assign(month=k) for n, k in enumerate("aA")]))
    judged = made_elsewhere("judged", partitions_def=clinics)
    gated = gate_and_release(any_pipeline, judged, table="judged", partition_column="month")
    any_pipeline.definitions = [judged, *gated]
    any_pipeline.instance.add_dynamic_partitions("clinics", ["a"])
    assert any_pipeline.run(partition_key="a").success
    any_pipeline.instance.add_dynamic_partitions("clinics", ["A"])
    refused = any_pipeline.run(partition_key="A")
    assert "the partitions 'A' and 'a' would replace each other" in errors(refused)
    assert len(any_pipeline.read("release_a") or ()) == 40


def test_a_key_with_a_path_separator_raises_an_error(pipeline: Pipeline, tmp_path: Path) -> None:
    """Keys may come from outside, for example from file names that a sensor reads."""
    safe_rows().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "other.csv").touch()

    @dg.asset(partitions_def=dg.DynamicPartitionsDefinition(name="arrivals"))
    def judged() -> str:
        return str(tmp_path / "people.csv")

    target = str(tmp_path / "released" / "{partition}.csv")
    common: dict[str, Any] = {"asset": judged, "policy": pipeline.policy}
    release = build_release_asset(name="release", target=target, **common)
    pipeline.definitions = [judged, build_privacy_checks(**common), release]
    (tmp_path / "released").mkdir()
    for key, accepted in {"first": True, "../other": False, "x/../first": False}.items():
        pipeline.instance.add_dynamic_partitions("arrivals", [key])
        assert pipeline.run("judged", partition_key=key).success
        result = pipeline.run("release", partition_key=key)
        assert result.success is accepted, errors(result)
        assert accepted or "contains a path separator" in errors(result)
    assert (tmp_path / "released" / "first.csv").read_text()
    assert not (tmp_path / "other.csv").read_text()


def test_a_run_over_several_partitions_raises_an_error(pipeline: Pipeline) -> None:
    monthly(pipeline, {JANUARY: safe_rows(), FEBRUARY: safe_rows()})
    both = {"dagster/asset_partition_range_start": JANUARY, "dagster/asset_partition_range_end": FEBRUARY}
    for selected in ("judged", "release"):
        refused = pipeline.run(selected, tags=both)
        assert errors(refused).startswith("privacy_plugin.errors.ParameterError: a gate judges one partition per run")


def test_the_partition_column_is_not_generalized() -> None:
    with pytest.raises(PolicyError, match="cannot have a hierarchy"):
        build_anonymized_asset(
            name="anonymized",
            asset="raw",
            policy=Policy.from_dict(policy_dict()),
            table="raw",
            partitions_def=MONTHS,
            partition_column="zip",
        )


def test_an_unknown_partition_column_closes_the_gate(pipeline: Pipeline) -> None:
    """SQLite reads an unknown name as text; a partition named like it would be the whole table."""
    partitions = dg.StaticPartitionsDefinition(["mnth"])
    pipeline.policy = monthly_policy()
    pipeline.write("judged", safe_rows().assign(month=JANUARY))
    judged = made_elsewhere("judged", partitions_def=partitions)
    pipeline.definitions = [judged, *gate_and_release(pipeline, judged, table="judged", partition_column="mnth")]
    result = pipeline.run("judged", partition_key="mnth")
    assert outcome(result)["privacy_structure"] is False
    assert not pipeline.run("release", partition_key="mnth").success
