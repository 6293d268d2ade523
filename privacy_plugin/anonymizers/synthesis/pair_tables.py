"""A tree of tables of two columns, crossed with a given column: noisy for a whole row, or from randomized cells.

Why the account of the noisy one holds. Neighbours differ by one substituted row; the number of rows and the domains are
public, and the given column was named without looking at the data. A substituted row changes two cells of a table by 1:
L2 sqrt 2, discrete Gaussian noise. Edges are drawn one after the other by the exponential mechanism; the score of a
pair is the L1 distance of its counts from independence of the noisy tables of one column, so it changes by at most 2.
What is drawn from the noisy tables costs nothing more.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from privacy_plugin.anonymizers.accounting import Part
from privacy_plugin.anonymizers.coded_rows import CodedRows, Floats, Integers
from privacy_plugin.anonymizers.noise import HISTOGRAM, choose, noisy_counts
from privacy_plugin.anonymizers.randomized_response import RandomizedCells, unbiased_counts
from privacy_plugin.anonymizers.synthesis.tree_model import (
    TreeModel,
    directed,
    fitted,
    independence_distance,
    nearest_counts,
    spanning_tree,
)

# Shares of the budget: tables of one column, choice of the tree, tables of two columns.
_ONES, _TREE, _PAIRS = 0.1, 0.1, 0.8
_SCORE = 2.0


def noisy_pair_tables(
    rows: CodedRows, *, rho: float, generator: np.random.Generator | None
) -> tuple[TreeModel, tuple[Part, ...]]:
    """Fit the tables with rho-zero-concentrated privacy for one row, and return them with their account.

    Cost: one count of every pair of columns.
    """
    crossed = rows.given is not None
    columns, steps = rows.columns, max(rows.columns - 1, 0)
    share = rho / (_ONES + _TREE + _PAIRS if steps else _ONES)
    one_rho = share * _ONES / (columns + crossed)
    edge_rho, pair_rho = (share * _TREE / steps, share * _PAIRS / steps) if steps else (0.0, 0.0)

    def noisy(counts: Integers, part: float) -> Integers:
        return noisy_counts(counts, sensitivity=HISTOGRAM, rho=part, generator=generator)

    exact_planes = rows.planes()  # without a given column, the number of rows, which is public
    planes = nearest_counts(noisy(exact_planes, one_rho) if crossed else exact_planes, rows.rows)
    ones = {c: nearest_planes(noisy(rows.ones(c), one_rho), planes) for c in range(columns)}
    spend = math.sqrt(8 * edge_rho)
    edges = spanning_tree(
        range(columns),
        lambda a, b: independence_distance(rows.pairs(a, b).astype(np.float64), planes, ones[a], ones[b]),
        lambda scores: choose(scores, sensitivity=_SCORE, epsilon=spend, generator=generator),
    )
    estimate = {edge: noisy(rows.pairs(*edge), pair_rho).astype(np.float64) for edge in edges}
    return _model(planes, ones, estimate), _parts(columns + crossed, steps, one_rho, edge_rho, pair_rho)


def randomized_pair_tables(cells: RandomizedCells, rows: CodedRows) -> TreeModel:
    """Estimate the tables from randomized cells along the tree of largest distance from independence."""
    inverse = _inverses(cells, rows)
    planes = nearest_counts(inverse(rows.planes(), ()), rows.rows)
    ones = {c: nearest_planes(inverse(rows.ones(c), (c,)), planes) for c in range(rows.columns)}
    estimate: dict[tuple[int, int], Floats] = {}

    def score(a: int, b: int) -> float:
        estimate[(a, b)] = inverse(rows.pairs(a, b), (a, b))
        return independence_distance(nearest_planes(estimate[(a, b)], planes), planes, ones[a], ones[b])

    edges = spanning_tree(range(rows.columns), score, lambda scores: int(np.argmax(scores)))
    return _model(planes, ones, {edge: estimate[edge] for edge in edges})


def nearest_planes(noisy: Integers | Floats, planes: Floats) -> Floats:
    """Make every plane of a noisy table non-negative with the sum that the plane has."""
    return np.stack([nearest_counts(part, float(total)) for part, total in zip(noisy, planes, strict=True)])


def _model(planes: Floats, ones: Mapping[int, Floats], estimate: Mapping[tuple[int, int], Floats]) -> TreeModel:
    pairs: dict[tuple[int, int], Floats] = {}
    for a, b in estimate:
        table = fitted(nearest_planes(estimate[(a, b)], planes), ones[a], ones[b])
        pairs[(a, b)], pairs[(b, a)] = table, table.transpose(0, 2, 1)
    return TreeModel(planes=planes, root=0, ones=ones, edges=directed(list(estimate), 0), pairs=pairs)


def _inverses(cells: RandomizedCells, rows: CodedRows) -> Callable[[Integers, tuple[int, ...]], Floats]:
    """Return the function that takes counts of randomized cells to unbiased estimates; the first axis is the given."""
    given = None if rows.given is None else cells.rounded_channel(rows.given)

    def inverse(counts: Integers, columns: tuple[int, ...]) -> Floats:
        return unbiased_counts(counts, [given, *(cells.rounded_channel(rows.names[column]) for column in columns)])

    return inverse


def _parts(ones: int, steps: int, one_rho: float, edge_rho: float, pair_rho: float) -> tuple[Part, ...]:
    gaussian, substituted = "discrete Gaussian noise", "L2 sqrt 2: one row is substituted"
    found = [Part(name="tables of one column", mechanism=gaussian, sensitivity=substituted, rho=one_rho, times=ones)]
    if steps:
        found += [
            Part(
                name="edges of the tree",
                mechanism="exponential mechanism",
                sensitivity="2 in the score: L1 of the pair's counts",
                rho=edge_rho,
                times=steps,
            ),
            Part(name="tables of two columns", mechanism=gaussian, sensitivity=substituted, rho=pair_rho, times=steps),
        ]
    return tuple(found)
