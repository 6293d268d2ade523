"""Functions that another user of the database defines do not replace the built-in ones."""

from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.sources import Source, open_source

# What a user may put before DuckDB's own: one class of everybody, forty-two people in it, the same hash for all.
MACROS = (
    "isnan(x) AS true",
    "count_star() AS 42",
    "count(x) AS 42",
    "sha256(x) AS 'same'",
    "strlen(x) AS 1",
    "concat(x, y) AS 'same'",
    "substr(x, y, z) AS 'abc'",
    "string_agg(x, y) AS 'same'",
    "hex(x) AS 'same'",
    "epoch_us(x) AS 1",
    "add(x, y) AS 1",
    '"+"(x, y) AS 1',
    '"-"(x, y) AS 0',
    "\"||\"(x, y) AS 'same'",
    "current_database() AS 'same'",
    "duckdb_tables() AS TABLE SELECT 1",
)
ROWS = "SELECT 1.5 AS weight, 'a' AS name, now() AS seen, 'x'::BLOB AS raw UNION ALL SELECT 2.5, 'b', NULL, 'y'::BLOB"


def same_answers(plain: Source, shadowed: Source) -> None:
    assert shadowed.row_count() == plain.row_count() == 2
    for unit in (None, "name"):
        tables = [source.frequencies(["weight"], unit=unit) for source in (plain, shadowed)]
        assert [table.counts.tolist() for table in tables] == [[1, 1], [1, 1]]
    assert shadowed.fingerprint() == plain.fingerprint()


def test_duckdb_relations() -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS {ROWS}")
        before = open_source(connection.table("t"))
        with before.snapshot() as plain:
            for macro in MACROS:
                connection.execute(f"CREATE MACRO {macro}")
            same_answers(plain, open_source(connection.table("t")))


def test_duckdb_tables(tmp_path: Path) -> None:
    engine = sa.create_engine(f"duckdb:///{tmp_path}/house.db")
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t AS {ROWS}")
    source = pp.sql_table(engine, "t")
    before = source.fingerprint()
    with engine.begin() as connection:
        for macro in MACROS:
            connection.exec_driver_sql(f"CREATE MACRO {macro}")
    assert source.row_count() == 2
    with source.snapshot() as held:
        assert held.frequencies(["weight"]).counts.tolist() == [1, 1]
        assert held.frequencies(["weight"], unit="name").counts.tolist() == [1, 1]
        assert held.fingerprint() == before


@pytest.fixture
def shadowing(postgresql: sa.Engine) -> sa.Engine:
    """PostgreSQL where another user's functions fit their arguments better than its own."""
    with postgresql.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (age integer, person text)")
        connection.exec_driver_sql("INSERT INTO t VALUES (30, 'a'), (30, 'a'), (41, 'b')")
        for kind in ("text", "bytea"):
            connection.exec_driver_sql(
                f"CREATE FUNCTION many(bigint, {kind}) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 42::bigint'"
            )
            connection.exec_driver_sql(
                f"CREATE AGGREGATE count({kind}) (SFUNC = many, STYPE = bigint, INITCOND = '42')"
            )
    return postgresql


@pytest.mark.postgres
def test_postgresql_counts_itself(shadowing: sa.Engine) -> None:
    with shadowing.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(DISTINCT person) FROM t").scalar_one() == 42
    source = pp.sql_table(shadowing, "t")
    assert source.frequencies(["age"], unit="person").counts.tolist() == [1, 1]
    assert source.fingerprint().rows == 3


@pytest.mark.postgres
def test_a_temporary_type_does_not_shadow_pg_catalog(postgresql: sa.Engine) -> None:
    """PostgreSQL looks for types among temporary ones first, whatever the search path."""
    rows = "SELECT zip::bpchar(5), zip::numeric AS number, zip::varchar COLLATE blind AS cod, zip AS code"
    with postgresql.execution_options(isolation_level="REPEATABLE READ").connect() as connection:
        connection.exec_driver_sql(
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
        connection.exec_driver_sql(f"CREATE TABLE t AS {rows} FROM (VALUES ('12345'), ('12399')) given(zip)")
        connection.exec_driver_sql("INSERT INTO t VALUES ('12345', 1, 'x', 'x'), ('12345', 1, 'X', 'X')")
        connection.commit()
        source = pp.sql_table(connection, "t")
        before = source.fingerprint()
        connection.exec_driver_sql("CREATE DOMAIN pg_temp.text AS varchar(3)")
        assert source.frequencies(["zip"]).counts.tolist() == [3, 1]
        assert source.frequencies(["cod"]).counts.tolist() == [1, 1, 1, 1]
        assert source.fingerprint() == before
