"""Which way to search: by a table of all nodes, by pruning, or, of a lattice nobody can look through, by descending."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacy_plugin.errors import InfeasibleError, ParameterError, TooLargeError
from privacy_plugin.generalization.losses import Floats
from privacy_plugin.generalization.node_search import (
    Judged,
    balanced_chain,
    decide,
    descend,
    least,
    lowest_passing,
    minimal_nodes,
)
from privacy_plugin.generalization.node_sizes import Mask, Node, lowest_levels, possible_by_pairs, rolled_up
from privacy_plugin.generalization.task import LatticeTask

PICTURED = 200  # nodes that are kept with the plan, for the picture
_MOST_COUNTED = 5_000_000  # nodes that are counted one and all
_MOST_WALKED = 300_000_000_000  # distinct rows * nodes of such a walk: some minutes
_WALKED_A_SECOND = 1_000_000_000
_MOST_PRUNED = 20_000_000  # nodes of which a table of yes and no is kept
_MOST_VISITS = 100_000_000  # distinct rows * nodes that are judged one by one: some minutes
_JUDGED_AT_LEAST = 300
_FEW_JUDGED = 64  # allowed nodes that are all judged, only to list the minimal ones
_TOLD_EVERY = 25

Progress = Callable[[str], None]
Picture = tuple[tuple[Node, float, bool | None], ...]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search found, and how."""

    best: Judged
    minimal: tuple[Node, ...]
    visited: int
    exact: bool
    search: str
    picture: Picture = ()


class _Judgements:
    """Judges nodes, remembers the answers, and says now and then how far it has come."""

    def __init__(self, task: LatticeTask, progress: Progress | None) -> None:
        self.task = task
        self.answers: dict[Node, Judged | None] = {}
        self._progress = progress

    def __call__(self, node: Node) -> Judged | None:
        if node not in self.answers:
            self.answers[node] = self.task.judge(node)
            if self._progress is not None and len(self.answers) % _TOLD_EVERY == 0:
                self._progress(f"{len(self.answers):,} of {self.task.nodes:,} generalizations judged one by one")
        return self.answers[node]

    def passes(self, node: Node) -> bool:
        return self(node) is not None

    def best_of(self, nodes: tuple[Node, ...]) -> Judged | None:
        """Return the best of nodes that pass."""
        found = [judged for judged in map(self, nodes) if judged is not None]
        return min(found, key=lambda judged: judged.key, default=None)


def search(task: LatticeTask, progress: Progress | None) -> Found | None:
    """Find the node of least loss that meets every requirement; None where there is none."""
    judge = _Judgements(task, progress)
    inherited = task.monotone and task.most_suppressed == 0
    undiminished = task.most_suppressed == 0 or not task.conditions.repairable
    if task.conditions.sizes_or_presence and undiminished and PICTURED < task.nodes <= _MOST_PRUNED:
        if progress is not None:
            progress(f"deciding {task.nodes:,} generalizations by the classes of pairs of columns, and by tagging")
        return _pruned(task)
    if task.large_enough(task.top) is None or (inherited and not judge.passes(task.top)):
        return None  # what the most general node fails, every node fails
    walked = task.nodes * task.table.distinct
    if task.nodes > _MOST_COUNTED or walked > _MOST_WALKED:
        return _descended(task, judge, progress)
    if progress is not None and task.nodes > PICTURED:
        progress(
            f"counting all {task.nodes:,} generalizations: about {walked / _WALKED_A_SECOND + 2:,.0f} s (the first "
            "time ever, half a minute more to compile)"
        )
    return _by_table(task, judge, inherited)


def search_chain(task: LatticeTask, progress: Progress | None) -> Found | None:
    """Find the lowest node of one chain that meets every requirement, by halving; None where there is none.

    Halving is right only where a node above one that passes passes too. That is proven of monotone requirements as long
    as nothing is suppressed, and of class sizes with suppression too: rows in classes that are large enough stay in
    such. Of other requirements it is not (`class_conditions` says why), so they are refused together with suppression.
    """
    if not task.conditions.sizes_only and not (task.monotone and task.most_suppressed == 0):
        kept = "max_suppression=0 and " if task.most_suppressed else ""
        names = sorted({r.metric for r in task.requirements if task.most_suppressed or not r.definition.monotone})
        raise ParameterError(
            "a chain can be searched by halves only where what passes keeps passing further up, which is not proven "
            f"here ({', '.join(names)}); give {kept}monotone requirements, or search='best'"
        )
    judge = _Judgements(task, progress)
    if not judge.passes(task.top):
        return None
    chain = balanced_chain(task.shape)
    place, asked = lowest_passing(chain, judge.passes)
    best = judge(chain[place])
    assert best is not None  # the chain ends with the most general node
    words = (
        f"one chain of {len(chain)} of {task.nodes:,} generalizations was searched by halves, {asked} were judged; no "
        "lower one of the chain is allowed, but others may cost less. Minimal ones are not listed"
    )
    return Found(best=best, minimal=(), visited=len(judge.answers), exact=False, search=words)


def least_loss(task: LatticeTask) -> float | None:
    """Return the least loss alone, by one walk over the lattice where that decides every node."""
    if not task.conditions.decisive or task.nodes > _MOST_COUNTED:
        found = search(task, None)
        return None if found is None else found.best.loss
    counted = task.counted()
    eligible, bounds = task.eligible(counted), task.loss.bounds(counted)
    if not eligible.any():
        return None
    if task.bounds_are_losses:
        return float(bounds[eligible].min())
    best, _, _ = least(bounds, eligible, task.by_sizes if task.conditions.sizes_only else task.judge)
    return None if best is None else best.loss


