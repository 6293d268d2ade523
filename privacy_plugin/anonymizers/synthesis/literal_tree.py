"""The dependent code tree as printed in Dorrestijn 2018, sections 3.4.2 to 3.4.4, for reproduction.

Its paths are the unions of itemsets of Krimp's code table that more than a threshold of the rows have, in the order of
the columns. The code table contains every single item, so the paths are all frequent itemsets: which itemsets Krimp
found makes no difference. The root also has every single item, however rare.

The printed way to draw (from each column's nodes choose one, go to one of its children, which may be in any later
column) gives a row as many values as it has columns, but not one per column: some columns get several, some none. The
interpretation here: for every column in order, choose uniformly among the nodes reached so far that have children in
that column, the root included; choose one of these children in proportion to its probability. Prefer `code_tree`, which
defines directly which earlier values a value depends on.

Noise makes itemsets look frequent, and below each of them more. The effect of noise alone is estimated beforehand, from
the schema and epsilon (`require_few_nodes`). The effect of the rows is known only from the randomized cells, after they
are paid for: if the tree is too large then, the longest itemsets are left out (`largest_tree`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from privacy_plugin.anonymizers.coded_rows import Floats, Integers
from privacy_plugin.anonymizers.randomized_response import Channel
from privacy_plugin.anonymizers.synthesis.pair_tables import dealt_values
from privacy_plugin.anonymizers.synthesis.reached_rows import ExactRows, mean_square_score
from privacy_plugin.errors import TooLargeError

_THRESHOLD = 0.1
_MOST_NODES = 30_000
_MOST_LOOKS = 10**10  # reads of one row for one column: about a minute
_MOST_STEPS = 50_000  # sets of columns that the estimate visits
_NEGLIGIBLE = 1e-3
_ROOT = 0
_ADVICE = "name fewer columns, raise epsilon, or use model 'code tree'"


@dataclass(frozen=True, kw_only=True, eq=False)
class LiteralTree:
    """For each column: the counts of its values at each node that has children there, and the children's numbers.

    `places[c][node]` is the line of a node in `counts[c]` and `children[c]`, -1 where it has no children in column c.
    `longest`: the greatest number of items of an itemset in the tree; None if it has all.
    """

    nodes: int
    longest: int | None
    places: tuple[Integers, ...]
    counts: tuple[Floats, ...]
    children: tuple[Integers, ...]
    edges: tuple[tuple[int, int], ...] = ()

    def sample(self, rows: int, generator: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw rows: (all in one plane, codes of rows x columns)."""
        columns = len(self.places)
        codes = np.zeros((rows, columns), dtype=np.int64)
        reached = np.full((rows, columns + 1), _ROOT, dtype=np.int64)
        for column in range(columns):
            lines = self.places[column][reached[:, : column + 1]]
            chosen = np.argmax((lines >= 0) * (1 - generator.random(lines.shape)), axis=1)
            line = lines[np.arange(rows), chosen]
            codes[:, column] = dealt_values(line, self.counts[column], generator)
            reached[:, column + 1] = self.children[column][line, codes[:, column]]
        return np.zeros(rows, dtype=np.int64), codes[generator.permutation(rows)]


def largest_tree(source: ExactRows, *, most: int = _MOST_NODES, most_looks: int = _MOST_LOOKS) -> LiteralTree:
    """Return the whole tree, or, if that is too large, the tree up to the greatest length that is not.

    From randomized cells this is post-processing, and it never fails: budget that was spent yields a tree.
    """
    limits = {"most": most, "most_looks": most_looks}
    try:
        return literal_tree(source, **limits)
    except TooLargeError:
        found = literal_tree(source, longest=1)
        for longest in range(2, source.coded.columns):
            try:
                found = literal_tree(source, longest=longest, **limits)
            except TooLargeError:
                break
        return found


