"""Publishing: what was verified is what is put in place, and a refusal leaves everything as it was."""

import pickle
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import CertificateError, ColumnError, ParameterError, SourceError
from privacy_plugin.sources import Source, SqlTable, open_source, sql_table
from tests.engines import spark_session
from tests.sources.loading import DATABASES, ENGINES, FRAMES, LOADERS, Table, text_table
from tests.sources.test_recode import tables

TABLE = Table(
    kinds={"name": "text", "age": "integer", "score": "float"},
    values={"name": ["Ann", "Bob", None], "age": [30, None, 41], "score": [0.1, 0.30000000000000004, None]},
)


def target_of(engine: str, folder: Path) -> str | None:
    if engine in ("csv", "parquet"):
        return str(folder / f"published.{engine}")
    return "published" if engine in ("sqlite", "duckdb", "postgresql") else None


@pytest.mark.parametrize("engine", ENGINES)
def test_verified_then_placed(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](TABLE, tmp_path)
    source = open_source(data)
    target = target_of(engine, tmp_path)
    expected = source.fingerprint(["age", "name"])
    seen: list[Any] = []

    def verify(copy: Source) -> None:
        seen.append((copy.columns, copy.fingerprint(), copy.row_count()))
        if engine in ("csv", "parquet"):
            assert not Path(str(target)).exists()

    published = open_source(source.publish(target, columns=["age", "name"], verify=verify))
    assert seen == [(("age", "name"), expected, 3)]
    assert published.columns == ("age", "name")
    assert published.fingerprint() == expected
    assert source.fingerprint(["age", "name"]) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_refused(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](TABLE, tmp_path))
    target = target_of(engine, tmp_path)
    old = None
    if target is not None:
        old = open_source(source.publish(target, columns=["score"], verify=lambda copy: None)).fingerprint()
    files = sorted(tmp_path.iterdir())

    def refuse(copy: Source) -> None:
        assert copy.row_count() == 3
        raise CertificateError("not covered")

    with pytest.raises(CertificateError, match="not covered"):
        source.publish(target, columns=["name"], verify=refuse)
    with pytest.raises(ColumnError):
        source.publish(target, columns=["nme"], verify=lambda copy: None)
    with pytest.raises(ColumnError):
        source.publish(target, columns=[], verify=lambda copy: None)
    assert sorted(tmp_path.iterdir()) == files
    if isinstance(source, SqlTable):
        assert sql_table(source._bind, "published").fingerprint() == old
        assert not [name for name in tables(source) if "privacy_plugin" in name]
    elif target is not None:
        assert open_source(target).fingerprint() == old


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_do_not_come_in_the_order_of_the_source(engine: str, tmp_path: Path) -> None:
    """Sorted by name, a release would say who is who to anybody with the list of names."""
    by_name = [str(100 + 37 * place % 60) for place in range(60)]
    source = open_source(LOADERS[engine](text_table(zip=by_name), tmp_path))
    target = target_of(engine, tmp_path)
    published = source.publish(target, columns=["zip"], verify=lambda copy: None)
    shown = _in_order(published, target)
    assert shown != by_name
    assert sorted(shown) == sorted(by_name)


def _in_order(published: Any, target: str | None) -> list[str]:
    """Read the only column, row by row as they stand."""
    if isinstance(published, SqlTable):
        with published._bind.connect() as connection:
            return [
                str(row[0]) for row in connection.execute(sa.select(sa.text("*")).select_from(sa.text("published")))
            ]
    if target is not None:
        published = duckdb.sql(f"SELECT zip FROM '{target}'")
    if isinstance(published, pl.LazyFrame):
        published = published.collect()
    frame = published.toArrow() if hasattr(published, "toArrow") else published
    frame = frame.to_arrow_table() if isinstance(frame, duckdb.DuckDBPyRelation) else frame
    return [str(value) for value in (frame["zip"].to_pylist() if isinstance(frame, pa.Table) else frame["zip"])]


@pytest.mark.parametrize("engine", FRAMES)
def test_frames_are_returned(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](TABLE, tmp_path)
    assert type(open_source(data).publish(None, columns=["age"], verify=lambda copy: None)) is type(data)
    with pytest.raises(ParameterError, match="leave out the target"):
        open_source(data).publish("elsewhere", columns=["age"], verify=lambda copy: None)


