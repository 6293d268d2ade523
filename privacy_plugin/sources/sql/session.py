"""A connection while we work with it: names are what they say, results arrive whole, and Ctrl-C is heard."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy.engine import Connection

from privacy_plugin.sources.interrupts import interruptible

_LISTENING = "privacy_plugin_listening"
_INSTRUCTIONS = 1_000_000  # of SQLite: some hundredths of a second


@contextmanager
def session(connection: Connection) -> Iterator[Connection]:
    """Stream nothing inside, write every statement anew, and leave the connection as it was.

    SQLAlchemy remembers statements by names alone, whether they are quoted or not: asked for "Visits" after Visits,
    which to PostgreSQL is visits, it would read that table again. It also takes the first row of a streamed result off
    the driver's cursor before anybody asks, so that a reader of the cursor would miss a group; and PostgreSQL streams
    nothing but queries.
    """
    before = connection.get_execution_options()
    connection.execution_options(stream_results=False, yield_per=0, compiled_cache=None)
    raw: Any = connection.connection.driver_connection
    # psycopg tells the server by itself of Ctrl-C only: Dagster ends a run by an exception of its own
    interrupt = getattr(raw, "interrupt", None) or getattr(raw, "cancel_safe", None)
    try:
        with interruptible(interrupt), _listening(connection, raw):
            yield connection
    finally:
        remembered = before.get("compiled_cache", getattr(connection.engine, "_compiled_cache", None))
        streamed, rows = before.get("stream_results", False), before.get("yield_per", 0)
        connection.execution_options(stream_results=streamed, yield_per=rows, compiled_cache=remembered)


@contextmanager
def _listening(connection: Connection, raw: Any) -> Iterator[None]:
    """Let SQLite call Python now and then, which hears signals only while it runs itself.

    A progress handler that somebody else had set is gone afterwards: nobody can ask SQLite for it.
    """
    listen, known = getattr(raw, "set_progress_handler", None), connection.info
    if listen is None or _LISTENING in known or threading.current_thread() is not threading.main_thread():
        yield
        return
    listen(lambda: 0, _INSTRUCTIONS)
    known[_LISTENING] = True
    try:
        yield
    finally:
        known.pop(_LISTENING, None)
        with suppress(Exception):  # an interrupt may have closed the connection
            listen(None, 0)
