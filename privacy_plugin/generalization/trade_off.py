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

# Seconds for a distinct row, and for a distinct row at a node: where classes are only counted, where class rules
# decide, and where nodes are judged by every requirement.
_COUNTED = 1e-6, 1 / 2e9
_RULED = 3e-6, 1 / 4e8
_JUDGED = 3e-6, 1 / 3e7
_NEARLY = 1.25  # of two sizes that differ by a smaller factor, one is drawn


def asked_size(requirements: Sequence[Requirement]) -> int:
    """Return the class size that the requirements ask for; 1 where none asks for a size."""
    return max((size for size in map(least_size, requirements) if size is not None), default=1)


def affordable_trade_off(
    plan: Plan | LocalPlan, data: Any, *, population: Any = None, seconds: float = SECONDS
) -> tuple[TradeOff, ...]:
    """Return the least loss of full-domain generalization for the plan's k and others, with all else as in the plan.

    `data` is the table that the plan was made for. The time is estimated from the number of nodes and distinct rows, so
    that the same table always gives the same curve. Sizes close to the plan's k are left out. Where not every k is
    affordable, those nearest to the plan's k are computed; where fewer than three are, none is, and the result is
    empty. The curve of a local plan is that of one level for each column, in the loss metric, with the same limit of
    suppression.
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
        unknown=plan.unknown,
    )
    k = asked_size(plan.requirements)
    apart = [size for size in KS if max(size / k, k / size) >= _NEARLY]
    ks = sorted([k, *apart], key=lambda size: (abs(math.log(size / k)), size))
    chosen = ks[: int(seconds / _estimated_seconds(lattice))]
    return trade_off_over(lattice, sorted(chosen)) if len(chosen) >= FEWEST_POINTS else ()


def _estimated_seconds(lattice: Lattice) -> float:
    """Estimate how long one point of the curve takes."""
    conditions = lattice.conditions
    once, at_node = _JUDGED if not conditions.decisive else _RULED if conditions.rules else _COUNTED
    return lattice.table.distinct * (once + lattice.nodes * at_node)