def literal_tree(
    source: ExactRows,
    *,
    threshold: float = _THRESHOLD,
    longest: int | None = None,
    most: int = _MOST_NODES,
    most_looks: int = _MOST_LOOKS,
) -> LiteralTree:
    """Build the tree of all itemsets that more than a share of the rows have, by exact or estimated counts.

    Itemsets of more than `longest` items are left out. Raises TooLargeError if too many look frequent, or if counting
    them reads too many rows; single items are always counted. Cost: a count for every node and later column.
    """
    sizes = source.coded.sizes
    least = threshold * source.coded.rows
    lines: list[list[Floats]] = [[] for _ in sizes]
    numbers: list[list[Integers]] = [[] for _ in sizes]
    owners: list[list[int]] = [[] for _ in sizes]
    nodes, looks = 1, 0
    stack = [(_ROOT, source.everybody, 0, 1)]  # rows are computed when needed, so that few nodes are open at a time
    while stack:
        node, rows_of, after, length = stack.pop()
        reached = rows_of()
        looks += len(reached.rows) * (len(sizes) - after + 1)
        if looks > most_looks and node != _ROOT:
            raise TooLargeError(f"there are too many rows to count all itemsets that look frequent; {_ADVICE}")
        for column in range(after, len(sizes)):
            counts = source.values(reached, column)
            wanted = counts > least
            listed = np.ones_like(wanted) if node == _ROOT else wanted
            if not listed.any():
                continue
            children = np.full(sizes[column], _ROOT, dtype=np.int64)
            children[listed] = nodes + np.arange(np.count_nonzero(listed))
            nodes += int(np.count_nonzero(listed))
            if nodes > most and node != _ROOT:
                raise TooLargeError(f"more than {most:,} itemsets look frequent; {_ADVICE}")
            lines[column].append(np.where(listed, np.maximum(counts, 0.0), 0.0))
            numbers[column].append(children)
            owners[column].append(node)
            if length == longest:
                continue
            stack += [
                (int(children[v]), partial(source.part, reached, column, int(v)), column + 1, length + 1)
                for v in np.flatnonzero(wanted)
            ]
    return LiteralTree(
        nodes=nodes - 1,
        longest=longest,
        places=tuple(_places(each, nodes) for each in owners),
        counts=tuple(np.stack(each) for each in lines),
        children=tuple(np.stack(each) for each in numbers),
    )


def _places(owners: list[int], nodes: int) -> Integers:
    """Return the line of every node that has one, -1 for the others."""
    places = np.full(nodes, -1, dtype=np.int64)
    places[owners] = np.arange(len(owners))
    return places


def require_few_nodes(channels: Sequence[Channel], sizes: Sequence[int], *, rows: int, most: int = _MOST_NODES) -> None:
    """Raise TooLargeError if noise alone is expected to make more than `most` itemsets look frequent.

    No row is looked at. Rows with dependent columns, or that are mostly alike, may still make more: see `largest_tree`.
    """
    if expected_nodes(channels, sizes, rows=rows, most=most) > most:
        raise TooLargeError(
            f"at this epsilon more than {most:,} itemsets would look frequent by noise alone; {_ADVICE}"
        )


def expected_nodes(
    channels: Sequence[Channel], sizes: Sequence[int], *, rows: int, threshold: float = _THRESHOLD, most: float
) -> float:
    """Return an estimate of the number of nodes of the tree of randomized rows, or a number above `most`.

    It assumes independent, uniform values and tends to be too low: estimates along a path are treated as independent
    although they are correlated, and only a limited number of sets of columns is visited.
    """
    squares = [mean_square_score(channel, 1 / size) for channel, size in zip(channels, sizes, strict=True)]
    expected, steps = float(sum(sizes)), 0  # the root lists every item, however rare
    stack = [(0, 1.0, 1.0, 1.0)]  # next column, itemsets that look frequent, the share that holds one, its mean square
    while stack and steps < _MOST_STEPS and expected <= most:
        after, listed, held, square = stack.pop()
        for column in range(after, len(sizes)):
            steps += 1
            share, scale = held / sizes[column], square * squares[column]
            frequent = listed * sizes[column] * _probability_above(threshold, share, scale, rows)
            expected += frequent if after else 0.0
            if frequent > _NEGLIGIBLE:
                stack.append((column + 1, frequent, share, scale))
    return expected


def _probability_above(threshold: float, share: float, square: float, rows: int) -> float:
    """Return the approximate probability that a share is estimated above the threshold, from the mean square score."""
    variance = (square - share * share) / rows
    if variance <= 0:
        return float(share > threshold)
    return math.erfc((threshold - share) / math.sqrt(2 * variance)) / 2
