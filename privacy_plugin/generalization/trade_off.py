"""The curve of loss against k for a plan that came without one, where it can be computed in a few seconds."""

import math
from collections.abc import Sequence
from typing import Any

from privacy_plugin.generalization.class_conditions import least_size
from privacy_plugin.generalization.generalize import KS, trade_off_over
from privacy_plugin.generalization.lattice import Lattice, lattice_over
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan, TradeOff
from privacy_plugin.requirements.requirement import Requirement

SECONDS = 5.0
FEWEST_POINTS = 3

# Distinct rows * nodes in a second: where classes are only counted, where class rules decide, and where a node is
# judged by every requirement.
_COUNTED, _RULED, _JUDGED = 500_000_000, 120_000_000, 30_000_000


def asked_size(requirements: Sequence[Requirement]) -> int:
    """Return the class size that the requirements ask for; 1 where none asks for a size."""
    return max((size for size in map(least_size, requirements) if size is not None), default=1)


def affordable_trade_off(
    plan: Plan | LocalPlan, data: Any, *, population: Any = None, seconds: float = SECONDS
) -> tuple[TradeOff, ...]:
    """Return the least loss of full-domain generalization for the plan's k and others, with all else as in the plan.

    `data` is the table that the plan was made for. The time is estimated from the number of nodes and distinct rows, so
    that the same table always gives the same curve. Where not every k is affordable, those nearest to the plan's k are
    computed; where fewer than three are, none is, and the result is empty. The curve of a local plan is that of one
    level for each column, in the loss metric, with the same limit of suppression.
    """
    lattice = lattice_over(
        data,
        hierarchies=plan.hierarchies,
        requirements=plan.requirements,
        max_suppression=plan.max_suppression,
        loss=plan.loss_name if isinstance(plan, Plan) else "loss_metric",
        sensitive=plan.sensitive,
        attributes=plan.attributes,
        population=population,
        unit=plan.unit,
    )
    k = asked_size(plan.requirements)
    ks = sorted({k, *KS}, key=lambda size: (abs(math.log(size / k)), size))
    chosen = ks[: int(seconds / _estimated_seconds(lattice))]
    return trade_off_over(lattice, sorted(chosen)) if len(chosen) >= FEWEST_POINTS else ()


def _estimated_seconds(lattice: Lattice) -> float:
    """Estimate how long one point of the curve takes."""
    conditions = lattice.conditions
    rate = _JUDGED if not conditions.decisive else _RULED if conditions.rules else _COUNTED
    return lattice.nodes * lattice.table.distinct / rate
