"""Ctrl-C while DuckDB works: the query ends, and the exception is that of the key and not of the data."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa

from privacy_plugin.sources import sql_table
from privacy_plugin.sources.duckdb_relation import DuckDBRelation
from privacy_plugin.sources.interrupts import interruptible

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


@pytest.mark.parametrize("question", ["frequencies", "snapshot", "publish"])
def test_a_table_of_a_database_ends_at_once_and_stays_usable(tmp_path: Path, question: str) -> None:
    engine = sa.create_engine(f"duckdb:///{tmp_path}/data.duckdb", poolclass=sa.pool.StaticPool)
    source = sql_table(engine, sa.text(HOURS))
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection

    def ask() -> None:
        if question == "frequencies":
            source.frequencies(["a"])
        elif question == "snapshot":
            with source.snapshot():
                pass
        else:
            source.publish("released", columns=["a"], verify=lambda copy: None)

    with pressed(signal.SIGINT, raw.interrupt), pytest.raises(KeyboardInterrupt):
        ask()
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM duckdb_tables()").scalar_one() == 0


def test_what_the_handler_of_the_signal_raises_is_what_arrives() -> None:
    class EndedError(Exception):
        pass

    def end(number: int, frame: Any) -> None:
        raise EndedError

    connection = duckdb.connect()
    relation = DuckDBRelation(connection.sql(HOURS))
    before = signal.signal(signal.SIGTERM, end)
    try:
        with pressed(signal.SIGTERM, connection.interrupt), pytest.raises(EndedError):
            relation.frequencies(["a"])
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)


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


def test_other_threads_have_no_handler_to_set() -> None:
    def work() -> str:
        with interruptible(lambda: None):
            return "done"

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(work).result() == "done"
