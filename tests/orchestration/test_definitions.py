"""The reference pipeline: it loads, one job fails and the other passes."""

import importlib.util
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest

from privacy_plugin.orchestration import WarehouseResource
from tests.orchestration.pipeline import errors, outcome

FILE = Path(__file__).parents[2] / "privacy_plugin" / "demo" / "definitions.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("house")


@pytest.fixture(scope="module")
def module(folder: Path) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIVACY_PLUGIN_WAREHOUSE", f"duckdb:///{folder / 'house.duckdb'}")
        patch.setenv("PRIVACY_PLUGIN_OUTPUT", str(folder / "output"))
        patch.setenv("PRIVACY_PLUGIN_DEMO_ROWS", "3000")
        specification = importlib.util.spec_from_file_location("reference_pipeline", FILE)
        assert specification is not None
        assert specification.loader is not None
        loaded = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(loaded)
        yield loaded


def tables(folder: Path) -> set[str]:
    warehouse = WarehouseResource(url=f"duckdb:///{folder / 'house.duckdb'}")
    with warehouse.engine.connect() as connection:
        found = {row[0] for row in connection.exec_driver_sql("SELECT table_name FROM information_schema.tables")}
    warehouse.dispose()
    return found


def test_dagster_validates_the_definitions(module: ModuleType) -> None:
    dg.Definitions.validate_loadable(module.defs)
    jobs = {job.name for job in module.defs.resolve_all_job_defs()}
    assert {"release_as_is", "release_anonymized"} <= jobs


def test_a_policy_with_a_population_loads(module: ModuleType) -> None:
    assert module.POLICY.rules.needs_population
    dg.Definitions.validate_loadable(runpy.run_path(str(FILE))["defs"])


def test_the_original_table_fails_and_is_not_released(module: ModuleType, folder: Path) -> None:
    result = module.defs.resolve_job_def("release_as_is").execute_in_process(raise_on_error=False)
    assert not result.success
    assert outcome(result)["k_anonymity"] is False
    assert "visits_as_is_release" not in tables(folder)
    alone = module.defs.resolve_job_def("release_as_is").execute_in_process(
        asset_selection=[dg.AssetKey("visits_as_is_release")], raise_on_error=False
    )
    assert not alone.success
    assert "is closed" in errors(alone)
    assert "visits_as_is_release" not in tables(folder)


def test_the_generalized_table_passes_and_is_certified(module: ModuleType, folder: Path) -> None:
    result = module.defs.resolve_job_def("release_anonymized").execute_in_process(raise_on_error=False)
    assert result.success, errors(result)
    assert all(outcome(result).values())
    assert "visits_release" in tables(folder)
    assert list((folder / "output" / "releases").glob("visits_release*.json"))
    assert (folder / "output" / "reports" / "visits_anonymized.html").stat().st_size > 0


def test_loading_the_definitions_reads_no_data() -> None:
    """No control flow, and one function: the asset that generates the data."""
    import ast

    tree = ast.parse(FILE.read_text())
    kinds = {type(node) for node in ast.walk(tree)}
    assert not kinds & {ast.For, ast.While, ast.If, ast.Try, ast.With, ast.Lambda, ast.ClassDef}
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["hospital"]
