"""Frequent and closed itemsets by trying every set of items."""

from itertools import combinations


def frequent(rows: list[frozenset[int]], counts: list[int], support: int) -> dict[frozenset[int], int]:
    """Every non-empty itemset held by at least so many rows, with how many hold it."""
    items = sorted(set().union(*rows)) if rows else []
    found = {}
    for size in range(1, len(items) + 1):
        for chosen in combinations(items, size):
            held = sum(count for row, count in zip(rows, counts, strict=True) if row >= set(chosen))
            if held >= support:
                found[frozenset(chosen)] = held
    return found


def closed(rows: list[frozenset[int]], counts: list[int], support: int) -> dict[frozenset[int], int]:
    """Those that no larger itemset matches in support."""
    every = frequent(rows, counts, support)
    return {
        items: held
        for items, held in every.items()
        if not any(items < other and held == others for other, others in every.items())
    }
