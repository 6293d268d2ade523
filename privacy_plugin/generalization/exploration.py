"""Exploration: loss and failing rows of every node of the lattice, for many limits at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacy_plugin.errors import TooLargeError
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.lattice import Lattice, lattice_over
from privacy_plugin.generalization.losses import Floats
from privacy_plugin.generalization.unknown_values import Unknown
from privacy_plugin.requirements.requirement import Requirement, require

SHOWN = 4_000  # nodes that a page can show at once
_MOST_NODES = 2_000_000
_KS = (2, 3, 5, 8, 11, 15, 20, 30, 50, 100)
_LS = (2, 3, 4, 5)
_DISCLOSURES = (0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True, kw_only=True)
class ExploredLimit:
    """One limit, and how many rows of each shown node are in classes that fail it."""

    family: str
    limit: str
    line: Mapping[str, Any]
    """The requirement as in a policy."""
    failing: Integers


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """The nodes of a lattice with their loss (loss metric, nothing suppressed) and what fails each limit.

    `complete` tells whether every node is there; otherwise they are those on the frontier of some limit: no other node
    has both less loss and fewer failing rows.
    """

    columns: tuple[str, ...]
    levels: Integers
    losses: Floats
    limits: tuple[ExploredLimit, ...]
    rows: int
    nodes: int
    complete: bool


def explore(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement] = (),
    sensitive: Sequence[str] = (),
    unknown: Unknown = "refuse",
    shown: int = SHOWN,
) -> Exploration:
    """Count the failing rows of every node for a range of limits, and for all requirements of a policy together.

    The limits are class sizes, distinct values and, without knowledge, disclosure of every sensitive column. A limit
    that is not decided class by class, or that compares with a population, is left out. `unknown`: what is done with
    values that a hierarchy does not cover, as for `generalize`.
    """

    def over(asked: Sequence[Requirement]) -> Lattice:
        return lattice_over(
            data,
            hierarchies=hierarchies,
            requirements=asked,
            max_suppression=1.0,
            loss="loss_metric",
            unknown=unknown,
        )

    first = over([require("k_anonymity", at_least=1)])
    if first.nodes > _MOST_NODES:
        raise TooLargeError(
            f"the lattice has {first.nodes:,} nodes; at most {_MOST_NODES:,} are explored. Give fewer columns or levels"
        )
    losses = first.loss.bounds(first.node_counts())
    counted: list[tuple[str, str, dict[str, Any], Integers]] = []
    for family, limit, asked in _asked(requirements, sensitive):
        lattice = over(asked)
        if lattice.conditions.decisive and lattice.conditions.repairable:
            line = {name: given for r in asked for name, given in r.to_dict().items()}
            counted.append((family, limit, line, lattice.node_counts().failing.ravel()))
    chosen = _shown_nodes(losses.ravel(), [failing for *_, failing in counted], shown)
    return Exploration(
        columns=first.columns,
        levels=np.column_stack(np.unravel_index(chosen, first.shape)),
        losses=losses.ravel()[chosen],
        limits=tuple(
            ExploredLimit(family=family, limit=limit, line=line, failing=failing[chosen])
            for family, limit, line, failing in counted
        ),
        rows=first.table.rows,
        nodes=first.nodes,
        complete=len(chosen) == first.nodes,
    )


def _asked(
    requirements: Sequence[Requirement], sensitive: Sequence[str]
) -> list[tuple[str, str, tuple[Requirement, ...]]]:
    """Return the limits to count, each with its family and its own words."""
    privacy = tuple(r for r in requirements if r.definition.kind == "privacy" and not r.definition.needs_population)
    found: list[tuple[str, str, tuple[Requirement, ...]]] = []
    if privacy and _is_countable(privacy):
        found.append(("the policy", "all requirements of the policy", privacy))
    found += [("class size (k)", f"k at least {k}", (require("k_anonymity", at_least=k),)) for k in _KS]
    for name in sensitive:
        found += [(f"values of {name} (l)", f"l at least {level}", (_diverse(name, level),)) for level in _LS]
        found += [
            (f"disclosure of {name}", f"below {share:.0%}", (_undisclosed(name, share),)) for share in _DISCLOSURES
        ]
    return found


def _is_countable(requirements: Sequence[Requirement]) -> bool:
    return all(r.definition.class_rule is not None for r in requirements)


def _diverse(column: str, level: int) -> Requirement:
    return require("l_diversity", variant="distinct", at_least=level, sensitive=column)


def _undisclosed(column: str, share: float) -> Requirement:
    return require("maximum_disclosure", knowledge=0, attacker="negations", below=share, sensitive=column)


def _shown_nodes(losses: Floats, counted: Sequence[Integers], shown: int) -> Integers:
    """Return all nodes, or those on the frontier of loss and failing rows of some limit."""
    if len(losses) <= shown:
        return np.arange(len(losses))
    kept: list[Integers] = []
    for failing in counted:
        order = np.lexsort((failing, losses))
        lowest = np.minimum.accumulate(failing[order])
        new = np.concatenate([[True], lowest[1:] < lowest[:-1]])
        kept.append(order[new])
    found = np.unique(np.concatenate(kept)) if kept else np.arange(0)
    if len(found) < shown:  # fill with the nodes of least loss, so that a reader sees what surrounds the frontier
        found = np.union1d(found, np.argsort(losses, kind="stable")[: shown - len(found)])
    return found
