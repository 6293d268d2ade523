"""The dependent code tree with privacy for a whole row: every count and every choice is noisy.

Why the account holds. Neighbours differ by one substituted row; the number of rows and the domains are public. The
mechanisms run one after the other, each may use what earlier ones released, and zero-concentrated budgets add up.

1. Tables of one column: a substituted row changes two cells by 1, L2 sqrt 2; discrete Gaussian noise.
2. Edges of the tree of columns: exponential mechanism, one edge after the other. The score of a pair is the L1 distance
   of its counts from the product of the noisy tables of one column, so it changes by at most 2.
3. Each column but the first is divided by its neighbour in the tree, known from 2. Then, level by level, each leaf of
   enough (noisy) rows draws by the exponential mechanism by which earlier column it is divided, or that it is not. With
   T the leaf's counts of (other column, this column), t_x the sum of line x and s the leaf's noisy shares, not negative
   and of sum 1, the score is sum |T_xy - t_x s_y| minus the expectation for pure noise, a number that does not depend
   on the rows. A row added to line x, value y changes |T_xy - t_x s_y| by 1 - s_y and the rest of the line by at most
   the sum of the other shares, 1 - s_y: at most 2 in all. The leaves of a level share no row. A substitution within a
   leaf changes its scores by at most 4; a draw with sensitivity 4 and epsilon e costs e^2/8. A substitution that moves
   a row from one leaf to another changes two leaves' scores by at most 2 each: twice (e/2)^2/8, which is less. So a
   level of draws costs e^2/8, however many leaves it has.
4. After the first division and after each level of draws, the counts of the column's values in all leaves, one table
   that a substituted row changes by L2 sqrt 2; discrete Gaussian noise.

A column with one possible value is never looked at. All later steps (estimates from several levels, margins, drawing of
rows) use only what 1 to 4 released.

The number of levels depends on public numbers only: rows, columns, budget. The shares of the budget and the noise
charged to a division were compared on adult, at epsilon 1 and 0.1, and levels for many rows on msnbc. Both are public;
other tables may have better choices.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacy_plugin.anonymizers.accounting import Part
from privacy_plugin.anonymizers.coded_rows import CodedRows, Floats, Integers
from privacy_plugin.anonymizers.noise import HISTOGRAM, choose, noisy_counts
from privacy_plugin.anonymizers.synthesis.code_tree import CodeTree, Node, ordered_columns, several_valued
from privacy_plugin.anonymizers.synthesis.pair_tables import independence_distance, nearest_counts, spanning_tree
from privacy_plugin.anonymizers.synthesis.reached_rows import MEAN_OF_NORMAL, ExactRows, Reached

_ONES, _EDGES, _DIVISIONS, _LEAVES = 0.05, 0.05, 0.15, 0.75  # shares of the budget
_LEVELS, _MOST_LEVELS = 3, 8  # the number of earlier columns a value may depend on
_ENOUGH = 2_000  # rows over the scale of the noise for three levels; each doubling allows one more
_FLOOR = 10  # deviations of the noise: a leaf of fewer rows is not divided
_EDGE_SCORE, _DIVISION_SCORE = 2.0, 4.0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What each mechanism spends, in rho, and how often it runs."""

    one: float
    edge: float
    division: float
    level: float
    levels: int
    columns: int

    @classmethod
    def of(cls, rho: float, *, columns: int, rows: int) -> "Budget":
        """Divide a budget among the mechanisms by the numbers of columns and rows, both public."""
        steps = columns - 1
        if steps < 1:
            return cls(one=rho, edge=0.0, division=0.0, level=0.0, levels=0, columns=columns)
        doublings = math.log2(max(rows * math.sqrt(rho / steps) / _ENOUGH, 1))
        levels = min(_LEVELS + round(doublings), _MOST_LEVELS)
        return cls(
            one=rho * _ONES / columns,
            edge=rho * _EDGES / steps,
            division=rho * _DIVISIONS / (steps * (levels - 1)),
            level=rho * _LEAVES / (steps * levels),
            levels=levels,
            columns=columns,
        )

    @property
    def deviation(self) -> float:
        """The deviation of the noise of a level's counts."""
        return HISTOGRAM / math.sqrt(2 * self.level)

    def parts(self) -> tuple[Part, ...]:
        """Return the account."""
        gaussian, substituted = "discrete Gaussian noise", "L2 sqrt 2: one row is substituted"
        drawn, steps = "exponential mechanism", self.columns - 1
        ones = Part(
            name="tables of one column",
            mechanism=gaussian,
            sensitivity=substituted,
            rho=self.one,
            times=self.columns,
        )
        found = (
            ones,
            Part(
                name="edges of the tree of columns",
                mechanism=drawn,
                sensitivity="2 in the score: L1 of the pair's counts",
                rho=self.edge,
                times=steps,
            ),
            Part(
                name="divisions of a level of leaves",
                mechanism=drawn,
                sensitivity="4 in the score, whichever leaves the row leaves and enters",
                rho=self.division,
                times=steps * (self.levels - 1),
            ),
            Part(
                name="counts in a level of leaves",
                mechanism=gaussian,
                sensitivity=substituted,
                rho=self.level,
                times=steps * self.levels,
            ),
        )
        return found[: min(self.columns, 2) ** 2]  # no part without columns, one for one column, all for more


@dataclass(frozen=True, kw_only=True, eq=False)
class _Leaf:
    """A leaf: the rows that reach it (never released), and the noisy estimate of its counts with its variance."""

    node: Node
    reached: Reached
    estimate: Floats
    variance: float


