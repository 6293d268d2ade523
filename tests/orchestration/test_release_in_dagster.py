"""The gate holds with key prefixes and retries of Dagster."""

from types import ModuleType
from typing import Any

import dagster as dg
import pytest

from tests.orchestration.pipeline import Pipeline, errors, judging, outcome, released, safe_rows, unsafe_rows


def under_a_prefix(pipeline: Pipeline) -> list[Any]:
    """The definitions as a module of a project, loaded under a prefix, with another asset."""

    @dg.asset(deps=["judged"])
    def trusting() -> None:
        pass

    module = ModuleType("project")
    module.__dict__.update({f"item{n}": item for n, item in enumerate([*pipeline.definitions, trusting])})
    return [
        *dg.load_assets_from_modules([module], key_prefix="clinic"),
        *dg.load_asset_checks_from_modules([module], asset_key_prefix="clinic"),
    ]


def test_checks_with_a_key_prefix_block_downstream_assets(pipeline: Pipeline) -> None:
    """Without a result of a blocking check Dagster continues; the prefix gives the asset another key."""
    judging(pipeline, unsafe_rows())
    pipeline.definitions = under_a_prefix(pipeline)
    red = pipeline.run()
    assert outcome(red) == {"privacy_structure": True, "k_anonymity": False, "l_diversity_distinct_disease": False}
    assert not {"trusting", "release"} & {str(event.step_key) for event in red.all_events if event.is_step_start}
    assert pipeline.read("release") is None
    pipeline.write("judged", safe_rows())
    green = pipeline.run()
    assert green.success, errors(green)
    assert {e.asset_key for e in green.get_asset_check_evaluations()} == {dg.AssetKey(["clinic", "judged"])}
    assert pipeline.read("release")


@pytest.mark.parametrize("broken", [False, True])
def test_only_source_errors_allow_retries(pipeline: Pipeline, broken: bool) -> None:
    judging(pipeline, unsafe_rows())
    assert not pipeline.run("judged").success
    if broken:
        pipeline.write("judged", safe_rows())
        assert pipeline.run("judged").success
        pipeline.execute("DROP TABLE judged")
    job = dg.define_asset_job("release_alone", ["release"], op_retry_policy=dg.RetryPolicy(max_retries=1))
    defs = dg.Definitions(assets=[pipeline.definitions[-1]], resources=pipeline.resources, jobs=[job])
    result = defs.resolve_job_def("release_alone").execute_in_process(instance=pipeline.instance, raise_on_error=False)
    assert not released(result)
    assert any(event.is_step_up_for_retry for event in result.all_events) is broken
    if not broken:
        assert errors(result).startswith(
            "privacy_plugin.errors.CertificateError: the gate of dataset 'visits' is closed"
        )
