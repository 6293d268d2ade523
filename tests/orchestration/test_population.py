"""A requirement that compares with a population: an upstream asset that the certificate covers."""

import json
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from privacy_plugin.errors import ParameterError
from privacy_plugin.gate.certificate import read_certificate
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
)

REGISTER = pd.DataFrame({"age": [30, 40] * 60, "zip": ["100", "100", "101", "101"] * 30})
PRESENCE = {"delta_presence": {"between": [0.1, 0.5]}}
PRESENCE_OF_ALL = {"delta_presence": {"between": [0.1, 0.6]}}


def comparing(pipeline: Pipeline, register: pd.DataFrame, **arguments: Any) -> Pipeline:
    pipeline.policy = Policy.from_dict(policy_dict(requirements=[PRESENCE, {"k_map": {"at_least": 11}}]))
    pipeline.write("register", register)
    return judging(pipeline, population="register", **arguments)


def test_a_population_table_of_the_warehouse(any_pipeline: Pipeline) -> None:
    pipeline = comparing(any_pipeline, REGISTER, population_table="register")
    result = pipeline.run()
    assert outcome(result) == {"privacy_structure": True, "delta_presence": True, "k_map": True}
    assert released(result)
    (certificate,) = [read_certificate(path) for path in pipeline.certificate_files()]
    assert certificate.content["population_fingerprint"]["rows"] == 120
    pipeline.write("register", pd.concat([REGISTER] * 4))
    result = pipeline.run()
    assert outcome(result)["delta_presence"] is False  # one in twelve is below one in ten
    assert not released(result)


def test_people_missing_from_the_population_close_the_gate(pipeline: Pipeline) -> None:
    result = comparing(pipeline, REGISTER.iloc[:20], population_table="register").run()
    assert outcome(result) == {"privacy_structure": True, "delta_presence": False, "k_map": False}
    assert not released(result)


def test_the_population_is_an_upstream_asset(pipeline: Pipeline) -> None:
    pipeline = comparing(pipeline, REGISTER, population_table="register")
    gate = next(item for item in pipeline.definitions if isinstance(item, dg.AssetChecksDefinition))
    for spec in gate.check_specs:
        assert dg.AssetKey("register") in {dependency.asset_key for dependency in spec.additional_deps}


def test_a_frame_can_be_the_population(pipeline: Pipeline) -> None:
    pipeline = comparing(pipeline, REGISTER, population_table="register")

    @dg.asset
    def everybody() -> pd.DataFrame:
        return REGISTER

    gated = gate_and_release(pipeline, "judged", table="judged", population=everybody)
    pipeline.definitions = [everybody, pipeline.definitions[0], *gated]
    result = pipeline.run()
    assert outcome(result) == {"privacy_structure": True, "delta_presence": True, "k_map": True}
    assert released(result)


def test_an_asset_is_generalized_to_meet_a_population_requirement(pipeline: Pipeline) -> None:
    pipeline.policy = Policy.from_dict(policy_dict(requirements=[{"delta_presence": {"between": [0.1, 0.6]}}]))
    everybody = raw_rows(120)
    pipeline.write("register", everybody.drop(columns=["name", "disease"]))
    result = anonymizing(pipeline, everybody.iloc[::3], population="register", population_table="register").run()
    assert outcome(result) == {"privacy_structure": True, "delta_presence": True}
    assert released(result)
    assert len(pipeline.read("release") or []) == 40


def test_the_certificate_covers_the_plan_by_which_the_population_was_counted(pipeline: Pipeline) -> None:
    pipeline.policy = Policy.from_dict(policy_dict(requirements=[PRESENCE_OF_ALL], anonymize={}))
    everybody = raw_rows(120)
    pipeline.write("register", everybody.drop(columns=["name", "disease"]))
    pipeline = anonymizing(pipeline, everybody.iloc[::3], population="register", population_table="register")
    assert released(pipeline.run())
    (plan,) = pipeline.folder.glob("**/plans/*.json")
    content = json.loads(plan.read_text())
    assert content["kind"] == "local"
    content["found"]["combinations"] = content["found"]["combinations"][1:]
    plan.write_text(json.dumps(content))
    result = pipeline.run("release")
    assert not released(result)
    assert "population changed" in errors(result)
    plan.unlink()
    assert "population changed" in errors(pipeline.run("release"))


def test_great_expectations_cannot_judge_overlapping_classes(pipeline: Pipeline) -> None:
    policy = Policy.from_dict(policy_dict(requirements=[{"k_map": {"at_least": 5}}], anonymize={}))
    with pytest.raises(ParameterError, match="labels"):
        build_privacy_checks(asset="visits", policy=policy, population="register", via="great_expectations")


