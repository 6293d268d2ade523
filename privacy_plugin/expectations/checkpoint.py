"""Run a suite as a checkpoint that cannot pass in silence, and leave the host's GX project unchanged.

GX drops expectations that are not registered and reports success on the rest; a suite without expectations succeeds; an
exception is one failed result among others. The outcome here is a success only if every declared expectation was
evaluated and every expectation of the suite passed, at any severity.
"""

import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import great_expectations as gx
import sqlalchemy as sa
from great_expectations.checkpoint.actions import UpdateDataDocsAction, ValidationAction
from great_expectations.checkpoint.checkpoint import Checkpoint
from great_expectations.core import ExpectationSuite
from great_expectations.core.batch import BatchMarkers
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.core.owner_resolution import owner_from_batch_definition
from great_expectations.core.result_format import ResultFormat
from great_expectations.core.validation_definition import ValidationDefinition
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

from privacy_plugin.errors import PrivacyPluginError, SourceError
from privacy_plugin.expectations.base import extract_finding
from privacy_plugin.expectations.batches import require_one_batch
from privacy_plugin.expectations.suite import (
    build_suite,
    declared_expectations,
    incomplete,
    is_guard,
    is_result_of_guard,
    runner_parameters,
)
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import SqlTable
from privacy_plugin.sources.bundle import Bundle

_PROJECT = threading.RLock()


@contextmanager
def use_project(context: AbstractDataContext | None) -> Iterator[AbstractDataContext]:
    """Make a context (default: a new one in memory) the current GX project, and restore the previous one after.

    A lock serializes callers, because GX has one current project per process.
    """
    with _PROJECT:
        before = current_project()
        try:
            chosen = context or _create_context()
            project_manager.set_project(chosen)
            yield chosen
        finally:
            project_manager.set_project(before)


def current_project() -> AbstractDataContext | None:
    """Return the current GX project of the host, or None."""
    try:
        return project_manager.get_current_project()
    except DataContextRequiredError:
        return None


def _create_context() -> AbstractDataContext:
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context


@contextmanager
def add_data(
    context: AbstractDataContext, data: Any, *, asset: str
) -> Iterator[tuple[BatchDefinition[Any], dict[str, Any]]]:
    """Add data to a project as a batch definition, and remove it after; nothing is stored."""
    if isinstance(data, BatchDefinition):
        yield data, {}
        return
    datasource, definition, parameters = _build_datasource(data, asset)
    sources = context.data_sources.all()
    datasource._data_context = context
    sources[datasource.name] = datasource
    try:
        yield definition, parameters
    finally:
        del sources[datasource.name]


def _build_datasource(data: Any, asset: str) -> tuple[Datasource[Any, Any], BatchDefinition[Any], dict[str, Any]]:
    """Build data source, asset and batch definition outside a project: inside, GX would store them."""
    name = f"privacy_plugin_{secrets.token_hex(4)}"
    if isinstance(data, SqlTable):
        datasource = _sql_datasource(data, name)
        # a name, not the query: GX writes the asset's query into its results, and the query may contain values
        named = datasource.add_query_asset(asset, query=f"SELECT * FROM {data._origin.label}")
        return datasource, named.add_batch_definition_whole_table("all"), {}
    root = type(data).__module__.partition(".")[0]
    if root not in ("pandas", "pyspark"):
        raise SourceError(
            f"Great Expectations cannot read {type(data).__module__}.{type(data).__name__}; pass a pandas or Spark "
            "frame, sql_table(engine, ...) or a batch definition, or judge it without GX: policy.judge(data)"
        )
    frames = PandasDatasource(name=name) if root == "pandas" else SparkDatasource(name=name, persist=False)
    definition = frames.add_dataframe_asset(asset).add_batch_definition_whole_dataframe("all")
    return frames, definition, {"dataframe": data}


def _sql_datasource(table: SqlTable, name: str) -> SQLDatasource:
    """Return a data source on the table's own engine: a URL would lose in-memory tables, and contain passwords."""
    engine = table._bind
    if not isinstance(engine, sa.Engine):
        raise SourceError("Great Expectations opens its own connections; pass sql_table(engine, ...), not a connection")
    datasource = SQLDatasource(name=name, connection_string=f"{table.engine}://")
    datasource._engine = engine
    datasource._cached_connection_string = datasource.connection_string
    datasource._execution_engine = _TableEngine(engine, table)
    datasource._cached_execution_engine_kwargs = datasource.dict(
        exclude=datasource._get_exec_engine_excludes(), config_provider=datasource._config_provider, exclude_unset=False
    )
    return datasource


