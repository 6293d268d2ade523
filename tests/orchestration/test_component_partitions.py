"""A gate whose defs.yaml has partitions: each is anonymized, judged and released separately."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration import PrivacyGateComponent
from privacy_plugin.orchestration.component import PartitionsModel
from tests.orchestration.components import TYPE, attributes, dg_command, project, run
from tests.orchestration.pipeline import (
    Pipeline,
    errors,
    made_elsewhere,
    outcome,
    policy_dict,
    raw_rows,
    safe_rows,
    unsafe_rows,
)

NAMES = {"anonymized_table": "anonymized_{partition}", "release_table": "release_{partition}"}
CLINICS = {"type": "static", "partition_keys": ["north", "south"]}
MONTHS = {"type": "monthly", "start_date": "2024-01-01"}


def policy_with(column: str, role: str) -> dict[str, Any]:
    given = policy_dict()
    given["columns"][column] = role
    return given


@contextmanager
def loaded(policy: dict[str, Any], given: dict[str, Any]) -> Iterator[dg.Definitions]:
    """Load a defs.yaml the way `dg` does."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent, defs_yaml_contents={"type": TYPE, "attributes": given}
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            yield defs


def test_monthly_partitions_of_a_date_column(any_pipeline: Pipeline) -> None:
    """The date selects the month and is not released."""
    days = [f"2024-0{1 + i % 2}-{1 + i % 28:02d}" for i in range(80)]
    any_pipeline.write("raw", raw_rows(80).assign(day=days))
    given = attributes(any_pipeline.url, **NAMES, partitions_def=MONTHS, partition_column="day")
    with loaded(policy_with("day", "identifier"), given) as defs:
        result = run(defs, "anonymized", "release", partition_key="2024-02-01")
        assert result.success, errors(result)
        assert all(outcome(result).values())
    released = any_pipeline.read("release_2024-02-01") or []
    assert len(released) > 30
    assert {len(row) for row in released} == {3}
    assert any_pipeline.read("release_2024-01-01") is None


def test_a_failed_partition_does_not_block_the_others(pipeline: Pipeline) -> None:
    """The failing partition is not released in its own run, nor in a run of the release alone."""
    pipeline.write("raw", pd.concat([safe_rows().assign(clinic="north"), unsafe_rows().assign(clinic="south")]))
    given = attributes(
        pipeline.url,
        anonymized_table=None,
        release_table="release_{partition}",
        partitions_def=CLINICS,
        partition_column="clinic",
    )
    raw = made_elsewhere("raw", partitions_def=PartitionsModel(**CLINICS).definition())
    with loaded(policy_with("clinic", "insensitive"), given) as gate, dg.DagsterInstance.ephemeral() as instance:
        defs = dg.Definitions.merge(gate, dg.Definitions(assets=[raw]))
        assert run(defs, "raw", partition_key="north", instance=instance).success
        assert not run(defs, "raw", partition_key="south", instance=instance).success
        assert run(defs, "release", partition_key="north", instance=instance).success
        refused = run(defs, "release", partition_key="south", instance=instance)
        assert not refused.success
        assert "is closed for partition 'south', for 2 reasons:\n- k-anonymity is 1" in errors(refused)
    assert len(pipeline.read("release_north") or []) == 40
    assert pipeline.read("release_south") is None


def test_one_table_per_partition(pipeline: Pipeline) -> None:
    pipeline.write("raw_north", raw_rows())
    given = attributes(pipeline.url, **NAMES, source_table="raw_{partition}", partitions_def=CLINICS)
    with loaded(policy_dict(), given) as defs:
        keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
        assert keys == {"raw", "anonymized", "release"}
        assert run(defs, "anonymized", "release", partition_key="north").success
        assert not run(defs, "anonymized", "release", partition_key="south").success
    assert pipeline.read("release_north")


@pytest.mark.parametrize("type_", ["daily", "weekly", "monthly"])
def test_time_windows_in_yaml(type_: str) -> None:
    given = yaml.safe_load(f"{{type: {type_}, start_date: '2024-01-01', timezone: Europe/Berlin}}")
    partitions = PartitionsModel(**given).definition()
    assert isinstance(partitions, dg.TimeWindowPartitionsDefinition)
    assert partitions.get_partition_keys()[0] in ("2024-01-01", "2024-01-07")  # weeks begin on Sundays
    assert partitions.timezone == "Europe/Berlin"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "static"}, "take partition_keys; add partition_keys"),
        ({"type": "static", "partition_keys": []}, "take partition_keys; add partition_keys"),
        ({"type": "daily"}, "take start_date; add start_date"),
        (
            {"type": "daily", "start_date": "2024-01-01", "partition_keys": ["a"]},
            "take start_date; remove partition_keys",
        ),
        (
            {"type": "static", "partition_keys": ["a"], "start_date": "2024-01-01"},
            "take partition_keys; remove start_date",
        ),
    ],
)
def test_incomplete_partitions_raise_an_error(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PartitionsModel(**given).definition()


@pytest.mark.slow
def test_dg_checks_and_launches_a_partition(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.write("raw", raw_rows().assign(day="2024-02-15"))
    given = attributes(pipeline.url, **NAMES, partitions_def=MONTHS, partition_column="day")
    folder = project(tmp_path / "project", given, policy_with("day", "identifier"))
    assert "loaded successfully" in dg_command(folder, "check", "defs")
    dg_command(folder, "launch", "--assets", "anonymized,release", "--partition", "2024-02-01")
    assert pipeline.read("release_2024-02-01")
    refused = dg_command(
        folder, "launch", "--assets", "anonymized,release", "--partition", "2024-01-01", succeeds=False
    )
    assert "no rows" in refused
    assert pipeline.read("release_2024-01-01") is None