def _by_table(task: LatticeTask, judge: _Judgements, inherited: bool) -> Found | None:
    """Count what is known of every node, then judge by rising loss, or decide by tagging."""
    counted = task.counted()
    eligible, bounds = task.eligible(counted), task.loss.bounds(counted)
    examined = f"all {task.nodes:,} combinations of levels were examined"
    words = examined if task.conditions.any_known else "nothing could be counted"
    feasible: Mask | None
    most = max(_MOST_VISITS // task.table.distinct, _JUDGED_AT_LEAST)
    if inherited and not task.conditions.decisive:
        feasible, asked, certain = decide(eligible, judge.passes, most=most)
        minimal = minimal_nodes(feasible)
        best = judge.best_of(minimal) if certain else None
        words += f"; {asked:,} judged by every requirement decide all {task.nodes:,}"
    else:
        cheaper = task.conditions.sizes_only and not task.bounds_are_losses
        refine = (lambda node: task.by_sizes(node).loss) if cheaper else None
        best, asked, certain = least(bounds, eligible, judge, refine=refine, most=most)
        feasible, minimal = _feasible(task, judge, eligible) if certain else (None, ())
        if not task.conditions.decisive:
            words += f"; {asked:,} of {task.nodes:,} were judged by every requirement, by rising loss"
            words += "" if minimal or best is None else "; minimal nodes are not listed, all would have to be judged"
    if not certain:
        return _given_up(task, judge, best, asked)
    if best is None:
        return None
    picture = _picture(bounds, eligible, feasible, best) if task.nodes <= PICTURED else ()
    visited = task.nodes if task.conditions.any_known else asked
    return Found(best=best, minimal=minimal, visited=visited, exact=True, search=words, picture=picture)


def _feasible(task: LatticeTask, judge: _Judgements, eligible: Mask) -> tuple[Mask | None, tuple[Node, ...]]:
    """Return which nodes pass, and the minimal ones, where that is known or quickly found out."""
    if not task.conditions.decisive and np.count_nonzero(eligible) > _FEW_JUDGED:
        return None, ()
    feasible = eligible
    if not task.conditions.decisive:
        feasible = np.zeros_like(eligible)
        for line in np.argwhere(eligible):
            node = tuple(int(level) for level in line)
            feasible[node] = judge.passes(node)
    return feasible, minimal_nodes(feasible)


def _picture(bounds: Floats, eligible: Mask, feasible: Mask | None, best: Judged) -> Picture:
    nodes = []
    for node in np.ndindex(bounds.shape):
        known = bool(feasible[node]) if feasible is not None else (None if eligible[node] else False)
        chosen = node == best.node
        nodes.append((node, best.loss if chosen else float(bounds[node]), True if chosen else known))
    return tuple(nodes)


def _pruned(task: LatticeTask) -> Found | None:
    """Decide all nodes by pairs of columns first, then by tagging, each node's classes counted from what is left."""
    lines, passes = task.pruning()
    possible, tried = possible_by_pairs(*lines, passes=passes)
    lowest = lowest_levels(possible)
    if lowest is None:
        return None
    fewer = rolled_up(*lines, lowest)
    feasible, asked, _ = decide(possible, lambda node: passes(*fewer, node))
    if not feasible.any():
        return None
    minimal = minimal_nodes(feasible)
    nothing = np.zeros(task.table.distinct, dtype=bool)
    best = min((Judged(node=node, loss=task.loss.of(node, nothing), suppressed=0) for node in minimal), key=_key)
    words = f"{tried:,} levels and pairs of levels and {asked:,} combinations of levels were examined; they decide all "
    words += f"{task.nodes:,}"
    return Found(best=task.judged(best.node), minimal=minimal, visited=tried + asked, exact=True, search=words)


def _key(judged: Judged) -> tuple[float, int, Node]:
    return judged.key


def _descended(task: LatticeTask, judge: _Judgements, progress: Progress | None) -> Found:
    if progress is not None:
        progress(f"{task.nodes:,} generalizations are too many to look at: going down from the most general one")
    best, asked = descend(task.shape, task.judge_quickly if task.conditions.sizes_only else judge)
    best = None if best is None else judge(best.node)
    if best is None:
        raise TooLargeError(
            f"the lattice has {task.nodes:,} nodes, too many to look at, and the most general one, where a descent "
            f"would begin, fails: {why_top_fails(task)}. Give fewer columns or levels, allow more suppression, or "
            "relax that limit"
        )
    words = (
        f"the lattice has {task.nodes:,} nodes, too many to look at; {asked:,} were judged, going down from the most "
        "general one and trading levels, and there may be a better one"
    )
    return Found(best=best, minimal=(), visited=asked, exact=False, search=words)


def why_top_fails(task: LatticeTask) -> str:
    """Say which requirement even the most general node fails."""
    try:
        task.judged(task.top)
    except InfeasibleError as problem:
        return str(problem).rstrip(".")
    raise AssertionError("the most general node passes but was not found")


def _given_up(task: LatticeTask, judge: _Judgements, best: Judged | None, asked: int) -> Found:
    """Take the best of what was judged so far and of a descent."""
    lower, more = descend(task.shape, judge, most=asked)
    found = [judged for judged in (best, lower) if judged is not None]
    if not found:
        raise TooLargeError(
            f"{asked:,} of {task.nodes:,} generalizations were judged one by one and none meets the requirements; to "
            f"try all would take too long. At the most general one {why_top_fails(task)}. Relax that limit, allow more "
            "suppression, or give fewer columns or levels"
        )
    words = (
        f"{asked + more:,} of {task.nodes:,} generalizations were judged, by rising loss and on the way down from the "
        "most general one, and there may be a better one"
    )
    return Found(best=min(found, key=_key), minimal=(), visited=asked + more, exact=False, search=words)
