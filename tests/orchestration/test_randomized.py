"""Randomized tables, from the raw table to the release, in real runs of Dagster."""

from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

import privacy_plugin as pp
from privacy_plugin.anonymizers import randomized_response
from privacy_plugin.errors import SourceError
from privacy_plugin.orchestration import (
    BudgetLedgerResource,
    PrivacyGateComponent,
    build_anonymized_asset,
    build_privacy_checks,
)
from tests.orchestration.components import TYPE, attributes, run, shown_by_dagster
from tests.orchestration.markers import written_down
from tests.orchestration.pipeline import Pipeline, errors, gate_and_release, judging, outcome, released
from tests.randomized_policies import (
    EPSILON_SAFE,
    MONTHS,
    RESPONSE,
    SYNTHESIZE,
    monthly_policy_dict,
    open_ledger,
    people,
    policy_dict,
)

SECRET = "secretplace"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / SECRET}.db"


def drawing(pipeline: Pipeline, address: str, *, table: bool = True, **changes: Any) -> Pipeline:
    """Raw table, randomized table, gate, release, and a ledger from the environment."""
    pipeline.policy = pp.Policy.from_dict(policy_dict(**changes))
    if table:
        pipeline.write("raw", pd.DataFrame(people()))
        raw: Any = dg.AssetSpec("raw")
    else:

        @dg.asset
        def raw() -> pd.DataFrame:
            return pd.DataFrame(people())

    made = build_anonymized_asset(name="drawn", asset="raw", table="raw" if table else None, policy=pipeline.policy)
    pipeline.definitions = [raw, made, *gate_and_release(pipeline, "drawn", table="drawn" if table else None)]
    pipeline.extra_resources = {"ledger": BudgetLedgerResource(url=address)}
    return pipeline


