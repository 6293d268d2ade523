"""MariaDB: what its collations, its sorting, its snapshots and its commits would do to a table."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import Source, sql_table
from privacy_plugin.sources.numbered_rows import NumberedRows
from privacy_plugin.sources.population_join import open_snapshots
from privacy_plugin.sources.sql import mariadb as dialect
from tests.sources.databases import run, tables

pytestmark = pytest.mark.mariadb


def accept(_: Any) -> None:
    """Accept any copy."""


def counts(source: Source, *columns: str, unit: str | None = None) -> list[int]:
    return sorted(source.frequencies(columns, unit=unit).counts.tolist())


def test_no_collation_merges_values(mariadb: sa.Engine) -> None:
    run(
        mariadb,
        "CREATE TABLE t (a varchar(9), b varchar(9) CHARACTER SET utf8mb4, e enum('x', 'y'))",
        "INSERT INTO t VALUES ('a', 'a', 'x'), ('A', 'A', 'x'), ('\u00e1', '\u00e1', 'x'), ('a ', 'a ', 'x')",
    )
    source = sql_table(mariadb, "t")
    for column in ("a", "b"):
        assert counts(source, column) == [1, 1, 1, 1]
        assert source.frequencies(["e"], unit=column).counts.tolist() == [4]
        copy = source.recode(
            Recoding(keep=(column,), mappings={column: {v: v for v in ("a", "A", "\u00e1", "a ")}}), target="r"
        )
        assert counts(copy, column) == [1, 1, 1, 1]
    assert counts(source.publish("r", columns=["a", "b"], verify=accept), "a") == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", ["longtext", "varchar(4000)", "longblob"])
def test_long_values_that_begin_alike_stay_apart(mariadb: sa.Engine, kind: str) -> None:
    """Sorting to group compares only the first max_sort_length bytes: three values become one class, or sixty."""
    run(mariadb, f"CREATE TABLE t (a {kind}, u int)")
    values = ", ".join(f"(concat(repeat('x', 3000), '{i % 3}'), {i % 5})" for i in range(60))
    run(mariadb, f"INSERT INTO t VALUES {values}")
    source = sql_table(mariadb, "t")
    with mariadb.connect() as connection:  # the trap is there
        merged = connection.exec_driver_sql("SELECT SQL_BIG_RESULT count(*) FROM t GROUP BY a").all()
        assert len(merged) != 3
    assert counts(source, "a") == [20, 20, 20]
    assert counts(source, "a", unit="u") == [5, 5, 5]
    assert counts(source, "u", unit="a") == [3, 3, 3, 3, 3]
    found = source.frequencies(["a"]).dictionaries[0]
    assert {len(value) for value in found} == {3001}
    published = source.publish("r", columns=["a"], verify=accept)
    assert published.frequencies(["a"]).dictionaries[0] == found
    assert published.fingerprint() == source.fingerprint(["a"])


def test_the_session_must_return_every_text(mariadb: sa.Engine) -> None:
    run(mariadb, "CREATE TABLE t (a int)")
    for statement, fault in [
        ("SET NAMES latin1", "character_set_results = latin1"),
        ("SET SESSION max_sort_length = 64", "max_sort_length = 64"),
    ]:
        with mariadb.connect() as connection:
            connection.exec_driver_sql(statement)
            with pytest.raises(SourceError, match=fault):
                _ = sql_table(connection, "t").columns
            connection.invalidate()


def test_what_ignores_snapshots_is_copied(mariadb: sa.Engine) -> None:
    """A MyISAM table shows every change at once; the tables of a view are locked until the copy is judged."""
    run(mariadb, "CREATE TABLE m (a int) ENGINE = MyISAM", "CREATE TABLE t (a int)", "CREATE VIEW v AS SELECT a FROM t")
    run(mariadb, "INSERT INTO m VALUES (1)", "INSERT INTO t VALUES (1)")
    for name in ("m", "t"):
        with sql_table(mariadb, name).snapshot() as held:
            run(mariadb, f"INSERT INTO {name} VALUES (2)")
            assert held.row_count() == held.frequencies(["a"]).rows == 1
    with sql_table(mariadb, "v").snapshot() as held:
        with pytest.raises(sa.exc.OperationalError, match="1205"):
            run(mariadb, "SET STATEMENT innodb_lock_wait_timeout = 1 FOR INSERT INTO t VALUES (3)")
        assert held.row_count() == 2


def test_a_copy_newer_than_the_snapshot_is_refused(mariadb: sa.Engine) -> None:
    """CREATE TABLE AS reads the newest rows, not those of the transaction."""
    run(mariadb, "CREATE TABLE t (a int)", "CREATE VIEW v AS SELECT a FROM t", "INSERT INTO t VALUES (1)")
    table, view = sql_table(mariadb, "t"), sql_table(mariadb, "v")
    with open_snapshots(table, view) as (held, copy):
        assert copy is not None
        assert (held.row_count(), copy.row_count()) == (1, 1)
    with table.snapshot() as held:
        run(mariadb, "INSERT INTO t VALUES (2)")
        joint = view.joint_snapshot(table, held)
        assert joint is not None
        with pytest.raises(SourceError, match="error 1020"), joint:
            pass


def test_one_copy_is_written_whatever_happens_to_the_source(mariadb: sa.Engine) -> None:
    run(mariadb, "CREATE TABLE t (a int, b varchar(9))", "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    source = sql_table(mariadb, "t")
    before = source.fingerprint()

    def change(copy: Source) -> None:
        run(mariadb, "DELETE FROM t")
        assert copy.fingerprint() == before

    assert source.publish("r", columns=["a", "b"], verify=change).fingerprint() == before


def test_nothing_of_other_rows_is_released(mariadb: sa.Engine) -> None:
    """Defaults, comments and enumerations of the source could name values that were suppressed."""
    run(
        mariadb,
        "CREATE TABLE t (e enum('flu', 'hidden') DEFAULT 'hidden', s set('p', 'hidden'), "
        "n int NOT NULL DEFAULT 4711 COMMENT 'hidden', d decimal(9, 2) DEFAULT 4711, c char(3), ti time(3), "
        "ts timestamp(6) NULL, y year, b bit(3), f float, g double, bo boolean, u bigint unsigned, by2 varbinary(9))",
        "INSERT INTO t VALUES ('flu', 'p', 1, 1.5, 'x', '-01:02:03.5', '2024-02-29 23:59:59.999999', 2024, b'101', "
        "0.1, -0e0, 1, 18446744073709551615, x'00ff')",
    )
    source = sql_table(mariadb, "t")
    published = source.publish("r", columns=source.columns, verify=accept)
    with mariadb.connect() as connection:
        written = str(connection.exec_driver_sql("SHOW CREATE TABLE r").one()[1])
    assert "hidden" not in written
    assert "4711" not in written
    assert published.fingerprint() == source.fingerprint()
    for column in source.columns:
        assert published.frequencies([column]).dictionaries == source.frequencies([column]).dictionaries, column
    assert source.frequencies(["u"]).dictionaries == ((18446744073709551615,),)


def test_a_fingerprint_does_not_depend_on_the_time_zone(mariadb: sa.Engine) -> None:
    run(mariadb, "CREATE TABLE t (a timestamp NULL)", "INSERT INTO t VALUES ('2024-02-29 12:00:00'), (NULL)")
    found = []
    for zone in ("+00:00", "+05:00"):
        with mariadb.connect() as connection:
            connection.exec_driver_sql(f"SET time_zone = '{zone}'")
            source = sql_table(connection, "t")
            found.append((source.fingerprint(), source.frequencies(["a"]).dictionaries))
            connection.invalidate()
    assert found[0] == found[1]


def test_an_open_transaction_is_not_committed(mariadb: sa.Engine) -> None:
    run(mariadb, "CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
    with mariadb.connect() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (2)")
        with pytest.raises(SourceError, match="commits an open transaction"):
            sql_table(connection, "t").publish("r", columns=["a"], verify=accept)
        connection.rollback()
    assert sql_table(mariadb, "t").row_count() == 1
    with mariadb.connect() as connection:
        connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.exec_driver_sql("SELECT * FROM t").all()
        with pytest.raises(SourceError, match="read committed"), sql_table(connection, "t").snapshot():
            pass
        connection.invalidate()


def test_targets_that_a_rename_would_not_replace(mariadb: sa.Engine) -> None:
    run(
        mariadb,
        "CREATE TABLE t (a int)",
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE parent (a int PRIMARY KEY)",
        "CREATE TABLE child (a int, FOREIGN KEY (a) REFERENCES parent (a))",
        "CREATE VIEW v AS SELECT a FROM parent",
    )
    source = sql_table(mariadb, "t")
    for target, fault in (("parent", "foreign key"), ("v", "is a view")):
        with pytest.raises(ParameterError, match=fault):
            source.publish(target, columns=["a"], verify=accept)
    assert tables(source) == {"t", "parent", "child", "v"}


def test_all_targets_are_replaced_or_none(mariadb: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "_WAIT_SECONDS", 1)
    run(mariadb, *[f"CREATE TABLE {name} (a int)" for name in ("t", "one", "two")])
    run(mariadb, "INSERT INTO t VALUES (1), (2)")
    source = sql_table(mariadb, "t")

    def build(table: FrequencyTable) -> list[NumberedRows]:
        lines = np.arange(table.distinct)
        wanted = NumberedRows(table=table, columns=("a", "number"), number="number", lines=lines, numbers=lines)
        return [wanted, wanted]

    with mariadb.connect() as reader:
        reader.exec_driver_sql("SELECT * FROM two").all()  # an open transaction reads the second target
        with pytest.raises(SourceError, match="error 1205"):
            source.distribute(["a"], build, targets=["one", "two"], verify=accept)
    assert [sql_table(mariadb, name).row_count() for name in ("one", "two")] == [0, 0]
    assert tables(source) == {"t", "one", "two"}
    source.distribute(["a"], build, targets=["one", "two"], verify=accept)
    assert [sql_table(mariadb, name).row_count() for name in ("one", "two")] == [2, 2]
    assert tables(source) == {"t", "one", "two"}


@pytest.fixture
def listening() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("question", ["frequencies", "publish"])
def test_an_interrupt_ends_the_query_on_the_server(mariadb: sa.Engine, question: str) -> None:
    run(mariadb, "CREATE TABLE n (a int)", "INSERT INTO n SELECT seq FROM seq_1_to_20000")
    source = sql_table(mariadb, sa.text("SELECT mod(x.a + y.a, 7) AS a FROM n x, n y"))
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    ask: dict[str, Callable[[], object]] = {
        "frequencies": lambda: source.frequencies(["a"]),
        "publish": lambda: source.publish("r", columns=["a"], verify=accept),
    }
    with pytest.raises(KeyboardInterrupt):
        ask[question]()
    deadline = time.monotonic() + 10
    running = "info LIKE '%%mod(x.a%%' AND id <> connection_id()"
    query = f"SELECT count(*) FROM information_schema.processlist WHERE {running}"
    with mariadb.connect() as connection:
        while connection.exec_driver_sql(query).scalar_one() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert connection.exec_driver_sql(query).scalar_one() == 0
    assert tables(source) == {"n"}


def test_a_mysql_url_is_explained() -> None:
    with pytest.raises(SourceError, match=r"mariadb\+pymysql"):
        sql_table(sa.create_engine("mysql+pymysql://u:secret@localhost/x"), "t")
