"""What is particular to databases: collations, types, queries as tables, connections."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import ColumnError, HierarchyError, SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import open_source, sql_table
from tests.sources.loading import DATABASES, LOADERS, text_table


def values(source: Any, column: str) -> list[Any]:
    return list(source.frequencies([column]).dictionaries[0])


@pytest.fixture
def sqlite() -> sa.Engine:
    return sa.create_engine("sqlite://")


@pytest.fixture
def duckdb() -> sa.Engine:
    return sa.create_engine("duckdb:///:memory:")


def run(engine: sa.Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            result = connection.exec_driver_sql(statement)
            if result.returns_rows:
                result.all()


class TestSqlite:
    def test_collations_do_not_merge(self, sqlite: sa.Engine) -> None:
        run(
            sqlite,
            "CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT COLLATE RTRIM, u TEXT COLLATE NOCASE)",
            "INSERT INTO t VALUES ('x', 'y', 'p'), ('X', 'y ', 'P'), ('x', 'y', 'p')",
        )
        source = sql_table(sqlite, "t")
        assert values(source, "a") == ["X", "x"]
        assert values(source, "b") == ["y", "y "]
        run(sqlite, "CREATE TABLE one AS SELECT 1 AS k", "CREATE VIEW v AS SELECT t.*, 1 AS k FROM t")
        assert sql_table(sqlite, "v").frequencies(["k"], unit="u").counts.tolist() == [2]
        recoded = source.recode(Recoding(keep=("a",), mappings={"a": {"x": "low", "X": "high"}}), target="r")
        assert recoded.frequencies(["a"]).counts.tolist() == [1, 2]

    def test_mixed_types_stay_apart(self, sqlite: sa.Engine) -> None:
        run(sqlite, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), ('1'), (1.0), (x'31'), (NULL), (1.5), ('1.5')")
        source = sql_table(sqlite, "t")
        table = source.frequencies(["a"])
        assert list(table.dictionaries[0]) == [None, 1, 1.5, "1", "1.5", b"1"]
        assert table.counts.tolist() == [1, 2, 1, 1, 1, 1]
        new: Any = {1: "number", "1": "text", b"1": "bytes", None: None, 1.5: "other number", "1.5": "other text"}
        recoded = source.recode(Recoding(keep=("a",), mappings={"a": new}), target="r")
        assert recoded.frequencies(["a"]).counts.tolist() == [1, 1, 2, 1, 1, 1]

    def test_declared_types(self, sqlite: sa.Engine) -> None:
        run(
            sqlite,
            "CREATE TABLE t (b boolean, d Date, m DATETIME(6))",
            "INSERT INTO t VALUES (1, '2024-02-29', '2024-02-29 00:00:00.000000'), (0, '29.2.2024', 'soon')",
            "INSERT INTO t VALUES (2, '2024-02-30', '2024-02-29 12:30:00'), (NULL, NULL, NULL)",
            "CREATE VIEW v AS SELECT * FROM t",
        )
        for name in ("t", "v"):
            source = sql_table(sqlite, name)
            assert values(source, "b") == [None, False, True, 2]
            assert values(source, "d") == [None, date(2024, 2, 29), "2024-02-30", "29.2.2024"]
            assert values(source, "m") == [None, date(2024, 2, 29), datetime(2024, 2, 29, 12, 30), "soon"]

    def test_declared_types_of_a_select(self, sqlite: sa.Engine) -> None:
        metadata = sa.MetaData()
        people = sa.Table("people", metadata, sa.Column("smoker", sa.Boolean), sa.Column("born", sa.Date))
        metadata.create_all(sqlite)
        with sqlite.begin() as connection:
            connection.execute(sa.insert(people), [{"smoker": True, "born": date(2024, 2, 29)}])
        for source in (sql_table(sqlite, people), sql_table(sqlite, sa.select(people))):
            assert values(source, "smoker") == [True]
            assert values(source, "born") == [date(2024, 2, 29)]

    def test_a_copied_query_keeps_its_texts(self, sqlite: sa.Engine) -> None:
        """SQLite would turn '02138' into 2138 in a column declared STRING, DATE or any other word it does not know."""
        metadata = sa.MetaData()
        people = sa.Table("people", metadata, sa.Column("zip", sa.String), sa.Column("born", sa.Date))
        metadata.create_all(sqlite)
        run(sqlite, "INSERT INTO people VALUES ('02138', '2024-02-29'), ('2138', NULL)")
        source = sql_table(sqlite, sa.select(people))
        copy = source.publish("copy", columns=["zip", "born"], verify=lambda staging: None)
        assert values(copy, "zip") == ["02138", "2138"]
        assert values(copy, "born") == [None, date(2024, 2, 29)]
        assert copy.fingerprint() == source.fingerprint()
        odd = sql_table(sqlite, sa.select(sa.literal_column("'2024'", sa.Date).label("born")))
        with pytest.raises(SourceError, match="would change stored values"):
            odd.publish("copy", columns=["born"], verify=lambda staging: None)
        assert values(sql_table(sqlite, "copy"), "zip") == ["02138", "2138"]

    def test_an_unknown_column_is_no_constant(self, sqlite: sa.Engine) -> None:
        """SQLite reads "agee" as the text 'agee'; a misspelt quasi-identifier would look perfectly private."""
        run(sqlite, "CREATE TABLE t (age INT)", "INSERT INTO t VALUES (1), (2)")
        with pytest.raises(ColumnError, match="did you mean 'age'"):
            sql_table(sqlite, "t").frequencies(["agee"])

    def test_floats_keep_all_digits_in_the_fingerprint(self, sqlite: sa.Engine) -> None:
        run(sqlite, "CREATE TABLE a AS SELECT 0.1 + 0.2 AS x", "CREATE TABLE b AS SELECT 0.3 AS x")
        assert sql_table(sqlite, "a").fingerprint() != sql_table(sqlite, "b").fingerprint()

    def test_text_that_is_no_unicode(self, sqlite: sa.Engine) -> None:
        run(sqlite, "CREATE TABLE t AS SELECT CAST(x'ff' AS TEXT) AS a")
        with pytest.raises(SourceError):
            sql_table(sqlite, "t").frequencies(["a"])
        with pytest.raises(SourceError):
            sql_table(sqlite, "t").fingerprint()

    def test_a_person_in_two_forms_counts_once(self, sqlite: sa.Engine) -> None:
        run(
            sqlite,
            "CREATE TABLE t (city, born DATETIME)",
            "INSERT INTO t VALUES ('Bern', '1990-01-02 03:04:05'), ('Bern', '1990-01-02T03:04:05'), ('Basel', '1990')",
        )
        source = sql_table(sqlite, "t")
        assert source.frequencies(["city"], unit="born").counts.tolist() == [1, 1]
        assert source.frequencies(["city", "born"], unit="born").counts.tolist() == [1, 1]
        run(sqlite, "INSERT INTO t VALUES ('Bern', NULL)")
        with pytest.raises(SourceError, match="'born' is missing in 1 rows"):
            source.frequencies(["city"], unit="born")

    def test_generated_columns_have_their_type(self, sqlite: sa.Engine) -> None:
        run(
            sqlite,
            "CREATE TABLE t (age INTEGER, adult BOOLEAN GENERATED ALWAYS AS (age > 17) STORED)",
            "INSERT INTO t (age) VALUES (17), (18)",
        )
        assert values(sql_table(sqlite, "t"), "adult") == [False, True]
        copy = sql_table(sqlite, "t").publish("copy", columns=["adult"], verify=lambda copy: None)
        assert values(copy, "adult") == [False, True]

    def test_wide_tables_are_fingerprinted(self, sqlite: sa.Engine) -> None:
        """No function takes as many arguments as a table has columns."""
        names = [f"c{number}" for number in range(350)]
        run(sqlite, f"CREATE TABLE t ({', '.join(names)})", "INSERT INTO t (c0, c349) VALUES (1, 'x'), (1, 'y')")
        seen = {sql_table(sqlite, "t").fingerprint().digest}
        for change in ("c349 = 'z' WHERE c349 = 'y'", "c120 = ''", "c120 = NULL, c121 = ''", "c0 = '1'"):
            run(sqlite, f"UPDATE t SET {change}")
            seen.add(sql_table(sqlite, "t").fingerprint().digest)
        assert len(seen) == 5

    def test_wide_tables_are_published(self, sqlite: sa.Engine) -> None:
        """No query returns three counts of every column."""
        names = [f"c{number}" for number in range(700)]
        run(sqlite, f"CREATE TABLE t ({', '.join(names)})", "INSERT INTO t (c0, c699) VALUES (1, 'x'), (1, 'y')")
        source = sql_table(sqlite, "t")
        copy = source.publish("copy", columns=names, verify=lambda copy: None)
        assert copy.fingerprint() == source.fingerprint()


class TestDuckDB:
    def test_a_table_with_rows_never_looks_empty(self, duckdb: sa.Engine) -> None:
        run(duckdb, "SET threads = 2", "CREATE TABLE base AS SELECT range % 100 AS age FROM range(300000)")
        run(  # 2.0.0 finds nothing in it where two threads fill it; releases that mend this find all
            duckdb,
            "CREATE TABLE people AS SELECT age FROM base LIMIT 0",
            "INSERT INTO people SELECT age FROM base",
        )
        found = sql_table(duckdb, "people")
        with duckdb.connect() as connection:
            shown = connection.exec_driver_sql("SELECT age FROM people GROUP BY age").all()
            relation = open_source(cast(Any, connection.connection.driver_connection).table("people"))
        if shown:
            assert found.frequencies(["age"]).rows == 300000
            return
        recoding = Recoding(
            keep=("age",), mappings={"age": dict.fromkeys(range(100), "x")},
            suppressed_columns=("age",), suppressed=frozenset({("y",)}),
        )  # fmt: skip
        asked: list[Callable[[], Any]] = [
            lambda: found.frequencies(["age"]),
            lambda: relation.frequencies(["age"]),
            lambda: found.fingerprint(),
            lambda: relation.fingerprint(),
            lambda: found.recode(recoding, target="r"),
            lambda: relation.recode(recoding),
        ]
        for ask in asked:
            with pytest.raises(SourceError, match="counts 300000 rows but returns no group"):
                ask()

    @pytest.mark.parametrize("setting", ["", "SET default_collation = 'nocase'", "SET default_collation = 'noaccent'"])
    def test_collations_do_not_merge(self, duckdb: sa.Engine, setting: str) -> None:
        with duckdb.connect() as connection:
            for statement in [
                "CREATE TABLE t (a VARCHAR COLLATE NOCASE, b VARCHAR COLLATE NOACCENT, c VARCHAR)",
                "INSERT INTO t VALUES ('x', 'é', 'x'), ('X', 'e', 'X'), ('x', 'é', 'é'), ('x', 'é', 'e')",
                *([setting] if setting else []),
            ]:
                result = connection.exec_driver_sql(statement)
                if result.returns_rows:
                    result.all()
            connection.commit()
            source = sql_table(connection, "t")
            assert source.frequencies(["a"]).counts.tolist() == [1, 3]
            assert source.frequencies(["b"]).counts.tolist() == [1, 3]
            assert source.frequencies(["c"]).counts.tolist() == [1, 1, 1, 1]
            assert source.frequencies(["b"], unit="a").counts.tolist() == [1, 1]
            raw: Any = connection.connection.driver_connection
            relation = open_source(raw.table("t"))
            assert relation.frequencies(["a"]).counts.tolist() == [1, 3]
            assert relation.frequencies(["c"]).counts.tolist() == [1, 1, 1, 1]
            assert relation.fingerprint() == source.fingerprint()
            recoding = Recoding(keep=("a",), mappings={"a": {"x": "low", "X": "high"}})
            assert source.recode(recoding, target="r").frequencies(["a"]).counts.tolist() == [1, 3]
            again = open_source(relation.recode(recoding))
            assert again.frequencies(["a"]).counts.tolist() == [1, 3]

    def test_unusual_types(self, duckdb: sa.Engine) -> None:
        columns = {
            "h": [
                "170141183460469231731687303715884105727::HUGEINT",
                "170141183460469231731687303715884105726::HUGEINT",
            ],
            "u": ["340282366920938463463374607431768211455::UHUGEINT", "1::UHUGEINT"],
            "i": ["INTERVAL 1 MONTH", "INTERVAL 30 DAY"],
            "z": ["TIMETZ '10:00:00+02'", "TIMETZ '10:00:00+03'"],
            "e": ["'a'::ENUM('a', 'A')", "'A'::ENUM('a', 'A')"],
            "l": ["['a, b']", "['a', 'b']"],
            "s": ["{'x': 'y', 'z': NULL}", "{'x': 'y', 'z': 'NULL'}"],
            "m": ["MAP {'a': 1}", "MAP {'A': 1}"],
            "j": ["""'{"a": 1}'::JSON""", """'{"a":1}'::JSON"""],
            "b": ["'01'::BIT", "'001'::BIT"],
            "ns": ["TIMESTAMP_NS '2024-01-01 00:00:00.000000001'", "TIMESTAMP_NS '2024-01-01 00:00:00.000000002'"],
            "f": ["0.1::FLOAT", "0.2::FLOAT"],
            "t": ["TIME '24:00:00'", "TIME '00:00:00'"],
            "id": ["'00000000-0000-0000-0000-000000000001'::UUID", "'00000000-0000-0000-0000-000000000002'::UUID"],
        }
        rows = [", ".join(f"{pair[i]} AS {name}" for name, pair in columns.items()) for i in range(2)]
        run(duckdb, f"CREATE TABLE t AS SELECT {rows[0]} UNION ALL SELECT {rows[1]}")
        source = sql_table(duckdb, "t")
        for name in columns:
            assert source.frequencies([name]).counts.tolist() == [1, 1], name
        assert values(source, "h") == [2**127 - 2, 2**127 - 1]
        assert values(source, "u") == [1, 2**128 - 1]
        assert source.fingerprint().rows == 2
        run(duckdb, f"CREATE TABLE v AS SELECT {rows[0]} UNION ALL SELECT {rows[0]}")
        for name in columns:
            assert source.fingerprint([name]) != sql_table(duckdb, "v").fingerprint([name]), name

    def test_moments_with_a_zone(self, duckdb: sa.Engine) -> None:
        query = "SELECT TIMESTAMPTZ '2024-10-27 02:30:00+02' AS t UNION ALL SELECT TIMESTAMPTZ '2024-10-27 02:30:00+01'"
        with duckdb.connect() as connection:
            source = sql_table(connection, sa.text(query))
            in_utc = source.fingerprint()
            assert values(source, "t") == [datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27, 1, 30)]
            connection.exec_driver_sql("SET TimeZone = 'Europe/Zurich'")
            assert values(source, "t") == [datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27, 1, 30)]
            assert source.fingerprint() == in_utc
            endless = sql_table(connection, sa.text("SELECT 'infinity'::TIMESTAMPTZ AS t"))
            assert endless.fingerprint().rows == 1

    def test_nanoseconds_with_a_zone(self, duckdb: sa.Engine, tmp_path: Path) -> None:
        """As pandas 2 writes moments with a zone into Parquet."""
        midnight = 1704067200 * 10**9
        moments = pa.array([midnight, midnight + 1000, midnight + 1001], type=pa.timestamp("ns", "UTC"))
        pq.write_table(pa.table({"t": moments}), tmp_path / "t.parquet")
        expected = [date(2024, 1, 1), datetime(2024, 1, 1, microsecond=1), "2024-01-01T00:00:00.000001001"]
        with duckdb.connect() as connection:
            source = sql_table(connection, sa.text(f"SELECT * FROM '{tmp_path}/t.parquet'"))
            in_utc = source.fingerprint()
            assert values(source, "t") == values(open_source(pa.table({"t": moments})), "t") == expected
            connection.exec_driver_sql("SET TimeZone = 'Europe/Zurich'")
            assert values(source, "t") == expected
            assert source.fingerprint() == in_utc

    def test_a_failure_inside_a_transaction_leaves_no_tables(self, duckdb: sa.Engine) -> None:
        """DuckDB cannot roll back half a transaction: what was created must be dropped."""
        run(duckdb, "CREATE TABLE t AS SELECT 'x' AS a")
        with duckdb.connect() as connection:
            connection.exec_driver_sql("SELECT 1").all()
            source = sql_table(connection, "t")
            with pytest.raises(HierarchyError):
                source.recode(Recoding(keep=("a",), mappings={"a": {"y": "z"}}), target="r")
            names = connection.exec_driver_sql("SELECT table_name FROM duckdb_tables()").scalars().all()
            assert names == ["t"]
            source.recode(Recoding(keep=("a",), mappings={"a": {"x": "z"}}), target="r")
            names = connection.exec_driver_sql("SELECT table_name FROM duckdb_tables()").scalars().all()
            assert sorted(names) == ["r", "t"]

    def test_years_that_python_has_not(self, duckdb: sa.Engine) -> None:
        run(duckdb, "CREATE TABLE t AS SELECT DATE '20000-01-01' AS d")
        with pytest.raises(SourceError, match="years 1 to 9999"):
            sql_table(duckdb, "t").frequencies(["d"])

    def test_attached_databases_and_schemas(self, duckdb: sa.Engine) -> None:
        with duckdb.connect() as connection:
            for statement in [
                "ATTACH ':memory:' AS other",
                "CREATE SCHEMA other.clinic",
                "CREATE TABLE other.clinic.t AS SELECT 1 AS a",
            ]:
                connection.exec_driver_sql(statement)
            connection.commit()
            assert sql_table(connection, "other.clinic.t").frequencies(["a"]).rows == 1


@pytest.mark.postgres
class TestPostgresql:
    def test_collations_do_not_merge(self, postgresql: sa.Engine) -> None:
        run(
            postgresql,
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
            "CREATE EXTENSION citext",
            "CREATE TABLE t (a text COLLATE blind, b citext, c char(4), d varchar COLLATE blind, k int DEFAULT 1)",
            "INSERT INTO t VALUES ('x', 'x', 'x', 'é'), ('X', 'X', 'x ', 'e'), ('x', 'x', 'X', 'É')",
        )
        with postgresql.connect() as connection:
            merged = connection.exec_driver_sql("SELECT count(DISTINCT a), count(DISTINCT b) FROM t").one()
        assert tuple(merged) == (1, 1)  # what PostgreSQL itself would say
        source = sql_table(postgresql, "t")
        assert source.frequencies(["a"]).counts.tolist() == [1, 2]
        assert source.frequencies(["b"]).counts.tolist() == [1, 2]
        assert source.frequencies(["c"]).counts.tolist() == [1, 2]  # char(4) ignores trailing blanks by definition
        assert source.frequencies(["d"]).counts.tolist() == [1, 1, 1]
        assert source.frequencies(["k"], unit="a").counts.tolist() == [2]
        recoding = Recoding(keep=("a", "b"), mappings={"a": {"x": "1", "X": "2"}, "b": {"x": "1", "X": "2"}})
        assert source.recode(recoding, target="r").frequencies(["a", "b"]).counts.tolist() == [2, 1]

    def test_short_floats_are_what_they_are(self, postgresql: sa.Engine) -> None:
        run(postgresql, "CREATE TABLE t (x real)", "INSERT INTO t VALUES (0.1), ('NaN'), (NULL), (0.1), (0.10000001)")
        table = sql_table(postgresql, "t").frequencies(["x"])
        elsewhere = pa.table({"x": pa.array([0.1, None, None, 0.1, 0.10000001], type=pa.float32())})
        assert table.dictionaries == open_source(elsewhere).frequencies(["x"]).dictionaries
        assert table.counts.tolist() == [2, 2, 1]
        new: Any = {value: str(number) for number, value in enumerate(table.dictionaries[0])}
        recoded = sql_table(postgresql, "t").recode(Recoding(keep=("x",), mappings={"x": new}), target="r")
        assert recoded.frequencies(["x"]).counts.tolist() == [2, 2, 1]

    def test_wide_tables_are_published_in_the_order_of_their_content(self, postgresql: sa.Engine) -> None:
        """A query has too few entries for as many columns and what each is ordered by."""
        names = [f"c{number}" for number in range(900)]
        run(
            postgresql,
            f"CREATE TABLE t ({' json, '.join(names)} json)",
            "INSERT INTO t (c0, c899) VALUES ('1', '3'), ('1', NULL), ('1', '2'), ('0', '4')",
        )
        source = sql_table(postgresql, "t")
        copy = source.publish("copy", columns=names, verify=lambda copy: None)
        assert copy.fingerprint() == source.fingerprint()
        with postgresql.connect() as connection:
            shown = connection.exec_driver_sql("SELECT c0, c899 FROM copy").all()
        assert [tuple(row) for row in shown] == [(0, 4), (1, 2), (1, 3), (1, None)]

    def test_unusual_types(self, postgresql: sa.Engine) -> None:
        run(
            postgresql,
            "CREATE TYPE mood AS ENUM ('good', 'bad')",
            "CREATE DOMAIN zip AS text CHECK (value <> '')",
            "CREATE TYPE pair AS (a int, b text)",
            "CREATE TABLE t (m mood, j json, jb jsonb, z zip, p pair, ar float8[], iv interval, u uuid, y bytea, "
            "n numeric, f4 float4, ts timestamptz, tt time, tz timetz, ip inet, mo money, r int4range, vb varbit)",
            """INSERT INTO t VALUES
            ('good', '{"a": 1}', '{"a": 1}', '02138', (1, 'x'), '{0.1}', '1 month',
             '00000000-0000-0000-0000-000000000001', '\\x00', '1.10', '0.1', '2024-01-01 00:00+02', '10:00', '10:00+01',
             '10.0.0.1', '1.50', '[1,2)', '01'),
            ('bad', '{"a":1}', '{"a": 2}', '2138', (1, 'X'), '{0.10000000000000002}', '30 days',
             '00000000-0000-0000-0000-000000000002', '\\x01', '1.1000000000000000000000000000000001', '0.2',
             '2024-01-01 00:00+01', '10:01', '10:00+02', '10.0.0.2', '1.51', '[1,3)', '001')""",
        )
        source = sql_table(postgresql, "t")
        for name in source.columns:
            assert source.frequencies([name]).counts.tolist() == [1, 1], name
        assert values(source, "m") == ["bad", "good"]
        assert values(source, "z") == ["02138", "2138"]
        assert values(source, "n")[0] == Decimal("1.1")
        assert values(source, "ts") == [datetime(2023, 12, 31, 22), datetime(2023, 12, 31, 23)]
        run(postgresql, "CREATE TABLE half AS SELECT * FROM t LIMIT 1")
        run(postgresql, "INSERT INTO half SELECT * FROM half")
        for name in source.columns:
            assert source.fingerprint([name]) != sql_table(postgresql, "half").fingerprint([name]), name
        copy = source.publish("copy", columns=source.columns, verify=lambda staging: None)
        assert copy.fingerprint() == source.fingerprint()

    def test_the_fingerprint_does_not_follow_settings(self, postgresql: sa.Engine) -> None:
        run(
            postgresql,
            "CREATE TABLE t AS SELECT now() AS a, current_date AS b, interval '1 day' AS c, 0.1::float8 AS d",
        )
        before = sql_table(postgresql, "t").fingerprint()
        with postgresql.connect() as connection:
            connection.exec_driver_sql("SET TIME ZONE 'Asia/Tokyo'")
            connection.exec_driver_sql("SET DateStyle = 'German'")
            connection.exec_driver_sql("SET IntervalStyle = 'iso_8601'")
            assert sql_table(connection, "t").fingerprint() == before

    def test_rounded_floats_are_refused(self, postgresql: sa.Engine) -> None:
        run(postgresql, "CREATE TABLE t AS SELECT 0.1::float8 + 0.2 AS a UNION ALL SELECT 0.3")
        assert sql_table(postgresql, "t").frequencies(["a"]).distinct == 2
        with postgresql.connect() as connection:
            connection.exec_driver_sql("SET extra_float_digits = 0")
            with pytest.raises(SourceError, match="extra_float_digits"):
                sql_table(connection, "t").frequencies(["a"])

    def test_nan_is_missing(self, postgresql: sa.Engine) -> None:
        run(
            postgresql,
            "CREATE TABLE t (a float8, n numeric, k int)",
            "INSERT INTO t VALUES ('NaN', 'NaN', 1), (NULL, NULL, 2), ('-0', 0, 3), (0, '-0', 4)",
        )
        source = sql_table(postgresql, "t")
        assert source.frequencies(["a"], unit="k").counts.tolist() == [2, 2]
        assert source.frequencies(["n"], unit="k").counts.tolist() == [2, 2]

    def test_endless_dates_are_refused_in_words(self, postgresql: sa.Engine) -> None:
        run(postgresql, "CREATE TABLE t AS SELECT 'infinity'::date AS d")
        with pytest.raises(SourceError, match="grouping failed"):
            sql_table(postgresql, "t").frequencies(["d"])

    def test_schemas_and_search_path(self, postgresql: sa.Engine) -> None:
        run(postgresql, "CREATE SCHEMA clinic", "CREATE TABLE clinic.t AS SELECT 1 AS a", 'CREATE SCHEMA "100%%"')
        assert sql_table(postgresql, "clinic.t").frequencies(["a"]).rows == 1
        with pytest.raises(SourceError, match="42P01"):
            _ = sql_table(postgresql, "t").columns
        published = sql_table(postgresql, "clinic.t").publish("t", columns=["a"], verify=lambda copy: None)
        assert published.row_count() == 1
        odd = sql_table(postgresql, "clinic.t").publish('"100%"."50%"', columns=["a"], verify=lambda copy: None)
        assert odd.row_count() == sql_table(postgresql, '"100%"."50%"').row_count() == 1

    def test_an_engine_that_commits_by_itself(self, postgresql: sa.Engine) -> None:
        run(postgresql, "CREATE TABLE t AS SELECT 1 AS a")
        engine = sa.create_engine(postgresql.url, isolation_level="AUTOCOMMIT")
        source = sql_table(engine, "t")
        with source.snapshot() as held:
            run(postgresql, "INSERT INTO t VALUES (2)")
            assert held.row_count() == 1
        with pytest.raises(ColumnError):
            source.publish("copy", columns=["b"], verify=lambda copy: None)
        assert source.publish("copy", columns=["a"], verify=lambda copy: None).row_count() == 2


@pytest.mark.parametrize("engine", DATABASES)
def test_queries_are_tables(engine: str, tmp_path: Path) -> None:
    table = LOADERS[engine](text_table(city=["Bern", "Bern", "Basel"], age=["1", "2", "3"]), tmp_path)
    name, bind = table._origin.parts[-1], table._bind
    people = sa.table(name, sa.column("city", sa.Text), sa.column("age", sa.Text))
    queries = [
        sa.select(people).where(people.c.city == "Bern"),
        sa.select(people).where(people.c.city == "Bern").subquery(),
        sa.select(people).where(people.c.city == sa.bindparam("c", "Bern")),
        sa.text(f"SELECT * FROM {name} WHERE city = 'Bern';"),
        sa.text(f"SELECT * FROM {name} WHERE city = :c").bindparams(c="Bern"),
        sa.select(sa.text("*")).select_from(people).where(people.c.city == "Bern"),
        sa.union_all(sa.select(people).where(people.c.age == "1"), sa.select(people).where(people.c.age == "2")),
    ]
    expected = None
    for query in queries:
        source = sql_table(bind, query)
        assert source.columns == ("city", "age")
        assert source.frequencies(["city"]).counts.tolist() == [2]
        assert source.row_count() == 2
        expected = expected or source.fingerprint()
        assert source.fingerprint() == expected
        published = source.publish(f"from_query_{name}", columns=["age"], verify=lambda copy: None)
        assert published.row_count() == 2
        recoding = Recoding(keep=("age",), mappings={"age": {"1": "a", "2": "b"}})
        assert source.recode(recoding, target=f"from_query_{name}").row_count() == 2
    if engine == "postgresql":  # the others rename the second one
        with pytest.raises(ColumnError, match="more than one column named 'city'"):
            _ = sql_table(bind, sa.text(f"SELECT city, city FROM {name}")).columns
