"""Read the rows of a batch, and of the population: one reader per engine of Great Expectations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.data_context.data_context.context_factory import project_manager
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.expectations.registry import register_metric

from privacy_plugin.errors import ParameterError, PrivacyPluginError, SourceError, require_columns
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
    from privacy_plugin.sources.spark.session import silence_logs  # where there is a Spark engine, there is Spark

    with ExitStack() as opened:
        with silence_logs():
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


def left_out(engine: Any, domain: Mapping[str, Any]) -> str:
    """Say, as the end of a reason, what was not looked at; nothing where everything was."""
    words = ""
    if domain.get("row_condition") is not None:
        words += " Only the rows that meet the row condition were looked at."
    batch = _batch(engine, domain)
    if batch is None:
        return words
    parts = _parts(batch)
    if len(parts) > 1:
        words += f" Only one of {len(parts)} batches was looked at."
    elif parts and set(batch.batch_request.options or {}) - set(parts[0]):  # GX lists no parts of a folder read as one
        words += " Only the rows that the batch parameters pick were looked at."
    return words


def _batch(engine: Any, domain: Mapping[str, Any]) -> Any:
    """Return the batch that is looked at, if it is of an asset; a frame that was handed over is whole."""
    manager = engine.batch_manager
    batch = manager.batch_cache.get(domain.get("batch_id"), manager.active_batch)
    request = getattr(batch, "batch_request", None)
    return None if request is None or "dataframe" in (request.options or {}) else batch


def _parts(batch: Any) -> list[dict[str, Any]]:
    """List the batches into which the batch's definition parts its asset."""
    asset, partitioner = batch.data_asset, batch.batch_request.partitioner
    listed: list[dict[str, Any]] = asset.get_batch_identifiers_list(asset.build_batch_request(partitioner=partitioner))
    return listed


_FORMS = '"schema.table", a file name, {"table": ...}, {"file": ...} or {"data_source": ..., "asset": ...}'
_FILES = (".csv", ".tsv", ".parquet")
_KEYS = ({"table"}, {"file"}, {"data_source", "asset"})


def population_specification(given: Any) -> dict[str, str]:
    """Read where a population lies; a plain text is a file if it ends like one, and a table otherwise.

    >>> population_specification("register.csv"), population_specification("clinic.register")
    ({'file': 'register.csv'}, {'table': 'clinic.register'})
    """
    if isinstance(given, str) and given:
        return {"file" if given.lower().endswith(_FILES) else "table": given}
    is_text = isinstance(given, Mapping) and all(isinstance(value, str) and value for value in given.values())
    if not is_text or set(given) not in _KEYS:
        raise ParameterError(f"population must be {_FORMS}")
    return dict(given)


def find_population(engine: Any, given: Any) -> Any:
    """Find the population next to a batch: in the batch's database, in the GX project, or as a file."""
    if given is None:
        return None
    specification = population_specification(given)
    if "file" in specification:
        return Path(specification["file"])
    if "table" in specification:
        return _table(engine, specification["table"])
    return _asset(specification["data_source"], specification["asset"])


def require_one_batch(identifiers: Sequence[Any], give: str) -> None:
    """Refuse several batches: GX would take the last and leave the others unseen."""
    if len(identifiers) != 1:
        raise SourceError(f"there are {len(identifiers)} batches, and one is judged at a time; give {give}")


def _table(engine: Any, name: str) -> Any:
    if isinstance(engine, SqlAlchemyExecutionEngine):
        return sql_table(engine.engine, name)
    if isinstance(engine, SparkDFExecutionEngine):
        return engine.spark.table(name)
    raise SourceError(
        f"the batch lies in {type(engine).__name__}, which has no table {name!r} beside it; "
        'give the population as {"file": ...} or {"data_source": ..., "asset": ...}'
    )


def _asset(data_source: str, asset: str) -> Any:
    """Open the whole asset of a data source of the current project."""
    try:
        found = project_manager.get_datasources()[data_source].get_asset(asset)
    except (KeyError, LookupError):
        raise SourceError(f"the GX project has no asset {asset!r} in a data source {data_source!r}") from None
    request = found.build_batch_request()
    require_one_batch(found.get_batch_identifiers_list(request), "an asset that holds the whole population")
    batch = found.get_batch(request)
    selectable = getattr(batch.data, "selectable", None)
    if selectable is None:
        return batch.data.dataframe
    return sql_table(batch.data.execution_engine.engine, selectable)
