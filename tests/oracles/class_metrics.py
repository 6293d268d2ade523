"""k, l, t and re-identification risk by brute force, from the definitions alone.

Rows are plain tuples, one a person; the quasi-identifiers and the sensitive column are positions. Every function walks
over the people and returns whole numbers and fractions; entropies are compared without logarithms. Imports nothing of
the package.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

Row = tuple[Hashable, ...]
Distance = Callable[[Any, Any], Fraction]


def equivalence_classes(rows: Sequence[Row], positions: Sequence[int]) -> list[list[Row]]:
    """Put people together who are equal on all positions; missing values are equal to each other only."""
    classes: dict[tuple[Hashable, ...], list[Row]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[p] for p in positions)].append(row)
    return list(classes.values())


def k(rows: Sequence[Row], positions: Sequence[int]) -> int:
    """The size of the smallest class."""
    return min(len(members) for members in equivalence_classes(rows, positions))


def risks(rows: Sequence[Row], positions: Sequence[int]) -> list[Fraction]:
    """The chance of each person to be picked out of their class."""
    return [Fraction(1, len(members)) for members in equivalence_classes(rows, positions) for _ in members]


def highest_risk(rows: Sequence[Row], positions: Sequence[int]) -> Fraction:
    """The highest risk of any person."""
    return max(risks(rows, positions))


def average_risk(rows: Sequence[Row], positions: Sequence[int]) -> Fraction:
    """The mean risk over people."""
    return Fraction(sum(risks(rows, positions)), len(rows))


def share_at_risk(rows: Sequence[Row], positions: Sequence[int], threshold: Fraction) -> Fraction:
    """The share of people whose risk is strictly above the threshold."""
    return Fraction(sum(risk > threshold for risk in risks(rows, positions)), len(rows))


def _counts(members: Sequence[Row], sensitive: int) -> list[int]:
    values = [row[sensitive] for row in members]
    return sorted((values.count(value) for value in set(values)), reverse=True)


def distinct_l(rows: Sequence[Row], positions: Sequence[int], sensitive: int) -> int:
    """The number of different sensitive values in the poorest class."""
    return min(len({row[sensitive] for row in members}) for members in equivalence_classes(rows, positions))


def has_entropy_l(counts: Sequence[int], l: Fraction) -> bool:  # noqa: E741
    """Tell exactly whether -sum p ln p >= ln l: n^n >= l^n * product of n_i^n_i, all in whole numbers."""
    people = sum(counts)
    return Fraction(people) ** people >= l**people * prod(count**count for count in counts)


def is_entropy_diverse(rows: Sequence[Row], positions: Sequence[int], sensitive: int, l: Fraction) -> bool:  # noqa: E741
    """Tell whether every class has entropy of at least ln l."""
    return all(has_entropy_l(_counts(members, sensitive), l) for members in equivalence_classes(rows, positions))


def is_recursive_diverse(counts: Sequence[int], c: Fraction, l: int) -> bool:  # noqa: E741
    """Tell whether r_1 < c * (r_l + ... + r_m), r the counts in descending order."""
    ordered = sorted(counts, reverse=True)
    return ordered[0] < c * sum(ordered[l - 1 :])


def recursive_l(rows: Sequence[Row], positions: Sequence[int], sensitive: int, c: Fraction) -> int:
    """The largest l (0 if there is none) for which every class is (c, l)-diverse."""
    classes = [_counts(members, sensitive) for members in equivalence_classes(rows, positions)]
    candidates = range(1, max(map(len, classes)) + 1)
    return max((n for n in candidates if all(is_recursive_diverse(counts, c, n) for counts in classes)), default=0)


def equal_distance(a: Any, b: Any) -> Fraction:
    """Different values are one apart."""
    return Fraction(a != b)


def ordered_distance(values: Sequence[Any]) -> Distance:
    """Values of an ordered domain are as far apart as their ranks, the ends one apart."""
    ranks = {value: rank for rank, value in enumerate(values)}
    return lambda a, b: Fraction(abs(ranks[a] - ranks[b]), max(len(values) - 1, 1))


def hierarchical_distance(paths: dict[Any, Sequence[Any]]) -> Distance:
    """Values are as far apart as the lowest level on which they are one, over the height of the tree.

    `paths[value]` is what the value becomes on levels 0 to the height; the last level is one for all.
    """
    height = len(next(iter(paths.values()))) - 1

    def distance(a: Any, b: Any) -> Fraction:
        level = next(n for n in range(height + 1) if paths[a][n] == paths[b][n])
        return Fraction(level, max(height, 1))

    return distance


def earth_mover(supply: dict[Any, Fraction], demand: dict[Any, Fraction], distance: Distance) -> Fraction:
    """The least work of turning one distribution into the other, by shortest augmenting paths in exact arithmetic.

    A linear program over all flows between two values; the residual network always has a cheapest path, and filling
    cheapest paths first ends in the optimum.
    """
    sources, sinks = list(supply), list(demand)
    left, right = dict(supply), dict(demand)
    flow = {(a, b): Fraction(0) for a in sources for b in sinks}
    while any(left.values()):
        path, amount = _cheapest_path(left, right, flow, sources, sinks, distance)
        for step, (a, b) in enumerate(path):
            flow[a, b] += amount if step % 2 == 0 else -amount
        left[path[0][0]] -= amount
        right[path[-1][1]] -= amount
    return sum((amount * distance(a, b) for (a, b), amount in flow.items()), Fraction(0))


def _cheapest_path(
    left: dict[Any, Fraction],
    right: dict[Any, Fraction],
    flow: dict[tuple[Any, Any], Fraction],
    sources: list[Any],
    sinks: list[Any],
    distance: Distance,
) -> tuple[list[tuple[Any, Any]], Fraction]:
    """Bellman and Ford on the residual network: forward along any pair, back along a pair that carries flow."""
    cost: dict[tuple[str, Any], Fraction] = {("source", a): Fraction(0) for a in sources if left[a]}
    came: dict[tuple[str, Any], tuple[Any, Any]] = {}
    changed = True
    while changed:
        changed = False
        for a in sources:
            for b in sinks:
                start, end = cost.get(("source", a)), cost.get(("sink", b))
                if start is not None and (end is None or start + distance(a, b) < end):
                    cost["sink", b], came["sink", b], changed = start + distance(a, b), (a, b), True
                start, end = cost.get(("sink", b)), cost.get(("source", a))
                if flow[a, b] and start is not None and (end is None or start - distance(a, b) < end):
                    cost["source", a], came["source", a], changed = start - distance(a, b), (a, b), True
    last = min((b for b in sinks if right[b]), key=lambda b: cost["sink", b])
    path: list[tuple[Any, Any]] = []
    node = ("sink", last)
    while node in came:
        pair = came[node]
        path.append(pair)
        node = ("source", pair[0]) if node[0] == "sink" else ("sink", pair[1])
    path.reverse()
    backward = [flow[pair] for step, pair in enumerate(path) if step % 2]
    return path, min([left[path[0][0]], right[last], *backward])


def closeness(rows: Sequence[Row], positions: Sequence[int], sensitive: int, distance: Distance) -> Fraction:
    """The largest earth mover's distance between a class and the whole table."""

    def distribution(members: Sequence[Row]) -> dict[Any, Fraction]:
        values = [row[sensitive] for row in members]
        return {value: Fraction(values.count(value), len(values)) for value in set(values)}

    whole = distribution(rows)
    return max(earth_mover(distribution(members), whole, distance) for members in equivalence_classes(rows, positions))