def noisy_code_tree(
    rows: CodedRows, *, rho: float, generator: np.random.Generator | None
) -> tuple[CodeTree, tuple[Part, ...]]:
    """Fit the tree with rho-zero-concentrated privacy for one row, and return it with its account.

    Cost: a table of two columns for every leaf and earlier column, and a draw per leaf.
    """
    columns = several_valued(rows)
    budget = Budget.of(rho, columns=len(columns), rows=rows.rows)
    source = ExactRows(coded=rows)
    margins = {c: nearest_counts(_noisy(rows.ones(c)[0], budget.one, generator), rows.rows) for c in columns}
    edges = _edges(rows, columns, margins, budget, generator)
    order = [*(edges[0][:1] if edges else columns), *(child for _, child in edges)]
    trees = {column: Node(counts=margins[column]) for column in order}
    for position, (parent, column) in enumerate(edges, start=1):
        grower = _Grower(source=source, column=column, earlier=order[:position], budget=budget, generator=generator)
        grower.grow(trees[column], parent)
    return CodeTree(columns=rows.columns, trees=trees, margins=margins, edges=edges), budget.parts()


def division_score(table: Floats, shares: Floats) -> float:
    """Return the L1 distance of counts from lines that all have the same shares.

    One row more or less changes it by at most 2, for shares that are not negative and sum to 1.

    >>> division_score(np.array([[4.0, 0.0], [0.0, 4.0]]), np.array([0.5, 0.5]))
    8.0
    """
    return float(np.abs(table - table.sum(axis=1, keepdims=True) * shares).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Grower:
    """Grows the decision tree of one column."""

    source: ExactRows
    column: int
    earlier: Sequence[int]
    budget: Budget
    generator: np.random.Generator | None

    def grow(self, root: Node, parent: int) -> None:
        everybody = self.source.everybody()
        start = _Leaf(node=root, reached=everybody, estimate=root.counts, variance=math.inf)
        leaves = self._measured([start], [parent])
        for left in range(self.budget.levels - 1, 0, -1):
            leaves = self._measured(leaves, [self._division(leaf, left) for leaf in leaves])

    def _division(self, leaf: _Leaf, left: int) -> int | None:
        """Draw the column that divides a leaf, or None; its parts will be counted `left` times."""
        candidates = [other for other in self.earlier if other not in leaf.node.path]
        size = float(leaf.estimate.sum())
        if not candidates or size < _FLOOR * self.budget.deviation:
            return None
        shares = nearest_counts(leaf.estimate, size) / size
        noise = MEAN_OF_NORMAL * self.budget.deviation / math.sqrt(left) * len(shares)
        scores = [0.0]
        for other in candidates:
            table = self.source.table(leaf.reached, other, self.column)
            scores.append(division_score(table, shares) - noise * len(table))
        epsilon = math.sqrt(8 * self.budget.division)
        chosen = choose(np.array(scores), sensitivity=_DIVISION_SCORE, epsilon=epsilon, generator=self.generator)
        return candidates[chosen - 1] if chosen else None

    def _measured(self, leaves: Sequence[_Leaf], divisions: Sequence[int | None]) -> list[_Leaf]:
        """Divide leaves, count all leaves with noise, and combine the counts with earlier estimates."""
        parts = [
            [leaf.reached] if other is None else self.source.parts(leaf.reached, other)
            for leaf, other in zip(leaves, divisions, strict=True)
        ]
        counts = np.stack([self.source.values(part, self.column) for family in parts for part in family])
        noisy = _noisy(np.rint(counts).astype(np.int64), self.budget.level, self.generator).astype(np.float64)
        found: list[_Leaf] = []
        for leaf, other, family in zip(leaves, divisions, parts, strict=True):
            own = noisy[len(found) : len(found) + len(family)]
            estimates, variance = combined(leaf.estimate, leaf.variance, own, self.budget.deviation**2)
            if other is None:
                leaf.node.counts = estimates[0]
            else:
                leaf.node.divide(other, list(estimates))
            nodes = [leaf.node] if other is None else leaf.node.children
            found += [
                _Leaf(node=node, reached=part, estimate=estimate, variance=variance)
                for node, part, estimate in zip(nodes, family, estimates, strict=True)
            ]
        return found


def combined(whole: Floats, variance: float, parts: Floats, parts_variance: float) -> tuple[Floats, float]:
    """Improve noisy counts of parts by an independent estimate of their sum: (least squares, variance of each).

    `variance` is that of one number of `whole`, infinite if there is no estimate.

    >>> found, variance = combined(np.array([10.0]), 2.0, np.array([[3.0], [3.0]]), 1.0)
    >>> found.tolist(), variance
    ([[4.0], [4.0]], 0.75)
    """
    number = len(parts)
    if math.isinf(variance):
        return parts, parts_variance
    weight = number * parts_variance / (variance + number * parts_variance)  # of the whole against the parts' sum
    missing = weight * (whole - parts.sum(axis=0))
    return parts + missing / number, parts_variance * (1 - weight / number)


def _edges(
    rows: CodedRows,
    columns: Sequence[int],
    margins: Mapping[int, Floats],
    budget: Budget,
    generator: np.random.Generator | None,
) -> tuple[tuple[int, int], ...]:
    planes = np.array([float(rows.rows)])
    epsilon = math.sqrt(8 * budget.edge)
    found = spanning_tree(
        columns,
        lambda a, b: independence_distance(
            rows.pairs(a, b).astype(np.float64), planes, margins[a][None], margins[b][None]
        ),
        lambda scores: choose(scores, sensitivity=_EDGE_SCORE, epsilon=epsilon, generator=generator),
    )
    return ordered_columns(found, columns)


def _noisy(counts: Integers, rho: float, generator: np.random.Generator | None) -> Integers:
    return noisy_counts(counts, sensitivity=HISTOGRAM, rho=rho, generator=generator)
