"""Run a suite so that it cannot pass in silence: what was declared is counted, what was not evaluated is closed.

GX drops expectations it does not know and reports success on the rest; a suite without expectations succeeds; an
exception is only a failed result among others. The outcome here is a success only if every declared expectation was
evaluated and every expectation of the suite passed, whatever their severity.
"""

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from great_expectations.checkpoint.actions import UpdateDataDocsAction, ValidationAction
from great_expectations.checkpoint.checkpoint import Checkpoint
from great_expectations.core import ExpectationSuite
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.core.owner_resolution import owner_from_batch_definition
from great_expectations.core.result_format import ResultFormat
from great_expectations.core.validation_definition import ValidationDefinition
from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext

from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.expectations.base import finding_of
from privacy_plugin.expectations.hosting import current_project, hosted, project, require_one_batch
from privacy_plugin.expectations.suite import declared, missing_expectations, suite_of
from privacy_plugin.policy.policy import Policy

_RESULT_FORMAT = ResultFormat.BASIC


@dataclass(frozen=True, kw_only=True)
class GxOutcome:
    """What came of a suite: open only if all that was declared was evaluated and everything passed."""

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
        """What was found, as plain data: one entry an expectation of ours."""
        return tuple(finding for finding in map(finding_of, self.results) if finding is not None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate is closed, in words."""
        failed = [result for result in self.results if result.success is not True]
        return (*self.problems, *(_why(result) for result in failed))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without any value of the table."""
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

    `data` is a pandas or Spark frame, `sql_table(engine, ...)`, or a batch definition of a GX project, with the
    `batch_parameters` that leave one batch: of several, GX would look at the last only. With `context` (a batch
    definition brings its own) suite and results are stored there and its Data Docs updated; otherwise all happens in
    memory. The host's current project is the same before and after.

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
    try:
        suite = suite_of(policy, name=f"privacy of {policy.dataset}", population=population)
    except PrivacyPluginError as problem:
        return GxOutcome(declared=len(policy.requirements) + 1, problems=(str(problem),))
    return run_suite(data, suite, context=context, batch_parameters=batch_parameters)


def run_suite(
    data: Any,
    suite: ExpectationSuite,
    *,
    context: AbstractDataContext | None = None,
    batch_parameters: Mapping[str, Any] | None = None,
    expectation_parameters: Mapping[str, Any] | None = None,
) -> GxOutcome:
    """Run a suite that `suite_of` made, or that was marked with `declare`, through a GX checkpoint."""
    marks = declared(suite)
    if marks is None:
        problem = (
            "the suite does not say what it declares; make it with suite_of(policy), or mark it with declare(suite)"
        )
        return GxOutcome(declared=0, problems=(problem,), suite=suite)
    lost = missing_expectations(suite)
    if lost:
        problem = (
            f"{len(lost)} of {len(marks)} declared expectations are not in the suite: they were changed or removed, or "
            "the suite was loaded before privacy_plugin.expectations was imported"
        )
        return GxOutcome(declared=len(marks), problems=(problem,), suite=suite)
    try:
        results = _results(data, suite, context, batch_parameters or {}, expectation_parameters or {})
    except PrivacyPluginError as problem:
        return GxOutcome(declared=len(marks), problems=(str(problem),), suite=suite)
    except Exception as problem:  # noqa: BLE001  a gate that errs is shut; the text may quote the data
        reason = f"the checkpoint could not run: {type(problem).__name__}"
        return GxOutcome(declared=len(marks), problems=(reason,), suite=suite)
    return GxOutcome(
        declared=len(marks),
        evaluated=sum(_was_evaluated(result) for result in results),
        results=results,
        problems=_lost_on_the_way(suite, results),
        suite=suite,
    )


def _results(
    data: Any,
    suite: ExpectationSuite,
    context: AbstractDataContext | None,
    batch_parameters: Mapping[str, Any],
    expectation_parameters: Mapping[str, Any],
) -> tuple[Any, ...]:
    if isinstance(data, BatchDefinition):
        context = owner_from_batch_definition(data) or context or current_project()
    with project(context) as chosen, hosted(chosen, data, asset=suite.name) as (definition, parameters):
        asked = {**parameters, **batch_parameters}
        require_one_batch(definition.get_batch_identifiers_list(asked), "batch_parameters that pick one")
        stored = chosen.suites.add_or_update(suite)
        with _checkpoint(chosen, definition, stored, with_documents=context is not None) as checkpoint:
            outcome = checkpoint.run(
                batch_parameters=asked,
                expectation_parameters=dict(expectation_parameters),
            )
        return tuple(result for run in outcome.run_results.values() for result in run.results)


@contextmanager
def _checkpoint(
    context: AbstractDataContext, definition: BatchDefinition[Any], suite: ExpectationSuite, *, with_documents: bool
) -> Iterator[Checkpoint]:
    """Add a checkpoint of one run to a project; its results stay, it does not."""
    name = f"privacy_plugin {secrets.token_hex(4)}"
    validation = context.validation_definitions.add(ValidationDefinition(name=name, data=definition, suite=suite))
    actions: list[ValidationAction] = [UpdateDataDocsAction(name="update Data Docs")] if with_documents else []
    try:
        yield context.checkpoints.add(
            Checkpoint(name=name, validation_definitions=[validation], actions=actions, result_format=_RESULT_FORMAT)
        )
    finally:
        context.checkpoints.delete(name)
        context.validation_definitions.delete(name)


def _was_evaluated(result: Any) -> bool:
    """Tell whether GX came to a result; its errors come flat, or one a metric."""
    information = result.exception_info or {}
    each = [information] if "raised_exception" in information else list(information.values())
    return not any(error["raised_exception"] for error in each)


def _lost_on_the_way(suite: ExpectationSuite, results: tuple[Any, ...]) -> tuple[str, ...]:
    """Say which expectations of the suite have no result of their own."""
    wanted = Counter(expectation.expectation_type for expectation in suite.expectations)
    found = Counter(result.expectation_config.type for result in results)
    return (
        ()
        if wanted == found
        else (f"the suite has {wanted.total()} expectations, but GX returned {found.total()} results",)
    )


def _why(result: Any) -> str:
    finding = finding_of(result)
    if finding is not None:
        return str(finding["reason"])
    kind = "failed" if _was_evaluated(result) else "could not be evaluated"
    return f"{result.expectation_config.type} {kind}"
