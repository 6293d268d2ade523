"""A tree of columns with a table for every edge: estimated from noisy counts, sampled column by column.

Everything here looks only at numbers that have been paid for, so none of it costs privacy.

Arrays have the conditioning column first (one plane, where there is none): `ones[c]` is planes x values of column c,
`pairs[(a, b)]` is planes x values of a x values of b, with the edge directed from a to b.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privacy_plugin.anonymizers.coded_rows import Floats, Integers

_FITTING_ROUNDS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeModel:
    """A directed tree: `edges` in an order in which every column but the root comes after its parent."""

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


def nearest_counts(noisy: npt.NDArray[np.integer] | Floats, total: float) -> Floats:
    """Return the non-negative numbers of a given sum that are nearest to noisy ones: max(x - t, 0) for one t.

    >>> nearest_counts(np.array([5.0, -1.0, 2.0]), 6.0).tolist()
    [4.5, 0.0, 1.5]
    """
    # Below the largest, which is 0: beside numbers of any size the sum is then still told.
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
    """Give the rows of every stratum values in proportion to its weights, in random order."""
    found = np.zeros(len(strata), dtype=np.int64)
    order = np.argsort(strata, kind="stable")
    bounds = np.searchsorted(strata[order], np.arange(len(weights) + 1))
    for stratum in np.unique(strata):
        members = order[bounds[stratum] : bounds[stratum + 1]]
        dealt = np.repeat(np.arange(weights.shape[1]), _dealt(weights[stratum], len(members), generator))
        found[members] = generator.permutation(dealt)
    return found


def _dealt(weights: Floats, total: int, generator: np.random.Generator) -> Integers:
    """Round shares of a total to whole numbers that add up to it, each up or down and right on average."""
    summed = float(weights.sum())
    shares = weights / summed if summed > 0 else np.full(len(weights), 1 / len(weights))
    ends = np.floor(np.concatenate([[0.0], np.cumsum(shares)]) * total + generator.random())
    ends[0], ends[-1] = 0.0, total
    return np.diff(np.clip(ends, 0, total)).astype(np.int64)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(bottom), where=bottom > 0)
