"""Searches over the lattice of full-domain generalizations; the caller supplies the loss of a node.

A node is a tuple of levels, the lattice an array with an axis for every column. *Above* a node are all nodes with no
lower level. Everything here is exact but `descend`, which is for lattices with too many nodes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.generalization.class_counts import Mask, Node
from privacy_plugin.generalization.losses import DECIMALS, Floats

Key = tuple[float, int, Node]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A node that meets every requirement: its loss, and the rows that have to be suppressed."""

    node: Node
    loss: float
    suppressed: int

    @property
    def key(self) -> Key:
        """The order of nodes: loss to twelve decimals, sum of levels, levels."""
        return round(self.loss, DECIMALS), sum(self.node), self.node


Judge = Callable[[Node], Judged | None]


def level_sums(shape: tuple[int, ...]) -> Integers:
    """Return the sum of levels of every node."""
    total = np.zeros(shape, dtype=np.int64)
    for axis, levels in enumerate(shape):
        total += np.arange(levels).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return total


def minimal_nodes(feasible: Mask) -> tuple[Node, ...]:
    """Return the feasible nodes with no feasible node below them, by sum of levels and then levels.

    >>> minimal_nodes(np.array([[False, False, True], [False, True, True]]))
    ((0, 2), (1, 1))
    """
    reached = feasible.copy()
    for axis in range(feasible.ndim):
        np.logical_or.accumulate(reached, axis=axis, out=reached)
    above = np.zeros_like(feasible)
    for axis in range(feasible.ndim):
        np.moveaxis(above, axis, 0)[1:] |= np.moveaxis(reached, axis, 0)[:-1]
    found = [_node(line) for line in np.argwhere(feasible & ~above)]
    return tuple(sorted(found, key=lambda node: (sum(node), node)))


def ascending(bounds: Floats, eligible: Mask) -> Iterator[Key]:
    """Yield the eligible nodes by rising bound, then sum of levels, then levels.

    Sorted a part at a time, because the search usually ends with the first few.
    """
    flat = np.flatnonzero(eligible)
    sums, lows = level_sums(bounds.shape).ravel()[flat], np.round(bounds.ravel()[flat], DECIMALS)
    size = 1024
    while len(flat):
        part = np.ones(len(flat), dtype=bool)
        if len(flat) > size:
            part = lows <= np.partition(lows, size)[size]
        order = np.lexsort((flat[part], sums[part], lows[part]))
        nodes = np.column_stack(np.unravel_index(flat[part][order], bounds.shape))
        for low, total, line in zip(lows[part][order].tolist(), sums[part][order].tolist(), nodes, strict=True):
            yield low, total, _node(line)
        flat, sums, lows, size = flat[~part], sums[~part], lows[~part], size * 8


def least(
    bounds: Floats,
    eligible: Mask,
    judge: Judge,
    *,
    refine: Callable[[Node], float] | None = None,
    most: int | None = None,
) -> tuple[Judged | None, int, bool]:
    """Find the feasible node of least loss; return it, how many nodes were judged, and whether that is certain.

    `bounds` lie at or below the loss. Nodes are judged by rising bound; the first bound that is not below the best
    loss so far ends the search, because every later node costs at least its bound. `refine` gives a better bound than
    the array's, for less than judging costs. After `most` judgements the search gives up.
    """
    best: Judged | None = None
    judged = 0
    for key in ascending(bounds, eligible):
        if best is not None and key >= best.key:
            break
        node = key[2]
        if best is not None and refine is not None and (round(refine(node), DECIMALS), *key[1:]) >= best.key:
            continue
        if most is not None and judged >= most:
            return best, judged, False
        judged += 1
        found = judge(node)
        if found is not None and (best is None or found.key < best.key):
            best = found
    return best, judged, True


