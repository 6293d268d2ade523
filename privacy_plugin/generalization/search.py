"""Searches for the best node: by a table of all nodes, by pruning, or by descending where there are too many."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacy_plugin.errors import InfeasibleError, ParameterError, TooLargeError
from privacy_plugin.generalization.class_counts import Mask, Node, lowest_levels, possible_by_pairs, rolled_up
from privacy_plugin.generalization.lattice import Lattice
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

PICTURED = 200  # nodes that are kept with the plan, for the picture
_MOST_COUNTED = 5_000_000  # nodes that are all counted
_MOST_WALKED = 300_000_000_000  # distinct rows * nodes of such a walk: some minutes
_WALKED_A_SECOND = 1_000_000_000
_MOST_PRUNED = 20_000_000  # nodes that pruning keeps a table of
_MOST_VISITS = 100_000_000  # distinct rows * nodes that are judged one by one: some minutes
_JUDGED_AT_LEAST = 300
_FEW_JUDGED = 64  # allowed nodes that are all judged, only to list the minimal ones
_FEW_RULED = 64  # nodes that are evaluated by every requirement before the rules of all are counted
_REPORTED_EVERY = 25

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
    """Judges nodes, keeps the answers, and reports progress now and then."""

    def __init__(self, lattice: Lattice, progress: Progress | None) -> None:
        self.lattice = lattice
        self.answers: dict[Node, Judged | None] = {}
        self._progress = progress

    def __call__(self, node: Node) -> Judged | None:
        if node not in self.answers:
            self.answers[node] = self.lattice.judge(node)
            if self._progress is not None and len(self.answers) % _REPORTED_EVERY == 0:
                self._progress(f"{len(self.answers):,} of {self.lattice.nodes:,} generalizations evaluated one by one")
        return self.answers[node]

    def passes(self, node: Node) -> bool:
        return self(node) is not None

    def best_of(self, nodes: tuple[Node, ...]) -> Judged | None:
        """Return the best of nodes that pass."""
        found = [judged for judged in map(self, nodes) if judged is not None]
        return min(found, key=lambda judged: judged.key, default=None)


def search(lattice: Lattice, progress: Progress | None) -> Found | None:
    """Find the node of least loss that meets every requirement; None where there is none."""
    judge = _Judgements(lattice, progress)
    inherited = (lattice.monotone or lattice.taken_as_monotone) and lattice.most_suppressed == 0
    undiminished = lattice.most_suppressed == 0 or not lattice.conditions.repairable
    if lattice.conditions.sizes_or_presence and undiminished and PICTURED < lattice.nodes <= _MOST_PRUNED:
        if progress is not None:
            progress(f"deciding {lattice.nodes:,} generalizations by the classes of pairs of columns, and by tagging")
        return _pruned(lattice)
    if lattice.large_enough(lattice.top) is None or (inherited and not judge.passes(lattice.top)):
        return None  # what the most general node fails, every node fails
    walked = lattice.nodes * lattice.table.distinct
    if lattice.nodes > _MOST_COUNTED or walked > _MOST_WALKED:
        return _descended(lattice, judge, progress)
    if progress is not None and lattice.nodes > PICTURED:
        progress(
            f"counting all {lattice.nodes:,} generalizations: about {walked / _WALKED_A_SECOND + 2:,.0f} s (the first "
            "time ever, half a minute more to compile)"
        )
    conditions = lattice.conditions
    if conditions.k > 1 and conditions.rules and conditions.decisive and lattice.nodes > PICTURED:
        found = _by_sizes_first(lattice, judge)
        if found is not None:
            return found
    return _by_table(lattice, judge, inherited)


def search_chain(lattice: Lattice, progress: Progress | None) -> Found | None:
    """Find the lowest node of one chain that meets every requirement, by halving; None where there is none.

    Halving is right only where a node above one that passes passes too. That is proven for monotone requirements as
    long as nothing is suppressed, and for class sizes with suppression too: rows in classes that are large enough stay
    in such classes. For others it is not (see `class_conditions`), so they raise ParameterError with suppression.
    """
    if not lattice.conditions.sizes_only and not (lattice.monotone and lattice.most_suppressed == 0):
        kept = "max_suppression=0 and " if lattice.most_suppressed else ""
        names = sorted({r.metric for r in lattice.requirements if lattice.most_suppressed or not r.definition.monotone})
        raise ParameterError(
            "search='chain' needs requirements that stay met at every more general node, which is not proven for "
            f"{', '.join(names)}; give {kept}monotone requirements, or search='best'"
        )
    judge = _Judgements(lattice, progress)
    if not judge.passes(lattice.top):
        return None
    chain = balanced_chain(lattice.shape)
    place, asked = lowest_passing(chain, judge.passes)
    best = judge(chain[place])
    assert best is not None  # the chain ends with the most general node
    words = (
        f"binary search over one chain of {len(chain)} of {lattice.nodes:,} generalizations, {asked} evaluated; no "
        "lower one of the chain is allowed, but others may cost less; minimal ones are not listed"
    )
    return Found(best=best, minimal=(), visited=len(judge.answers), exact=False, search=words)


def least_loss(lattice: Lattice) -> float | None:
    """Return the least loss alone, by one walk over the lattice where that decides every node."""
    if not lattice.conditions.decisive or lattice.nodes > _MOST_COUNTED:
        found = search(lattice, None)
        return None if found is None else found.best.loss
    counts = lattice.node_counts()
    eligible, bounds = lattice.eligible(counts), lattice.loss.bounds(counts)
    if not eligible.any():
        return None
    if lattice.bounds_are_losses:
        return float(bounds[eligible].min())
    best, _, _ = least(bounds, eligible, lattice.by_sizes if lattice.conditions.sizes_only else lattice.judge)
    return None if best is None else best.loss


def _by_sizes_first(lattice: Lattice, judge: _Judgements) -> Found | None:
    """Count the class sizes of all nodes, and everything else of the few that could lose the least; None if not few.

    Rows in classes that are too small are suppressed whatever else is asked, so their loss bounds every node's.
    """
    counts = lattice.size_counts()
    eligible = (counts.failing <= lattice.most_suppressed) & (counts.failing < lattice.table.rows)
    bounds = lattice.loss.bounds(counts)
    best, asked, certain = least(bounds, eligible, judge, refine=lambda n: lattice.by_sizes(n).loss, most=_FEW_RULED)
    if best is None or not certain:
        return None
    words = (
        f"the class sizes of all {lattice.nodes:,} combinations of levels were examined; {asked:,} evaluated by every "
        "requirement, by rising loss; minimal nodes are not listed because all nodes would have to be evaluated"
    )
    return Found(best=best, minimal=(), visited=lattice.nodes, exact=True, search=words)


def _by_table(lattice: Lattice, judge: _Judgements, inherited: bool) -> Found | None:
    """Count what is known of every node, then judge by rising loss, or decide by tagging."""
    counts = lattice.node_counts()
    eligible, bounds = lattice.eligible(counts), lattice.loss.bounds(counts)
    examined = f"all {lattice.nodes:,} combinations of levels were examined"
    words = examined if lattice.conditions.any_known else "no compiled rule applies"
    feasible: Mask | None
    most = max(_MOST_VISITS // lattice.table.distinct, _JUDGED_AT_LEAST)
    if inherited and not lattice.conditions.decisive:
        feasible, asked, certain = decide(eligible, judge.passes, most=most)
        minimal = minimal_nodes(feasible)
        best = judge.best_of(minimal) if certain else None
        words += f"; {asked:,} of {lattice.nodes:,} evaluated by every requirement decide the others"
        if not lattice.monotone:
            words += (
                ", taking what is below a node that fails to fail too, which is not proven; there may be a better one"
            )
    else:
        cheaper = lattice.conditions.sizes_only and not lattice.bounds_are_losses
        refine = (lambda node: lattice.by_sizes(node).loss) if cheaper else None
        best, asked, certain = least(bounds, eligible, judge, refine=refine, most=most)
        feasible, minimal = _feasible(lattice, judge, eligible) if certain else (None, ())
        if not lattice.conditions.decisive:
            words += f"; {asked:,} of {lattice.nodes:,} evaluated by every requirement, by rising loss"
            if not minimal and best is not None:
                words += "; minimal nodes are not listed because all nodes would have to be evaluated"
    if not certain:
        return _given_up(lattice, judge, best, asked)
    if best is None:
        return None
    picture = _picture(bounds, eligible, feasible, best) if lattice.nodes <= PICTURED else ()
    visited = lattice.nodes if lattice.conditions.any_known else asked
    exact = lattice.monotone or not lattice.taken_as_monotone
    return Found(best=best, minimal=minimal, visited=visited, exact=exact, search=words, picture=picture)


def _feasible(lattice: Lattice, judge: _Judgements, eligible: Mask) -> tuple[Mask | None, tuple[Node, ...]]:
    """Return which nodes pass, and the minimal ones, where that is known or quickly found out."""
    if not lattice.conditions.decisive and np.count_nonzero(eligible) > _FEW_JUDGED:
        return None, ()
    feasible = eligible
    if not lattice.conditions.decisive:
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


def _pruned(lattice: Lattice) -> Found | None:
    """Decide all nodes by pairs of columns first, then by tagging, each node's classes counted from what is left."""
    lines, passes = lattice.pruning()
    possible, tried = possible_by_pairs(*lines, passes=passes)
    lowest = lowest_levels(possible)
    if lowest is None:
        return None
    fewer = rolled_up(*lines, lowest)
    feasible, asked, _ = decide(possible, lambda node: passes(*fewer, node))
    if not feasible.any():
        return None
    minimal = minimal_nodes(feasible)
    nothing = np.zeros(lattice.table.distinct, dtype=bool)
    best = min((Judged(node=node, loss=lattice.loss.of(node, nothing), suppressed=0) for node in minimal), key=_key)
    words = f"{tried:,} levels and pairs of levels and {asked:,} combinations of levels were examined; they decide all "
    words += f"{lattice.nodes:,} nodes"
    return Found(best=lattice.judged(best.node), minimal=minimal, visited=tried + asked, exact=True, search=words)


