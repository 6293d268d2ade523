"""What is particular to PostgreSQL: collations, unusual types, settings of a connection, schemas."""

import threading
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from psycopg.types.numeric import FloatLoader

from privacy_plugin.errors import ColumnError, ParameterError, SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import SqlTable, open_source, sql_table
from tests.sources.databases import run
from tests.sources.reading import values

pytestmark = pytest.mark.postgres


def test_collations_do_not_merge(postgresql: sa.Engine) -> None:
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


def test_float4_values_are_exact(postgresql: sa.Engine) -> None:
    run(postgresql, "CREATE TABLE t (x real)", "INSERT INTO t VALUES (0.1), ('NaN'), (NULL), (0.1), (0.10000001)")
    table = sql_table(postgresql, "t").frequencies(["x"])
    elsewhere = pa.table({"x": pa.array([0.1, None, None, 0.1, 0.10000001], type=pa.float32())})
    assert table.dictionaries == open_source(elsewhere).frequencies(["x"]).dictionaries
    assert table.counts.tolist() == [2, 2, 1]
    new: Any = {value: str(number) for number, value in enumerate(table.dictionaries[0])}
    recoded = sql_table(postgresql, "t").recode(Recoding(keep=("x",), mappings={"x": new}), target="r")
    assert recoded.frequencies(["x"]).counts.tolist() == [2, 2, 1]


def test_wide_tables_are_published_in_the_order_of_their_content(postgresql: sa.Engine) -> None:
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


def test_unusual_types(postgresql: sa.Engine) -> None:
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


def test_the_fingerprint_does_not_follow_settings(postgresql: sa.Engine) -> None:
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


def test_rounded_floats_are_refused(postgresql: sa.Engine) -> None:
    run(postgresql, "CREATE TABLE t AS SELECT 0.1::float8 + 0.2 AS a UNION ALL SELECT 0.3")
    assert sql_table(postgresql, "t").frequencies(["a"]).distinct == 2
    with postgresql.connect() as connection:
        connection.exec_driver_sql("SET extra_float_digits = 0")
        with pytest.raises(SourceError, match="extra_float_digits"):
            sql_table(connection, "t").frequencies(["a"])


def test_nan_is_missing(postgresql: sa.Engine) -> None:
    run(
        postgresql,
        "CREATE TABLE t (a float8, n numeric, k int)",
        "INSERT INTO t VALUES ('NaN', 'NaN', 1), (NULL, NULL, 2), ('-0', 0, 3), (0, '-0', 4)",
    )
    source = sql_table(postgresql, "t")
    assert source.frequencies(["a"], unit="k").counts.tolist() == [2, 2]
    assert source.frequencies(["n"], unit="k").counts.tolist() == [2, 2]


