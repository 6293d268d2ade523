"""Observe mode: a raw asset is measured with warnings, and nothing is blocked or certified."""

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.errors import ParameterError
from privacy_plugin.orchestration import build_privacy_checks
from privacy_plugin.policy.policy import Policy
from tests.orchestration.pipeline import Pipeline, anonymizing, errors, made_elsewhere, outcome, policy_dict, raw_rows


def observing(pipeline: Pipeline, frame: pd.DataFrame | None = None) -> Pipeline:
    """A raw table with an observation, and the path to its release in the same run."""
    anonymizing(pipeline, frame)
    pipeline.definitions[0] = made_elsewhere("raw")
    pipeline.definitions.append(
        build_privacy_checks(asset="raw", table="raw", policy=pipeline.policy, mode="observe"),
    )
    return pipeline


def test_a_raw_asset_is_measured_and_blocks_nothing(any_pipeline: Pipeline) -> None:
    result = observing(any_pipeline).run()
    assert result.success, errors(result)
    observed = [e for e in result.get_asset_check_evaluations() if e.asset_key == dg.AssetKey("raw")]
    assert {e.check_name: e.passed for e in observed} == {
        "privacy_structure": True,
        "k_anonymity": False,
        "l_diversity_distinct_disease": False,
    }
    assert {e.severity for e in observed} == {dg.AssetCheckSeverity.WARN}
    assert {e.metadata["identifiers ignored"].value for e in observed} == {"name"}
    (k,) = (e for e in observed if e.check_name == "k_anonymity")
    sizes = raw_rows().groupby(["age", "zip"]).size()
    assert k.metadata["value"].value == sizes.min()
    assert k.metadata["people affected"].value == sizes[sizes < 3].sum()
    assert any_pipeline.read("release")


def test_an_observation_that_passes_certifies_nothing(pipeline: Pipeline) -> None:
    pipeline.policy = Policy.from_dict(policy_dict(requirements=[{"k_anonymity": {"at_least": 2}}]))
    frame = pd.concat([raw_rows(), raw_rows()], ignore_index=True)
    observing(pipeline, frame)
    result = pipeline.run("raw")
    assert result.success, errors(result)
    assert all(outcome(result).values())
    assert pipeline.certificate_files() == []
    release = pipeline.run("release")
    assert not release.success
    assert "no certificate" in errors(release)


def test_an_error_is_a_warning_too(pipeline: Pipeline) -> None:
    observing(pipeline)
    pipeline.execute('DROP TABLE "raw"')
    result = pipeline.run("raw")
    assert result.success, errors(result)
    assert outcome(result) == dict.fromkeys(outcome(result), False)
    assert {e.severity for e in result.get_asset_check_evaluations()} == {dg.AssetCheckSeverity.WARN}


def test_observations_are_refused_where_they_would_be_wrong() -> None:
    policy = Policy.from_dict(policy_dict())
    with pytest.raises(ParameterError, match="mode must be 'gate' or 'observe'"):
        build_privacy_checks(asset="raw", policy=policy, mode="watch")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="leave out via"):
        build_privacy_checks(asset="raw", policy=policy, mode="observe", via="great_expectations")
    budget = {"privacy_budget": {"at_most": 1, "privacy_unit": "row"}}
    given = policy_dict(requirements=[budget])
    del given["anonymize"]
    drawing = Policy.from_dict(given)
    with pytest.raises(ParameterError, match="no privacy budget covers"):
        build_privacy_checks(asset="raw", policy=drawing, mode="observe")
