"""Plain downstream assets are held by a closed, missing or outdated verdict, in this run and in later ones."""

from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.orchestration import build_gated_io_manager, build_privacy_checks, require_open_gate
from tests.orchestration.pipeline import Pipeline, errors, made_elsewhere, safe_rows, unsafe_rows

MONTHS = dg.StaticPartitionsDefinition(["2024-01", "2024-02"])


def guarded(pipeline: Pipeline, seen: list[int], **arguments: Any) -> Pipeline:
    """A judged table, its gate, and an asset that has it in `deps` only."""
    policy = pipeline.policy

    @dg.asset(deps=["judged"], required_resource_keys={"warehouse", "certificates"})
    def downstream(context: dg.AssetExecutionContext) -> None:
        require_open_gate(context, asset="judged", policy=policy, **arguments)
        seen.append(1)

    gate = build_privacy_checks(asset="judged", table="judged", policy=policy)
    pipeline.definitions = [made_elsewhere("judged"), gate, downstream]
    return pipeline


@pytest.mark.parametrize("arguments", [{"table": "judged"}, {}], ids=["table", "verdict"])
def test_an_asset_with_deps_only_is_held(pipeline: Pipeline, arguments: dict[str, Any]) -> None:
    seen: list[int] = []
    pipeline.write("judged", unsafe_rows())
    guarded(pipeline, seen, **arguments)
    unjudged = pipeline.run("downstream")
    assert not unjudged.success
    assert "no certificate" in errors(unjudged)
    assert not pipeline.run("judged").success
    later = pipeline.run("downstream")
    assert not later.success
    assert "is closed" in errors(later)
    assert not seen
    pipeline.write("judged", safe_rows())
    assert pipeline.run("judged").success
    opened = pipeline.run("downstream")
    assert opened.success, errors(opened)
    assert seen == [1]


def test_a_table_that_changed_after_its_checks_is_held(any_pipeline: Pipeline) -> None:
    seen: list[int] = []
    any_pipeline.write("judged", safe_rows())
    guarded(any_pipeline, seen, table="judged")
    assert any_pipeline.run("judged").success
    any_pipeline.write("judged", unsafe_rows())
    held = any_pipeline.run("downstream")
    assert "changed after its privacy checks" in errors(held)
    any_pipeline.write("judged", safe_rows().assign(name="somewhere"))
    held = any_pipeline.run("downstream")
    assert "columns that its gate did not judge: name" in errors(held)
    assert not seen


def test_a_newer_materialization_is_held(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    pipeline.write("judged", safe_rows())
    guarded(pipeline, seen)
    assert pipeline.run("judged").success
    import time

    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 5)
    without_checks = dg.AssetSelection.assets("judged").without_checks()
    assert pipeline.run_selection(without_checks).success
    held = pipeline.run("downstream")
    assert "materialized after its privacy checks" in errors(held)
    assert not seen


class Frames:
    """What the judged asset returns in each run."""

    frame: pd.DataFrame


def loaded(pipeline: Pipeline, frames: Frames, seen: list[int], partitions: Any = None) -> Pipeline:
    """A judged frame, its gate, and a plain asset that loads it through the IO manager."""

    @dg.asset(partitions_def=partitions)
    def judged() -> pd.DataFrame:
        return frames.frame

    @dg.asset(partitions_def=partitions)
    def downstream(judged: pd.DataFrame) -> None:
        seen.append(len(judged))

    pipeline.definitions = [judged, build_privacy_checks(asset=judged, policy=pipeline.policy), downstream]
    pipeline.extra_resources = {
        "frames": dg.FilesystemIOManager(base_dir=str(pipeline.folder / "values")),
        "io_manager": build_gated_io_manager(inner="frames", policies={"judged": pipeline.policy}),
    }
    return pipeline


def test_the_io_manager_loads_only_what_its_gate_judged(pipeline: Pipeline) -> None:
    frames, seen = Frames(), list[int]()
    loaded(pipeline, frames, seen)
    frames.frame = unsafe_rows()
    assert pipeline.run_selection(dg.AssetSelection.assets("judged").without_checks()).success
    unjudged = pipeline.run("downstream")
    assert not unjudged.success
    assert "no certificate" in errors(unjudged)
    assert not pipeline.run("judged").success, "the gate itself may load what it judges"
    assert "is closed" in errors(pipeline.run("downstream"))
    frames.frame = safe_rows()
    assert pipeline.run("judged").success
    opened = pipeline.run("downstream")
    assert opened.success, errors(opened)
    assert seen == [40]
    frames.frame = unsafe_rows()
    assert pipeline.run_selection(dg.AssetSelection.assets("judged").without_checks()).success
    assert "changed after its privacy checks" in errors(pipeline.run("downstream"))
    assert seen == [40]


def test_every_partition_is_held_by_its_own_gate(pipeline: Pipeline) -> None:
    frames, seen = Frames(), list[int]()
    loaded(pipeline, frames, seen, MONTHS)
    frames.frame = safe_rows()
    assert pipeline.run("judged", partition_key="2024-01").success
    assert pipeline.run("downstream", partition_key="2024-01").success
    assert pipeline.run_selection(dg.AssetSelection.assets("judged").without_checks(), partition_key="2024-02").success
    held = pipeline.run("downstream", partition_key="2024-02")
    assert "no certificate for partition '2024-02'" in errors(held)
    assert seen == [40]