def decide(possible: Mask, passes: Callable[[Node], bool], *, most: int | None = None) -> tuple[Mask, int, bool]:
    """Decide every possible node, where passing is inherited upwards.

    Returns who passes, how many were asked, and whether all are decided: after asking `most` it gives up.

    Predictive tagging (El Emam et al. 2009): what lies above a node that passes passes, what lies below one that fails
    fails. A binary search along a chain of undecided nodes, from a lowest one upwards, decides at least that chain.
    """
    open_, feasible, asked = np.ascontiguousarray(possible).copy(), np.zeros_like(possible), 0
    flat, first = open_.reshape(-1), 0
    while True:
        first += int(np.argmax(flat[first:]))  # all that lies below a node has a smaller index, and is decided
        if not flat[first] or (most is not None and asked >= most):
            return feasible, asked, not flat[first]

        def tagged(node: Node) -> bool:
            passed = passes(node)
            open_[_above(node) if passed else _below(node)] = False
            if passed:
                feasible[_above(node)] = True
            return passed

        asked += lowest_passing(_chain(open_, _node(np.unravel_index(first, open_.shape))), tagged)[1]


def lowest_passing(chain: Sequence[Node], passes: Callable[[Node], bool]) -> tuple[int, int]:
    """Find where the nodes of a rising chain begin to pass, by halving it, where passing is inherited upwards.

    Returns the place, which is the chain's length where none passes, and how many nodes were asked.
    """
    low, high, asked = 0, len(chain), 0  # chain[high:] pass, chain[:low] fail
    while low < high:
        middle = (low + high) // 2
        asked += 1
        low, high = (low, middle) if passes(chain[middle]) else (middle + 1, high)
    return low, asked


def balanced_chain(shape: tuple[int, ...]) -> list[Node]:
    """Return a chain from the most specific node to the most general one: columns rise as evenly as they can.

    >>> balanced_chain((3, 2))
    [(0, 0), (1, 0), (2, 0), (2, 1)]
    """
    steps = [((level + 1) / (levels - 1), axis) for axis, levels in enumerate(shape) for level in range(levels - 1)]
    chain = [(0,) * len(shape)]
    for _, axis in sorted(steps):
        chain.append(_moved(chain[-1], axis, 1))
    return chain


def descend(shape: tuple[int, ...], judge: Judge, *, most: int = 5_000) -> tuple[Judged | None, int]:
    """Go down from the most general node, then trade levels of one column for levels of others, as long as it helps.

    For lattices too large to look through: what it returns meets the requirements but need not be the best. Returns it
    and how many nodes were judged, about `most` of them.
    """
    answers: dict[Node, Judged | None] = {}

    def ask(node: Node) -> Judged | None:
        if node not in answers:
            answers[node] = judge(node)
        return answers[node]

    top = ask(tuple(levels - 1 for levels in shape))
    best = None if top is None else _lowered(top, ask)
    while best is not None and len(answers) < most:
        better = min(_traded(best, shape, ask), key=lambda found: found.key, default=best)
        if better.key >= best.key:
            break
        best = _lowered(better, ask)
    return best, len(answers)


def _lowered(start: Judged, ask: Judge, kept: int | None = None) -> Judged:
    """Go to the best neighbour below, again and again, while that is better; the level of one column may be kept."""
    best = start
    while True:
        axes = [axis for axis, level in enumerate(best.node) if level and axis != kept]
        found = [lower for axis in axes if (lower := ask(_moved(best.node, axis, -1))) is not None]
        following = min(found, key=lambda lower: lower.key, default=None)
        if following is None or following.key >= best.key:
            return best
        best = following


def _traded(best: Judged, shape: tuple[int, ...], ask: Judge) -> Iterator[Judged]:
    """Raise one column, and lower the others as far as that allows."""
    for axis, level in enumerate(best.node):
        for step in range(1, shape[axis] - level):
            raised = ask(_moved(best.node, axis, step))
            if raised is not None:
                yield _lowered(raised, ask, kept=axis)


def _moved(node: Node, axis: int, step: int) -> Node:
    return (*node[:axis], node[axis] + step, *node[axis + 1 :])


def _chain(open_: Mask, node: Node) -> list[Node]:
    chain = [node]
    while True:
        for axis in range(open_.ndim):
            following = _moved(node, axis, 1)
            if following[axis] < open_.shape[axis] and open_[following]:
                break
        else:
            return chain
        chain.append(following)
        node = following


def _above(node: Node) -> tuple[slice, ...]:
    return tuple(slice(level, None) for level in node)


def _below(node: Node) -> tuple[slice, ...]:
    return tuple(slice(None, level + 1) for level in node)


def _node(line: npt.NDArray[Any] | tuple[Any, ...]) -> Node:
    return tuple(int(level) for level in line)
