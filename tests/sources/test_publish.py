"""Publishing: what was verified is what is put in place, and a refusal leaves everything as it was."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import CertificateError, ColumnError, ParameterError, SourceError
from privacy_plugin.sources import Source, SqlTable, open_source, sql_table
from tests.sources.databases import tables
from tests.sources.loading import DATABASES, ENGINES, FRAMES, LOADERS, target_of, text_table
from tests.sources.people import PEOPLE


@pytest.mark.parametrize("engine", ENGINES)
def test_verified_then_placed(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](PEOPLE, tmp_path)
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
    source = open_source(LOADERS[engine](PEOPLE, tmp_path))
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
    data = LOADERS[engine](PEOPLE, tmp_path)
    assert type(open_source(data).publish(None, columns=["age"], verify=lambda copy: None)) is type(data)
    with pytest.raises(ParameterError, match="remove the target"):
        open_source(data).publish("elsewhere", columns=["age"], verify=lambda copy: None)


@pytest.mark.parametrize("engine", DATABASES)
@pytest.mark.parametrize("name", ['"a""b"', '"a.b"', '"100%"', '"%s"', '"x; drop table t"', "select", '"a:b"'])
def test_awkward_targets(engine: str, name: str, tmp_path: Path) -> None:
    source = LOADERS[engine](PEOPLE, tmp_path)
    for _ in range(2):  # new, then replaced
        published = source.publish(name, columns=["name"], verify=lambda copy: None)
    assert published.fingerprint() == sql_table(source._bind, name).fingerprint() == source.fingerprint(["name"])


@pytest.mark.parametrize("engine", DATABASES)
def test_other_schemas(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](PEOPLE, tmp_path)
    name = source._origin.parts[-1]
    if engine == "sqlite":
        schema = "main"
        name = f"{name}2"
    else:
        schema = "other schema"
        with source._bind.begin() as connection:
            quoted = connection.dialect.identifier_preparer.quote_identifier(schema)
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {quoted}")
    published = source.publish(f'"{schema}".{name}', columns=["name", "age"], verify=lambda copy: None)
    assert published.columns == ("name", "age")
    assert source.columns == ("name", "age", "score")
    with pytest.raises(SourceError, match="publishing failed"):
        source.publish("nowhere.t", columns=["name"], verify=lambda copy: None)


# Tables that a bare name means too, where there is none of that name in the place of new tables.
ELSEWHERE = {
    "sqlite": ["ATTACH ':memory:' AS elsewhere"],
    "duckdb": ["CREATE SCHEMA elsewhere", "SET search_path = 'main,elsewhere'"],
    "postgresql": ["CREATE SCHEMA elsewhere", "SET search_path = public, elsewhere"],
    "mariadb": ["CREATE OR REPLACE SCHEMA elsewhere"],  # one for all databases, and only by its full name
}


@pytest.fixture
def two_schemas(request: pytest.FixtureRequest, engine: str) -> Iterator[sa.Connection]:
    """Give a session in which `one` lies in the place of new tables, `two` elsewhere and `three` is temporary."""
    bind: sa.Engine = request.getfixturevalue(engine)
    levels = {"postgresql": "REPEATABLE READ", "mariadb": "AUTOCOMMIT"}
    level = {"isolation_level": levels[engine]} if engine in levels else {}
    with bind.execution_options(**level).connect() as connection:
        statements = [*ELSEWHERE[engine], "CREATE TABLE one (a int)", "CREATE TABLE elsewhere.two (a int)"]
        for statement in [*statements, "CREATE TEMPORARY TABLE three (a int)"]:
            connection.exec_driver_sql(statement)
            connection.commit()
        for number, name in enumerate(("one", "elsewhere.two", "three"), start=1):
            connection.exec_driver_sql(f"INSERT INTO {name} VALUES {', '.join(['(7)'] * number)}")
            connection.commit()
        yield connection


@pytest.mark.parametrize("engine", DATABASES)
class TestBareNames:
    def test_a_table_elsewhere_is_not_replaced(self, two_schemas: sa.Connection) -> None:
        sql_table(two_schemas, "one").publish("two", columns=["a"], verify=lambda copy: None)
        assert [sql_table(two_schemas, name).row_count() for name in ("two", "elsewhere.two")] == [1, 2]

    @pytest.mark.parametrize(("name", "target"), [("elsewhere.two", "two"), ("two", "elsewhere.two"), ("two", "two")])
    def test_a_table_is_not_written_over_itself(self, two_schemas: sa.Connection, name: str, target: str) -> None:
        if two_schemas.dialect.name == "mariadb":  # there a bare name means nothing elsewhere
            name = target = "elsewhere.two"
        with pytest.raises(ParameterError, match="is the source itself"):
            sql_table(two_schemas, name).publish(target, columns=["a"], verify=lambda copy: None)
        assert sql_table(two_schemas, name).row_count() == 2

    def test_some_rows_of_a_table_are_not_written_over_all(self, two_schemas: sa.Connection) -> None:
        some = sa.select(sa.table("one", sa.column("a"))).where(sa.column("a") == 0)
        with pytest.raises(ParameterError, match="is the source itself"):
            sql_table(two_schemas, some).publish("one", columns=["a"], verify=lambda copy: None)
        assert sql_table(two_schemas, "one").row_count() == 1

    @pytest.mark.parametrize(
        "query",
        [
            "SELECT a FROM one",
            "WITH x AS (SELECT a FROM one) SELECT x.a FROM x, elsewhere.two AS y",
            "SELECT a FROM elsewhere.two WHERE a IN (SELECT max(a) FROM one)",
            "SELECT a FROM of_one",
        ],
    )
    def test_a_query_is_not_written_over_a_table_that_it_reads(self, two_schemas: sa.Connection, query: str) -> None:
        two_schemas.exec_driver_sql("CREATE VIEW of_one AS SELECT a FROM one")
        two_schemas.commit()
        with pytest.raises(ParameterError, match="is the source itself, or shares rows with it"):
            sql_table(two_schemas, sa.text(query)).publish("one", columns=["a"], verify=lambda copy: None)
        assert sql_table(two_schemas, "one").row_count() == 1
        published = sql_table(two_schemas, sa.text(query)).publish("free", columns=["a"], verify=lambda copy: None)
        assert published.row_count() >= 1

    def test_a_view_is_not_written_over_its_table(self, two_schemas: sa.Connection) -> None:
        two_schemas.exec_driver_sql("CREATE VIEW of_one AS SELECT a AS b FROM one")
        two_schemas.commit()
        with pytest.raises(ParameterError, match="is the source itself, or shares rows with it"):
            sql_table(two_schemas, "of_one").publish("one", columns=["b"], verify=lambda copy: None)
        assert sql_table(two_schemas, "one").row_count() == 1

    @pytest.mark.parametrize("name", ["one", "three"])
    def test_a_temporary_table_that_shadows_the_target_is_refused(self, two_schemas: sa.Connection, name: str) -> None:
        rows = sql_table(two_schemas, name).row_count()
        with pytest.raises(ParameterError, match=r"a temporary table shadows|is the source itself"):
            sql_table(two_schemas, name).publish("three", columns=["a"], verify=lambda copy: None)
        assert [sql_table(two_schemas, each).row_count() for each in (name, "three")] == [rows, 3]

    def test_a_temporary_table_is_published(self, two_schemas: sa.Connection) -> None:
        assert sql_table(two_schemas, "three").publish("four", columns=["a"], verify=lambda copy: None).row_count() == 3


@pytest.mark.parametrize("engine", DATABASES)
def test_views_of_the_target_stay(engine: str, tmp_path: Path) -> None:
    source = LOADERS[engine](PEOPLE, tmp_path)
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


@pytest.mark.parametrize("engine", [param for param in DATABASES if param.id != "mariadb"])
def test_inside_the_callers_transaction(engine: str, tmp_path: Path) -> None:
    """A connection's own transaction decides: rolled back, nothing was published; a refusal leaves it usable."""
    source = LOADERS[engine](PEOPLE, tmp_path)
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
