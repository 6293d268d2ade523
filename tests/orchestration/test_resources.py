"""The warehouse and the certificate store as resources."""

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster._serdes import serialize_value

from privacy_plugin.errors import ColumnError, ParameterError, SourceError
from privacy_plugin.orchestration import CertificateStoreResource, WarehouseResource, build_release_asset
from privacy_plugin.orchestration.check_results import check_names
from privacy_plugin.orchestration.resources import file_name, table_name
from privacy_plugin.policy.policy import Policy
from privacy_plugin.requirements.requirement import require
from tests.orchestration.pipeline import policy_dict


def test_the_engine_is_created_once_and_disposed_with_the_run(tmp_path: Path) -> None:
    seen = []

    @dg.op
    def first(warehouse: WarehouseResource) -> None:
        seen.append((warehouse.engine, warehouse.engine is warehouse.engine))
        with warehouse.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE made AS SELECT 1 AS one")

    @dg.job(resource_defs={"warehouse": WarehouseResource(url=f"duckdb:///{tmp_path / 'new folder' / 'house.db'}")})
    def job() -> None:
        first()

    assert job.execute_in_process().success
    ((engine, same),) = seen
    assert same
    assert engine.pool.checkedin() == 0
    again = WarehouseResource(url=f"duckdb:///{tmp_path / 'new folder' / 'house.db'}?access_mode=read_only")
    assert again.table("made").columns == ("one",)
    again.dispose()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_a_missing_database_file_raises_and_is_not_created(dialect: str, tmp_path: Path) -> None:
    warehouse = WarehouseResource(url=f"{dialect}:///{tmp_path / 'mistyped' / 'house.db'}")
    with pytest.raises(SourceError, match=r"the database file '.*mistyped/house\.db' does not exist"):
        warehouse.table("visits")
    assert not list(tmp_path.iterdir())


def test_duckdb_writes_no_progress_bars(tmp_path: Path) -> None:
    """DuckDB takes a program without a main file, such as the processes of `dagster dev`, for a terminal."""
    program = """if True:
        import sys
        from privacy_plugin.orchestration import WarehouseResource
        with WarehouseResource(url=sys.argv[1]).engine.connect() as connection:
            print(connection.exec_driver_sql("SELECT current_setting('enable_progress_bar')").scalar())
    """
    command = [sys.executable, "-c", program, f"duckdb:///{tmp_path / 'house.db'}"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.parametrize("url", ["", "no url", "nonsense://me:MARKER-PASSWORD@host/x", "postgresql+nodriver://h/x"])
def test_an_unusable_url_is_redacted(url: str) -> None:
    with pytest.raises(SourceError, match="cannot use the warehouse URL") as found:
        _ = WarehouseResource(url=url).engine
    assert "MARKER-PASSWORD" not in str(found.value)
    assert found.value.__suppress_context__


def test_a_url_from_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVACY_PLUGIN_WAREHOUSE", "postgresql+psycopg://me:MARKER-PASSWORD@host/x")
    defs = dg.Definitions(resources={"warehouse": WarehouseResource.from_environment()})
    shown = serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
    assert "PRIVACY_PLUGIN_WAREHOUSE" in shown
    assert "MARKER-PASSWORD" not in shown


def test_partition_rows_are_selected_for_every_column_type(tmp_path: Path) -> None:
    warehouse = WarehouseResource(url=f"duckdb:///{tmp_path / 'house.db'}")
    with warehouse.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE visits AS "
            "SELECT DATE '2024-01-01' + CAST(i % 2 AS INTEGER) AS day, i AS number FROM range(10) t(i)"
        )
    day = warehouse.table("visits", partition="2024-01-02", partition_column="day")
    assert day.row_count() == 5
    assert warehouse.table("visits", partition="3", partition_column="number").row_count() == 1
    with pytest.raises(ColumnError, match="did you mean 'day'"):
        warehouse.table("visits", partition="x", partition_column="dya")
    warehouse.dispose()


def test_a_partition_key_is_quoted_as_one_name() -> None:
    assert table_name("a.b_{partition}", partition='x"; DROP TABLE y.--') == '"a"."b_x""; DROP TABLE y.--"'
    assert table_name("a.b", partition="x") == "a.b"


def test_file_names_of_assets_and_partitions_are_unique() -> None:
    keys = [["a"], ["a", "b"], ["a-b"], ["a", "b", "c"], ["ä"], ["A" * 200], ["A" * 201]]
    names = {file_name(dg.AssetKey(key), partition) for key in keys for partition in (None, "x", "../x", "b")}
    assert len(names) == len(keys) * 4
    assert all("/" not in name and ".." not in name and len(name) < 100 for name in names)


def test_reports_have_a_link_with_a_reports_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = CertificateStoreResource(folder=str(tmp_path), reports_url="https://reports.example/privacy/")
    path = given.report_path(dg.AssetKey("visits"))
    url = dg.MetadataValue.url("https://reports.example/privacy/visits.html")
    assert given.report_metadata(path) == {"report": url, "report file": dg.MetadataValue.path(str(path))}
    monkeypatch.setenv("PRIVACY_PLUGIN_REPORTS_URL", "http://127.0.0.1:8000")
    plain = CertificateStoreResource(folder=str(tmp_path))
    assert plain.report_metadata(path)["report"] == dg.MetadataValue.url("http://127.0.0.1:8000/visits.html")


def test_without_a_reports_url_metadata_explains_how_to_set_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Browsers do not follow links from Dagster's pages to local files."""
    monkeypatch.delenv("PRIVACY_PLUGIN_REPORTS_URL", raising=False)
    store = CertificateStoreResource(folder=str(tmp_path))
    found = store.report_metadata(store.report_path(dg.AssetKey("visits")))
    assert isinstance(found["report"], dg.TextMetadataValue)
    assert "set PRIVACY_PLUGIN_REPORTS_URL" in str(found["report"].value)


def test_checks_of_equal_metrics_have_different_names() -> None:
    requirements = [
        require("l_diversity", variant="distinct", sensitive="a b", at_least=2),
        require("l_diversity", variant="distinct", sensitive="a_b", at_least=2),
        require("k_anonymity", at_least=5),
        require("k_anonymity", at_least=11),
    ]
    assert check_names(requirements) == (
        "l_diversity_distinct_a_b",
        "l_diversity_distinct_a_b_2",
        "k_anonymity",
        "k_anonymity_2",
    )


def test_a_release_cannot_replace_its_input() -> None:
    with pytest.raises(ParameterError, match="is also the table that is read"):
        build_release_asset(
            name="visits", asset="raw", policy=Policy.from_dict(policy_dict()), table="visits", target="visits"
        )
