"""Full-domain generalization: the levels of least loss that meet every requirement."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from privacy_plugin.errors import InfeasibleError, ParameterError, TooLargeError, require_columns
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.plan import Plan, generalize_table, lay_over
from privacy_plugin.requirement import Requirement
from privacy_plugin.sources import open_source
from privacy_plugin.suppression import failing_rows, require_share

_MOST_NODES = 200_000


def generalize(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    max_suppression: float = 0.0,
    loss: str = "precision",
    sensitive: str | None = None,
) -> Plan:
    """Find the levels of least loss at which the table, without the rows of failing classes, meets every requirement.

    Loss `precision`: (1 - s) * mean over the quasi-identifiers of level / height + s, s the share of suppressed
    rows, which count as lost completely. Nodes are visited by rising generalization loss, which bounds their total
    from below, so the first bound above the best total ends the search with the optimum. Ties go to the node that
    comes first, by loss, then by levels in the order of the hierarchies.
    """
    _require_parameters(hierarchies, requirements, max_suppression, loss)
    source = open_source(data)
    quasi_identifiers = tuple(hierarchies)
    named = {r.sensitive or sensitive for r in requirements if "sensitive" in r.definition.roles}
    if None in named:
        raise ParameterError("a requirement looks at a sensitive column; name it with sensitive=")
    columns = [*quasi_identifiers, *sorted(name for name in named if name)]
    require_columns(columns, source.columns)
    table = source.frequencies(columns)
    table.require_rows()
    levels = lay_over(table, hierarchies)
    best: Plan | None = None
    visited, last = 0, ""
    for bound, node in _nodes_by_loss({name: level.height for name, level in levels.items()}):
        if best is not None and bound >= best.loss:
            break
        visited += 1
        try:
            generalized = generalize_table(table, levels, node)
            failing = failing_rows(
                generalized,
                requirements,
                quasi_identifiers=quasi_identifiers,
                sensitive=sensitive,
                max_suppression=max_suppression,
            )
        except InfeasibleError as problem:
            last = str(problem)
            continue
        members = generalized.classes(quasi_identifiers)
        suppressed = int(members.sizes[members.members[failing]].sum())
        share = suppressed / table.rows
        total = (1 - share) * bound + share
        if best is None or total < best.loss:
            best = Plan(
                levels=node,
                hierarchies=dict(hierarchies),
                requirements=tuple(requirements),
                loss=total,
                loss_name=loss,
                suppressed=suppressed,
                rows=table.rows,
                max_suppression=max_suppression,
                nodes_visited=visited,
                sensitive=sensitive,
            )
    if best is None:
        raise InfeasibleError(  # nodes are visited by rising loss: the last one was the top
            f"no generalization meets the requirements, not even the most general one, where {last.rstrip('.')}. "
            "Allow more suppression, extend a hierarchy to '*', or relax a limit"
        )
    return best


def _nodes_by_loss(heights: Mapping[str, int]) -> Iterator[tuple[float, dict[str, int]]]:
    nodes = itertools.product(*(range(height + 1) for height in heights.values()))
    scored = []
    for node in nodes:
        shares = [level / height if height else 0.0 for level, height in zip(node, heights.values(), strict=True)]
        scored.append((sum(shares) / len(shares), node))
        if len(scored) > _MOST_NODES:
            raise TooLargeError(f"the lattice has more than {_MOST_NODES:,} nodes; give fewer levels or columns")
    for bound, node in sorted(scored):
        yield bound, dict(zip(heights, node, strict=True))


def _require_parameters(
    hierarchies: Mapping[str, Hierarchy], requirements: Sequence[Requirement], max_suppression: float, loss: str
) -> None:
    if not hierarchies:
        raise ParameterError("hierarchies is empty; give one for every quasi-identifier")
    if not requirements:
        raise ParameterError("requirements is empty; without one the table would stay as it is")
    require_share(max_suppression)
    if loss != "precision":
        raise ParameterError(f"loss must be precision, not {loss!r}")
