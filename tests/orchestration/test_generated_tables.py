"""A generated table and a randomized column behind a Dagster gate."""

from typing import Any

import pandas as pd

from privacy_plugin.metrics.registry import CAVEATS
from privacy_plugin.policy.policy import Policy
from tests.orchestration.pipeline import Pipeline, judging, outcome, policy_dict, released, safe_rows


def described(result: Any) -> dict[str, str]:
    return {evaluation.check_name: evaluation.description for evaluation in result.get_asset_check_evaluations()}


def test_a_copy_of_the_original_is_not_released(pipeline: Pipeline) -> None:
    requirements = [
        {"repeated_records": {"variant": "unique_repeated", "at_most": 0.1}},
        {"itemset_difference": {"variant": "lost", "at_most": 0.1}},
    ]
    pipeline.policy = Policy.from_dict(policy_dict(requirements=requirements))
    real = pd.concat([safe_rows(), pd.DataFrame({"age": [30], "zip": ["zq9"], "disease": ["d"]})])
    pipeline.write("original", real)
    pipeline = judging(pipeline, population="original", population_table="original")
    result = pipeline.run()
    names = ["repeated_records_unique_repeated", "itemset_difference_lost"]
    assert outcome(result) == {"privacy_structure": True, names[0]: True, names[1]: True}
    assert released(result)
    assert CAVEATS["audit"] in described(result)[names[0]]
    assert CAVEATS["utility"] in described(result)[names[1]]
    pipeline.write("judged", real.sample(frac=1, random_state=1))
    result = pipeline.run()
    assert outcome(result)[names[0]] is False
    assert not released(result)
    assert "zq9" not in "".join(described(result).values())


def test_cells_that_refute_a_declared_channel_fail(pipeline: Pipeline) -> None:
    line = {"channel": [["3/4", "1/4"], ["1/4", "3/4"]], "attributes": ["truth", "shown"], "at_most": 1.2}
    roles = {"truth": "sensitive", "shown": "quasi_identifier"}
    pipeline.policy = Policy.from_dict(policy_dict(columns=roles, requirements=[{"epsilon_dependence": line}]))
    kept = pd.DataFrame({"truth": ["a", "b"] * 40, "shown": ["a", "b", "a", "b", "a", "b", "b", "a"] * 10})
    name = "epsilon_dependence_channel_given_truth_shown"
    result = judging(pipeline, kept).run()
    assert outcome(result) == {"privacy_structure": True, name: True}
    assert CAVEATS["audit"] in described(result)[name]
    result = judging(pipeline, kept.assign(shown=kept["truth"] + "?")).run()
    assert outcome(result)[name] is False
    three = pd.concat([kept, pd.DataFrame({"truth": ["c"], "shown": ["a"]})])
    result = judging(pipeline, three).run()
    assert outcome(result)[name] is False
    (evaluation,) = [each for each in result.get_asset_check_evaluations() if each.check_name == name]
    assert evaluation.metadata["value"].value == "infinite"
