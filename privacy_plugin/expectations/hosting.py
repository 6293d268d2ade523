"""Where a suite runs: the host's GX project stays what it was, and data of ours is in a project only while it runs."""

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import great_expectations as gx
import sqlalchemy as sa
from great_expectations.core.batch import BatchMarkers
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext
from great_expectations.data_context.data_context.context_factory import project_manager
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.datasource.fluent.interfaces import Datasource
from great_expectations.datasource.fluent.pandas_datasource import PandasDatasource
from great_expectations.datasource.fluent.spark_datasource import SparkDatasource
from great_expectations.datasource.fluent.sql_datasource import SQLDatasource
from great_expectations.exceptions.exceptions import DataContextRequiredError
from great_expectations.execution_engine.sqlalchemy_batch_data import SqlAlchemyBatchData
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine

from privacy_plugin.errors import SourceError
from privacy_plugin.sources import SqlTable

_PROJECT = threading.RLock()


@contextmanager
def project(context: AbstractDataContext | None) -> Iterator[AbstractDataContext]:
    """Make a context (a new one in memory, if none is given) the current project, and put the old one back after.

    One at a time, because GX has one current project a process.
    """
    with _PROJECT:
        before = current_project()
        try:
            chosen = context or _quiet_context()
            project_manager.set_project(chosen)
            yield chosen
        finally:
            project_manager.set_project(before)


def current_project() -> AbstractDataContext | None:
    """Return the project the host is working in, if there is one."""
    try:
        return project_manager.get_current_project()
    except DataContextRequiredError:
        return None


def _quiet_context() -> AbstractDataContext:
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context


@contextmanager
def hosted(
    context: AbstractDataContext, data: Any, *, asset: str
) -> Iterator[tuple[BatchDefinition[Any], dict[str, Any]]]:
    """Give a project a batch definition of data of ours while it is needed; nothing of it is stored."""
    if isinstance(data, BatchDefinition):
        yield data, {}
        return
    datasource, definition, parameters = _described(data, asset)
    sources = context.data_sources.all()
    datasource._data_context = context
    sources[datasource.name] = datasource
    try:
        yield definition, parameters
    finally:
        del sources[datasource.name]


def require_one_batch(identifiers: Sequence[Any], give: str) -> None:
    """Refuse several batches: GX would take the last and leave the others unseen."""
    if len(identifiers) != 1:
        raise SourceError(f"there are {len(identifiers)} batches, and one is judged at a time; give {give}")


def _described(data: Any, asset: str) -> tuple[Datasource[Any, Any], BatchDefinition[Any], dict[str, Any]]:
    """Build data source, asset and batch definition before a project knows them: GX would store them in it."""
    name = f"privacy_plugin_{secrets.token_hex(4)}"
    if isinstance(data, SqlTable):
        datasource = _bound_to(data, name)
        # only a name: the query itself may hold values, and GX writes the asset's query into its results
        named = datasource.add_query_asset(asset, query=f"SELECT * FROM {data._origin.label}")
        return datasource, named.add_batch_definition_whole_table("all"), {}
    root = type(data).__module__.partition(".")[0]
    if root not in ("pandas", "pyspark"):
        raise SourceError(
            f"Great Expectations cannot read {type(data).__module__}.{type(data).__name__}; give a pandas or Spark "
            "frame, sql_table(engine, ...) or a batch definition, or judge it without GX: policy.judge(data)"
        )
    frames = PandasDatasource(name=name) if root == "pandas" else SparkDatasource(name=name, persist=False)
    definition = frames.add_dataframe_asset(asset).add_batch_definition_whole_dataframe("all")
    return frames, definition, {"dataframe": data}


def _bound_to(table: SqlTable, name: str) -> SQLDatasource:
    """Make a data source on the table's own engine: an address would lose in-memory tables, and hold passwords."""
    engine = table._bind
    if not isinstance(engine, sa.Engine):
        raise SourceError("Great Expectations opens its own connections; give sql_table(engine, ...), not a connection")
    datasource = SQLDatasource(name=name, connection_string=f"{table.engine}://")
    datasource._engine = engine
    datasource._cached_connection_string = datasource.connection_string
    datasource._execution_engine = _TableEngine(engine, table)
    datasource._cached_execution_engine_kwargs = datasource.dict(
        exclude=datasource._get_exec_engine_excludes(), config_provider=datasource._config_provider, exclude_unset=False
    )
    return datasource


class _TableEngine(SqlAlchemyExecutionEngine):
    """GX's engine for one table of ours, handed over as it is: through text, GX would change colons and percents."""

    def __init__(self, engine: sa.Engine, table: SqlTable) -> None:
        super().__init__(engine=engine, create_temp_table=False)
        self._clause = table._origin.clause

    def get_batch_data_and_markers(self, batch_spec: Any) -> tuple[SqlAlchemyBatchData, BatchMarkers]:
        """Return the table, whatever the asset's text says."""
        data = SqlAlchemyBatchData(execution_engine=self, selectable=self._clause, create_temp_table=False)
        return data, BatchMarkers({"ge_load_time": datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")})

    def close(self) -> None:
        """Give back the connection, but leave the engine alone: it is the host's, and GX would dispose of it."""
        if self._connection is not None:
            self._connection.close()