@pytest.mark.parametrize("engine", DATABASES)
@pytest.mark.parametrize("name", ['"a""b"', '"a.b"', '"100%"', '"%s"', '"x; drop table t"', "select", '"a:b"'])
def test_awkward_targets(engine: str, name: str, tmp_path: Path) -> None:
    source = LOADERS[engine](TABLE, tmp_path)
    for _ in range(2):  # new, then replaced
        published = source.publish(name, columns=["name"], verify=lambda copy: None)
    assert published.fingerprint() == sql_table(source._bind, name).fingerprint() == source.fingerprint(["name"])


@pytest.mark.parametrize("engine", DATABASES)
def test_other_schemas(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](TABLE, tmp_path)
    name = source._origin.parts[-1]
    if engine == "sqlite":
        schema = "main"
        name = f"{name}2"
    else:
        schema = "other schema"
        with source._bind.begin() as connection:
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    published = source.publish(f'"{schema}".{name}', columns=["name", "age"], verify=lambda copy: None)
    assert published.columns == ("name", "age")
    assert source.columns == ("name", "age", "score")
    with pytest.raises(SourceError, match="publishing failed"):
        source.publish("nowhere.t", columns=["name"], verify=lambda copy: None)


@pytest.mark.parametrize("engine", DATABASES)
def test_views_of_the_target_stay(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](TABLE, tmp_path)
    target = "seen" if engine != "postgresql" else f"seen_{source._origin.parts[-1]}"
    source.publish(target, columns=["name"], verify=lambda copy: None)
    before = sql_table(source._bind, target).fingerprint()
    with source._bind.begin() as connection:
        connection.exec_driver_sql(f"CREATE VIEW v_{target} AS SELECT name FROM {target}")
    if engine == "postgresql":  # there a view holds its table fast: nothing may change
        with pytest.raises(SourceError, match="2BP01"):
            source.publish(target, columns=["name", "age"], verify=lambda copy: None)
        assert sql_table(source._bind, target).fingerprint() == before
        return
    source.publish(target, columns=["name", "age"], verify=lambda copy: None)
    assert sql_table(source._bind, f"v_{target}").fingerprint() == before


@pytest.mark.parametrize("engine", DATABASES)
def test_inside_the_callers_transaction(engine: str, tmp_path: Path) -> None:
    """A connection's own transaction decides: rolled back, nothing was published; a refusal leaves it usable."""
    source = LOADERS[engine](TABLE, tmp_path)
    bind = source._bind.execution_options(isolation_level="REPEATABLE READ") if engine == "postgresql" else source._bind
    target = f"mine_{source._origin.parts[-1]}"

    def refuse(copy: Source) -> None:
        raise CertificateError("not covered")

    with bind.connect() as connection:
        connection.execute(sa.text("SELECT 1")).all()
        inside = sql_table(connection, source._origin.parts[-1])
        with pytest.raises(CertificateError):
            inside.publish(target, columns=["name"], verify=refuse)
        assert not [table for table in tables(inside) if "privacy_plugin" in table]
        published = inside.publish(target, columns=["name"], verify=lambda copy: None)
        assert published.row_count() == 3
        connection.rollback()
    with pytest.raises(SourceError):
        _ = sql_table(source._bind, target).columns
    with bind.connect() as connection:
        sql_table(connection, source._origin.parts[-1]).publish(target, columns=["name"], verify=lambda copy: None)
    assert sql_table(source._bind, target).row_count() == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_snapshot_answers_like_its_source(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](TABLE, tmp_path))
    with source.snapshot() as held:
        assert held.fingerprint() == source.fingerprint()
        assert held.columns == source.columns
        assert held.frequencies(["name"]).rows == held.row_count() == 3


@pytest.mark.parametrize("engine", DATABASES)
def test_a_snapshot_sees_one_state(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](TABLE, tmp_path)
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
    source = LOADERS["postgresql"](TABLE, tmp_path)
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
def test_a_file_that_changes_gives_no_answers(suffix: str, tmp_path: Path) -> None:
    path = LOADERS[suffix](TABLE, tmp_path)
    other = LOADERS[suffix](text_table(name=["Eve"]), tmp_path)
    source = open_source(path)
    with pytest.raises(SourceError, match="changed after it was opened"), source.snapshot():
        path.write_bytes(other.read_bytes())
    with pytest.raises(SourceError, match="changed after it was opened"), source.snapshot():
        pass


def test_lazy_frames_are_held_by_a_snapshot(tmp_path: Path) -> None:
    import duckdb
    import polars as pl

    path = LOADERS["parquet"](TABLE, tmp_path)
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


