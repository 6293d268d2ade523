"""The dependent code tree as it is printed in Dorrestijn 2018, sections 3.4.2 to 3.4.4, to reproduce it.

Its paths are the unions of itemsets of Krimp's code table that more than a threshold of the rows hold, in the order of
the columns. The code table holds every single item, so the paths are all itemsets that frequent: which itemsets Krimp
found makes no difference. The root has every single item besides, however rare.

The printed way to draw (from each column's nodes choose one, go to one of its children, which may be in any later
column) gives a row as many values as it has columns, but not one a column: some get several, some none. The reading
here: for every column in order, choose evenly among the nodes reached so far that have children in that column, the
root among them; choose one of these children in proportion to its probability. `code_tree` says which earlier values a
value depends on instead, and is what should be used.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from privacy_plugin.anonymizers.coded_rows import Floats, Integers
from privacy_plugin.anonymizers.reached_rows import ExactRows
from privacy_plugin.anonymizers.tree_model import dealt_values
from privacy_plugin.errors import TooLargeError

_MOST_NODES = 30_000
_ROOT = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class LiteralTree:
    """For each column: the counts of its values at each node that has children there, and the children's numbers.

    `places[c][node]` is the line of a node in `counts[c]` and `children[c]`, -1 where it has no children in column c.
    """

    nodes: int
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


def literal_tree(source: ExactRows, *, threshold: float = 0.1, most: int = _MOST_NODES) -> LiteralTree:
    """Build the tree of all itemsets that more than a share of the rows hold, by exact or estimated counts.

    From randomized cells this is post-processing. Where noise makes too many itemsets look frequent it gives up, and
    TooLargeError says so. Cost: a count for every node and later column.
    """
    sizes = source.coded.sizes
    least = threshold * source.coded.rows
    lines: list[list[Floats]] = [[] for _ in sizes]
    numbers: list[list[Integers]] = [[] for _ in sizes]
    owners: list[list[int]] = [[] for _ in sizes]
    nodes = 1
    stack = [(_ROOT, source.everybody, 0)]  # rows are looked up when they are needed: few nodes are open at a time
    while stack:
        node, rows_of, after = stack.pop()
        reached = rows_of()
        for column in range(after, len(sizes)):
            counts = source.values(reached, column)
            wanted = counts > least
            listed = np.ones_like(wanted) if node == _ROOT else wanted
            if not listed.any():
                continue
            children = np.full(sizes[column], _ROOT, dtype=np.int64)
            children[listed] = nodes + np.arange(np.count_nonzero(listed))
            nodes += int(np.count_nonzero(listed))
            if nodes > most:
                raise TooLargeError(f"more than {most:,} itemsets look frequent; no tree can be built from such counts")
            lines[column].append(np.where(listed, np.maximum(counts, 0.0), 0.0))
            numbers[column].append(children)
            owners[column].append(node)
            stack += [
                (int(children[v]), partial(source.part, reached, column, int(v)), column + 1)
                for v in np.flatnonzero(wanted)
            ]
    places = []
    for owner in owners:
        place = np.full(nodes, -1, dtype=np.int64)
        place[owner] = np.arange(len(owner))
        places.append(place)
    return LiteralTree(
        nodes=nodes - 1,
        places=tuple(places),
        counts=tuple(np.stack(each) for each in lines),
        children=tuple(np.stack(each) for each in numbers),
    )
