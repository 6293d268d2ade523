"""Information losses row by row and cell by cell, from the definitions alone; imports nothing of the package.

`rows` are tuples of the original values, `paths[column][value][level]` says what a value becomes, `node` gives a level
a column, `gone` the positions of the rows that are suppressed.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from math import log2

Row = tuple[Hashable, ...]
Paths = Sequence[Mapping[Hashable, Sequence[Hashable]]]
Node = Sequence[int]


def _general(row: Row, paths: Paths, node: Node) -> Row:
    return tuple(paths[i][row[i]][level] for i, level in enumerate(node))


def precision(rows: Sequence[Row], paths: Paths, node: Node, gone: Collection[int]) -> Fraction:
    """The mean over cells of level / height, 1 for a suppressed cell; a root written out twice is one level."""
    lost = Fraction(0)
    heights = [len(next(iter(column.values()))) - 1 for column in paths]
    for i, column in enumerate(paths):
        roots = {path[-1] for path in column.values()}
        while heights[i] > 1 and len(roots) == 1 and {path[heights[i] - 1] for path in column.values()} == roots:
            heights[i] -= 1
    for number in range(len(rows)):
        for i, level in enumerate(node):
            lost += 1 if number in gone else min(Fraction(level, heights[i]), 1) if heights[i] else 0
    return lost / (len(rows) * len(node))


def loss_metric(rows: Sequence[Row], paths: Paths, node: Node, gone: Collection[int]) -> Fraction:
    """The mean over cells of (covered leaves - 1) / (leaves - 1), 1 for a suppressed cell."""
    lost = Fraction(0)
    for number, row in enumerate(rows):
        for i, level in enumerate(node):
            covered = sum(path[level] == paths[i][row[i]][level] for path in paths[i].values())
            lost += 1 if number in gone else Fraction(covered - 1, max(len(paths[i]) - 1, 1))
    return lost / (len(rows) * len(node))


def entropy(rows: Sequence[Row], paths: Paths, node: Node, gone: Collection[int]) -> float:
    """The share of bits lost: log2(rows with the generalized value / rows with the value), or / all rows."""
    lost, there = 0.0, 0.0
    for i, level in enumerate(node):
        values = Counter(row[i] for row in rows)
        groups = Counter(paths[i][row[i]][level] for row in rows)
        for number, row in enumerate(rows):
            everything = log2(len(rows) / values[row[i]])
            there += everything
            lost += everything if number in gone else log2(groups[paths[i][row[i]][level]] / values[row[i]])
    return lost / there if there else 0.0


def discernibility(rows: Sequence[Row], paths: Paths, node: Node, gone: Collection[int]) -> int:
    """The size of the class of every row, and of the whole table for a suppressed one."""
    sizes = Counter(_general(row, paths, node) for number, row in enumerate(rows) if number not in gone)
    return sum(len(rows) if number in gone else sizes[_general(row, paths, node)] for number, row in enumerate(rows))


def average_class_size(rows: Sequence[Row], paths: Paths, node: Node, gone: Collection[int]) -> Fraction:
    """All rows over the number of classes that are published; one class where nothing is."""
    classes = {_general(row, paths, node) for number, row in enumerate(rows) if number not in gone}
    return Fraction(len(rows), max(len(classes), 1))


LOSSES = {
    "precision": precision,
    "loss_metric": loss_metric,
    "entropy": entropy,
    "discernibility": discernibility,
    "average_class_size": average_class_size,
}
