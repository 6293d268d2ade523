"""Tables with several rows per person are generalized and judged by people, not by rows."""

import pandas as pd
import pytest

from privacy_plugin.policy.policy import Policy
from tests.orchestration.pipeline import (
    Pipeline,
    anonymizing,
    errors,
    judging,
    outcome,
    policy_dict,
    raw_rows,
    released,
    safe_rows,
)


def by_people(pipeline: Pipeline) -> Pipeline:
    given = policy_dict(requirements=[{"k_anonymity": {"at_least": 3}}])
    given["columns"]["name"] = "unit"
    pipeline.policy = Policy.from_dict(given)
    return pipeline


def test_an_asset_is_generalized_until_its_classes_have_enough_people(pipeline: Pipeline) -> None:
    """Three rows per person: counted by rows, every class would be large enough."""
    result = anonymizing(by_people(pipeline), pd.concat([raw_rows()] * 3)).run()
    assert outcome(result) == {"privacy_structure": True, "k_anonymity": True}
    assert released(result)
    (made,) = result.asset_materializations_for_node("anonymized")
    metadata = {name: value.value for name, value in made.metadata.items()}
    assert metadata["people read"] == 40
    assert "dagster/row_count" not in metadata  # only people were counted
    assert len(pipeline.read("release") or ()) == 3 * (40 - metadata["suppressed people"])
    assert {len(row) for row in pipeline.read("release") or ()} == {3}  # the key of people stays in the house


@pytest.mark.parametrize("count", ["sequences", "people"])
def test_people_whose_rows_differ_are_generalized_and_released(pipeline: Pipeline, count: str) -> None:
    moved = raw_rows().assign(name=[f"person {n // 2}" for n in range(40)])
    given = policy_dict(requirements=[{"k_anonymity": {"at_least": 3}}], count=count)
    given["columns"]["name"] = "unit"
    pipeline.policy = Policy.from_dict(given)
    result = anonymizing(pipeline, moved).run()
    assert outcome(result) == {"privacy_structure": True, "k_anonymity": True}
    assert released(result)
    (made,) = result.asset_materializations_for_node("anonymized")
    metadata = {name: value.value for name, value in made.metadata.items()}
    assert metadata["people read"] == 20
    assert len(pipeline.read("release") or ()) == 2 * (20 - metadata["suppressed people"])


@pytest.mark.parametrize("change", ["UPDATE judged SET name = 'one person'", "UPDATE judged SET name = name || ' jr'"])
def test_rows_whose_unit_changed_are_not_released(any_pipeline: Pipeline, change: str) -> None:
    """The released rows are the same; the number of people is not."""
    judging(by_people(any_pipeline), safe_rows().assign(name=[f"person {n}" for n in range(40)]))
    assert any_pipeline.run("judged").success
    any_pipeline.execute("CREATE TABLE kept AS SELECT * FROM judged")
    any_pipeline.execute(change)
    result = any_pipeline.run("release")
    assert not released(result)
    assert "'name' changed after the privacy checks" in errors(result)
    assert any_pipeline.read("release") is None
    any_pipeline.execute("DELETE FROM judged")
    any_pipeline.execute("INSERT INTO judged SELECT * FROM kept")
    assert released(any_pipeline.run("release"))
