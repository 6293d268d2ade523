"""The Spark session: redact its errors and silence its logs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors

_ERRORS = ForeignErrors(classes=(PySparkException, Py4JError), place="in Spark")
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)
_OWN_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_WIRE_LOGGERS = ("py4j", "py4j.clientserver", "py4j.java_gateway")


@contextmanager
def redact_spark_errors(doing: str) -> Iterator[None]:
    """Raise SourceError instead of Spark's exceptions, which quote values and plans, and keep them out of logs."""
    with redact_errors(doing, _ERRORS), silence_logs():
        yield


@contextmanager
def silence_logs() -> Iterator[None]:
    """Silence PySpark's Python loggers in this thread: they write errors with values to standard error.

    The log of Spark itself, on the Java side, belongs to the operator of the cluster.
    """
    loggers = [*map(PySparkLogger.getLogger, _OWN_LOGGERS), *map(logging.getLogger, _WIRE_LOGGERS)]
    for logger in loggers:
        logger.addFilter(_is_logged)  # adding a filter twice has no effect
    before = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(before)


def _is_logged(_: logging.LogRecord) -> bool:
    return not _SILENT.get()
