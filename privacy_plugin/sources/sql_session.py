"""A connection while we work with it: results arrive whole, and Ctrl-C is heard."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine import Connection

from privacy_plugin.sources.interrupts import interruptible


@contextmanager
def session(connection: Connection) -> Iterator[Connection]:
    """Stream nothing inside, and leave the connection as it was.

    SQLAlchemy takes the first row of a streamed result off the driver's cursor before anybody asks, so that a reader of
    the cursor would miss a group; and PostgreSQL streams nothing but queries.
    """
    before = connection.get_execution_options()
    connection.execution_options(stream_results=False, yield_per=0)
    raw: Any = connection.connection.driver_connection
    try:
        with interruptible(getattr(raw, "interrupt", None)):
            yield connection
    finally:
        streamed, rows = before.get("stream_results", False), before.get("yield_per", 0)
        connection.execution_options(stream_results=streamed, yield_per=rows)
