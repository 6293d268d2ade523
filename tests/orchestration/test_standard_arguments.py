"""Standard arguments of Dagster reach the assets and checks; a backfill of several partitions per run is refused."""

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration import (
    PrivacyGateComponent,
    build_anonymized_asset,
    build_candidate_asset,
    build_privacy_checks,
    build_release_asset,
)
from privacy_plugin.policy.policy import Policy
from tests.orchestration.components import TYPE, attributes, run
from tests.orchestration.pipeline import Pipeline, errors, outcome, policy_dict, raw_rows

POLICY = Policy.from_dict(policy_dict())
MONTHS = dg.StaticPartitionsDefinition(["2024-01", "2024-02"])
STANDARD: dict[str, Any] = {
    "key_prefix": ["clinic", "north"],
    "group_name": "health",
    "description": "for the tests",
    "metadata": {"cost centre": "17"},
    "tags": {"tier": "gold"},
    "owners": ["team:privacy"],
    "kinds": {"duckdb", "privacy"},
    "deps": ["calendar"],
    "code_version": "7",
    "automation_condition": dg.AutomationCondition.eager(),
    "freshness_policy": dg.FreshnessPolicy.cron(deadline_cron="0 9 * * *", lower_bound_delta=timedelta(hours=2)),
    "backfill_policy": dg.BackfillPolicy.multi_run(max_partitions_per_run=1),
    "retry_policy": dg.RetryPolicy(max_retries=2),
    "pool": "warehouse",
    "io_manager_key": "frames",
}


@pytest.mark.parametrize("build", [build_anonymized_asset, build_candidate_asset, build_release_asset])
def test_an_asset_has_every_standard_argument(build: Any) -> None:
    built = build(name="made", asset="raw", table="raw_{partition}", partitions_def=MONTHS, policy=POLICY, **STANDARD)
    key = dg.AssetKey(["clinic", "north", "made"])
    spec = built.get_asset_spec(key)
    assert {name: getattr(spec, name) for name in ("group_name", "description", "code_version", "kinds")} == {
        name: STANDARD[name] for name in ("group_name", "description", "code_version", "kinds")
    }
    assert list(spec.owners) == STANDARD["owners"]
    assert spec.tags["tier"] == "gold"
    assert spec.metadata["cost centre"] == "17"
    assert spec.metadata["dagster/table_name"] == "made_{partition}"
    assert {dep.asset_key.to_user_string() for dep in spec.deps} == {"raw", "calendar"}
    assert spec.automation_condition is not None
    assert spec.freshness_policy == STANDARD["freshness_policy"]
    assert built.op.retry_policy == STANDARD["retry_policy"]
    assert built.op.pool == "warehouse"
    assert built.backfill_policy == STANDARD["backfill_policy"]
    assert built.get_io_manager_key_for_asset_key(key) == "frames"


def test_checks_have_the_arguments_that_dagster_takes() -> None:
    gate = build_privacy_checks(
        asset="made",
        table="made",
        policy=POLICY,
        description="for the tests",
        metadata={"runbook": "page 3"},
        additional_deps=["calendar"],
        retry_policy=dg.RetryPolicy(max_retries=2),
        pool="warehouse",
        op_tags={"size": "small"},
    )
    assert gate.op.description == "for the tests"
    assert gate.op.retry_policy == dg.RetryPolicy(max_retries=2)
    assert gate.op.pool == "warehouse"
    assert gate.op.tags["size"] == "small"
    for spec in gate.check_specs:
        assert spec.blocking
        assert spec.metadata["runbook"] == "page 3"
        assert [dep.asset_key.to_user_string() for dep in spec.additional_deps] == ["calendar"]


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match="did you mean 'owners'"):
        build_release_asset(name="made", asset="raw", policy=POLICY, owner="me")  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="unknown argument of build_privacy_checks 'tags'"):
        build_privacy_checks(asset="raw", policy=POLICY, tags={"tier": "gold"})  # type: ignore[call-arg]


@pytest.mark.parametrize("policy", [dg.BackfillPolicy.single_run(), dg.BackfillPolicy.multi_run(10)])
def test_a_backfill_of_several_partitions_in_one_run_is_refused(policy: dg.BackfillPolicy) -> None:
    common: dict[str, Any] = {"policy": POLICY, "partitions_def": MONTHS, "table": "raw_{partition}"}
    with pytest.raises(ParameterError, match="one partition per run"):
        build_release_asset(name="made", asset="raw", backfill_policy=policy, **common)

    @dg.asset(partitions_def=MONTHS, backfill_policy=policy)
    def raw() -> None:
        pass

    for build in (build_release_asset, build_anonymized_asset):
        with pytest.raises(ParameterError, match="the asset 'raw' has the backfill policy"):
            build(name="made", asset=raw, **common)
    with pytest.raises(ParameterError, match="the asset 'raw' has the backfill policy"):
        build_privacy_checks(asset=raw, **common)


def test_a_component_passes_the_arguments_on(pipeline: Pipeline) -> None:
    pipeline.write("raw", raw_rows())
    given = attributes(
        pipeline.url,
        observe_source=True,
        asset_attributes={
            "key_prefix": ["clinic"],
            "tags": {"tier": "gold"},
            "owners": ["team:privacy"],
            "kinds": ["sqlite"],
            "metadata": {"cost centre": "17"},
            "code_version": "7",
            "retry_policy": {"max_retries": 2, "delay": 0.1},
            "pool": "warehouse",
        },
    )
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent, defs_yaml_contents={"type": TYPE, "attributes": given}
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            for name in ("anonymized", "release"):
                spec = defs.resolve_assets_def(dg.AssetKey(["clinic", name])).get_asset_spec()
                assert spec.tags["tier"] == "gold"
                assert list(spec.owners) == ["team:privacy"]
                assert spec.kinds == {"sqlite"}
            result = run(defs, "clinic/anonymized", "clinic/release")
            assert result.success, errors(result)
            assert all(outcome(result).values())
            assert pipeline.read("release")
