"""Judging one part of the partition recursion: pass, fail as a whole, or look closer; and counting its tail by table.

Two ways, chosen at compile time: without rules a class is its size and an entry a class; with rules an entry is a
class and a symbol (see class_rules), and a class takes several neighbouring entries.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privacy_plugin.kernels.class_rules import (
    COLUMN,
    COLUMN_OF,
    COUNT,
    DISTINCT_VALUES,
    NEEDED,
    Rules,
    judge_and_clear,
    load,
)

Integers = NDArray[np.int64]
# What a class is worth: `failing` times its weight, or `each` plus `square` times its squared size. None: its weight
# where it fails, else nothing, which is what lets passing parts be skipped.
Worth = tuple[int, int, int]

PASSES, WHOLE, OPEN = range(3)


@njit(cache=True)
def _worth_of_size(size: int, k: int, worth: Worth | None) -> int:
    if worth is None:
        return size if size < k else 0
    return worth[0] * size if size < k else worth[1] + worth[2] * size * size


@njit(cache=True)
def _worth_of_class(passes: bool, weight: int, size: int, worth: Worth | None) -> int:
    if worth is None:
        return 0 if passes else weight
    return worth[1] + worth[2] * size * size if passes else worth[0] * weight


@njit(cache=True)
def judge_sizes(counts: Integers, start: int, end: int, k: int, worth: Worth | None) -> tuple[int, int]:
    total, smallest = 0, counts[start]
    for place in range(start, end):
        total += counts[place]
        smallest = min(smallest, counts[place])
    if worth is None and smallest >= k:
        return PASSES, 0
    if total < k or end - start == 1:
        return WHOLE, _worth_of_size(total, k, worth)
    return OPEN, 0


@njit(cache=True)
def _lacks_values(keys: Integers, start: int, end: int, symbol_bits: int, rules: Rules) -> bool:
    """Tell whether a whole part has fewer distinct values in a column than a rule wants of every class."""
    symbols, columns, mask = rules.symbols, rules.columns, (1 << symbol_bits) - 1
    columns[:, DISTINCT_VALUES] = 0
    for place in range(start, end):
        symbol = keys[place] & mask
        if symbols[symbol, COUNT] == 0:
            symbols[symbol, COUNT] = 1
            columns[symbols[symbol, COLUMN_OF], DISTINCT_VALUES] += 1
    for place in range(start, end):
        symbols[keys[place] & mask, COUNT] = 0
    for rule in range(len(rules.table)):
        if columns[rules.table[rule, COLUMN], DISTINCT_VALUES] < rules.table[rule, NEEDED]:
            return True
    return False


@njit(cache=True)
def _has_small_class(
    keys: Integers, counts: Integers, start: int, end: int, symbol_bits: int, k: int, own: int, empty_fails: bool
) -> bool:
    """Tell whether a class has fewer than k rows (symbols below `own` count rows); without any it may be let pass."""
    mask, size = (1 << symbol_bits) - 1, 0
    for place in range(start, end):
        if keys[place] & mask < own:
            size += counts[place]
        if place + 1 == end or (keys[place] ^ keys[place + 1]) >> symbol_bits != 0:
            if size < k and (size > 0 or empty_fails):
                return True
            size = 0
    return False


@njit(cache=True)
def _has_failing_class(
    keys: Integers, counts: Integers, start: int, end: int, symbol_bits: int, rules: Rules
) -> bool:
    symbols, own, mask, size, touched = rules.symbols, rules.own, (1 << symbol_bits) - 1, 0, 0
    for place in range(start, end):
        symbol = keys[place] & mask
        size += counts[place] if symbol < own else 0
        touched = load(symbols, symbol, counts[place], touched)
        if place + 1 == end or (keys[place] ^ keys[place + 1]) >> symbol_bits != 0:
            if not judge_and_clear(rules, touched, size):
                return True
            size, touched = 0, 0
    return False


@njit(cache=True)
def judge_classes(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    symbol_bits: int,
    k: int,
    worth: Worth | None,
    rules: Rules,
) -> tuple[int, int]:
    """Tell what a part needs: nothing, the returned amount at every node below, or a closer look."""
    mask, own, size, people = (1 << symbol_bits) - 1, rules.own, 0, 0
    for place in range(start, end):
        symbol = keys[place] & mask
        if symbol < own:
            size += counts[place]
        elif symbol == rules.population:
            people += counts[place]
    weight = people if rules.weigh_population else size
    if size < k or (rules.wants_values and _lacks_values(keys, start, end, symbol_bits, rules)):
        return WHOLE, _worth_of_class(False, weight, size, worth)
    single = (keys[start] ^ keys[end - 1]) >> symbol_bits == 0
    if worth is not None and not single:
        return OPEN, 0
    # sizes first: they are cheap, and most parts that do not pass show it there
    if _has_small_class(keys, counts, start, end, symbol_bits, k, own, rules.weigh_population):
        return OPEN, 0
    passes = not _has_failing_class(keys, counts, start, end, symbol_bits, rules)
    if single and not (passes and worth is None):
        return WHOLE, _worth_of_class(passes, weight, size, worth)
    return PASSES if passes else OPEN, 0


@njit(cache=True)
def count_tail_sizes(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    mask: int,
    table: NDArray[np.uint32],
    k: int,
    worth: Worth | None,
    sums: Integers,
    target: Integers,
) -> None:
    """Sum sizes by class for all nodes at once: neighbouring nodes keep the processor busier than one after the other.

    The table holds unsigned numbers, which spares a test for negative places in the innermost loop.
    """
    nodes = table.shape[1]
    for place in range(start, end):
        classes = table[np.uint64(keys[place] & mask)]
        count = counts[place]
        for node in range(nodes):
            sums[classes[node]] += count
    for place in range(start, end):
        classes = table[np.uint64(keys[place] & mask)]
        for node in range(nodes):
            group = classes[node]
            size = sums[group]
            if worth is None:
                target[node] += size if size < k else 0
            else:
                target[node] += _worth_of_size(size, k, worth)
            sums[group] = 0


@njit(cache=True)
def _count_chained(
    keys: Integers,
    counts: Integers,
    chained: int,
    chain: Integers,
    start: int,
    symbol_bits: int,
    k: int,
    worth: Worth | None,
    rules: Rules,
) -> int:
    """What the class is worth whose entries are chained; a link is one more than the entry's place in the part."""
    symbols, own, mask = rules.symbols, rules.own, (1 << symbol_bits) - 1
    size, people, link = 0, 0, chained
    while link > 0:
        place = start + link - 1
        symbol = keys[place] & mask
        if symbol < own:
            size += counts[place]
        elif symbol == rules.population:
            people += counts[place]
        link = chain[link - 1]
    weight = people if rules.weigh_population else size
    if size < k and (size > 0 or rules.weigh_population):
        return _worth_of_class(False, weight, size, worth)
    touched, link = 0, chained
    while link > 0:
        place = start + link - 1
        touched = load(symbols, keys[place] & mask, counts[place], touched)
        link = chain[link - 1]
    return _worth_of_class(judge_and_clear(rules, touched, size), weight, size, worth)


@njit(cache=True)
def count_tail_classes(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    mask: int,
    symbol_bits: int,
    table: NDArray[np.uint32],
    k: int,
    worth: Worth | None,
    rules: Rules,
    chains: Integers,
    chain: Integers,
    target: Integers,
) -> None:
    """Add to every node of the tail's lattice what the classes of a part are worth; `chains` is zero before and after."""
    for node in range(table.shape[1]):
        for place in range(start, end):
            group = table[(keys[place] & mask) >> symbol_bits, node]
            chain[place - start] = chains[group]
            chains[group] = place - start + 1
        for place in range(start, end):
            group = table[(keys[place] & mask) >> symbol_bits, node]
            chained = chains[group]
            if chained > 0:
                target[node] += _count_chained(
                    keys, counts, chained, chain, start, symbol_bits, k, worth, rules
                )
                chains[group] = 0
