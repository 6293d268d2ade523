"""Results that arrive whole, whatever an engine was told about streaming."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import Connection


@contextmanager
def whole_results(connection: Connection) -> Iterator[Connection]:
    """Stream nothing inside, and leave the connection as it was.

    SQLAlchemy takes the first row of a streamed result off the driver's cursor before anybody asks, so that a reader of
    the cursor would miss a group; and PostgreSQL streams nothing but queries.
    """
    before = connection.get_execution_options()
    connection.execution_options(stream_results=False, yield_per=0)
    try:
        yield connection
    finally:
        streamed, rows = before.get("stream_results", False), before.get("yield_per", 0)
        connection.execution_options(stream_results=streamed, yield_per=rows)
