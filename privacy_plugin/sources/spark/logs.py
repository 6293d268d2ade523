"""Keep PySpark from logging what we hide: its Python side writes errors to standard error, with the values they quote.

The log of Spark itself, on the Java side, is that of whoever runs it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pyspark.logger import PySparkLogger

_ASKING: ContextVar[bool] = ContextVar("asking", default=False)
_OWN_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_WIRE_LOGGERS = ("py4j", "py4j.clientserver", "py4j.java_gateway")


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep PySpark's loggers silent about what happens inside, in this thread."""
    loggers = [*map(PySparkLogger.getLogger, _OWN_LOGGERS), *map(logging.getLogger, _WIRE_LOGGERS)]
    for logger in loggers:
        logger.addFilter(_is_heard)  # once: a logger knows its filters
    before = _ASKING.set(True)
    try:
        yield
    finally:
        _ASKING.reset(before)


def _is_heard(_: logging.LogRecord) -> bool:
    return not _ASKING.get()
