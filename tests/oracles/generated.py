"""A generated table and its original, counted row by row and itemset by itemset."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

Row = tuple[Any, ...]
Itemset = frozenset[tuple[int, Any]]


def transaction(row: Row) -> Itemset:
    """The items of a row: places with a value; a missing value is none."""
    return frozenset((place, value) for place, value in enumerate(row) if value is not None)


def support(rows: list[Row], itemset: Itemset) -> int:
    return sum(itemset <= transaction(row) for row in rows)


def itemsets_of(rows: list[Row], largest: int) -> set[Itemset]:
    """Every non-empty itemset that some row holds."""
    return {
        frozenset(chosen)
        for row in rows
        for size in range(1, largest + 1)
        for chosen in combinations(sorted(transaction(row), key=str), size)
    }


def shares_of_records(original: list[Row], generated: list[Row]) -> dict[str, Fraction]:
    unique = {row for row in original if original.count(row) == 1}
    return {
        "repeated": Fraction(sum(row in original for row in generated), len(generated)),
        "repeating_unique": Fraction(sum(row in unique for row in generated), len(generated)),
        "unique_repeated": Fraction(len(unique & set(generated)), len(unique)) if unique else Fraction(0),
    }


def chance(original: list[Row], itemset: Itemset) -> float:
    """How likely a row of independent columns holds an itemset."""
    return math.prod(sum(row[place] == value for row in original) / len(original) for place, value in itemset)


def repeated_if_independent(original: list[Row], *, once: bool = False) -> float:
    rows = {row for row in original if not once or original.count(row) == 1}
    return sum(chance(original, frozenset(enumerate(row))) for row in rows)


def unique_itemsets(original: list[Row], generated: list[Row], largest: int) -> tuple[list[int], list[int], float]:
    """By size: the itemsets that one row of the original holds, those of them that a generated row holds; by chance."""
    unique, reproduced, expected = [0] * largest, [0] * largest, 0.0
    for itemset in itemsets_of(original, largest):
        if support(original, itemset) == 1:
            unique[len(itemset) - 1] += 1
            reproduced[len(itemset) - 1] += support(generated, itemset) > 0
            expected += 1 - (1 - chance(original, itemset)) ** len(generated)
    return unique, reproduced, expected


def frequent(rows: list[Row], share: Fraction) -> dict[Itemset, Fraction]:
    held = {itemset: Fraction(support(rows, itemset), len(rows)) for itemset in itemsets_of(rows, len(rows[0]))}
    return {itemset: found for itemset, found in held.items() if found >= share}


def difference(original: list[Row], generated: list[Row], itemset: Itemset) -> Fraction:
    """|support in the original - support in the generated table| / support in the original."""
    ours, theirs = (Fraction(support(rows, itemset), len(rows)) for rows in (original, generated))
    return abs(ours - theirs) / ours


def predicted_right(train: list[Row], test: list[Row], target: int) -> int:
    """How many test rows have the one class that naive Bayes likes best; exact, and a tie is a wrong answer."""
    both = [*train, *test]
    classes = {row[target] for row in both}
    sizes = Counter(row[target] for row in train)
    others = [place for place in range(len(test[0])) if place != target]
    right = 0
    for row in test:
        scores = {}
        for label in classes:
            own = [seen for seen in train if seen[target] == label]
            score = Fraction(sizes[label] + 1, len(train) + len(classes))
            for place in others:
                values = len({seen[place] for seen in both})
                score *= Fraction(sum(seen[place] == row[place] for seen in own) + 1, len(own) + values)
            scores[label] = score
        best = max(scores.values())
        right += scores[row[target]] == best and list(scores.values()).count(best) == 1
    return right


def bits_with_codes(rows: list[Row], cover: list[Itemset], usage: dict[Itemset, int], items: list[Any]) -> float:
    """Bits of some rows in the codes of another table: greedy cover, every set and item used once more than it is."""
    codes = [*cover, *(frozenset([item]) for item in items)]
    total = sum(usage.get(code, 0) + 1 for code in codes)
    lengths = {code: -math.log2((usage.get(code, 0) + 1) / total) for code in codes}
    bits = 0.0
    for row in rows:
        left = set(transaction(row))
        for itemset in cover:
            if itemset <= left:
                bits += lengths[itemset]
                left -= itemset
        bits += sum(lengths[frozenset([item])] for item in left)
    return bits
