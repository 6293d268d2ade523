"""Usefulness: what a release keeps of its original, column by column, without a value of either table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from privacy_plugin.anonymizers.base import AnonymizerResult
from privacy_plugin.anonymizers.generalize import GeneralizingMethod
from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan, TradeOff
from privacy_plugin.generalization.trade_off import SECONDS, affordable_trade_off
from privacy_plugin.metrics.learned_accuracy import LearnedAccuracy, learned_accuracy
from privacy_plugin.metrics.usability.column_change import ColumnChange, column_changes
from privacy_plugin.metrics.usability.compared_tables import compare_tables
from privacy_plugin.metrics.usability.score import Usability, usability
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import frequency_table, open_source
from privacy_plugin.sources.treated_columns import TreatedColumns

UNAFFORDABLE = f"computing it was estimated to take more than {SECONDS:g} seconds"


@dataclass(frozen=True, kw_only=True)
class Usefulness:
    """A release compared with its original: the usability score, and the change of every quasi-identifier.

    `problem` says why nothing could be measured. `trade_off` is the curve of loss against k, computed for a plan that
    came without one; `trade_off_problem` says why it was left out. The object holds shares, and no value.
    """

    measured: Usability | None = None
    changes: tuple[ColumnChange, ...] = ()
    problem: str = ""
    trade_off: tuple[TradeOff, ...] = ()
    trade_off_problem: str = ""
    learned: LearnedAccuracy | None = None
    loss_by_looking: float | None = None


def measure_usefulness(
    released: Any, original: Any, *, policy: Policy, plan: AnonymizerResult | None = None, population: Any = None
) -> Usefulness | None:
    """Compare a release with its original over the quasi-identifiers and sensitive columns of the policy.

    Returns None for releases that are drawn at random: no privacy budget covers a comparison with their original.
    A table that cannot be compared, such as one with labels that no hierarchy explains, gives a `problem`. The numbers
    are those of the requirement `usability`. Columns that the policy treats are compared after the treatment: coding,
    rounding and microaggregation are not counted as a loss.
    """
    if _is_drawn(policy) or policy.rules.form != "rows":
        return None
    columns = (*policy.quasi_identifiers, *policy.sensitive)
    points, left_out = _trade_off(plan, original, population)
    try:
        treated = TreatedColumns(open_source(original), policy.treatments) if policy.treatments else original
        after, before = (frequency_table(data, columns) for data in (released, treated))
        measured = usability(after, attributes=columns, original=before, hierarchies=policy.hierarchies)
        compared = compare_tables(after, before, attributes=columns, hierarchies=policy.hierarchies)
    except PrivacyPluginError as problem:
        return Usefulness(problem=str(problem), trade_off=points, trade_off_problem=left_out)
    assert isinstance(measured, Usability)  # the decorator of metrics declares any measurement
    changes = column_changes(compared)
    return Usefulness(
        learned=_learned(after, before, policy),
        loss_by_looking=_loss_by_looking(plan, original, policy=policy, population=population),
        measured=measured,
        changes=tuple(changes[name] for name in policy.quasi_identifiers),
        trade_off=points,
        trade_off_problem=left_out,
    )


def _is_drawn(policy: Policy) -> bool:
    """Return whether the policy is one for randomized or generated tables."""
    return policy.is_randomized or any(requirement.definition.kind == "audit" for requirement in policy.requirements)


def _learned(after: FrequencyTable, before: FrequencyTable, policy: Policy) -> LearnedAccuracy | None:
    """Predict the first sensitive column; None where there is none, or where it has too many values."""
    if not policy.sensitive:
        return None
    columns = (*policy.quasi_identifiers, policy.sensitive[0])
    try:
        found = learned_accuracy(
            after, attributes=columns, original=before, target=policy.sensitive[0], hierarchies=policy.hierarchies
        )
    except PrivacyPluginError:
        return None
    assert isinstance(found, LearnedAccuracy)
    return found


def _loss_by_looking(plan: AnonymizerResult | None, original: Any, *, policy: Policy, population: Any) -> float | None:
    """Search again with `choose_by: everything`; None where the plan was made so, or nothing is found."""
    if not isinstance(plan, Plan | LocalPlan) or plan.choose_by == "everything" or policy.rules.people:
        return None
    method = policy.anonymizer
    if not isinstance(method, GeneralizingMethod):
        return None
    options = {name: value for name, value in method.options.items() if name not in ("choose_by", "k")}
    treatments = policy.treatments
    source = TreatedColumns(open_source(original), treatments) if treatments else open_source(original)
    try:
        return replace(method, options=options).search(source, population=population, progress=None).loss
    except PrivacyPluginError:
        return None


def _trade_off(plan: AnonymizerResult | None, original: Any, population: Any) -> tuple[tuple[TradeOff, ...], str]:
    """Compute the curve of a plan that has none; returns the points, or why there are none."""
    if not isinstance(plan, Plan | LocalPlan) or (isinstance(plan, Plan) and plan.trade_off):
        return (), ""
    try:
        points = affordable_trade_off(plan, original, population=population)
    except PrivacyPluginError as problem:
        return (), str(problem)
    return points, "" if points else UNAFFORDABLE


def most_costly(measured: Usability, columns: Sequence[str]) -> list[tuple[str, float]]:
    """Return the columns that lost anything with their loss, the largest first."""
    losses = [(name, float(measured.columns[name])) for name in columns]
    return sorted(((name, loss) for name, loss in losses if loss > 0), key=lambda item: -item[1])
