"""Ctrl-C while a database works: the query ends, and the exception is that of the key and not of the data."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa

from privacy_plugin.sources import sql_table
from privacy_plugin.sources.interrupts import interruptible
from privacy_plugin.sources.sql.duckdb_relation import DuckDBRelation

HOURS = "SELECT range % 7 AS a FROM range(10_000_000_000_000)"
# DuckDB's own look at signals comes once a task, and here one task is as long as the query.
EXPLODING = "SELECT (a.range + b.range) % 7 AS a FROM range(10_000_000) a, range(10_000_000) b"


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Hear Ctrl-C also where a shell started the tests in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def pressed(number: int, interrupt: Callable[[], None]) -> Iterator[None]:
    """Press a key when the query has begun; end the query a minute later, and fail, if it was not heard."""
    late = threading.Event()
    key = threading.Timer(0.3, os.kill, (os.getpid(), number))
    watchdog = threading.Timer(60, lambda: (late.set(), interrupt()))
    for timer in (key, watchdog):
        timer.start()
    try:
        yield
    finally:
        watchdog.cancel()
    assert not late.is_set(), "the key was heard only when the query was ended otherwise"


@pytest.mark.parametrize("query", [HOURS, EXPLODING])
@pytest.mark.parametrize("turn", range(3))  # which thread works is chance
def test_a_relation_ends_at_once(query: str, turn: int) -> None:
    connection = duckdb.connect()
    relation = DuckDBRelation(connection.sql(query))
    with pressed(signal.SIGINT, connection.interrupt), pytest.raises(KeyboardInterrupt):
        relation.frequencies(["a"])
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def _ask(source: Any, question: str) -> None:
    if question == "frequencies":
        source.frequencies(["a"])
    elif question == "snapshot":
        with source.snapshot():
            pass
    else:
        source.publish("released", columns=["a"], verify=lambda copy: None)


@pytest.mark.parametrize("question", ["frequencies", "snapshot", "publish"])
def test_a_table_of_a_database_ends_at_once_and_stays_usable(tmp_path: Path, question: str) -> None:
    engine = sa.create_engine(f"duckdb:///{tmp_path}/data.duckdb", poolclass=sa.pool.StaticPool)
    source = sql_table(engine, sa.text(HOURS))
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
    with pressed(signal.SIGINT, raw.interrupt), pytest.raises(KeyboardInterrupt):
        _ask(source, question)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM duckdb_tables()").scalar_one() == 0


@pytest.mark.parametrize("question", ["frequencies", "snapshot", "publish"])
def test_sqlite_hears_the_key_while_it_works(tmp_path: Path, question: str) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/data.db", poolclass=sa.pool.StaticPool)
    with engine.begin() as connection:
        raw: Any = connection.connection.driver_connection
        connection.exec_driver_sql("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2")
        for _ in range(4):
            connection.exec_driver_sql("INSERT INTO t SELECT x.a FROM t x, t y LIMIT 3000")
    source = sql_table(engine, sa.text("SELECT (x.a + y.a + z.a + w.a) % 7 AS a FROM t x, t y, t z, t w"))
    with pressed(signal.SIGINT, raw.interrupt), pytest.raises(KeyboardInterrupt):
        _ask(source, question)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT group_concat(name) FROM sqlite_master").scalar_one() == "t"
        assert not connection.connection.driver_connection.in_transaction


class EndedError(BaseException):
    """What a host ends its runs with."""


@pytest.fixture
def terminating() -> Iterator[Callable[[int, Any], None]]:
    """A handler of the host's own for SIGTERM."""

    def end(number: int, frame: Any) -> None:
        raise EndedError

    before = signal.signal(signal.SIGTERM, end)
    yield end
    signal.signal(signal.SIGTERM, before)


@pytest.mark.postgres
@pytest.mark.usefixtures("terminating")
@pytest.mark.parametrize("question", ["frequencies", "snapshot", "publish"])
def test_an_interrupt_cancels_the_query_on_a_postgresql_server(postgresql: sa.Engine, question: str) -> None:
    pairs = "SELECT mod(x + y, 7) AS a FROM generate_series(1, 3000000) x, generate_series(1, 3000000) y"
    working = "FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()"

    def asked(query: str) -> list[Any]:
        with postgresql.connect() as connection:
            return list(connection.exec_driver_sql(query).scalars())

    def end() -> None:
        asked(f"SELECT pg_terminate_backend(pid) {working}")

    try:
        with pressed(signal.SIGTERM, end), pytest.raises(EndedError):
            _ask(sql_table(postgresql, sa.text(pairs)), question)
        deadline = time.monotonic() + 10
        while asked(f"SELECT query {working}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not asked(f"SELECT query {working}")
    finally:
        end()
    assert not asked("SELECT relname FROM pg_class WHERE relname LIKE 'privacy_plugin%%'")


def test_the_exception_of_the_signal_handler_is_raised(terminating: Callable[[int, Any], None]) -> None:
    connection = duckdb.connect()
    relation = DuckDBRelation(connection.sql(HOURS))
    with pressed(signal.SIGTERM, connection.interrupt), pytest.raises(EndedError):
        relation.frequencies(["a"])
    assert signal.getsignal(signal.SIGTERM) is terminating


def test_a_handler_that_only_takes_note_ends_nothing() -> None:
    noted: list[int] = []
    interrupted: list[bool] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: noted.append(number))
    try:
        with interruptible(lambda: interrupted.append(True)):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT]
    assert not interrupted


def test_a_handler_set_meanwhile_stays() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with interruptible(lambda: None):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_set_no_signal_handler() -> None:
    def work() -> str:
        with interruptible(lambda: None):
            return "done"

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(work).result() == "done"
