"""Names of tables, invalid names, and error messages without secrets."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.sources import sql_table
from privacy_plugin.sources.sql.dialect import dialect_of
from privacy_plugin.sources.sql.origin import split_name
from tests.sources.databases import run
from tests.sources.loading import shared_postgresql


def test_properties_of_a_table(sqlite: sa.Engine) -> None:
    with sqlite.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE "a""b" AS SELECT 1 AS x')
    table = sql_table(sqlite, 'main."a""b"')
    assert (table.bind, table.name, table.engine) == (sqlite, '"main"."a""b"', "sqlite")
    with sqlite.connect() as connection:
        assert connection.execute(sa.select(sa.text("*")).select_from(table.selectable)).all() == [(1,)]
        assert connection.exec_driver_sql(f"SELECT * FROM {table.name}").all() == [(1,)]
    assert sql_table(sqlite, sa.text("SELECT 1 AS x")).name is None


def test_objects_that_are_not_tables(sqlite: sa.Engine) -> None:
    with pytest.raises(SourceError, match="cannot read int as a table"):
        sql_table(sqlite, 5)
    with pytest.raises(SourceError, match="cannot use str as a database"):
        sql_table("sqlite://", "t")  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="does it exist"):
        _ = sql_table(sqlite, "missing").columns
    for statement in ("DROP TABLE t", "INSERT INTO t VALUES (1)", "nonsense"):
        with pytest.raises(SourceError):
            _ = sql_table(sqlite, sa.text(statement)).columns


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_schemas_that_an_engine_replaces(engine: str, request: pytest.FixtureRequest) -> None:
    """What is asked through the driver would go to another table than what is asked through SQLAlchemy."""
    bind: sa.Engine = request.getfixturevalue(engine)
    replacing = bind.execution_options(schema_translate_map={"main": "elsewhere"})
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer), schema="main")
    run(bind, "CREATE TABLE t AS SELECT 1 AS a")
    for asked in (table, sa.select(table)):
        assert sql_table(bind, asked).row_count() == 1
        with pytest.raises(SourceError, match="schema_translate_map"):
            sql_table(replacing, asked)
    assert sql_table(replacing, "main.t").frequencies(["a"]).rows == 1


def test_unsupported_databases_are_refused() -> None:
    with pytest.raises(
        SourceError, match=r"mysql is not supported; .*valid are duckdb, mariadb, postgresql, sqlite\. How a"
    ):
        dialect_of(mysql.dialect())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("t", ("t",)),
        ("s.t", ("s", "t")),
        ('"s.x"."t""y"', ("s.x", 't"y')),
        ('s."t"', ("s", "t")),
        ("c.s.t", ("c", "s", "t")),
    ],
)
def test_names(name: str, parts: tuple[str, ...]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize("name", ["", ".", "s.", ".t", "a.b.c.d", '"t', '"t"x', '""'])
def test_invalid_names(name: str) -> None:
    with pytest.raises(ParameterError):
        split_name(name)


def test_no_password_in_messages() -> None:
    url = "postgresql+psycopg://someone:secret@127.0.0.1:1/db?password=hidden&connect_timeout=2"
    with pytest.raises(SourceError, match=r"postgresql at 127\.0\.0\.1:1, database 'db'") as caught:
        _ = sql_table(sa.create_engine(url), "t").columns
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_database_that_another_process_holds(engine: str, tmp_path: Path) -> None:
    """Runs at the same time are the usual reason, and the name of an error says nothing of it."""
    path = tmp_path / "house.db"
    bind = sa.create_engine(f"{engine}:///{path}", connect_args={"timeout": 0} if engine == "sqlite" else {})
    run(bind, "CREATE TABLE t AS SELECT 1 AS a")
    bind.dispose()
    opened = {
        "sqlite": "import sqlite3; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE')",
        "duckdb": "import duckdb; c = duckdb.connect(sys.argv[1])",
    }
    program = f"import sys; {opened[engine]}; print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(SourceError, match="another process has the file open"):
            sql_table(bind, "t").publish("released", columns=["a"], verify=lambda _: None)
        other.communicate()
    assert sql_table(bind, "t").publish("released", columns=["a"], verify=lambda _: None).row_count() == 1


@pytest.mark.postgres
def test_no_values_in_messages() -> None:
    query = sa.text("SELECT CAST(v AS int) AS a FROM (VALUES ('marker-4711')) AS t(v)")
    with pytest.raises(SourceError) as caught:
        sql_table(shared_postgresql(), query).frequencies(["a"])
    assert "marker" not in str(caught.value)
    assert caught.value.__suppress_context__
