"""The dependent code tree: for every column a decision tree over the columns before it.

A row reaches one leaf per column, and the column's value is drawn from that leaf's counts. Columns come in
breadth-first order of a tree that joins the columns with the strongest dependence. Dorrestijn 2018, section 3.4, draws
along paths of itemsets of a code table; that table contains every single item, so these paths are all frequent itemsets
(`literal_tree`). This definition states directly which earlier values a value depends on.

`exact_code_tree` is not private: it looks at the rows and is for comparison. `noisy_code_tree` and
`randomized_code_tree` may be released. Drawing from a tree that was paid for costs nothing more.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from privacy_plugin.anonymizers.coded_rows import CodedRows, Floats, Integers
from privacy_plugin.anonymizers.synthesis.pair_tables import (
    dealt_values,
    directed,
    fitted,
    independence_distance,
    nearest_counts,
    spanning_tree,
)
from privacy_plugin.anonymizers.synthesis.reached_rows import ExactRows, RandomizedRows, Reached

SUPPORT_FLOOR = 1 / 500  # of the rows: a node that fewer reach is not divided
_NOISE_MARGIN = 2.0


@dataclass(kw_only=True, eq=False)
class Node:
    """Counts of the column's values among the rows that reach this node, and the column that divides it, if any.

    Estimates may be below 0; drawing rows replaces them by the nearest possible counts of the rows that reach the node.
    """

    counts: Floats
    path: frozenset[int] = frozenset()
    split: int | None = None
    children: list["Node"] = field(default_factory=list)

    def leaves(self) -> Iterator["Node"]:
        """Return the nodes that are not divided, in order."""
        if self.split is None:
            yield self
        for child in self.children:
            yield from child.leaves()

    def leaf_numbers(self, codes: Integers) -> Integers:
        """Return the number of the leaf that each row of codes reaches."""
        found = np.zeros(len(codes), dtype=np.int64)
        number = 0
        stack = [(self, np.arange(len(codes)))]
        while stack:
            node, rows = stack.pop()
            if node.split is None:
                found[rows] = number
                number += 1
                continue
            values = codes[rows, node.split]
            stack += [(child, rows[values == value]) for value, child in reversed(list(enumerate(node.children)))]
        return found

    def divide(self, column: int, counts: Sequence[Floats]) -> None:
        """Divide by a column, with the counts of each of its values' rows."""
        self.split = column
        self.children = [Node(counts=part, path=self.path | {column}) for part in counts]


