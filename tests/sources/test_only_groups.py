"""Only groups come back: the engines' own accounts of what they did."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlalchemy as sa

from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.metrics.presence.population_join import one_meaning
from privacy_plugin.sources import open_source, sql_table
from privacy_plugin.sources.frames.polars_source import plan_groups
from privacy_plugin.sources.population_join import join_groups
from tests.sources.loading import LOADERS, Table, pair

ROWS, GROUPS = 20_000, 12
TABLE = Table(
    kinds={"a": "text", "b": "integer", "person": "integer"},
    values={
        "a": [f"v{i % 4}" for i in range(ROWS)],
        "b": [i % 3 for i in range(ROWS)],
        "person": [i // 2 for i in range(ROWS)],
    },
)
FEW = Table(kinds=TABLE.kinds, values={name: list(values[:2]) for name, values in TABLE.values.items()})
JOINED = 3  # the two groups of the few rows, and one line for everybody else
DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.mark.parametrize("engine", DATABASES)
def test_databases(engine: str, tmp_path: Path) -> None:
    """Every statement that ran is run again by hand, and its rows are counted."""
    source = LOADERS[engine](TABLE, tmp_path)
    ran: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        ran.append((statement, parameters))

    sa.event.listen(source._bind, "after_cursor_execute", note)
    assert source.frequencies(["a", "b"]).distinct == GROUPS
    grouped = list(ran)
    source.frequencies(["a", "b"], unit="person")
    source.row_count()
    source.fingerprint()
    sa.event.remove(source._bind, "after_cursor_execute", note)
    assert any("GROUP BY" in statement for statement, _ in grouped)
    assert returned(source, grouped) <= GROUPS + 10  # the columns' types come as rows, too
    if engine == "sqlite":  # the hash function is gone with its connection
        ran = [(statement, parameters) for statement, parameters in ran if "privacy_plugin_collect" not in statement]
        assert len(ran) < len(grouped) * 4
    assert returned(source, ran) <= 2 * GROUPS + 4096 + 40


def returned(source: Any, statements: list[tuple[str, Any]]) -> int:
    with source._bind.connect() as connection:
        results = [connection.exec_driver_sql(statement, parameters) for statement, parameters in statements]
        return sum(len(result.all()) for result in results if result.returns_rows)


@pytest.mark.postgres
def test_postgresql_plans_an_aggregate(tmp_path: Path) -> None:
    source = LOADERS["postgresql"](TABLE, tmp_path)
    statements: list[str] = []
    sa.event.listen(source._bind, "before_cursor_execute", lambda c, u, statement, *rest: statements.append(statement))
    source.frequencies(["a", "b"])
    query = next(statement for statement in statements if "GROUP BY" in statement)
    with source._bind.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN {query}").scalars().all()
    assert "Aggregate" in plan[0]


def test_duckdb_relations(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.register("loaded", TABLE.arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM loaded")
    connection.execute("PRAGMA enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{tmp_path}/profile.json'")
    assert open_source(connection.table("t")).frequencies(["a", "b"]).distinct == GROUPS
    assert rows_collected(tmp_path / "profile.json") == GROUPS


def test_duckdb_tables(tmp_path: Path) -> None:
    with LOADERS["duckdb"](TABLE, tmp_path)._bind.connect() as connection:
        connection.exec_driver_sql("PRAGMA enable_profiling = 'json'")
        connection.exec_driver_sql(f"SET profiling_output = '{tmp_path}/profile.json'")
        assert sql_table(connection, "t").frequencies(["a", "b"]).distinct == GROUPS
        assert rows_collected(tmp_path / "profile.json") == GROUPS


def rows_collected(profile: Path) -> int:
    """How many rows reached the result of DuckDB's last query, which must have grouped."""
    text = profile.read_text()
    assert "HASH_GROUP_BY" in text
    collector = json.loads(text)["operator"][0]
    assert "COLLECTOR" in collector["type"]
    return int(collector["children"][0]["intermediate_rows"])


def test_polars_plans_an_aggregate(tmp_path: Path) -> None:
    frame = pl.scan_parquet(LOADERS["parquet"](TABLE, tmp_path))
    groups = plan_groups(frame, frame.collect_schema(), ["a", "b"], None)
    assert groups.explain().startswith("AGGREGATE")
    assert groups.collect().height == GROUPS


