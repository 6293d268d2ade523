"""Automation waits for the gate: a release starts only after every blocking check of the newest data passed."""

from typing import Any

import dagster as dg
import pytest

from privacy_plugin.orchestration import build_release_asset, when_gate_passed
from privacy_plugin.policy.policy import Policy
from tests.orchestration.pipeline import Pipeline, judging, policy_dict, safe_rows, unsafe_rows


@pytest.fixture
def automatic(pipeline: Pipeline) -> Pipeline:
    return with_condition(judging(pipeline), when_gate_passed())


def with_condition(pipeline: Pipeline, condition: dg.AutomationCondition[Any], **arguments: Any) -> Pipeline:
    """The pipeline with a release that Dagster's daemon starts."""
    pipeline.definitions[-1] = build_release_asset(
        name="release",
        asset="judged",
        policy=pipeline.policy,
        table="judged",
        automation_condition=condition,
        **arguments,
    )
    return pipeline


class Daemon:
    """Dagster's automation daemon, tick by tick."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._defs = dg.Definitions(
            assets=[item for item in pipeline.definitions if not isinstance(item, dg.AssetChecksDefinition)],
            asset_checks=[item for item in pipeline.definitions if isinstance(item, dg.AssetChecksDefinition)],
            resources=pipeline.resources,
        )
        self._instance = pipeline.instance
        self._cursor = None
        self.asks()

    def asks(self) -> bool:
        """Return whether the next tick starts the release."""
        result = dg.evaluate_automation_conditions(self._defs, instance=self._instance, cursor=self._cursor)
        self._cursor = result.cursor
        return result.get_num_requested(dg.AssetKey("release")) > 0


def materialize_without_checks(pipeline: Pipeline) -> None:
    selection = dg.AssetSelection.assets("judged").without_checks()
    dg.materialize(pipeline.definitions, selection=selection, resources=pipeline.resources, instance=pipeline.instance)


def test_passed_checks_of_the_newest_data_start_a_release(automatic: Pipeline) -> None:
    daemon = Daemon(automatic)
    assert automatic.run("judged").success
    assert daemon.asks()


def test_missing_checks_start_no_release(automatic: Pipeline) -> None:
    daemon = Daemon(automatic)
    materialize_without_checks(automatic)
    assert not daemon.asks()


def test_failed_checks_start_no_release(automatic: Pipeline) -> None:
    daemon = Daemon(automatic)
    automatic.write("judged", unsafe_rows())
    assert not automatic.run("judged").success
    assert not daemon.asks()


def test_outdated_checks_start_no_release(automatic: Pipeline) -> None:
    assert automatic.run("judged", "release").success
    daemon = Daemon(automatic)
    materialize_without_checks(automatic)
    assert not daemon.asks()


def test_an_unmaterialized_population_does_not_block_the_release(automatic: Pipeline) -> None:
    automatic.policy = Policy.from_dict(policy_dict(requirements=[{"k_map": {"at_least": 3}}]))
    automatic.write("register", safe_rows().drop(columns="disease"))
    judging(automatic, population_table="register")
    daemon = Daemon(with_condition(automatic, when_gate_passed(), population_table="register"))
    assert automatic.run("judged").success
    assert daemon.asks()
    assert automatic.run("release").success


def test_plain_eager_would_start_a_release(automatic: Pipeline) -> None:
    """Without the condition the release of unchecked data starts (and raises an error)."""
    daemon = Daemon(with_condition(automatic, dg.AutomationCondition.eager()))
    materialize_without_checks(automatic)
    assert daemon.asks()
    assert not automatic.run("release").success
