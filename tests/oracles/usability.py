"""Usability from its definitions, row by row and leaf by leaf; imports nothing of the package.

`original` and `released` are lists of rows. `leaves[c]` lists the leaves of column c in their order, `covers[c][label]`
the set of leaves that a released label stands for, and `lost[c]` the labels without information.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import sqrt
from statistics import median

Row = tuple[Hashable, ...]
Leaves = Sequence[Sequence[Hashable]]
Covers = Sequence[Mapping[Hashable, set[Hashable]]]


def loss(
    original: list[Row], released: list[Row], column: int, leaves: Leaves, covers: Covers, lost: Sequence[set[Hashable]]
) -> Fraction:
    """The mean over rows of (covered - 1) / (leaves - 1); 1 for a cell without information, or a row that is gone."""
    total = Fraction(max(len(original) - len(released), 0))
    for row in released:
        if row[column] in lost[column]:
            total += 1
        elif len(leaves[column]) > 1:
            total += Fraction(len(covers[column][row[column]]) - 1, len(leaves[column]) - 1)
    return total / max(len(original), len(released))


def weight(row: Row, columns: Sequence[int], wanted: Sequence[Hashable], covers: Covers) -> Fraction:
    """How much of a released row has these leaves, if labels are spread evenly."""
    found = Fraction(1)
    for column, leaf in zip(columns, wanted, strict=True):
        covered = covers[column][row[column]]
        found *= Fraction(int(leaf in covered), len(covered))
    return found


def distance(original: list[Row], released: list[Row], column: int, leaves: Leaves, covers: Covers) -> Fraction:
    """Half the sum over leaves of the difference of shares."""
    total = Fraction(0)
    for leaf in leaves[column]:
        before = Fraction(sum(row[column] == leaf for row in original), len(original))
        after = sum(weight(row, [column], [leaf], covers) for row in released) / len(released)
        total += abs(before - after)
    return total / 2


def cramers_v(joint: Mapping[tuple[Hashable, Hashable], Fraction], smaller: int) -> float:
    """The square root of chi square over (rows * (the smaller number of values - 1))."""
    if smaller < 2:
        return 0.0
    rows = sum(joint.values())
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (one, other), count in joint.items():
        first[one] += count
        second[other] += count
    square = Fraction(0)
    for one, other in product(first, second):
        expected = Fraction(first[one]) * Fraction(second[other]) / rows
        if expected:
            square += (joint.get((one, other), Fraction(0)) - expected) ** 2 / expected
    return sqrt(square / (rows * (smaller - 1)))


def dependence(
    original: list[Row], released: list[Row], leaves: Leaves, covers: Covers
) -> dict[tuple[int, int], tuple[float, float]]:
    """Cramer's V of every pair of columns before and after."""
    found = {}
    for pair in combinations(range(len(leaves)), 2):
        cells = list(product(*(leaves[column] for column in pair)))
        before = {cell: Fraction(sum(tuple(row[c] for c in pair) == cell for row in original)) for cell in cells}
        after = {cell: sum((weight(row, pair, cell, covers) for row in released), Fraction(0)) for cell in cells}
        smaller = min(len({row[column] for row in original}) for column in pair)
        found[pair] = cramers_v(before, smaller), cramers_v(after, smaller)
    return found


def queries(original: list[Row], leaves: Leaves, asked: int = 500) -> list[tuple[tuple[int, ...], Row]]:
    """Rows at even distances of the original, sorted by up to three columns: which columns, and their values there."""
    columns = range(len(leaves))
    sets = [chosen for size in (1, 2, 3) for chosen in combinations(columns, size)]
    each = max(round(asked / len(sets)), 1)
    found = []
    for chosen in sets:
        order = sorted(original, key=lambda row: [list(leaves[column]).index(row[column]) for column in chosen])
        for number in range(each):
            row = order[(2 * number + 1) * len(order) // (2 * each)]
            found.append((chosen, tuple(row[column] for column in chosen)))
    return found


def query_error(original: list[Row], released: list[Row], leaves: Leaves, covers: Covers) -> Fraction:
    """The median over the queries of |answer - truth| / truth."""
    errors = []
    for chosen, wanted in queries(original, leaves):
        true = sum(tuple(row[column] for column in chosen) == wanted for row in original)
        found = sum(weight(row, chosen, wanted, covers) for row in released)
        errors.append(abs(found - true) / true)
    return Fraction(median(errors))


def distances(
    original: list[Row], released: list[Row], leaves: Leaves, covers: Covers, lost: Sequence[set[Hashable]]
) -> list[float]:
    """How far a release is in detail, distribution, dependence and answers to queries."""
    columns = range(len(leaves))
    detail = sum(loss(original, released, column, leaves, covers, lost) for column in columns) / len(leaves)
    distribution = sum(distance(original, released, column, leaves, covers) for column in columns) / len(leaves)
    pairs = dependence(original, released, leaves, covers).values()
    apart = sum(abs(before - after) for before, after in pairs) / max(len(pairs), 1)
    errors = min(float(query_error(original, released, leaves, covers)), 1.0)
    return [float(detail), float(distribution), apart, errors]


def usability(
    original: list[Row], released: list[Row], leaves: Leaves, covers: Covers, lost: Sequence[set[Hashable]]
) -> float:
    """1 - the sum of all distances / the sum of those of a table of stars, each at least as large as the distance."""
    stars = [("*",) * len(leaves)] * len(original)
    of_stars = [{"*": {*column}} for column in leaves]
    nothing = distances(original, stars, leaves, of_stars, [{"*"}] * len(leaves))
    found = distances(original, released, leaves, covers, lost)
    return 1 - sum(found) / sum(max(one, most) for one, most in zip(found, nothing, strict=True))


def predicted_right(original: list[Row], released: list[Row], target: int, leaves: Leaves, covers: Covers) -> int:
    """How many rows of the original naive Bayes predicts, trained on a release whose labels are spread evenly."""
    rows = [
        (spread, weight(row, range(len(leaves)), spread, covers))
        for row in released
        for spread in product(*(covers[column][value] for column, value in enumerate(row)))
    ]
    right = 0
    for row in original:
        scores = []
        for label in leaves[target]:
            own = [(seen, share) for seen, share in rows if seen[target] == label]
            size = sum((share for _, share in own), Fraction(0))
            score = (size + 1) / (len(released) + len(leaves[target]))
            for column in range(len(leaves)):
                if column != target:
                    seen = sum((share for each, share in own if each[column] == row[column]), Fraction(0))
                    score *= (seen + 1) / (size + len(leaves[column]))
            scores.append(score)
        best = max(scores)
        right += scores[list(leaves[target]).index(row[target])] == best and scores.count(best) == 1
    return right