@pytest.mark.parametrize(
    "value",
    [
        "date 'infinity'",
        "timestamp '-infinity'",
        "timestamptz 'infinity'",
        "date '0044-03-15 BC'",
        "date '10000-01-01'",
        "timestamptz '10000-01-01Z'",
        "time '24:00'",
    ],
)
def test_times_that_python_cannot_represent_are_refused(postgresql: sa.Engine, value: str) -> None:
    run(postgresql, f"CREATE TABLE t AS SELECT {value} AS d, 1 AS k UNION ALL SELECT NULL, 2")
    source = sql_table(postgresql, "t")
    asked: list[Callable[[], Any]] = [
        lambda: source.frequencies(["k", "d"]),
        lambda: source.recode(Recoding(keep=("d",), mappings={"d": {}}), target="r"),
        lambda: source.joined_groups(sql_table(postgresql, "t"), ["d"]),
    ]
    for ask in asked:
        with pytest.raises(SourceError, match=r"years must be 1 to 9999.*'SELECT d::text") as caught:
            ask()
        assert not any(quoted in str(caught.value) for quoted in ("44-03", "BC", "10000"))
    assert source.frequencies(["k"], unit="k").counts.tolist() == [1, 1]
    assert source.publish("copy", columns=["d"], verify=lambda copy: None).fingerprint() == source.fingerprint(["d"])
    assert sql_table(postgresql, sa.text("SELECT d::text FROM t")).frequencies(["d"]).counts.tolist() == [1, 1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich", "America/St_Johns", "-12"])
def test_an_hour_that_a_clock_shows_twice(postgresql: sa.Engine, zone: str) -> None:
    """Python calls two moments of one zone equal if its clocks show the same."""
    hours = ["2024-10-27 00:30Z", "2024-10-27 01:30Z", "2024-11-03 03:45Z", "2024-11-03 04:45Z", "9999-12-31 23:59Z"]
    run(
        postgresql,
        "CREATE TABLE t (h timestamptz, k int)",
        *[f"INSERT INTO t VALUES ('{hour}', {number})" for number, hour in enumerate(hours)],
    )
    with postgresql.execution_options(isolation_level="REPEATABLE READ").connect() as connection:
        connection.exec_driver_sql(f"SET TIME ZONE '{zone}'")
        source = sql_table(connection, "t")
        found = source.frequencies(["h"])
        assert found.counts.tolist() == [1] * 5
        assert found.dictionaries[0][:2] == (datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27, 1, 30))
        assert source.frequencies(["h"], unit="k").counts.tolist() == [1] * 5
        new: Any = {hour: str(number) for number, hour in enumerate(found.dictionaries[0])}
        recoded = source.recode(Recoding(keep=("h", "k"), mappings={"h": new}), target="r")
        assert values(recoded, "h") == ["0", "1", "2", "3", "4"]


def test_a_type_of_another_schema_with_the_same_name(postgresql: sa.Engine) -> None:
    run(
        postgresql,
        "CREATE SCHEMA clinic",
        "CREATE EXTENSION citext SCHEMA clinic",
        "ALTER TYPE clinic.citext RENAME TO uuid",
        "CREATE TABLE t (a clinic.uuid, l clinic.uuid[], k int)",
        "INSERT INTO t VALUES ('x', '{x}', 1), ('X', '{X}', 2), ('x', '{x}', 3)",
    )
    source = sql_table(postgresql, "t")
    for name in ("a", "l"):
        assert source.frequencies([name]).counts.tolist() == [1, 2], name
        assert source.frequencies([name], unit="k").counts.tolist() == [1, 2], name
        joined = source.joined_groups(source, [name])
        assert joined is not None
        assert joined.table.counts.tolist() == [1, 2], name
    assert source.frequencies(["k"], unit="a").counts.tolist() == [1, 1, 1]
    run(postgresql, "CREATE TABLE other (a uuid)")
    assert source.joined_groups(sql_table(postgresql, "other"), ["a"]) is None


def test_schemas_and_search_path(postgresql: sa.Engine) -> None:
    run(postgresql, "CREATE SCHEMA clinic", "CREATE TABLE clinic.t AS SELECT 1 AS a", 'CREATE SCHEMA "100%%"')
    assert sql_table(postgresql, "clinic.t").frequencies(["a"]).rows == 1
    with pytest.raises(SourceError, match="42P01"):
        _ = sql_table(postgresql, "t").columns
    published = sql_table(postgresql, "clinic.t").publish("t", columns=["a"], verify=lambda copy: None)
    assert published.row_count() == 1
    odd = sql_table(postgresql, "clinic.t").publish('"100%"."50%"', columns=["a"], verify=lambda copy: None)
    assert odd.row_count() == sql_table(postgresql, '"100%"."50%"').row_count() == 1