@pytest.mark.spark
def test_spark_plans_an_aggregate(tmp_path: Path) -> None:
    source: Any = open_source(LOADERS["spark"](TABLE, tmp_path))
    groups = source.groups(["a", "b"])
    plan = groups._jdf.queryExecution().optimizedPlan().toString()
    assert plan.startswith("Aggregate")
    assert groups.count() == GROUPS


@pytest.mark.parametrize("engine", DATABASES)
def test_only_shared_groups_of_a_population_are_read(engine: str, tmp_path: Path) -> None:
    few, everybody = pair(engine, FEW, TABLE, tmp_path)
    ran: list[tuple[str, Any]] = []
    sa.event.listen(few.bind, "after_cursor_execute", lambda c, u, text, given, *rest: ran.append((text, given)))
    joined = join_groups(few, everybody, ["a", "b"])
    assert joined is not None
    assert (joined.population.other_groups, joined.population.rows) == (GROUPS - 2, ROWS)
    (query,) = [(text, given) for text, given in ran if "GROUP BY" in text]
    assert returned(few, [query]) == JOINED


@pytest.mark.parametrize("generalized", [False, True])
def test_of_a_population_in_the_same_duckdb(generalized: bool, tmp_path: Path) -> None:
    connection = duckdb.connect()
    for name, table in (
        (("few", GENERAL), ("everybody", PEOPLE)) if generalized else (("few", FEW), ("everybody", TABLE))
    ):
        connection.register("loaded", table.arrow())
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")
    few, everybody = (open_source(connection.table(name)) for name in ("few", "everybody"))
    connection.execute("PRAGMA enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{tmp_path}/profile.json'")
    assert join_groups(few, everybody, ["a", "b"], MEANING if generalized else None) is not None
    assert rows_collected(tmp_path / "profile.json") == JOINED


@pytest.mark.spark
def test_of_a_population_in_the_same_spark(tmp_path: Path) -> None:
    sources: list[Any] = [open_source(frame) for frame in pair("spark", FEW, TABLE, tmp_path)]
    assert sources[0].joined(sources[1], ["a", "b"])[0].count() == JOINED


WIDE, LONG = 40, 50  # values of two columns: 2,000 distinct rows
PEOPLE = Table(
    kinds={"a": "text", "b": "integer"},
    values={"a": [f"v{i % WIDE}" for i in range(2_000)], "b": [i // WIDE for i in range(2_000)]},
)
GENERAL = Table(kinds={"a": "text", "b": "text"}, values={"a": ["even", "odd"], "b": ["low", "low"]})
MEANING = partial(
    one_meaning,
    {
        "a": TableHierarchy({f"v{i}": (("even", "odd")[i % 2],) for i in range(WIDE)}),
        "b": TableHierarchy({i: ("low" if i < LONG // 2 else "high",) for i in range(LONG)}),
    },
)


@pytest.mark.parametrize("engine", DATABASES)
def test_of_a_population_that_is_generalized_there_the_values_of_its_columns_too(engine: str, tmp_path: Path) -> None:
    """Each query is asked again while the temporary tables that it reads are there."""
    few, everybody = pair(engine, GENERAL, PEOPLE, tmp_path)
    came: list[int] = []

    def ask_again(connection: Any, cursor: Any, text: str, given: Any, context: Any, many: bool) -> None:
        if text.lstrip().startswith("SELECT"):
            again = connection.connection.driver_connection.cursor()
            came.append(len(again.execute(text, given).fetchall()))

    sa.event.listen(few.bind, "after_cursor_execute", ask_again)
    joined = join_groups(few, everybody, ["a", "b"], MEANING)
    assert joined is not None
    assert (joined.population.groups.rows, joined.population.other_groups) == (1_000, 1_000)
    assert (max(came), came[-1]) == (LONG, JOINED)
    assert sum(came) < 3 * (WIDE + LONG)


@pytest.mark.spark
def test_of_a_population_that_is_generalized_in_the_same_spark(tmp_path: Path) -> None:
    sources: list[Any] = [open_source(frame) for frame in pair("spark", GENERAL, PEOPLE, tmp_path)]
    assert sources[0].joined(sources[1], ["a", "b"], MEANING)[0].count() == JOINED
