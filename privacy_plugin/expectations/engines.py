"""How the rows of a batch are reached: one reader an engine of Great Expectations, open for more.

A reader hands over what a source accepts, so that the GROUP BY runs where the data lies. Row conditions, query
assets and partitions are part of the compute domain that GX gives us, and so part of what is grouped.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.expectations.registry import register_metric

from privacy_plugin.errors import PrivacyPluginError, SourceError, require_columns
from privacy_plugin.sources import open_source, sql_table

Reader = Callable[[Any, dict[str, Any]], AbstractContextManager[Any]]
Provider = Callable[..., Any]

_READERS: dict[type[ExecutionEngine[Any]], Reader] = {}
_METRICS: dict[str, tuple[tuple[str, ...], Provider]] = {}


class BatchMetric(TableMetricProvider):
    """The kind of every metric of ours: of a whole batch, with the row conditions applied."""


def register_engine(engine: type[ExecutionEngine[Any]], reader: Reader) -> None:
    """Let every privacy expectation run on one more engine.

    `reader(engine, domain_kwargs)` is a context manager that yields a frame, a SQL table or any other data that
    `privacy_plugin.sources.open_source` accepts.
    """
    _READERS[engine] = reader
    for name, (value_keys, provider) in _METRICS.items():
        _register(name, value_keys, provider, engine)


def register_batch_metric(name: str, *, value_keys: tuple[str, ...], provider: Provider) -> None:
    """Register a metric for every engine there is and every one that will be added."""
    _METRICS[name] = (value_keys, provider)
    for engine in _READERS:
        _register(name, value_keys, provider, engine)


def _register(name: str, value_keys: tuple[str, ...], provider: Provider, engine: type[ExecutionEngine[Any]]) -> None:
    register_metric(
        metric_name=name,
        metric_domain_keys=BatchMetric.domain_keys,
        metric_value_keys=value_keys,
        execution_engine=engine,
        metric_class=BatchMetric,
        metric_provider=provider,
    )


@contextmanager
def read_batch(engine: ExecutionEngine[Any], domain: Mapping[str, Any]) -> Iterator[Any]:
    """Open the batch of a metric's domain, after checking that its row condition speaks of real columns."""
    reader = next((_READERS[kind] for kind in type(engine).__mro__ if kind in _READERS), None)
    if reader is None:
        known = ", ".join(kind.__name__ for kind in _READERS)
        raise SourceError(f"{type(engine).__name__} has no reader; valid are {known}, or add one with register_engine")
    condition = domain.get("row_condition")
    if condition is not None:
        whole = {key: value for key, value in domain.items() if key not in ("row_condition", "condition_parser")}
        with reader(engine, whole) as data:
            _require_condition_columns(condition, open_source(data).columns)
    with ExitStack() as opened:
        try:
            data = opened.enter_context(reader(engine, dict(domain)))
        except Exception as problem:
            if condition is None or isinstance(problem, PrivacyPluginError):
                raise
            raise SourceError(f"the row condition could not be applied: {type(problem).__name__}") from None
        yield data


def _require_condition_columns(condition: Any, columns: tuple[str, ...]) -> None:
    """Refuse an unknown column in a row condition: SQLite would compare its name, and select all rows or none."""
    named = list(dict.fromkeys(_named_columns(condition)))
    if named:
        require_columns(named, columns, role="row_condition")


def _named_columns(condition: Any) -> Iterator[str]:
    given = condition if isinstance(condition, Mapping) else condition.dict() if hasattr(condition, "dict") else {}
    if "column" in given:
        column = given["column"]
        yield column["name"] if isinstance(column, Mapping) else str(column)
    for part in given.get("conditions", ()):
        yield from _named_columns(part)


@contextmanager
def _frame(engine: Any, domain: dict[str, Any]) -> Iterator[Any]:
    frame, _, _ = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    yield frame


@contextmanager
def _spark_frame(engine: SparkDFExecutionEngine, domain: dict[str, Any]) -> Iterator[Any]:
    """Hand the frame over; a row condition that Spark refuses is quoted in PySpark's log."""
    from privacy_plugin.sources.spark.logs import unlogged  # where there is a Spark engine, there is Spark

    with ExitStack() as opened:
        with unlogged():
            frame = opened.enter_context(_frame(engine, domain))
        yield frame


@contextmanager
def _selectable(engine: Any, domain: dict[str, Any]) -> Iterator[Any]:
    """Name the table on the engine itself: our source opens a connection, and reads all before it closes it."""
    selectable, _, _ = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    yield sql_table(engine.engine, selectable)


register_engine(PandasExecutionEngine, _frame)
register_engine(SparkDFExecutionEngine, _spark_frame)
register_engine(SqlAlchemyExecutionEngine, _selectable)
