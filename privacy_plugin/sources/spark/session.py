"""The Spark session: redact its errors, silence its logs, and refuse functions that replace Spark's own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors

# The functions that this package calls by name.
FUNCTIONS = (
    "array",
    "array_join",
    "array_sort",
    "coalesce",
    "collect_list",
    "concat",
    "concat_ws",
    "count",
    "first",
    "hex",
    "isnan",
    "isnotnull",
    "isnull",
    "map_entries",
    "map_from_entries",
    "monotonically_increasing_id",
    "not",
    "octet_length",
    "raise_error",
    "replace",
    "sha2",
    "sort_array",
    "struct",
    "substring",
    "sum",
    "transform",
    "unix_date",
    "unix_micros",
    "when",
)

_RESOLVES_OWN_FUNCTIONS_FIRST = (4, 2)  # the version since which a registered function cannot replace Spark's own
_OWN_CLASSES = "org.apache.spark.sql.catalyst.expressions."
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


def require_own_functions(session: SparkSession) -> None:
    """Raise if a registered function replaces one of Spark's own that we call by name: it may return anything."""
    version = tuple(int(part) for part in session.version.split(".")[:2])
    if version >= _RESOLVES_OWN_FUNCTIONS_FIRST:
        return
    found = session.catalog.listFunctions(pattern="|".join(FUNCTIONS))
    taken = sorted(function.name for function in found if not str(function.className).startswith(_OWN_CLASSES))
    if taken:
        raise SourceError(
            f"in this Spark session a registered function replaces Spark's own {', '.join(taken)}; register it "
            "under another name"
        )
