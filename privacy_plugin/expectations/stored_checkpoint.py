"""Stored checkpoints that cannot pass in a process that has not imported `privacy_plugin.expectations`.

GX drops expectations that are not registered and reports success on the rest. Two things close that gap. The suite has
a guard (see `declare_expectations`): without its parameter GX raises, also in `ValidationDefinition.run` and
`Batch.validate`. The checkpoint has an action of ours: GX cannot load a checkpoint with an action that is not
registered, and where it is, the action raises unless every declared expectation was evaluated.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from great_expectations.checkpoint.actions import ActionContext, UpdateDataDocsAction, ValidationAction
from great_expectations.checkpoint.checkpoint import Checkpoint, CheckpointResult
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.core.owner_resolution import owner_from_batch_definition
from great_expectations.core.validation_definition import ValidationDefinition

from privacy_plugin.errors import PolicyError, PrivacyPluginError
from privacy_plugin.expectations.batches import require_one_batch
from privacy_plugin.expectations.checkpoint import RESULT_FORMAT, GxOutcome, current_project, judge_results, use_project
from privacy_plugin.expectations.suite import build_suite, declared_expectations, incomplete, runner_parameters
from privacy_plugin.policy.policy import Policy


class RequireEvaluatedExpectations(ValidationAction):
    """Raise unless the checkpoint evaluated every declared expectation of its suites."""

    type: Literal["privacy_plugin_require_evaluated_expectations"] = "privacy_plugin_require_evaluated_expectations"
    name: str = "require evaluated privacy expectations"

    def run(self, checkpoint_result: CheckpointResult, action_context: ActionContext | None = None) -> dict[str, Any]:
        """Compare the results of each suite with its declarations."""
        suites = [definition.suite for definition in checkpoint_result.checkpoint_config.validation_definitions]
        for suite, result in zip(suites, checkpoint_result.run_results.values(), strict=True):
            problem = incomplete(suite)
            outcome = judge_results(suite, result.results)
            if problem is None and outcome.problems:
                problem = outcome.problems[0]
            if problem is None and result.success and not outcome.success:
                problem = f"{outcome.evaluated} of {outcome.declared} declared expectations were evaluated"
            if problem is not None:
                raise PolicyError(f"the gate is closed: {problem}")
        return {"evaluated": True}


def store_checkpoint(
    policy: Policy,
    data: BatchDefinition[Any],
    *,
    name: str | None = None,
    population: Any = None,
    table: str | None = None,
    actions: Sequence[ValidationAction] = (),
) -> Checkpoint:
    """Store suite, validation definition and checkpoint of a policy in the project of a batch definition.

    Storing again replaces them. `run_checkpoint` runs the checkpoint; `checkpoint.run` of GX needs
    `expectation_parameters=runner_parameters(suite)`.
    """
    context = owner_from_batch_definition(data) or current_project()
    if context is None:
        raise PolicyError("the batch definition belongs to no Great Expectations project")
    chosen = name or f"privacy of {policy.dataset}"
    required: list[ValidationAction] = [RequireEvaluatedExpectations(), UpdateDataDocsAction(name="update Data Docs")]
    with use_project(context):
        suite = context.suites.add_or_update(build_suite(policy, name=chosen, population=population, table=table))
        definition = ValidationDefinition(name=chosen, data=data, suite=suite)
        return context.checkpoints.add_or_update(
            Checkpoint(
                name=chosen,
                validation_definitions=[context.validation_definitions.add_or_update(definition)],
                actions=[*required, *actions],
                result_format=RESULT_FORMAT,
            )
        )


def run_checkpoint(
    checkpoint: Checkpoint,
    *,
    batch_parameters: Mapping[str, Any] | None = None,
    expectation_parameters: Mapping[str, Any] | None = None,
) -> GxOutcome:
    """Run a checkpoint of `store_checkpoint`, loaded from its project, on one batch.

    The outcome is a success only if every declared expectation was evaluated and every expectation passed.
    """
    definition = checkpoint.validation_definitions[0]
    suite = definition.suite
    declared = len(declared_expectations(suite) or ())
    try:
        if len(checkpoint.validation_definitions) != 1:
            raise PolicyError("run_checkpoint runs checkpoints with one validation definition")
        if not any(isinstance(action, RequireEvaluatedExpectations) for action in checkpoint.actions):
            raise PolicyError("the checkpoint has no action of privacy_plugin; store it with store_checkpoint")
        parameters = {**(expectation_parameters or {}), **runner_parameters(suite)}
        asked = dict(batch_parameters or {})
        with use_project(owner_from_batch_definition(definition.data) or current_project()):
            require_one_batch(definition.data.get_batch_identifiers_list(asked), "batch_parameters that select one")
            result = checkpoint.run(batch_parameters=asked, expectation_parameters=parameters)
    except PrivacyPluginError as error:
        return GxOutcome(declared=declared, problems=(str(error),), suite=suite)
    except Exception as error:  # noqa: BLE001  an error closes the gate; its message may quote the data
        reason = f"the checkpoint could not run: {type(error).__name__}"
        return GxOutcome(declared=declared, problems=(reason,), suite=suite)
    return judge_results(suite, [each for run in result.run_results.values() for each in run.results])
