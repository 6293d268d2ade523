"""Every node of a generalization lattice the slow way: dictionaries of classes, whole numbers and fractions."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import prod

Node = tuple[int, ...]
Class = list[int]  # the lines of the table that fall into it


def nodes(level_maps: Sequence[Sequence[Sequence[int]]]) -> Iterable[Node]:
    return product(*[range(len(levels)) for levels in level_maps])


def classes(codes: Sequence[Sequence[int]], level_maps: Sequence[Sequence[Sequence[int]]], node: Node) -> list[Class]:
    found: dict[tuple[int, ...], Class] = {}
    for line, row in enumerate(codes):
        key = tuple(level_maps[i][node[i]][leaf] for i, leaf in enumerate(row))
        found.setdefault(key, []).append(line)
    return list(found.values())


def failing_rows(
    codes: Sequence[Sequence[int]],
    counts: Sequence[int],
    level_maps: Sequence[Sequence[Sequence[int]]],
    passes: Callable[[Class], bool],
) -> dict[Node, int]:
    return {
        node: sum(
            sum(counts[line] for line in members) for members in classes(codes, level_maps, node) if not passes(members)
        )
        for node in nodes(level_maps)
    }


def histogram(values: Sequence[int], counts: Sequence[int], members: Iterable[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for line in members:
        if counts[line]:
            found[values[line]] += counts[line]
    return found


def distinct_diverse(counts: Counter[int], wanted: int) -> bool:
    return len(counts) >= wanted


def entropy_diverse(counts: Counter[int], wanted: Fraction) -> bool:
    """-sum p ln p >= ln l, raised to the power of the class size: whole numbers only."""
    size = counts.total()
    left = int(size**size * wanted.denominator**size)
    return left >= int(wanted.numerator**size * prod(count**count for count in counts.values()))


def recursively_diverse(counts: Counter[int], c: Fraction, wanted: int) -> bool:
    descending = sorted(counts.values(), reverse=True)
    return descending[0] < c * sum(descending[wanted - 1 :])


def shares(counts: Counter[int], values: int) -> list[Fraction]:
    return [Fraction(counts[value], counts.total()) for value in range(values)]


def equal_distance(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((max(p - q, Fraction(0)) for p, q in zip(first, second, strict=True)), Fraction(0))


def ordered_distance(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    if len(first) == 1:
        return Fraction(0)
    total, surplus = Fraction(0), Fraction(0)
    for p, q in zip(first, second, strict=True):
        surplus += p - q
        total += abs(surplus)
    return total / (len(first) - 1)


def hierarchical_distance(
    first: Sequence[Fraction], second: Sequence[Fraction], levels: Sequence[Sequence[int]]
) -> Fraction:
    """Sum over inner nodes of height/H * min(surplus, deficit) of the children (Li, Li, Venkatasubramanian 2007, 5.2).

    `levels` are the levels below the root, level 0 the values.
    """
    height = len(levels)
    total = Fraction(0)
    for level in range(1, height + 1):
        parent_of = levels[level] if level < height else [0] * len(first)
        for parent in set(parent_of):
            extras: dict[int, Fraction] = {}
            for value, group in enumerate(levels[level - 1]):
                if parent_of[value] == parent:
                    extras[group] = extras.get(group, Fraction(0)) + first[value] - second[value]
            surplus = sum((extra for extra in extras.values() if extra > 0), Fraction(0))
            deficit = -sum((extra for extra in extras.values() if extra < 0), Fraction(0))
            total += Fraction(level, height) * min(surplus, deficit)
    return total