def test_a_failing_table_is_released_in_regions(any_pipeline: Pipeline) -> None:
    pipeline = any_pipeline
    pipeline.policy = Policy.from_dict(
        policy_dict(
            requirements=[{"delta_presence": {"between": [0.1, 0.6]}}],
            anonymize={"method": "multidimensional_presence"},
        )
    )
    everybody = raw_rows(120).drop(columns="name")
    pipeline.write("register", everybody.drop(columns="disease"))
    pipeline.write("raw", everybody.iloc[::3])
    compared: dict[str, Any] = {"policy": pipeline.policy, "population_table": "register"}

    @dg.asset
    def raw() -> None:
        """Placeholder for an existing table."""

    made = build_anonymized_asset(name="anonymized", asset="raw", table="raw", **compared)
    release = build_release_asset(name="release", asset="anonymized", table="anonymized", **compared)
    pipeline.definitions = [raw, build_privacy_checks(asset="raw", table="raw", **compared)]
    red = pipeline.run()
    assert outcome(red) == {"privacy_structure": True, "delta_presence": False}
    gate = build_privacy_checks(asset="anonymized", table="anonymized", **compared)
    pipeline.definitions = [dg.AssetSpec("raw"), made, gate, release]
    green = pipeline.run()
    assert outcome(green) == {"privacy_structure": True, "delta_presence": True}
    assert released(green)
    assert pipeline.read("release") == pipeline.read("anonymized")
    assert len(pipeline.read("release") or []) == 40
    (materialization,) = green.asset_materializations_for_node("anonymized")
    facts = {name: value.value for name, value in materialization.metadata.items()}
    assert facts["method"] == "multidimensional_presence"
    assert (facts["regions"] > 1, facts["dagster/row_count"], facts["people of the population"]) == (True, 40, 120)
    assert 0.1 <= facts["least presence"] <= facts["largest presence"] <= 0.6


def test_regions_by_confidence_need_no_register(any_pipeline: Pipeline) -> None:
    pipeline = any_pipeline
    raw = raw_rows(40)
    marginals = {name: {str(v): 20 * int(n) for v, n in raw[name].value_counts().items()} for name in ("age", "zip")}
    asked = {"marginals": marginals, "population_size": 800, "delta": [0, 0.12], "at_least": 0.9}
    pipeline.policy = Policy.from_dict(
        policy_dict(requirements=[{"presence_confidence": asked}], anonymize={"method": "multidimensional_presence"})
    )
    result = anonymizing(pipeline, raw).run()
    assert result.success, errors(result)
    (name,) = set(outcome(result)) - {"privacy_structure"}
    assert outcome(result)[name] is True
    assert released(result)
    (materialization,) = result.asset_materializations_for_node("anonymized")
    facts = {name: value.value for name, value in materialization.metadata.items()}
    assert facts["confidence of presence"] >= 0.9
    assert (facts["people of the population"], facts["dagster/row_count"]) == (800, 40)
    shown = {row[:2] for row in pipeline.read("release") or []}
    assert 1 < len(shown) < 40


def test_regions_need_a_population(pipeline: Pipeline) -> None:
    pipeline.policy = Policy.from_dict(
        policy_dict(requirements=[PRESENCE], anonymize={"method": "multidimensional_presence"})
    )
    pipeline.write("raw", raw_rows())
    pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(name="anonymized", asset="raw", table="raw", policy=pipeline.policy),
    ]
    result = pipeline.run()
    assert not result.success
    assert "compares with the population" in errors(result)
    assert pipeline.read("anonymized") is None


@pytest.mark.parametrize("register", [REGISTER.iloc[:100], pd.concat([REGISTER] * 2)], ids=["fewer", "more"])
def test_a_population_changed_after_the_checks_stops_the_release(
    any_pipeline: Pipeline, register: pd.DataFrame
) -> None:
    pipeline = comparing(any_pipeline, REGISTER, population_table="register")
    assert pipeline.run("judged").success
    pipeline.write("register", register)
    result = pipeline.run("release")
    assert not released(result)
    assert "the population changed after the privacy checks" in errors(result)
    assert pipeline.read("release") is None
    pipeline.write("register", REGISTER.sample(frac=1, random_state=5))
    assert released(pipeline.run("release"))


def test_a_release_without_the_population_raises_at_definition(pipeline: Pipeline) -> None:
    comparing(pipeline, REGISTER, population_table="register")
    with pytest.raises(ParameterError, match="give the release the population of its gate"):
        build_release_asset(name="release", asset="judged", table="judged", policy=pipeline.policy)
