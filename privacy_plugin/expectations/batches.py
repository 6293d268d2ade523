"""Read the rows of a batch and of its population: one reader per engine of Great Expectations, open for more.

A reader yields data that a source accepts, so that the GROUP BY runs in the engine. Row conditions, query assets and
partitions are part of the compute domain of GX, and so of the rows that are grouped.

If an asset has several batches, GX's own checkpoints validate the last one unless one was selected, and a metric cannot
find out which of the two happened. Results therefore state how many batches there are; our own runner requires one.
"""

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
    """A metric of a whole batch, with its row condition applied."""


def register_engine(engine: type[ExecutionEngine[Any]], reader: Reader) -> None:
    """Let every privacy expectation run on another engine.

    `reader(engine, domain_kwargs)` is a context manager that yields a frame, a SQL table or any other data that
    `privacy_plugin.sources.open_source` accepts.
    """
    _READERS[engine] = reader
    for name, (value_keys, provider) in _METRICS.items():
        _register(name, value_keys, provider, engine)


def register_batch_metric(name: str, *, value_keys: tuple[str, ...], provider: Provider) -> None:
    """Register a metric for every engine, including engines that are registered later."""
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
    """Open the batch of a metric's domain; raise if its row condition names unknown columns."""
    reader = next((_READERS[kind] for kind in type(engine).__mro__ if kind in _READERS), None)
    if reader is None:
        known = ", ".join(kind.__name__ for kind in _READERS)
        raise SourceError(
            f"cannot read from {type(engine).__name__}; valid: {known}, or add a reader with register_engine"
        )
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
            raise SourceError(f"cannot apply the row condition: {type(problem).__name__}") from None
        yield data


def _require_condition_columns(condition: Any, columns: tuple[str, ...]) -> None:
    """Raise for an unknown column in a row condition: SQLite would compare its name, and select all rows or none."""
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
def _open_frame(engine: Any, domain: dict[str, Any]) -> Iterator[Any]:
    frame, _, _ = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    yield frame


@contextmanager
def _open_spark_frame(engine: SparkDFExecutionEngine, domain: dict[str, Any]) -> Iterator[Any]:
    """Yield the frame without logging: PySpark's log would quote a row condition that Spark rejects."""
    from privacy_plugin.sources.spark.session import silence_logs  # imported only with a Spark engine

    with ExitStack() as opened:
        with silence_logs():
            frame = opened.enter_context(_open_frame(engine, domain))
        yield frame


@contextmanager
def _open_selectable(engine: Any, domain: dict[str, Any]) -> Iterator[Any]:
    """Yield the table on the engine itself: our source fetches all results before it closes its connection."""
    selectable, _, _ = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    yield sql_table(engine.engine, selectable)


register_engine(PandasExecutionEngine, _open_frame)
register_engine(SparkDFExecutionEngine, _open_spark_frame)
register_engine(SqlAlchemyExecutionEngine, _open_selectable)


def describe_scope(engine: Any, domain: Mapping[str, Any]) -> str:
    """Return a sentence about the rows or batches that were not evaluated; empty if all were."""
    scope = ""
    if domain.get("row_condition") is not None:
        scope += " Only the rows that meet the row condition were evaluated."
    batch = _find_batch(engine, domain)
    if batch is None:
        return scope
    parts = _list_batches(batch)
    if len(parts) > 1:
        scope += f" Only one of {len(parts)} batches was evaluated."
    elif parts and set(batch.batch_request.options or {}) - set(
        parts[0]
    ):  # GX lists no parts of a folder that it reads as one
        scope += " Only the rows that the batch parameters select were evaluated."
    return scope


def _find_batch(engine: Any, domain: Mapping[str, Any]) -> Any:
    """Return the evaluated batch of an asset, or None for a frame, which is always evaluated whole."""
    manager = engine.batch_manager
    batch = manager.batch_cache.get(domain.get("batch_id"), manager.active_batch)
    request = getattr(batch, "batch_request", None)
    return None if request is None or "dataframe" in (request.options or {}) else batch


def _list_batches(batch: Any) -> list[dict[str, Any]]:
    """List the batches of the batch's definition."""
    asset, partitioner = batch.data_asset, batch.batch_request.partitioner
    listed: list[dict[str, Any]] = asset.get_batch_identifiers_list(asset.build_batch_request(partitioner=partitioner))
    return listed


_FORMS = '"schema.table", a file name, {"table": ...}, {"file": ...} or {"data_source": ..., "asset": ...}'
_FILES = (".csv", ".tsv", ".parquet")
_KEYS = ({"table"}, {"file"}, {"data_source", "asset"})


def parse_population(given: Any) -> dict[str, str]:
    """Parse the place of a population; a string with the suffix of a file is a file, any other a table.

    >>> parse_population("register.csv"), parse_population("clinic.register")
    ({'file': 'register.csv'}, {'table': 'clinic.register'})
    """
    if isinstance(given, str) and given:
        return {"file" if given.lower().endswith(_FILES) else "table": given}
    is_text = isinstance(given, Mapping) and all(isinstance(value, str) and value for value in given.values())
    if not is_text or set(given) not in _KEYS:
        raise ParameterError(f"population must be {_FORMS}")
    return dict(given)


def find_population(engine: Any, given: Any) -> Any:
    """Return the population of a batch: a table of its database, an asset of the GX project, or a file."""
    if given is None:
        return None
    specification = parse_population(given)
    if "file" in specification:
        return Path(specification["file"])
    if "table" in specification:
        return _find_table(engine, specification["table"])
    return _find_asset(specification["data_source"], specification["asset"])


def require_one_batch(identifiers: Sequence[Any], give: str) -> None:
    """Raise unless there is one batch: of several, GX would evaluate only the last."""
    if len(identifiers) != 1:
        raise SourceError(f"found {len(identifiers)} batches, but exactly one can be judged; give {give}")


def _find_table(engine: Any, name: str) -> Any:
    if isinstance(engine, SqlAlchemyExecutionEngine):
        return sql_table(engine.engine, name)
    if isinstance(engine, SparkDFExecutionEngine):
        return engine.spark.table(name)
    raise SourceError(
        f"a batch of {type(engine).__name__} has no database with a table {name!r}; "
        'give the population as {"file": ...} or {"data_source": ..., "asset": ...}'
    )


def _find_asset(data_source: str, asset: str) -> Any:
    """Return the data of an asset of the current GX project."""
    try:
        found = project_manager.get_datasources()[data_source].get_asset(asset)
    except (KeyError, LookupError):
        raise SourceError(f"the GX project has no asset {asset!r} in data source {data_source!r}") from None
    request = found.build_batch_request()
    require_one_batch(found.get_batch_identifiers_list(request), "an asset with one batch, the whole population")
    batch = found.get_batch(request)
    selectable = getattr(batch.data, "selectable", None)
    if selectable is None:
        return batch.data.dataframe
    return sql_table(batch.data.execution_engine.engine, selectable)
