"""dbt models whose meta names a policy get their gate and their release from one call over the manifest."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster_dbt import DagsterDbtTranslator, DbtCliResource, DbtProject, dbt_assets

from privacy_plugin.errors import ParameterError, PolicyError, SourceError
from privacy_plugin.orchestration import (
    CertificateStoreResource,
    WarehouseResource,
    build_privacy_checks_from_dbt,
)
from tests.dbt_projects import POLICY, ROLES, model, run_dbt, standard_project
from tests.engines import postgresql_database

DATABASES = ["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(scope="module", params=DATABASES)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[DbtProject, str]:
    """Return a project that dbt has parsed, and the URL of its database."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "duckdb":
        output: dict[str, Any] = {"type": "duckdb", "path": str(folder / "clinic.duckdb")}
        url = f"duckdb:///{folder / 'clinic.duckdb'}"
    else:
        made = postgresql_database().url
        output = {"type": "postgres", "host": made.host, "port": made.port, "user": made.username}
        output |= {"password": "", "dbname": made.database}
        url = made.render_as_string()
    standard_project(folder / "project", output)
    run_dbt(folder / "project", "parse")
    return DbtProject(project_dir=folder / "project", profiles_dir=folder / "project"), url


class Prefixed(DagsterDbtTranslator):
    def get_asset_key(self, dbt_resource_props: Any) -> dg.AssetKey:
        return super().get_asset_key(dbt_resource_props).with_prefix("clinic")


def run(project: DbtProject, url: str, folder: Path) -> dg.ExecuteInProcessResult:
    translator = Prefixed()

    @dbt_assets(manifest=project.manifest_path, project=project, dagster_dbt_translator=translator)
    def built(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Any:
        yield from dbt.cli(["build"], context=context).stream()

    resources = {
        "warehouse": WarehouseResource(url=url),
        "certificates": CertificateStoreResource(folder=str(folder)),
        "dbt": DbtCliResource(project_dir=project, dbt_executable=str(Path(dg.__file__).parents[4] / "bin" / "dbt")),
    }
    gates = build_privacy_checks_from_dbt(manifest=project, dagster_dbt_translator=translator)
    defs = dg.Definitions.merge(dg.Definitions(assets=[built], resources=resources), gates)
    return defs.resolve_implicit_global_asset_job_def().execute_in_process(raise_on_error=False)


def test_models_are_built_judged_and_released(project: tuple[DbtProject, str], tmp_path: Path) -> None:
    """dbt builds, the gates judge: the safe and the generalized table are released, the unsafe one is refused."""
    result = run(*project, tmp_path)
    outcomes = {
        (each.asset_key.path[-1], str(each.check_name)): each.passed for each in result.get_asset_check_evaluations()
    }
    assert outcomes[("safe_visits", "k_anonymity")]
    assert outcomes[("safe_visits", "privacy_structure")]
    assert outcomes[("generalized", "k_anonymity")]
    assert not outcomes[("unsafe_visits", "k_anonymity")]
    assert {name for name, _ in outcomes} == {"safe_visits", "unsafe_visits", "generalized"}
    made = {event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key}
    assert {"clinic/safe_visits_release", "clinic/generalized", "clinic/released"} <= made
    engine = sa.create_engine(project[1])
    with engine.connect() as connection:
        tables = set(sa.inspect(connection).get_table_names(schema="analytics"))
        smallest = connection.exec_driver_sql(
            "SELECT min(n) FROM (SELECT count(*) AS n FROM analytics.released GROUP BY age, zip) AS classes"
        ).scalar_one()
    engine.dispose()
    assert smallest >= 3
    assert {"safe_visits_release", "released"} <= tables
    assert not any(name.startswith("unsafe_visits_") for name in tables)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a manifest of dbt, whose nodes the tests change."""
    folder = standard_project(tmp_path_factory.mktemp("dbt") / "project", {"type": "duckdb", "path": "clinic.duckdb"})
    loaded: dict[str, Any] = json.loads(run_dbt(folder, "parse").read_text())
    return {**loaded, "project_dir": str(folder)}


def changed(manifest: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Return the manifest with other meta of safe_visits, as a project without the other policies."""
    nodes = {
        key: node for key, node in manifest["nodes"].items() if not key.endswith((".unsafe_visits", ".raw_visits"))
    }
    node = dict(nodes["model.clinic.safe_visits"])
    properties = model("safe_visits", **given)
    columns = {each["name"]: each for each in properties["columns"]}
    config = {**node["config"], **properties.get("config", {"meta": {}})}
    return {
        **manifest,
        "nodes": {**nodes, node["unique_id"]: {**node, "config": config, "meta": {}, "columns": columns}},
    }


REQUIREMENTS = {"requirements": POLICY["requirements"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"privacy": {"policy": "absent.yaml"}}, "dbt model 'safe_visits': cannot read the policy"),
        ({"privacy": {"police": "visits.yaml"}}, "did you mean 'policy'"),
        ({"privacy": "visits.yaml"}, "must be a mapping"),
        ({"privacy": {"policy": "policies/visits.yaml", **REQUIREMENTS}}, "both policy and requirements"),
        ({"privacy": {"policy": "policies/visits.yaml"}, "columns": {"age": "sensitive"}}, "give it one"),
        ({"columns": ROLES}, "requirements"),
        ({"privacy": REQUIREMENTS}, "needs columns"),
        ({"privacy": {**REQUIREMENTS, "release": 3}, "columns": ROLES}, "release must be the name of a table"),
        ({"privacy": False}, "no model of the dbt project has a policy"),
    ],
)
def test_wrong_meta_is_refused_when_definitions_load(manifest: dict[str, Any], given: Any, message: str) -> None:
    with pytest.raises((PolicyError, ParameterError), match=message):
        build_privacy_checks_from_dbt(manifest=changed(manifest, **given), project_dir=manifest["project_dir"])


