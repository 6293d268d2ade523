"""Theorem 7, corrected, by listing every itemset."""

import math
from itertools import product

Row = tuple[str | None, ...]
Itemset = frozenset[tuple[int, str]]


def universe(domains: list[list[str]], longest: int) -> list[Itemset]:
    """Every non-empty choice of at most one value a column, of at most so many items."""
    choices = product(*([None, *((c, value) for value in domain)] for c, domain in enumerate(domains)))
    sets = [frozenset(item for item in choice if item is not None) for choice in choices]
    return [itemset for itemset in sets if 0 < len(itemset) <= longest]


def support(rows: list[Row], itemset: Itemset) -> int:
    return sum(all(row[column] == value for column, value in itemset) for row in rows)


def distribution(rows: list[Row], itemsets: list[Itemset], epsilon: float, threshold: int) -> dict[Itemset, float]:
    """The probability that each of these itemsets is the one that is drawn."""
    weights = {one: math.exp(epsilon / 2 * min(threshold, support(rows, one))) for one in itemsets}
    total = sum(weights.values())
    return {one: weight / total for one, weight in weights.items()}