def _key(judged: Judged) -> tuple[float, int, Node]:
    return judged.key


def _descended(lattice: Lattice, judge: _Judgements, progress: Progress | None) -> Found:
    if progress is not None:
        progress(f"{lattice.nodes:,} generalizations are too many to evaluate: descending from the most general one")
    best, asked = descend(lattice.shape, lattice.judge_quickly if lattice.conditions.sizes_only else judge)
    best = None if best is None else judge(best.node)
    if best is None:
        raise TooLargeError(
            f"the lattice has {lattice.nodes:,} nodes, too many to evaluate, and the most general one, where a descent "
            f"starts, fails: {why_top_fails(lattice)}. Give fewer columns or levels, allow more suppression, or relax "
            "that limit"
        )
    words = (
        f"the lattice has {lattice.nodes:,} nodes, too many to evaluate; {asked:,} evaluated by descending from the "
        "most general one and trading levels; there may be a better one"
    )
    return Found(best=best, minimal=(), visited=asked, exact=False, search=words)


def why_top_fails(lattice: Lattice) -> str:
    """Return which requirement even the most general node fails."""
    try:
        lattice.judged(lattice.top)
    except InfeasibleError as problem:
        return str(problem).rstrip(".")
    raise AssertionError("the most general node passes but was not found")


def _given_up(lattice: Lattice, judge: _Judgements, best: Judged | None, asked: int) -> Found:
    """Take the best of what was judged so far and of a descent."""
    lower, more = descend(lattice.shape, judge, most=asked)
    found = [judged for judged in (best, lower) if judged is not None]
    if not found:
        raise TooLargeError(
            f"none of the {asked:,} of {lattice.nodes:,} generalizations that were evaluated meets the requirements; "
            f"evaluating all would take too long. At the most general one {why_top_fails(lattice)}. Relax that "
            "limit, allow more suppression, or give fewer columns or levels"
        )
    words = (
        f"{asked + more:,} of {lattice.nodes:,} generalizations evaluated, by rising loss and by descending from the "
        "most general one; there may be a better one"
    )
    return Found(best=min(found, key=_key), minimal=(), visited=asked + more, exact=False, search=words)