@pytest.mark.parametrize("method", [SYNTHESIZE, EPSILON_SAFE, RESPONSE], ids=lambda method: method["method"])
def test_a_randomized_table_is_judged_and_released(
    any_pipeline: Pipeline, address: str, method: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    ledger = open_ledger(address)
    pipeline = drawing(any_pipeline, address, anonymize=method)
    result = pipeline.run()
    assert result.success, errors(result)
    assert released(result)
    assert outcome(result) == {"privacy_structure": True, "privacy_budget_delta_0_01_privacy_unit_row": True}
    assert pipeline.read("release") == pipeline.read("drawn")
    assert "name" not in pipeline.read("release")[0]
    (spend,) = ledger.entries()
    assert (spend.status, spend.private) == ("committed", True)
    (made,) = result.asset_materializations_for_node("drawn")
    facts = {name: value.value for name, value in made.metadata.items()}
    assert facts["epsilon"] == float(spend.budget.epsilon)
    left = ledger.remaining(dataset="visits", unit="row")
    assert facts["remaining epsilon"] == float(left.epsilon) >= float(2 - spend.budget.epsilon)
    assert facts["privacy unit"] == "row"
    assert facts["account"]["assumptions"]
    assert ("levels" in facts) is (method is EPSILON_SAFE)
    assert ("edges" in facts) is (method is SYNTHESIZE)
    assert ("keep" in facts) is (method is RESPONSE)
    record = written_down(pipeline, caplog)
    assert SECRET not in record
    assert "MARKER" not in record


@pytest.mark.parametrize("method", [SYNTHESIZE, EPSILON_SAFE, RESPONSE], ids=lambda method: method["method"])
def test_a_partition_holds_no_row_of_another(any_pipeline: Pipeline, address: str, method: dict[str, Any]) -> None:
    """The domain of the partition column holds the keys of all partitions."""
    ledger = open_ledger(address, epsilon=9, delta=0.1)
    given = monthly_policy_dict(method)
    given["requirements"] = [{"privacy_budget": {"at_most": 9, "delta": 0.1, "privacy_unit": "row"}}]
    any_pipeline.policy = pp.Policy.from_dict(given)
    any_pipeline.write("raw", pd.concat([pd.DataFrame(people()).assign(month=month) for month in MONTHS]))
    partitions = dg.StaticPartitionsDefinition(MONTHS)
    any_pipeline.definitions = [
        dg.AssetSpec("raw"),
        build_anonymized_asset(
            name="drawn",
            asset="raw",
            policy=any_pipeline.policy,
            table="raw",
            partitions_def=partitions,
            partition_column="month",
        ),
        *gate_and_release(any_pipeline, "drawn", table="drawn_{partition}", partitions_def=partitions),
    ]
    any_pipeline.extra_resources = {"ledger": BudgetLedgerResource(url=address)}
    for month in MONTHS:
        result = any_pipeline.run(partition_key=month)
        assert result.success, errors(result)
        assert released(result)
        rows = any_pipeline.read(f"release_{month}") or []
        assert {row[1] for row in rows} == {month}
        assert {row[2] for row in rows} <= {"100", "101", "102", "10*", "1**", "***", "*"}
    assert [spend.status for spend in ledger.entries()] == ["committed"] * 2


def test_a_partition_column_that_an_option_names_raises_at_definition() -> None:
    policy = pp.Policy.from_dict(monthly_policy_dict({**SYNTHESIZE, "given": "month"}))
    with pytest.raises(pp.PrivacyPluginError, match="is the partition column, which is not drawn"):
        build_anonymized_asset(
            name="drawn",
            asset="raw",
            policy=policy,
            table="raw",
            partitions_def=dg.StaticPartitionsDefinition(MONTHS),
            partition_column="month",
        )


@pytest.mark.parametrize("error", [MemoryError, ZeroDivisionError, SourceError])
def test_a_failed_draw_is_not_retried_and_spends_once(
    pipeline: Pipeline, address: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(address, epsilon=9)
    drawing(pipeline, address, anonymize=RESPONSE)

    def fail(*_: Any, **__: Any) -> None:
        raise error("secretvalue")

    monkeypatch.setattr(randomized_response, "randomize_cells", fail)
    job = dg.define_asset_job("draw", ["drawn"], op_retry_policy=dg.RetryPolicy(max_retries=2))
    defs = dg.Definitions(assets=pipeline.definitions, resources=pipeline.resources, jobs=[job])
    result = defs.resolve_job_def("draw").execute_in_process(instance=pipeline.instance, raise_on_error=False)
    assert not result.success
    assert "stays spent" in errors(result)
    assert not any(event.is_step_up_for_retry for event in result.all_events)
    assert [spend.status for spend in ledger.entries()] == ["reserved"]


def test_a_failing_table_is_released_by_randomized_response(any_pipeline: Pipeline, address: str) -> None:
    ledger = open_ledger(address)
    pipeline = drawing(any_pipeline, address, anonymize=RESPONSE)
    raw = build_privacy_checks(asset="raw", table="raw", policy=pipeline.policy)
    red = dg.materialize(
        [dg.AssetSpec("raw"), raw],
        selection=dg.AssetSelection.checks_for_assets("raw"),
        resources=pipeline.resources,
        instance=pipeline.instance,
        raise_on_error=False,
    )
    assert set(outcome(red).values()) == {False}
    green = pipeline.run()
    assert set(outcome(green).values()) == {True}
    assert released(green)
    rows = pipeline.read("release") or []
    assert rows == pipeline.read("drawn")
    assert len(rows) == len(people()["sex"])
    assert {row[1] for row in rows} == {"100", "101", "102"}
    assert ledger.spent(dataset="visits", unit="row").epsilon == 1


def test_every_run_on_a_frame_spends_budget(pipeline: Pipeline, address: str) -> None:
    ledger = open_ledger(address)
    pipeline = drawing(pipeline, address, table=False, anonymize=RESPONSE)
    for spent in (1, 2):
        result = pipeline.run()
        assert result.success, errors(result)
        assert ledger.spent(dataset="visits", unit="row").epsilon == spent
    third = pipeline.run()
    assert not third.success
    assert "could not pass privacy_budget" in errors(third)
    assert not released(third)
    assert len(ledger.entries()) == 2


def test_a_spent_budget_keeps_the_old_table_and_release(pipeline: Pipeline, address: str) -> None:
    open_ledger(address, epsilon=1)
    pipeline = drawing(pipeline, address, anonymize=RESPONSE)
    assert pipeline.run().success
    drawn, release = pipeline.read("drawn"), pipeline.read("release")
    second = pipeline.run()
    assert not second.success
    assert "has only epsilon 0" in errors(second)
    assert (pipeline.read("drawn"), pipeline.read("release")) == (drawn, release)


def test_rows_added_after_the_draw_close_the_gate(pipeline: Pipeline, address: str) -> None:
    open_ledger(address)
    pipeline = drawing(pipeline, address)
    assert pipeline.run("drawn").success
    pipeline.execute("INSERT INTO drawn VALUES ('f', '100')")
    result = pipeline.run("release")
    assert not released(result)
    pipeline.instance.wipe()
    judged = pipeline.run_selection(dg.AssetSelection.checks_for_assets("drawn"))
    assert outcome(judged) == {"privacy_structure": True, "privacy_budget_delta_0_01_privacy_unit_row": False}


@pytest.mark.parametrize("given", ["", "sqlite:////nowhere/secretplace.db"])
def test_without_its_ledger_the_gate_is_closed(
    pipeline: Pipeline, given: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("PRIVACY_PLUGIN_LEDGER", raising=False)
    policy = policy_dict()
    del policy["anonymize"]
    pipeline.policy = pp.Policy.from_dict(policy)
    judging(pipeline, pd.DataFrame(people()).drop(columns="name"))
    pipeline.extra_resources = {"ledger": BudgetLedgerResource(url=given)}
    result = pipeline.run()
    assert not result.success
    assert outcome(result)["privacy_budget_delta_0_01_privacy_unit_row"] is False
    assert pipeline.read("release") is None
    assert len(pipeline.certificate_files()) == 1  # the refusal
    assert "secretplace" not in written_down(pipeline, caplog)


def test_a_test_generator_never_opens_the_gate(pipeline: Pipeline, address: str) -> None:
    """A table drawn with a fixed seed replaces the drawn table."""
    ledger = open_ledger(address)
    pipeline = drawing(pipeline, address)
    made = pp.synthesize(
        pd.DataFrame(people()),
        columns=["sex", "zip"],
        epsilon=1,
        ledger=ledger,
        dataset="visits",
        generator=np.random.default_rng(1),
    )
    pipeline.write("drawn", made.table)
    result = pipeline.run_selection(dg.AssetSelection.checks_for_assets("drawn"))
    assert outcome(result)["privacy_budget_delta_0_01_privacy_unit_row"] is False


def test_great_expectations_uses_the_same_ledger(pipeline: Pipeline, address: str) -> None:
    open_ledger(address)
    pipeline = drawing(pipeline, address)
    pipeline.definitions[2] = build_privacy_checks(
        asset="drawn", table="drawn", policy=pipeline.policy, via="great_expectations"
    )
    result = pipeline.run()
    assert result.success, errors(result)
    assert outcome(result)["great_expectations"] is True


def test_an_infeasible_policy_raises_at_definition() -> None:
    given = policy_dict()
    del given["anonymize"]
    policy = pp.Policy.from_dict(given)
    with pytest.raises(pp.PrivacyPluginError, match="no generalization meets it"):
        build_anonymized_asset(name="drawn", asset="raw", policy=policy)


def test_a_component_with_a_randomized_method_shows_no_url(
    pipeline: Pipeline, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_ledger(address)
    pipeline.write("raw", pd.DataFrame(people()))
    monkeypatch.setenv("TEST_LEDGER", address)
    given = attributes(pipeline.url, ledger_url="{{ env.TEST_LEDGER }}")
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent, defs_yaml_contents={"type": TYPE, "attributes": given}
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            assert SECRET not in shown_by_dagster(defs)
            result = run(defs, "anonymized", "release")
            assert result.success, errors(result)
            assert pipeline.read("release") == pipeline.read("anonymized")


def test_a_url_from_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_LEDGER", address)
    resource = BudgetLedgerResource()
    assert SECRET not in shown_by_dagster(dg.Definitions(resources={"ledger": resource}))
    open_ledger(address)
    with resource.in_use() as ledger:
        assert ledger is not None
        assert ledger.entries() == ()


def test_budget_spent_after_the_checks_stops_the_release(pipeline: Pipeline, address: str) -> None:
    ledger = open_ledger(address, epsilon=9)
    pipeline = drawing(pipeline, address)
    assert pipeline.run("drawn").success
    ledger.reserve(dataset="visits", unit="row", epsilon=1, mechanism="a colleague's")
    assert released(pipeline.run("release"))  # two in all, which is what the policy allows
    ledger.reserve(dataset="visits", unit="row", epsilon=1, mechanism="a colleague's")
    result = pipeline.run("release")
    assert not released(result)
    assert "would not pass now: privacy budget (delta=0.01, privacy_unit=row) is 3" in errors(result)


def test_a_release_without_the_ledger_raises_an_error(
    pipeline: Pipeline, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIVACY_PLUGIN_LEDGER", raising=False)
    open_ledger(address)
    pipeline = drawing(pipeline, address)
    assert pipeline.run("drawn").success
    pipeline.extra_resources = {"ledger": BudgetLedgerResource()}
    result = pipeline.run("release")
    assert not released(result)
    assert "no budget ledger is in use" in errors(result)


@pytest.mark.parametrize("defined", ["here", "in the environment", "in a variable of its own"])
def test_a_run_configuration_cannot_replace_the_ledger(
    pipeline: Pipeline, address: str, tmp_path: Path, defined: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster lets a run configuration replace values of a resource, and with them the remaining budget."""
    official = open_ledger(address, epsilon=1)
    drawing(pipeline, address)
    monkeypatch.setenv("OUR_LEDGER" if "own" in defined else "PRIVACY_PLUGIN_LEDGER", address)
    urls = {"here": address, "in the environment": "", "in a variable of its own": dg.EnvVar("OUR_LEDGER")}
    pipeline.extra_resources = {"ledger": BudgetLedgerResource(url=urls[defined])}
    first = pipeline.run()
    assert first.success, errors(first)
    before = pipeline.read("drawn"), pipeline.read("release")
    brought = f"sqlite:///{tmp_path / 'brought.db'}"
    other = open_ledger(brought)
    config = {"resources": {"ledger": {"config": {"url": brought}}}}
    drawn = pipeline.run("drawn", run_config=config)
    assert errors(drawn).startswith("privacy_plugin.errors.ParameterError: the run configuration names another ledger")
    judged = pipeline.run_selection(dg.AssetSelection.checks_for_assets("drawn"), run_config=config)
    assert not any(outcome(judged).values())
    assert not pipeline.run("release", run_config=config).success
    assert (pipeline.read("drawn"), pipeline.read("release")) == before
    assert (len(official.entries()), len(other.entries())) == (1, 0)