@dataclass(frozen=True, kw_only=True, eq=False)
class CodeTree:
    """The columns in order, each with its decision tree, and the tree of columns that determines the order.

    `margins` are the columns' own counts, to which the leaves are fitted when rows are drawn. Columns without an entry
    in `trees` have only one value.
    """

    columns: int
    trees: Mapping[int, Node]
    margins: Mapping[int, Floats]
    edges: tuple[tuple[int, int], ...]

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return sum(1 for root in self.trees.values() for _ in root.leaves())

    def sample(self, rows: int, generator: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw rows: (all in one plane, codes of rows x columns), with shares as near to the leaves' as rows allow."""
        codes = np.zeros((rows, self.columns), dtype=np.int64)
        for column, root in self.trees.items():
            numbers = root.leaf_numbers(codes)
            leaves = list(root.leaves())
            sizes = np.bincount(numbers, minlength=len(leaves)).astype(np.float64)
            counts = np.stack([_possible(leaf.counts, size) for leaf, size in zip(leaves, sizes, strict=True)])
            counts = fitted(counts[None], sizes[None], self.margins[column][None])[0]
            codes[:, column] = dealt_values(numbers, counts, generator)
        return np.zeros(rows, dtype=np.int64), codes[generator.permutation(rows)]


def ordered_columns(edges: Sequence[tuple[int, int]], columns: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Direct the edges breadth first, away from the column that most of them touch (of equals, the first)."""
    if not edges:
        return ()
    touched = Counter(column for edge in edges for column in edge)
    return directed(edges, max(columns, key=lambda column: (touched[column], -column)))


def several_valued(rows: CodedRows) -> list[int]:
    """Return the columns that may have more than one value; the others are known without the data."""
    return [column for column, size in enumerate(rows.sizes) if size > 1]


def exact_code_tree(rows: CodedRows, *, floor: float = SUPPORT_FLOOR) -> CodeTree:
    """Fit the tree to the exact rows, without any protection.

    Columns are joined by mutual information. A node is divided by the earlier column that saves most bits, while what
    it saves exceeds the cost of the new leaves, (branches - 1) (K - 1) / 2 * log2 n for K values and n rows, and at
    least a share `floor` of the rows reaches it. Branches are the values that occur. Cost: a table of two columns for
    every node and earlier column.
    """
    source = ExactRows(coded=rows)
    everybody = source.everybody()

    def information(a: int, b: int) -> float:
        table = source.table(everybody, a, b)
        return _bits(table.sum(axis=0)) - _bits(table)

    def best(reached: Reached, earlier: Sequence[int], column: int) -> int | None:
        counts = source.values(reached, column)
        if counts.sum() < floor * rows.rows:
            return None
        saved = {}
        for other in earlier:
            table = source.table(reached, other, column)
            branches = np.count_nonzero(table.sum(axis=1))
            price = (branches - 1) * (table.shape[1] - 1) / 2 * math.log2(rows.rows)
            saved[other] = _bits(counts) - _bits(table) - price
        return _largest(saved)

    return _fitted_tree(source, information, best)


def randomized_code_tree(source: RandomizedRows) -> CodeTree:
    """Fit the tree to unbiased estimates from randomized cells; this is post-processing and costs nothing more.

    The gain in bits of estimates is mostly noise. So columns are joined, and nodes divided, by the largest L1 distance
    from independence, as long as it exceeds twice what the randomization alone is expected to add.
    """
    everybody = source.everybody()
    total = float(source.coded.rows)
    margins = {c: nearest_counts(source.values(everybody, c), total) for c in range(source.coded.columns)}

    def distance(a: int, b: int) -> float:
        table = nearest_counts(source.table(everybody, a, b), total)
        return independence_distance(table[None], np.array([total]), margins[a][None], margins[b][None])

    def best(reached: Reached, earlier: Sequence[int], column: int) -> int | None:
        counts = source.values(reached, column)
        if (size := float(counts.sum())) <= 0:
            return None
        shares = nearest_counts(counts, size) / size
        beyond = {}
        for other in earlier:
            table = source.table(reached, other, column)
            apart = float(np.abs(table - table.sum(axis=1, keepdims=True) * shares).sum())
            beyond[other] = apart - _NOISE_MARGIN * source.expected_noise(reached, other, column)
        return _largest(beyond)

    return _fitted_tree(source, distance, best)


def _fitted_tree(
    source: ExactRows,
    score: Callable[[int, int], float],
    best: Callable[[Reached, Sequence[int], int], int | None],
) -> CodeTree:
    columns = several_valued(source.coded)
    edges = ordered_columns(spanning_tree(columns, score, lambda scores: int(np.argmax(scores))), columns)
    order = [*(edges[0][:1] if edges else columns), *(child for _, child in edges)]
    everybody = source.everybody()
    total = float(source.coded.rows)
    margins = {column: nearest_counts(source.values(everybody, column), total) for column in columns}
    trees = {}
    for position, column in enumerate(order):
        trees[column] = Node(counts=margins[column])
        open_nodes = [(trees[column], everybody)]
        while open_nodes:
            node, reached = open_nodes.pop()
            earlier = [other for other in order[:position] if other not in node.path]
            other = best(reached, earlier, column)
            if other is None:
                continue
            parts = source.parts(reached, other)
            counted = [source.values(part, column) for part in parts]
            node.divide(other, [counts if counts.any() else node.counts for counts in counted])
            open_nodes += zip(node.children, parts, strict=True)
    return CodeTree(columns=source.coded.columns, trees=trees, margins=margins, edges=edges)


def _possible(counts: Floats, rows: float) -> Floats:
    """Return the counts, or, if one is below 0, the nearest non-negative counts that sum to `rows`."""
    return counts if counts.min() >= 0 else nearest_counts(counts, rows)


def _largest(scores: Mapping[int, float]) -> int | None:
    """Return the column with the largest score if that is above 0, else None."""
    best = max(scores, key=lambda column: scores[column], default=None)
    return best if best is not None and scores[best] > 0 else None


def _bits(counts: Floats) -> float:
    """Return the code length in bits of the last axis when each line is coded by its own shares."""
    totals = counts.sum(axis=-1)
    return float(_weighted_logarithms(totals) - _weighted_logarithms(counts))


def _weighted_logarithms(counts: Floats) -> float:
    positive = counts[counts > 0]
    return float((positive * np.log2(positive)).sum())