class _TableEngine(SqlAlchemyExecutionEngine):
    """GX's engine for one selectable; as query text, GX would change its colons and percent signs."""

    def __init__(self, engine: sa.Engine, table: SqlTable) -> None:
        super().__init__(engine=engine, create_temp_table=False)
        self._clause = table._origin.clause

    def get_batch_data_and_markers(self, batch_spec: Any) -> tuple[SqlAlchemyBatchData, BatchMarkers]:
        """Return the selectable and ignore the query text of the asset."""
        data = SqlAlchemyBatchData(execution_engine=self, selectable=self._clause, create_temp_table=False)
        return data, BatchMarkers({"ge_load_time": datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")})

    def close(self) -> None:
        """Close the connection and keep the engine: it belongs to the host, and GX would dispose of it."""
        if self._connection is not None:
            self._connection.close()


RESULT_FORMAT = ResultFormat.BASIC


@dataclass(frozen=True, kw_only=True)
class GxOutcome:
    """The outcome of a suite: a success only if every declared expectation was evaluated and all passed."""

    declared: int
    evaluated: int = 0
    results: tuple[Any, ...] = ()
    problems: tuple[str, ...] = ()
    suite: ExpectationSuite | None = field(default=None, repr=False)

    @property
    def success(self) -> bool:
        """Whether the gate is open."""
        complete = 0 < self.declared <= self.evaluated == len(self.results)
        return complete and not self.problems and all(result.success is True for result in self.results)

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """The findings as plain data: one per privacy expectation."""
        return tuple(finding for finding in map(extract_finding, self.results) if finding is not None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate is closed: problems first, then the reasons of failed expectations."""
        failed = [result for result in self.results if result.success is not True]
        return (*self.problems, *(_failure_reason(result) for result in failed))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that contains no value of the table."""
        return {
            "success": self.success,
            "declared": self.declared,
            "evaluated": self.evaluated,
            "problems": list(self.problems),
            "reasons": list(self.reasons),
            "findings": [dict(finding) for finding in self.findings],
        }


def validate(
    policy: Policy,
    data: Any,
    *,
    population: Any = None,
    context: AbstractDataContext | None = None,
    batch_parameters: Mapping[str, Any] | None = None,
) -> GxOutcome:
    """Run a policy through a GX checkpoint.

    `data` is a pandas or Spark frame, `sql_table(engine, ...)`, a mapping of these for a release of several tables, or
    a batch definition of a GX project with the `batch_parameters` that select one batch: of several, GX would evaluate
    only the last. Every table has a suite of its own. With `context` (a batch definition has its own) the suite and the
    results are stored there and its Data Docs updated; otherwise everything
    happens in memory. The host's current project is restored.

    >>> import pandas
    >>> policy = Policy.from_dict({
    ...     "dataset": "visits",
    ...     "columns": {"age": "quasi_identifier"},
    ...     "requirements": [{"k_anonymity": {"at_least": 2}}],
    ... })
    >>> outcome = validate(policy, pandas.DataFrame({"age": [30, 30, 41]}))
    >>> outcome.success, outcome.evaluated, outcome.declared
    (False, 2, 2)
    """
    name = f"privacy of {policy.dataset}"
    tables = list(policy.rules.tables)
    given = data.given if isinstance(data, Bundle) else data
    if tables and (not isinstance(given, Mapping) or set(given) != set(tables)):
        problem = f"the release has several tables; pass a mapping of {' and '.join(tables)}"
        return GxOutcome(declared=len(policy.requirements) + 1, problems=(problem,))
    try:
        suites = [
            (given[table], build_suite(policy, name=f"{name}, {table}", population=population, table=table))
            for table in tables
        ] or [(data, build_suite(policy, name=name, population=population))]
    except PrivacyPluginError as problem:
        return GxOutcome(declared=len(policy.requirements) + 1, problems=(str(problem),))
    outcomes = [run_suite(each, suite, context=context, batch_parameters=batch_parameters) for each, suite in suites]
    return outcomes[0] if len(outcomes) == 1 else _together(outcomes)


def _together(outcomes: Sequence[GxOutcome]) -> GxOutcome:
    """Return the outcome of several suites: a success only if each of them is one."""
    return GxOutcome(
        declared=sum(outcome.declared for outcome in outcomes),
        evaluated=sum(outcome.evaluated for outcome in outcomes),
        results=tuple(result for outcome in outcomes for result in outcome.results),
        problems=tuple(problem for outcome in outcomes for problem in outcome.problems),
        suite=outcomes[-1].suite,
    )


def run_suite(
    data: Any,
    suite: ExpectationSuite,
    *,
    context: AbstractDataContext | None = None,
    batch_parameters: Mapping[str, Any] | None = None,
    expectation_parameters: Mapping[str, Any] | None = None,
) -> GxOutcome:
    """Run a suite of `build_suite`, or one marked with `declare_expectations`, through a GX checkpoint."""
    declared = len(declared_expectations(suite) or ())
    problem = incomplete(suite)
    if problem is not None:
        return GxOutcome(declared=declared, problems=(problem,), suite=suite)
    try:
        results = _run_temporary_checkpoint(data, suite, context, batch_parameters or {}, expectation_parameters or {})
    except PrivacyPluginError as error:
        return GxOutcome(declared=declared, problems=(str(error),), suite=suite)
    except Exception as error:  # noqa: BLE001  an error closes the gate; its message may quote the data
        reason = f"the checkpoint could not run: {type(error).__name__}"
        return GxOutcome(declared=declared, problems=(reason,), suite=suite)
    return judge_results(suite, results)


def judge_results(suite: ExpectationSuite, results: Sequence[Any]) -> GxOutcome:
    """Return the outcome of a complete suite from the results of GX; the guard is not counted."""
    about = [result for result in results if not is_result_of_guard(result)]
    return GxOutcome(
        declared=len(declared_expectations(suite) or ()),
        evaluated=sum(_was_evaluated(result) for result in about),
        results=tuple(about),
        problems=_missing_results(suite, about),
        suite=suite,
    )


def _run_temporary_checkpoint(
    data: Any,
    suite: ExpectationSuite,
    context: AbstractDataContext | None,
    batch_parameters: Mapping[str, Any],
    expectation_parameters: Mapping[str, Any],
) -> tuple[Any, ...]:
    if isinstance(data, BatchDefinition):
        context = owner_from_batch_definition(data) or context or current_project()
    with use_project(context) as chosen, add_data(chosen, data, asset=suite.name) as (definition, parameters):
        asked = {**parameters, **batch_parameters}
        require_one_batch(definition.get_batch_identifiers_list(asked), "batch_parameters that select one")
        stored = chosen.suites.add_or_update(suite)
        with _temporary_checkpoint(chosen, definition, stored, with_documents=context is not None) as checkpoint:
            outcome = checkpoint.run(
                batch_parameters=asked,
                expectation_parameters={**expectation_parameters, **runner_parameters(suite)},
            )
        return tuple(result for run in outcome.run_results.values() for result in run.results)


@contextmanager
def _temporary_checkpoint(
    context: AbstractDataContext, definition: BatchDefinition[Any], suite: ExpectationSuite, *, with_documents: bool
) -> Iterator[Checkpoint]:
    """Add a checkpoint to a project for one run; its results stay, the checkpoint is deleted."""
    name = f"privacy_plugin {secrets.token_hex(4)}"
    validation = context.validation_definitions.add(ValidationDefinition(name=name, data=definition, suite=suite))
    actions: list[ValidationAction] = [UpdateDataDocsAction(name="update Data Docs")] if with_documents else []
    try:
        yield context.checkpoints.add(
            Checkpoint(name=name, validation_definitions=[validation], actions=actions, result_format=RESULT_FORMAT)
        )
    finally:
        context.checkpoints.delete(name)
        context.validation_definitions.delete(name)


def _was_evaluated(result: Any) -> bool:
    """Return whether GX evaluated an expectation; its errors are flat, or keyed by metric."""
    information = result.exception_info or {}
    each = [information] if "raised_exception" in information else list(information.values())
    return not any(error["raised_exception"] for error in each)


def _missing_results(suite: ExpectationSuite, results: Sequence[Any]) -> tuple[str, ...]:
    """Return a problem if GX returned other results than the suite has expectations."""
    expected = Counter(each.expectation_type for each in suite.expectations if not is_guard(each))
    found = Counter(result.expectation_config.type for result in results)
    return (
        ()
        if expected == found
        else (f"the suite has {expected.total()} expectations, but GX returned {found.total()} results",)
    )


def _failure_reason(result: Any) -> str:
    finding = extract_finding(result)
    if finding is not None:
        return str(finding["reason"])
    kind = "failed" if _was_evaluated(result) else "could not be evaluated"
    return f"{result.expectation_config.type} {kind}"