def test_a_model_without_a_table_is_refused(manifest: dict[str, Any]) -> None:
    given = changed(manifest, privacy={"policy": "policies/visits.yaml"})
    given["nodes"]["model.clinic.safe_visits"]["config"]["materialized"] = "ephemeral"
    with pytest.raises(PolicyError, match="is ephemeral, so that no table can be judged"):
        build_privacy_checks_from_dbt(manifest=given, project_dir=manifest["project_dir"])


def test_observed_models_are_measured_only(manifest: dict[str, Any]) -> None:
    built = build_privacy_checks_from_dbt(manifest=manifest, project_dir=manifest["project_dir"], mode="observe")
    assert not list(built.assets or ())
    keys = {key for each in built.asset_checks or () for key in each.check_keys}  # type: ignore[union-attr]
    assert {key.asset_key.path[-1] for key in keys} == {"safe_visits", "unsafe_visits", "raw_visits"}


def test_the_population_may_be_a_model(manifest: dict[str, Any]) -> None:
    privacy = {"requirements": [{"k_map": {"at_least": 2}}], "population": "without_policy"}
    given = changed(manifest, privacy=privacy, columns=ROLES)
    built = build_privacy_checks_from_dbt(manifest=given, project_dir=manifest["project_dir"])
    (gate,) = built.asset_checks or ()
    dependencies = {dep.asset_key for spec in gate.check_specs for dep in spec.additional_deps}  # type: ignore[union-attr]
    assert dg.AssetKey("without_policy") in dependencies


def test_partitions_of_a_column(manifest: dict[str, Any]) -> None:
    months = dg.MonthlyPartitionsDefinition(start_date="2024-01-01")
    given = changed(manifest, privacy={**REQUIREMENTS, "partition_column": "month"}, columns=ROLES)
    built = build_privacy_checks_from_dbt(manifest=given, project_dir=manifest["project_dir"], partitions_def=months)
    (release,) = built.assets or ()
    assert isinstance(release, dg.AssetsDefinition)
    assert release.partitions_def == months
    target = release.metadata_by_key[dg.AssetKey("safe_visits_release")]["dagster/table_name"]
    assert target == '"clinic"."analytics"."safe_visits_release_{partition}"'


def test_what_is_not_a_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"zqsecret": ')
    for given in (tmp_path / "absent.json", tmp_path / "manifest.json", {}, 3):
        with pytest.raises((ParameterError, SourceError), match="manifest") as raised:
            build_privacy_checks_from_dbt(manifest=given)
        assert "zqsecret" not in str(raised.value)
