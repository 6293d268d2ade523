"""`check --dbt-manifest`: the models of a dbt project whose meta names a policy, without Dagster."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run, document, words
from tests.dbt_projects import run_dbt, standard_project, write_project
from tests.engines import postgresql_database


@pytest.fixture(scope="module", params=["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that dbt has built; its profile names the database, with one value from the environment."""
    folder = tmp_path_factory.mktemp(request.param) / "project"
    if request.param == "duckdb":
        standard_project(folder, {"type": "duckdb", "path": "{{ env_var('CLINIC_DATABASE', 'clinic.duckdb') }}"})
        run_dbt(folder, "build")
        return folder
    made = postgresql_database().url
    output = {"type": "postgres", "host": made.host, "port": made.port, "user": made.username, "dbname": made.database}
    standard_project(folder, {**output, "password": "{{ env_var('CLINIC_PASSWORD', '') }}"})
    run_dbt(folder, "build")
    return folder


def test_models_are_checked_in_the_database_of_the_profile(project: Path, run: Run, tmp_path: Path) -> None:
    manifest = project / "target" / "manifest.json"
    passed = run("check", "--dbt-manifest", manifest, "--dbt-model", "safe_visits", "--json")
    assert passed.exit_code == 0, passed.output
    assert list(document(passed)["models"]) == ["model.clinic.safe_visits"]
    chosen = ["--dbt-model", "safe_visits", "--dbt-model", "unsafe_visits"]
    failed = run("check", "--dbt-manifest", manifest, *chosen, "--certificate-folder", tmp_path / "c", "--json")
    assert failed.exit_code == 1
    found = document(failed)
    assert found["passed"] is False
    assert {name: one["passed"] for name, one in found["models"].items()} == {
        "model.clinic.safe_visits": True,
        "model.clinic.unsafe_visits": False,
    }
    certificates = {name: json.loads(Path(one["certificate"]).read_text()) for name, one in found["models"].items()}
    assert len({str(content) for content in certificates.values()}) == 2


def test_a_missing_table_of_one_model_judges_none(project: Path, run: Run, tmp_path: Path) -> None:
    """Nothing has made the table `generalized` here: no certificate of another model is written either."""
    given = ["--dbt-manifest", project / "target" / "manifest.json", "--certificate-folder", tmp_path / "c"]
    result = run("check", *given)
    assert result.exit_code == 2
    assert "generalized" in words(result)
    assert not (tmp_path / "c").exists()


@pytest.fixture
def unbuilt(tmp_path: Path) -> Path:
    """Return a project with a small manifest, as `dbt parse` writes it, and no database."""
    folder = write_project(tmp_path / "project", {"type": "duckdb", "path": "clinic.duckdb"}, [], {})
    node = {"name": "visits", "alias": "visits", "resource_type": "model", "schema": "main", "columns": {}}
    node["config"] = {"materialized": "table", "meta": {"privacy": {"policy": "policies/visits.yaml"}}}
    (folder / "target").mkdir()
    (folder / "target" / "manifest.json").write_text(json.dumps({"nodes": {"model.clinic.visits": node}}))
    return folder


def change_profile(folder: Path, **output: Any) -> None:
    profile = {"clinic": {"target": "dev", "outputs": {"dev": {"schema": "main", **output}}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"type": "duckdb", "path": "clinic.duckdb"}, "clinic.duckdb' does not exist"),
        ({"type": "duckdb", "path": "md:zqsecret"}, "pass --url instead"),
        ({"type": "snowflake", "password": "zqsecret"}, "pass --url instead"),
        ({"type": "postgres", "host": "h", "password": "{{ env_var('ABSENT_VARIABLE') }}"}, "ABSENT_VARIABLE"),
        ({"type": "postgres", "host": "h", "password": "{{ var('zqsecret') }}"}, "uses Jinja other than env_var"),
        ({"type": "postgres", "host": "127.0.0.1", "port": 1, "password": "zqsecret"}, "cannot connect"),
    ],
)
def test_a_profile_that_cannot_be_used(unbuilt: Path, run: Run, output: dict[str, Any], message: str) -> None:
    """One sentence, exit code 2, and no password of the profile."""
    change_profile(unbuilt, **output)
    result = run("check", "--dbt-manifest", unbuilt / "target" / "manifest.json")
    assert result.exit_code == 2
    assert message in words(result)


def test_other_wrong_inputs(unbuilt: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(unbuilt))  # no ~/.dbt of the person who runs the tests
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    manifest = unbuilt / "target" / "manifest.json"
    given = ["check", "--dbt-manifest", manifest]
    for arguments, message in (
        ([*given, "--policy", "policy.yaml"], "leave out --policy"),
        ([*given, "--dbt-model", "visit"], "did you mean 'visits'"),
        ([*given, "--dbt-target", "deve"], "did you mean 'dev'"),
        ([*given, "--dbt-profiles", unbuilt / "absent"], "no profiles.yml"),
        (["check", "--dbt-manifest", unbuilt / "absent.json"], "cannot read the dbt manifest"),
        (["check", "visits.csv"], "pass --policy, or --dbt-manifest"),
        (["check", "-p", "policy.yaml", "--dbt-model", "visits"], "need --dbt-manifest"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert message in words(result)
    (unbuilt / "profiles.yml").write_text("clinic: {password: 'zqsecret")
    assert "is not valid YAML" in words(run(*given))
    (unbuilt / "dbt_project.yml").unlink()
    assert "no dbt_project.yml" in words(run(*given))
