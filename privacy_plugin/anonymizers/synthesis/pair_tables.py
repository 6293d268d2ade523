"""A tree of tables of two columns, crossed with a given column: noisy for a whole row, or from randomized cells.

Why the account of the noisy one holds. Neighbours differ by one substituted row; the number of rows and the domains are
public, and the given column was named without looking at the data. A substituted row changes two cells of a table by 1:
L2 sqrt 2, discrete Gaussian noise. Edges are drawn one after the other by the exponential mechanism; the score of a
pair is the L1 distance of its counts from independence of the noisy tables of one column, so it changes by at most 2.
Drawing from the noisy tables costs nothing more.

Arrays have the given column first (one plane without one): `ones[c]` is planes x values of column c, `pairs[(a, b)]` is
planes x values of a x values of b, with the edge directed from a to b.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privacy_plugin.anonymizers.accounting import Part
from privacy_plugin.anonymizers.coded_rows import CodedRows, Floats, Integers
from privacy_plugin.anonymizers.noise import HISTOGRAM, choose, noisy_counts
from privacy_plugin.anonymizers.randomized_response import RandomizedCells, unbiased_counts

# Shares of the budget: tables of one column, choice of the tree, tables of two columns.
_ONES, _TREE, _PAIRS = 0.1, 0.1, 0.8
_SCORE = 2.0
_FITTING_ROUNDS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeModel:
    """A directed tree of columns; `edges` are ordered so that every column but the root follows its parent."""

    planes: Floats
    root: int
    ones: Mapping[int, Floats]
    edges: tuple[tuple[int, int], ...]
    pairs: Mapping[tuple[int, int], Floats]

    def sample(self, rows: int, generator: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw rows: (plane of each row, codes of rows x columns), with shares as near to the model's as rows allow."""
        columns = len(self.ones)
        planes = np.repeat(np.arange(len(self.planes)), _dealt(self.planes, rows, generator))
        codes = np.zeros((rows, columns), dtype=np.int64)
        codes[:, self.root] = dealt_values(planes, self.ones[self.root], generator)
        for parent, child in self.edges:
            table = self.pairs[(parent, child)]
            strata = planes * table.shape[1] + codes[:, parent]
            codes[:, child] = dealt_values(strata, table.reshape(-1, table.shape[2]), generator)
        order = generator.permutation(rows)
        return planes[order], codes[order]


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
    """Return the nearest non-negative table whose planes have the given sums."""
    return np.stack([nearest_counts(part, float(total)) for part, total in zip(noisy, planes, strict=True)])


def _model(planes: Floats, ones: Mapping[int, Floats], estimate: Mapping[tuple[int, int], Floats]) -> TreeModel:
    pairs: dict[tuple[int, int], Floats] = {}
    for a, b in estimate:
        table = fitted(nearest_planes(estimate[(a, b)], planes), ones[a], ones[b])
        pairs[(a, b)], pairs[(b, a)] = table, table.transpose(0, 2, 1)
    return TreeModel(planes=planes, root=0, ones=ones, edges=directed(list(estimate), 0), pairs=pairs)


def _inverses(cells: RandomizedCells, rows: CodedRows) -> Callable[[Integers, tuple[int, ...]], Floats]:
    """Return a function from counts of randomized cells to unbiased estimates; the given column is the first axis."""
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


def nearest_counts(noisy: npt.NDArray[np.integer] | Floats, total: float) -> Floats:
    """Return the non-negative numbers of a given sum that are nearest to noisy ones: max(x - t, 0) for one t.

    >>> nearest_counts(np.array([5.0, -1.0, 2.0]), 6.0).tolist()
    [4.5, 0.0, 1.5]
    """
    # Relative to the largest, so that the sum keeps its precision for numbers of any size.
    below = np.asarray(noisy, dtype=np.float64) - np.max(noisy)
    values = np.sort(below.ravel())[::-1]
    excess = (np.cumsum(values) - total) / np.arange(1, len(values) + 1)
    shift = excess[np.flatnonzero(values > excess)[-1]] if total > 0 else 0.0
    return np.asarray(np.maximum(below - shift, 0.0))


def fitted(table: Floats, first: Floats, second: Floats) -> Floats:
    """Scale planes x a x b until its margins are planes x a and planes x b (iterative proportional fitting)."""
    found = table + 1e-9
    for _ in range(_FITTING_ROUNDS):
        found *= _ratio(first, found.sum(axis=2))[:, :, None]
        found *= _ratio(second, found.sum(axis=1))[:, None, :]
    return found


def independence_distance(pair: Floats, planes: Floats, first: Floats, second: Floats) -> float:
    """Return the L1 distance of a pair's counts from what the margins give if the columns are independent."""
    expected = first[:, :, None] * second[:, None, :] * _ratio(np.ones_like(planes), planes)[:, None, None]
    return float(np.abs(pair - expected).sum())


def spanning_tree(
    columns: Sequence[int], score: Callable[[int, int], float], pick: Callable[[Floats], int]
) -> tuple[tuple[int, int], ...]:
    """Join columns pair by pair: each time one of the pairs that connect two parts is picked by its score."""
    part = {column: column for column in columns}
    candidates = list(combinations(columns, 2))
    scores = {edge: score(*edge) for edge in candidates}
    chosen: list[tuple[int, int]] = []
    while len(chosen) < len(columns) - 1:
        candidates = [(a, b) for a, b in candidates if part[a] != part[b]]
        a, b = candidates[pick(np.array([scores[edge] for edge in candidates]))]
        chosen.append((a, b))
        part = {column: part[a] if known == part[b] else known for column, known in part.items()}
    return tuple(chosen)


def directed(edges: Sequence[tuple[int, int]], root: int) -> tuple[tuple[int, int], ...]:
    """Direct the edges of a tree away from its root, breadth first."""
    ordered: list[tuple[int, int]] = []
    reached, left = [root], list(edges)
    for column in reached:
        for edge in [edge for edge in left if column in edge]:
            other = edge[1] if edge[0] == column else edge[0]
            ordered.append((column, other))
            reached.append(other)
            left.remove(edge)
    return tuple(ordered)


def dealt_values(strata: Integers, weights: Floats, generator: np.random.Generator) -> Integers:
    """Return values for the rows of every stratum in proportion to its weights, in random order."""
    found = np.zeros(len(strata), dtype=np.int64)
    order = np.argsort(strata, kind="stable")
    bounds = np.searchsorted(strata[order], np.arange(len(weights) + 1))
    for stratum in np.unique(strata):
        members = order[bounds[stratum] : bounds[stratum + 1]]
        dealt = np.repeat(np.arange(weights.shape[1]), _dealt(weights[stratum], len(members), generator))
        found[members] = generator.permutation(dealt)
    return found


def _dealt(weights: Floats, total: int, generator: np.random.Generator) -> Integers:
    """Round shares of a total to integers that add up to it, each up or down and unbiased."""
    summed = float(weights.sum())
    shares = weights / summed if summed > 0 else np.full(len(weights), 1 / len(weights))
    ends = np.floor(np.concatenate([[0.0], np.cumsum(shares)]) * total + generator.random())
    ends[0], ends[-1] = 0.0, total
    return np.diff(np.clip(ends, 0, total)).astype(np.int64)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(bottom), where=bottom > 0)