@pytest.mark.parametrize("order", [(False, True), (True, False)])
def test_names_that_differ_only_in_quotes_are_two(postgresql: sa.Engine, order: tuple[bool, bool]) -> None:
    """Great Expectations says Visits for visits and "Visits" for itself; the second was read as the first."""
    run(postgresql, "CREATE TABLE visits AS SELECT 1 AS a", 'CREATE TABLE "Visits" AS SELECT 2 AS a')
    for quoted in order:
        table = sa.table(sa.quoted_name("Visits", quote=quoted))
        query = sa.select(sa.text("*")).select_from(table)
        assert values(sql_table(postgresql, query), "a") == [2 if quoted else 1]
    with postgresql.connect() as connection:
        before = connection.get_execution_options()
        _ = sql_table(connection, "visits").columns
        after = connection.get_execution_options()
    assert after["compiled_cache"] is postgresql._compiled_cache
    assert "compiled_cache" not in before


def test_a_target_whose_name_would_be_cut_off(postgresql: sa.Engine) -> None:
    """PostgreSQL would truncate both names to that of another table, and replace it."""
    other = "ä" * 31 + "x"
    run(postgresql, "CREATE TABLE t AS SELECT 1 AS a", f'CREATE TABLE "{other}" AS SELECT 2 AS a')
    table = sql_table(postgresql, "t")
    for target in (other + "1", f"public.{other}2"):
        with pytest.raises(ParameterError, match="a name of more than 63 bytes, which PostgreSQL truncates"):
            table.publish(target, columns=["a"], verify=lambda _: None)
    assert values(sql_table(postgresql, other), "a") == [2]


@pytest.mark.parametrize(("name", "target"), [("t", "t1"), ("t1", "t"), ("t", "t1a"), ("t1a", "t")])
@pytest.mark.parametrize("kind", ["partitions", "heirs"])
def test_a_table_is_not_written_over_its_partitions(postgresql: sa.Engine, kind: str, name: str, target: str) -> None:
    """To put another table in the place of one drops it from the other, with its rows."""
    part, more = ("PARTITION OF {} FOR VALUES IN (1)", "PARTITION BY LIST (a)")
    run(
        postgresql,
        f"CREATE TABLE t (a int) {more if kind == 'partitions' else ''}",
        f"CREATE TABLE t1 {part.format('t') + more if kind == 'partitions' else '() INHERITS (t)'}",
        f"CREATE TABLE t1a {part.format('t1') if kind == 'partitions' else '() INHERITS (t1)'}",
        "CREATE TABLE neighbour (a int)",
        "INSERT INTO t1a VALUES (1)",
    )
    with pytest.raises(ParameterError, match=r"shares rows with it|is a partition"):
        sql_table(postgresql, name).publish(target, columns=["a"], verify=lambda copy: None)
    assert sql_table(postgresql, name).row_count() == sql_table(postgresql, target).row_count() == 1
    assert sql_table(postgresql, name).publish("neighbour", columns=["a"], verify=lambda copy: None).row_count() == 1


def test_an_engine_that_commits_by_itself(postgresql: sa.Engine) -> None:
    run(postgresql, "CREATE TABLE t AS SELECT 1 AS a")
    engine = sa.create_engine(postgresql.url, isolation_level="AUTOCOMMIT")
    source = sql_table(engine, "t")
    with source.snapshot() as held:
        run(postgresql, "INSERT INTO t VALUES (2)")
        assert held.row_count() == 1
    with pytest.raises(ColumnError):
        source.publish("copy", columns=["b"], verify=lambda copy: None)
    assert source.publish("copy", columns=["a"], verify=lambda copy: None).row_count() == 2


@pytest.mark.parametrize("name", ["t", "seen"])
def test_a_table_that_is_being_filled_anew_is_not_empty(postgresql: sa.Engine, name: str) -> None:
    """To a transaction that settled on a state before, a table that was emptied meanwhile has no rows at all."""
    run(postgresql, "CREATE TABLE t AS SELECT 1 AS a, 2 AS b", "CREATE VIEW seen AS SELECT * FROM t")
    source = sql_table(postgresql, name)
    asked: list[Callable[[], int]] = [
        lambda: source.recode(Recoding(keep=("a",), mappings={"a": {1: "one"}}), target="r").row_count(),
        lambda: source.publish("copy", columns=["a"], verify=lambda copy: None).row_count(),
        lambda: _held_rows(source),
    ]
    for ask in asked:
        writer = postgresql.connect()
        writer.exec_driver_sql("TRUNCATE t")
        writer.exec_driver_sql("INSERT INTO t VALUES (1, 2), (1, 3)")
        ending = threading.Timer(0.3, writer.commit)
        ending.start()
        assert ask() == 2
        ending.join()
        writer.close()