def generalized(rows: Sequence[Row], paths: Sequence[dict[Any, Sequence[Any]]], node: Sequence[int]) -> list[Row]:
    """Replace the first columns of every row by what they become on the node's levels; `paths[i][v][n]` is level n."""
    width = len(paths)
    return [(*(paths[i][row[i]][node[i]] for i in range(width)), *row[width:]) for row in rows]


def least_loss(
    rows: Sequence[Row],
    paths: Sequence[dict[Any, Sequence[Any]]],
    is_good_class: Callable[[list[Row], Sequence[Row]], bool],
    most_suppressed: Fraction,
    is_good_alone: Callable[[list[Row], Sequence[Row]], bool] = lambda members, table: True,
) -> Fraction | None:
    """Try every node: leave out the classes that are not good alone, then those that are not good among the others.

    What is left is judged again as a table of its own.

    The loss of a node is the mean of level / height over the columns for people who stay, and 1 for the others. None
    when no node works.
    """
    positions = range(len(paths))
    heights = [len(next(iter(levels.values()))) - 1 for levels in paths]
    losses = []
    for node in product(*(range(height + 1) for height in heights)):
        table = generalized(rows, paths, node)
        kept = table
        for is_good in (is_good_alone, is_good_class):
            kept = [row for c in equivalence_classes(kept, positions) if is_good(c, kept) for row in c]
        share = Fraction(len(rows) - len(kept), len(rows))
        again = equivalence_classes(kept, positions)
        if kept and share <= most_suppressed and all(is_good_class(members, kept) for members in again):
            levels = [
                Fraction(level, height) if height else Fraction(0) for level, height in zip(node, heights, strict=True)
            ]
            losses.append((1 - share) * Fraction(sum(levels), len(levels)) + share)
    return min(losses, default=None)