SECRET = "of one who was left out"


def _stored_frames() -> dict[str, Any]:
    """Frames whose columns may still store a text of a row that was taken out."""
    shown = [f"long enough to be stored apart {row}" for row in range(60)]
    texts = [*shown, SECRET]
    polars = pl.DataFrame(
        {
            "text": texts,
            "bytes": [text.encode() for text in texts],
            "list": [[text] for text in texts],
            "record": [{"field": text} for text in texts],
            "category": pl.Series(texts, dtype=pl.Categorical),
            "enumeration": pl.Series(texts, dtype=pl.Enum(texts)),
        }
    )
    dictionary = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    pandas = pd.DataFrame({"category": texts, "dictionary": texts}).astype(
        {"category": "category", "dictionary": dictionary}
    )
    encoded = pa.dictionary(pa.int32(), pa.string())
    arrow = pa.table(
        {
            "text": texts,
            "list": [[text] for text in texts],
            "list of a dictionary": pa.array([[text] for text in texts], pa.list_(encoded)),
            "record of a dictionary": pa.array([{"field": text} for text in texts], pa.struct([("field", encoded)])),
            "pair of a dictionary": pa.array([[text, text] for text in texts], pa.list_(encoded, 2)),
            "map of a dictionary": pa.array([[(text, text)] for text in texts], pa.map_(pa.string(), encoded)),
            "list of a view": pa.array([[text] for text in texts], pa.list_(pa.string_view())),
        }
    )
    return {
        "polars, filtered": polars.filter(pl.col("text") != SECRET),
        "polars, sliced": polars.slice(0, 60),
        "pandas, sliced": pandas.iloc[:60],
        "pandas, filtered": pandas[[True] * 60 + [False]],
        "arrow, sliced": arrow.slice(0, 60),
        "pandas of Arrow, sliced": arrow.to_pandas(types_mapper=pd.ArrowDtype).iloc[:60],
    }


@pytest.mark.parametrize("case", _stored_frames())
def test_nothing_is_stored_of_rows_that_were_left_out(case: str) -> None:
    """Dagster's IO manager pickles what is released; a text that no row shows could still be in it."""
    frame = _stored_frames()[case]
    source = open_source(frame)
    published = source.publish(None, columns=source.columns, verify=lambda copy: None)
    assert open_source(published).fingerprint() == source.fingerprint()
    assert SECRET.encode() not in pickle.dumps(published)


@pytest.mark.parametrize("through", ["sqlalchemy", "relation"])
def test_an_enumeration_lists_no_value_of_rows_that_were_left_out(through: str) -> None:
    """Made of all values of a column, it goes on naming those that a generalization dropped."""
    engine = sa.create_engine("duckdb:///:memory:", poolclass=sa.StaticPool)
    with engine.begin() as connection:
        for statement in (
            f"CREATE TABLE raw AS SELECT 'flu' AS disease UNION ALL SELECT '{SECRET}'",
            "CREATE TYPE diseases AS ENUM (SELECT DISTINCT disease FROM raw)",
            "CREATE TABLE judged AS SELECT CAST(disease AS diseases) AS disease FROM raw WHERE disease = 'flu'",
        ):
            connection.exec_driver_sql(statement)
        raw: Any = connection.connection.driver_connection
    data = sql_table(engine, "judged") if through == "sqlalchemy" else raw.table("judged")
    source = open_source(data)
    staged: list[Any] = []
    target = "released" if through == "sqlalchemy" else None
    released = source.publish(target, columns=["disease"], verify=lambda copy: staged.append(copy.fingerprint()))
    assert staged == [source.fingerprint()]
    shown = raw.table("released") if through == "sqlalchemy" else released
    assert SECRET not in str(shown.types)
    assert shown.fetchall() == [("flu",)]


@pytest.mark.spark
def test_what_spark_keeps_beside_a_column_stays_behind() -> None:
    """An indexer of Spark's writes all labels of a column into its metadata."""
    from pyspark.sql import functions

    labels = {"ml_attr": {"vals": ["flu", SECRET]}}
    frame = spark_session().createDataFrame([("flu",)] * 3, ["a `disease`"])
    marked = frame.select(functions.col("`a ``disease```").alias("a `disease`", metadata=labels))
    assert SECRET in marked.schema.json()
    published = open_source(marked).publish(None, columns=["a `disease`"], verify=lambda copy: None)
    assert SECRET not in published.schema.json()
    assert published.columns == ["a `disease`"]
