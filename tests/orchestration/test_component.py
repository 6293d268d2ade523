"""The component: listed by `dg`, scaffolded, and working from a defs.yaml."""

import json
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from privacy_plugin.orchestration import PrivacyGateComponent, WarehouseResource
from privacy_plugin.policy.policy import Policy
from tests.orchestration.components import TYPE, attributes, dg_command, project, run, shown_by_dagster
from tests.orchestration.pipeline import Pipeline, errors, outcome, policy_dict, raw_rows, unsafe_rows


def test_a_defs_yaml_builds_all_assets_and_checks(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.write("raw", raw_rows())
    monkeypatch.setenv("TEST_WAREHOUSE", pipeline.url)
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent,
            defs_yaml_contents={"type": TYPE, "attributes": attributes("{{ env.TEST_WAREHOUSE }}")},
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            result = run(defs, "anonymized", "release")
            assert result.success, errors(result)
            assert all(outcome(result).values())
            assert pipeline.read("release")
            assert list((sandbox.project_root / "privacy" / "certificates").rglob("*.json"))


def test_file_paths_are_relative_to_the_project(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any working directory: a new database file elsewhere would have no table."""
    pipeline.write("raw", raw_rows())
    made = Path(str(pipeline.url).partition(":///")[2])
    monkeypatch.chdir(tmp_path)
    with create_defs_folder_sandbox() as sandbox:
        scheme = str(pipeline.url).partition(":")[0]
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent,
            defs_yaml_contents={"type": TYPE, "attributes": attributes(f"{scheme}:///house.file")},
        )
        (sandbox.project_root / "house.file").write_bytes(made.read_bytes())
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            result = run(defs, "anonymized", "release")
            assert result.success, errors(result)
    assert not (tmp_path / "house.file").exists()


def test_a_component_with_multidimensional_presence(pipeline: Pipeline) -> None:
    everybody = raw_rows(120)
    pipeline.write("register", everybody.drop(columns=["name", "disease"]))
    pipeline.write("raw", everybody.iloc[::3])
    policy = policy_dict(
        requirements=[{"delta_presence": {"between": [0.1, 0.6]}}], anonymize={"method": "multidimensional_presence"}
    )
    with create_defs_folder_sandbox() as sandbox:
        given = attributes(pipeline.url, population_table="register")
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent, defs_yaml_contents={"type": TYPE, "attributes": given}
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            result = run(defs, "anonymized", "release")
            assert result.success, errors(result)
            assert outcome(result) == {"privacy_structure": True, "delta_presence": True}
            assert len(pipeline.read("release") or []) == 40


def test_without_an_anonymized_table_the_source_itself_is_judged(pipeline: Pipeline) -> None:
    pipeline.write("raw", unsafe_rows())
    with create_defs_folder_sandbox() as sandbox:
        given = attributes(pipeline.url, anonymized_table=None, automatic=True)
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent, defs_yaml_contents={"type": TYPE, "attributes": given}
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            result = run(defs, "release")
            assert not result.success
            assert "no certificate for" in errors(result)
            assert pipeline.read("release") is None


@pytest.mark.parametrize("anonymized", [True, False])
def test_checks_run_with_the_anonymized_asset(pipeline: Pipeline, anonymized: bool) -> None:
    """In a separate run they would read a table that does not exist yet; external sources need such a run."""
    given = {"automatic": True, **({} if anonymized else {"anonymized_table": None})}
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent,
            defs_yaml_contents={"type": TYPE, "attributes": attributes(pipeline.url, **given)},
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            conditions = [spec.automation_condition for check in defs.asset_checks or [] for spec in check.check_specs]
            assert conditions
            assert [condition is None for condition in conditions] == [anonymized] * len(conditions)


def test_a_password_in_the_url_is_not_shown() -> None:
    url = "postgresql+psycopg://me:MARKER-PASSWORD@nowhere.invalid/house"
    written_down = dg.Definitions(resources={"warehouse": WarehouseResource(url=url)})
    assert "MARKER-PASSWORD" in shown_by_dagster(written_down)
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=PrivacyGateComponent, defs_yaml_contents={"type": TYPE, "attributes": attributes(url)}
        )
        (path / "policy.yaml").write_text(yaml.safe_dump(policy_dict()))
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            shown = shown_by_dagster(defs)
            assert "release_warehouse" in shown
            assert "MARKER-PASSWORD" not in shown
            result = run(defs, "anonymized")
            assert not result.success
            assert "MARKER-PASSWORD" not in errors(result)


def test_scaffolded_definitions_load() -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=PrivacyGateComponent)
        assert Policy.load(path / "policy.yaml").dataset == "visits"
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
            assert {"visits_anonymized", "visits_release"} <= keys


@pytest.mark.slow
def test_dg_lists_checks_and_launches_the_component(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.write("raw", raw_rows())
    folder = project(tmp_path / "project", attributes(pipeline.url), policy_dict())
    listed = json.loads(dg_command(folder, "list", "components", "--json"))
    assert TYPE in json.dumps(listed)
    assert "loaded successfully" in dg_command(folder, "check", "defs")
    dg_command(folder, "launch", "--assets", "anonymized,release")
    assert pipeline.read("release")
