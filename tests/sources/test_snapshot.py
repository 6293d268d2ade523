"""A snapshot holds one state of the data, whatever happens to its source."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import SourceError
from privacy_plugin.sources import open_source, sql_table
from tests.sources.loading import DATABASES, ENGINES, LOADERS, text_table
from tests.sources.people import PEOPLE


@pytest.mark.parametrize("engine", ENGINES)
def test_a_snapshot_answers_like_its_source(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](PEOPLE, tmp_path))
    with source.snapshot() as held:
        assert held.fingerprint() == source.fingerprint()
        assert held.columns == source.columns
        assert held.frequencies(["name"]).rows == held.row_count() == 3


@pytest.mark.parametrize("engine", DATABASES)
def test_a_snapshot_sees_one_state(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](PEOPLE, tmp_path)
    name = source._origin.parts[-1]
    if engine == "sqlite":  # readers and a writer at once need the write-ahead log
        with source._bind.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL").all()
    elif engine == "duckdb":  # a second connection of the same database
        source = sql_table(sa.create_engine(source._bind.url, poolclass=sa.pool.QueuePool), name)
    before = source.fingerprint()
    with source.snapshot() as held:
        with source._bind.begin() as connection:
            connection.exec_driver_sql(f"DELETE FROM {name} WHERE name = 'Ann'")
        assert held.row_count() == 3
        assert held.fingerprint() == before
    assert source.row_count() == 2
    assert source.fingerprint() != before


@pytest.mark.postgres
def test_a_running_transaction_cannot_become_a_snapshot(tmp_path: Path) -> None:
    source = LOADERS["postgresql"](PEOPLE, tmp_path)
    with source._bind.connect() as connection:
        connection.execute(sa.text("SELECT 1")).all()
        inside = sql_table(connection, source._origin.parts[-1])
        with pytest.raises(SourceError, match="read committed"), inside.snapshot():
            pass
        assert inside.row_count() == 3
        connection.rollback()
        with inside.snapshot() as held:
            assert held.row_count() == 3


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_changes_is_refused(suffix: str, tmp_path: Path) -> None:
    path = LOADERS[suffix](PEOPLE, tmp_path)
    other = LOADERS[suffix](text_table(name=["Eve"]), tmp_path)
    source = open_source(path)
    with pytest.raises(SourceError, match="changed after it was opened"), source.snapshot():
        path.write_bytes(other.read_bytes())
    with pytest.raises(SourceError, match="changed after it was opened"), source.snapshot():
        pass


def test_lazy_frames_are_held_by_a_snapshot(tmp_path: Path) -> None:
    import duckdb
    import polars as pl

    path = LOADERS["parquet"](PEOPLE, tmp_path)
    with open_source(pl.scan_parquet(path)).snapshot() as held:
        LOADERS["parquet"](text_table(name=["Eve"]), tmp_path).rename(path)
        assert held.row_count() == 3
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with open_source(connection.table("t")).snapshot() as held:
        connection.execute("INSERT INTO t VALUES (2)")
        assert held.row_count() == 1
    assert open_source(connection.table("t")).row_count() == 2


@pytest.mark.spark
def test_spark_plans_are_held_by_a_snapshot(spark: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "numbers")
    spark.range(5).write.parquet(folder)
    with open_source(spark.read.parquet(folder)).snapshot() as held:
        spark.range(9).write.mode("append").parquet(folder)
        assert held.row_count() == 5
        assert held.frequencies(["id"]).rows == 5
