"""What is a stored table, whose rows are the same at every read of a transaction, and what has to be copied first."""

from pathlib import Path

import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.errors import SourceError
from privacy_plugin.sources.sql.dialect import dialect_of
from privacy_plugin.sources.sql.origin import resolve_origin, split_name


def stored(connection: sa.Connection, *names: str) -> list[bool]:
    return [dialect_of(connection.dialect).is_stored_table(connection, split_name(name)) for name in names]


def run(connection: sa.Connection, *statements: str) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)


@pytest.mark.postgres
def test_in_postgresql(postgresql: sa.Engine) -> None:
    with postgresql.begin() as connection:
        run(
            connection,
            "CREATE TABLE plain (a integer)",
            "CREATE MATERIALIZED VIEW kept AS SELECT * FROM plain",
            "CREATE VIEW seen AS SELECT * FROM plain",
            "CREATE FOREIGN DATA WRAPPER elsewhere",
            "CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere",
            "CREATE FOREIGN TABLE far (a integer) SERVER elsewhere",
            "CREATE TABLE whole (a integer) PARTITION BY LIST (a)",
            "CREATE TABLE near PARTITION OF whole FOR VALUES IN (1)",
            "CREATE TABLE partly (a integer) PARTITION BY LIST (a)",
            "CREATE FOREIGN TABLE distant PARTITION OF partly FOR VALUES IN (1) SERVER elsewhere",
            "CREATE ROLE reader",
            "CREATE TABLE guarded (a integer)",
            "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
            "CREATE POLICY picking ON guarded USING (random() < 0.5)",
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
        )
        assert stored(connection, "plain", "public.plain", "kept", "whole", "near") == [True] * 5
        assert stored(connection, "seen", "far", "partly", "distant", "nowhere") == [False] * 5
        run(connection, "SET LOCAL ROLE reader")
        assert stored(connection, "plain", "guarded") == [True, False]
        run(connection, "RESET ROLE", "CREATE TEMPORARY VIEW plain AS SELECT 1 AS a")
        assert stored(connection, "plain", "public.plain") == [False, True]
        run(connection, "DROP VIEW pg_temp.plain", "DROP OWNED BY reader", "DROP ROLE reader")


def test_in_duckdb(tmp_path: Path) -> None:
    with sa.create_engine(f"duckdb:///{tmp_path}/house.db").begin() as connection:
        run(
            connection,
            "CREATE SCHEMA wing",
            "CREATE TABLE plain (a integer)",
            "CREATE TABLE wing.plain (a integer)",
            "CREATE VIEW seen AS SELECT * FROM plain",
            "CREATE TABLE computed (a integer, b double GENERATED ALWAYS AS (random() * a))",
        )
        names = ("plain", "PLAIN", "main.plain", "wing.plain", "house.plain", "house.wing.plain")
        assert stored(connection, *names) == [True] * 6
        assert stored(connection, "seen", "computed", "nowhere", '"plain.csv"') == [False] * 4
        run(connection, "CREATE TEMPORARY VIEW plain AS SELECT random() AS a")
        assert stored(connection, "plain", "wing.plain") == [False, True]


def test_in_sqlite() -> None:
    with sa.create_engine("sqlite://").begin() as connection:
        run(
            connection,
            "CREATE TABLE plain (a TEXT)",
            "CREATE VIEW seen AS SELECT random() AS a",
            "CREATE VIRTUAL TABLE searched USING fts5(a)",
            "INSERT INTO plain VALUES ('x'), ('X')",
        )
        assert stored(connection, "plain", "PLAIN", "main.plain") == [True] * 3
        assert stored(connection, "seen", "searched", "nowhere") == [False] * 3
        source = pp.sql_table(connection, "plain")
        run(connection, "CREATE TEMPORARY TABLE plain (a TEXT COLLATE NOCASE)")
        run(connection, "INSERT INTO temp.plain VALUES ('y'), ('Y'), ('z')")
        assert source.frequencies(["a"]).counts.tolist() == [1, 1, 1]
        run(connection, "DROP TABLE temp.plain", "CREATE TEMPORARY VIEW plain AS SELECT random() AS a")
        assert stored(connection, "plain", "main.plain") == [False, True]


def test_queries_that_pick_rows_of_one_table() -> None:
    """Of these and no others it is enough that the table is stored."""
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer), schema="wing")
    picking = sa.select(table).where(sa.cast(table.c.a, sa.String) == "x", table.c.a.in_([1, 2])).order_by(table.c.a)
    dialect = sa.create_engine("sqlite://").dialect
    whole = sa.select(sa.text("*")).select_from(table).where(sa.text("1 = 1"))
    for query in (picking, picking.subquery(), whole, sa.select(sa.literal_column("*")).select_from(table.alias("x"))):
        assert resolve_origin(query, dialect).base_table == ("wing", "t")
    other = sa.table("other", sa.column("a"))
    for query in (
        sa.select(table).where(sa.func.random() > 0),
        sa.select(table).where(sa.text("random() > 0")),
        sa.select(sa.literal_column("random()")).select_from(table),
        sa.select(table).limit(3),
        sa.select(table).offset(3),
        sa.select(sa.tablesample(table, 10)),
        sa.select(table).prefix_with("ANYTHING"),
        sa.select(table).where(table.c.a.op("##")(1)),
        sa.select(table).where(table.c.a == sa.bindparam("drawn", callable_=lambda: 1)),
        sa.select(table, other),
        sa.union(sa.select(table), sa.select(table)),
        sa.text("SELECT * FROM t"),
        sa.values(sa.column("a", sa.Integer), name="given").data([(1,)]),
    ):
        assert resolve_origin(query, dialect).base_table == ()


@pytest.mark.parametrize("kind", ["UNION(number INTEGER, text VARCHAR)", "UNION(number INTEGER, text VARCHAR)[]"])
def test_values_that_look_alike_are_refused(kind: str, tmp_path: Path) -> None:
    """The text of DuckDB's unions does not say whether it is the number 1 or the text '1'."""
    engine = sa.create_engine(f"duckdb:///{tmp_path}/house.db")
    with engine.begin() as connection:
        run(connection, f"CREATE TABLE t (a INTEGER, tagged {kind})")
    source = pp.sql_table(engine, "t")
    assert source.frequencies(["a"]).rows == 0
    for question in (lambda: source.frequencies(["tagged"]), source.fingerprint):
        with pytest.raises(SourceError, match="cast it first"):
            question()