def _held_rows(source: SqlTable) -> int:
    with source.snapshot() as held:
        return held.row_count()


def test_relations_that_cannot_be_locked_are_read(postgresql: sa.Engine) -> None:
    role = f"some_{postgresql.url.database}"
    run(
        postgresql,
        "CREATE TABLE t AS SELECT 1 AS a, 2 AS b",
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM t",
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT (a) ON t TO {role}",
    )
    assert _held_rows(sql_table(postgresql, "m")) == 1
    limited = sa.create_engine(postgresql.url.set(username=role))
    picked = sa.select(sa.table("t", sa.column("a")))
    assert _held_rows(sql_table(limited, picked)) == 1
    limited.dispose()
    with pytest.raises(SourceError, match=r"does it exist\?.*42P01"):
        _held_rows(sql_table(postgresql, "nowhere"))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_connection_that_commits_by_itself_holds_nothing(postgresql: sa.Engine, level: str) -> None:
    """It shows the level that transactions have by default, and has none."""
    run(postgresql, "CREATE TABLE t AS SELECT 1 AS a")
    settings = {"options": f"-c default_transaction_isolation={level.replace(' ', chr(92) + ' ')}"}
    engine = sa.create_engine(postgresql.url, isolation_level="AUTOCOMMIT", connect_args=settings)
    with engine.connect() as connection:
        source = sql_table(connection, "t")
        with pytest.raises(SourceError, match="commits every statement"), source.snapshot():
            pass
        with pytest.raises(SourceError, match="commits every statement"):
            source.publish("copy", columns=["a"], verify=lambda copy: None)
        assert source.row_count() == 1
    engine.dispose()
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        with sql_table(connection, "t").snapshot() as held:
            run(postgresql, "INSERT INTO t VALUES (2)")
            assert held.row_count() == 1
        assert not connection.in_transaction()
    engine.dispose()


def test_a_driver_that_rounds_is_refused(postgresql: sa.Engine) -> None:
    """Some applications make the driver read numeric as float."""
    run(postgresql, "CREATE TABLE t AS SELECT '0.1'::numeric AS a, 1 AS k UNION ALL SELECT '0.10000000000000000001', 2")
    rounding = sa.create_engine(postgresql.url)

    @sa.event.listens_for(rounding, "connect")
    def _as_float(connection: Any, _record: Any) -> None:
        connection.adapters.register_loader("numeric", FloatLoader)

    source = sql_table(rounding, "t")
    with pytest.raises(SourceError, match="returns different values as equal"):
        source.frequencies(["a"])
    assert source.joined_groups(source, ["a"]) is None
    assert source.frequencies(["a", "k"]).counts.tolist() == [1, 1]
    assert sql_table(postgresql, "t").frequencies(["a"]).counts.tolist() == [1, 1]
    rounding.dispose()


def test_a_partition_is_not_replaced(postgresql: sa.Engine) -> None:
    """Dropped, it would take its rows out of the table that it is a part of."""
    run(
        postgresql,
        "CREATE TABLE judged AS SELECT 1 AS month",
        "CREATE TABLE archive (month int) PARTITION BY LIST (month)",
        "CREATE TABLE january PARTITION OF archive FOR VALUES IN (1)",
        "INSERT INTO archive VALUES (1), (1)",
    )
    with pytest.raises(ParameterError, match="is a partition"):
        sql_table(postgresql, "judged").publish("january", columns=["month"], verify=lambda copy: None)
    assert sql_table(postgresql, "archive").row_count() == 2
