"""Every node of a lattice, generalized, suppressed and judged row by row; imports nothing of the package.

Rows are tuples, quasi-identifiers first; `paths[i][value][level]` says what a value of column i becomes.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product

Row = tuple[Hashable, ...]
Node = tuple[int, ...]
Paths = Sequence[Mapping[Hashable, Sequence[Hashable]]]
Loss = Callable[[Sequence[Row], Paths, Node, set[int]], float | Fraction]


def allowed_nodes(
    rows: Sequence[Row],
    paths: Paths,
    *,
    is_good: Callable[[list[Row], list[Row]], bool],
    is_enough: Callable[[list[Row]], bool],
    most_suppressed: Fraction,
) -> dict[Node, set[int]]:
    """Return the nodes that are allowed, with the positions of the rows that are suppressed there.

    The rows of every class that is not good inside the table are suppressed; they are no more than the limit; what is
    left is not empty, its classes are good inside what is left, and it is enough as a whole.
    """
    found = {}
    for node in product(*(range(len(next(iter(levels.values())))) for levels in paths)):
        table = [(*(paths[i][row[i]][level] for i, level in enumerate(node)), *row[len(paths) :]) for row in rows]
        gone = {
            n for members in _classes(table, len(paths)).values() for n in members if not _good(members, table, is_good)
        }
        left = [row for number, row in enumerate(table) if number not in gone]
        if not left or Fraction(len(gone), len(rows)) > most_suppressed:
            continue
        if all(_good(members, left, is_good) for members in _classes(left, len(paths)).values()) and is_enough(left):
            found[node] = gone
    return found


def _classes(table: Sequence[Row], width: int) -> dict[Row, list[int]]:
    classes: dict[Row, list[int]] = {}
    for number, row in enumerate(table):
        classes.setdefault(row[:width], []).append(number)
    return classes


def _good(members: list[int], table: list[Row], is_good: Callable[[list[Row], list[Row]], bool]) -> bool:
    return is_good([table[number] for number in members], table)


def best_node(rows: Sequence[Row], paths: Paths, allowed: Mapping[Node, set[int]], loss: Loss) -> Node | None:
    """Return the allowed node of least loss to twelve decimals, then lowest sum of levels, then first levels."""
    keys = [(round(float(loss(rows, paths, node, gone)), 12), sum(node), node) for node, gone in allowed.items()]
    return min(keys)[2] if keys else None


def minimal(nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes with no other one below them."""
    return {
        node
        for node in nodes
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in nodes)
    }
