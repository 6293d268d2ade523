"""Krimp as it is described, one full cover of the whole table for every code table that is tried."""

import math
from collections import Counter

Itemset = tuple[int, ...]
MARGIN = 1e-9


def support(rows: list[Itemset], items: Itemset) -> int:
    return sum(set(items) <= set(row) for row in rows)


def cover(rows: list[Itemset], table: list[Itemset]) -> Counter[Itemset]:
    """Usage of every itemset: each row is covered greedily in the order of the table, then item by item."""
    usage: Counter[Itemset] = Counter()
    for row in rows:
        left = set(row)
        for items in table:
            if set(items) <= left:
                usage[items] += 1
                left -= set(items)
        usage.update((item,) for item in left)
    return usage


def length(rows: list[Itemset], table: list[Itemset]) -> float:
    """Bits of the data and of the code table: items are written with the standard code, codes with their own."""
    usage = cover(rows, table)
    total = sum(usage.values())
    held = Counter(item for row in rows for item in row)
    everything = sum(held.values())
    data = [used * -math.log2(used / total) for used in usage.values()]
    codes = [
        -math.log2(used / total) + sum(-math.log2(held[item] / everything) for item in items)
        for items, used in usage.items()
        if used
    ]
    return math.fsum(data + codes)


def cover_order(rows: list[Itemset], sets: list[Itemset]) -> list[Itemset]:
    return sorted(sets, key=lambda items: (-len(items), -support(rows, items), items))


def krimp(rows: list[Itemset], candidates: list[Itemset]) -> tuple[list[Itemset], float]:
    """The code table (without single items) and the total length in bits."""
    table: list[Itemset] = []
    best = length(rows, table)
    several = [items for items in candidates if len(items) > 1]
    for items in sorted(several, key=lambda items: (-support(rows, items), -len(items), items)):
        tried = cover_order(rows, [*table, items])
        found = length(rows, tried)
        if found < best - MARGIN:
            before, table, best = cover(rows, table), tried, found
            table, best = pruned(rows, table, best, before)
    return table, best


def pruned(
    rows: list[Itemset], table: list[Itemset], best: float, before: Counter[Itemset]
) -> tuple[list[Itemset], float]:
    """Try to leave out what is used less than before, the least used first (of equals, the last in the table).

    What is not used at all has no code and leaves.
    """
    usage = cover(rows, table)
    suspects = {items for items in table if usage[items] < before[items]}
    while suspects:
        worst = min(suspects, key=lambda items: (usage[items], -table.index(items)))
        suspects.remove(worst)
        tried = [items for items in table if items != worst]
        found = length(rows, tried)
        if usage[worst] == 0 or found < best - MARGIN:
            after = cover(rows, tried)
            suspects |= {items for items in tried if after[items] < usage[items]}
            table, best, usage = tried, found, after
    return table, best
