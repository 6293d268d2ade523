"""Judging one part of the partition recursion: pass, fail as a whole, or look closer; and counting its tail by table.

Two ways, chosen at compile time: without rules a class is its size; with rules it carries a histogram as a short list.
`details` has a line for every row: whether it fails (1), passes (0) or was not judged yet (2); what it weighs when it
fails; its values as bits, where they are few; where its list begins and ends. `pool` holds the lists: symbol and count,
sorted by symbol. A class is judged as a full histogram; the last line of `histograms` is room for one, zero between two
uses.
"""

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.generalization.walk.rules import lacks_values, meets_all, too_small

Integers = NDArray[np.int64]

FAILS, WEIGHT, VALUES, START, END = range(5)
DETAIL_FIELDS = 5
NOT_JUDGED = 2
SYMBOL, AMOUNT = range(2)

# What a class is worth: the first number times its weight where it fails; where it passes, the second plus the third
# times its squared size. None stands for (1, 0, 0), the only worth that lets passing parts be skipped.
Worth = tuple[int, int, int]

PASSES, WHOLE, OPEN = range(3)
# Columns of `tail_nodes`, which has a line for every node of the tail: the finer node its classes are made from, and
# where the classes that the finer node's become are listed (its first class comes first).
FINER, FIRST_CLASS, BECOMES = range(3)
# Columns of `members`, which has a line for every class of the tail: rows, weight, failing rows or classes in it,
# whether it is in use.
_SIZE, _WEIGHT, _FAILING, _USED = range(4)
MEMBER_FIELDS = 4


@njit()
def copy_details(details: Integers, source: int, target: int) -> None:
    """Copy a row's details; the copy shares its list."""
    for field in range(DETAIL_FIELDS):
        details[target, field] = details[source, field]


@njit()
def copy_class(details: Integers, pool: Integers, source: int, target: int, free: int) -> int:
    """Copy a row's details and its list, to place `free` of the pool on; return the first free place after it."""
    copy_details(details, source, target)
    details[target, START] = free
    for place in range(details[source, START], details[source, END]):
        pool[free, SYMBOL] = pool[place, SYMBOL]
        pool[free, AMOUNT] = pool[place, AMOUNT]
        free += 1
    details[target, END] = free
    return free


@njit()
def judge_row(
    details: Integers,
    pool: Integers,
    table: Integers,
    ground: Integers,
    histograms: Integers,
    empty_fails: bool,
    row: int,
    size: int,
    k: int,
) -> None:
    """Find out whether a row's class fails."""
    fails = too_small(size, k, empty_fails)
    if not fails:
        room = len(histograms) - 1
        for place in range(details[row, START], details[row, END]):
            histograms[room, pool[place, SYMBOL]] = pool[place, AMOUNT]
        fails = not meets_all(histograms, room, table, ground, size)
        for place in range(details[row, START], details[row, END]):
            histograms[room, pool[place, SYMBOL]] = 0
    details[row, FAILS] = 1 if fails else 0


@njit()
def _merge_lists(details: Integers, pool: Integers, left: int, right: int, free: int) -> int:
    place, other = details[left, START], details[right, START]
    end, other_end = details[left, END], details[right, END]
    while place < end and other < other_end:
        symbol, other_symbol = pool[place, SYMBOL], pool[other, SYMBOL]
        pool[free, SYMBOL] = min(symbol, other_symbol)
        amount = 0
        if symbol <= other_symbol:
            amount += pool[place, AMOUNT]
            place += 1
        if other_symbol <= symbol:
            amount += pool[other, AMOUNT]
            other += 1
        pool[free, AMOUNT] = amount
        free += 1
    if place == end:
        place, end = other, other_end
    while place < end:
        pool[free, SYMBOL] = pool[place, SYMBOL]
        pool[free, AMOUNT] = pool[place, AMOUNT]
        place += 1
        free += 1
    return free


@njit()
def join_classes(details: Integers, pool: Integers, left: int, right: int, target: int, free: int) -> int:
    """Join two classes; it passes if both pass, and is judged later otherwise. Return like `copy_class`."""
    end = _merge_lists(details, pool, left, right, free)
    passes = details[left, FAILS] == 0 and details[right, FAILS] == 0
    details[target, FAILS] = 0 if passes else NOT_JUDGED
    details[target, WEIGHT] = details[left, WEIGHT] + details[right, WEIGHT]
    details[target, VALUES] = details[left, VALUES] | details[right, VALUES]
    details[target, START] = free
    details[target, END] = end
    return end


@njit()
def _worth_of(passes: bool, weight: int, size: int, worth: Worth | None) -> int:
    if worth is None:
        return 0 if passes else weight
    if not passes:
        return worth[0] * weight
    return worth[1] + worth[2] * size * size if size > 0 else 0  # of the population alone: no class of the table


@njit()
def judge_sizes(counts: Integers, start: int, end: int, k: int, worth: Worth | None) -> tuple[int, int]:
    """Tell what a part needs: nothing, the returned amount at every node below, or a closer look."""
    total, smallest = 0, counts[start]
    for place in range(start, end):
        total += counts[place]
        smallest = min(smallest, counts[place])
    if worth is None and smallest >= k:
        return PASSES, 0
    if total < k or end - start == 1:
        return WHOLE, _worth_of(total >= k, total, total, worth)
    return OPEN, 0


@njit()
def judge_classes(
    counts: Integers,
    start: int,
    end: int,
    k: int,
    worth: Worth | None,
    details: Integers,
    pool: Integers,
    table: Integers,
    ground: Integers,
    histograms: Integers,
    empty_fails: bool,
) -> tuple[int, int]:
    """The same with rules, for which too few rows or too few distinct values in a whole part are beyond repair."""
    size, weight, failing, values = 0, 0, 0, 0
    for place in range(start, end):
        if details[place, FAILS] == NOT_JUDGED:
            judge_row(details, pool, table, ground, histograms, empty_fails, place, counts[place], k)
        size += counts[place]
        weight += details[place, WEIGHT]
        failing += details[place, FAILS]
        values |= details[place, VALUES]
    if worth is None and failing == 0:
        return PASSES, 0
    if size < k or lacks_values(table, values):
        return WHOLE, _worth_of(False, weight, size, worth)
    if end - start == 1:
        return WHOLE, _worth_of(failing == 0, weight, size, worth)
    return OPEN, 0


@njit()
def count_tail_sizes(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    mask: int,
    classes_of: NDArray[np.uint32],
    k: int,
    worth: Worth | None,
    sums: Integers,
    target: Integers,
) -> None:
    """Add to every node of the tail's lattice what the classes of a part are worth; `sums` is zero before and after.

    All nodes at once: that keeps the processor busier than one after the other. The table is unsigned, which spares a
    test for negative places in the innermost loop.
    """
    for place in range(start, end):
        classes = classes_of[np.uint64(keys[place] & mask)]
        count = counts[place]
        for node in range(len(classes)):
            sums[classes[node]] += count
    for place in range(start, end):
        classes = classes_of[np.uint64(keys[place] & mask)]
        for node in range(len(classes)):
            group = classes[node]
            size = sums[group]
            if worth is None:
                target[node] += size if size < k else 0
            else:
                target[node] += _worth_of(size == 0 or size >= k, size, size, worth)
            sums[group] = 0


@njit()
def _enter_row(
    group: int,
    row: int,
    size: int,
    details: Integers,
    pool: Integers,
    histograms: Integers,
    members: Integers,
) -> None:
    """Make a row the class it is at the tail's finest node."""
    members[group, _SIZE] = size
    members[group, _WEIGHT] = details[row, WEIGHT]
    members[group, _FAILING] = details[row, FAILS]
    for symbol in range(histograms.shape[1]):
        histograms[group, symbol] = 0
    for place in range(details[row, START], details[row, END]):
        histograms[group, pool[place, SYMBOL]] = pool[place, AMOUNT]


@njit()
def _add_class(group: int, source: int, histograms: Integers, members: Integers) -> bool:
    """Add a class of a finer node to the class it becomes; tell whether it is the first there."""
    first = members[group, _USED] == 0
    if first:
        members[group, _USED] = 1
        for field in range(_USED):
            members[group, field] = members[source, field]
        for symbol in range(histograms.shape[1]):
            histograms[group, symbol] = histograms[source, symbol]
    else:
        for field in range(_USED):
            members[group, field] += members[source, field]
        for symbol in range(histograms.shape[1]):
            histograms[group, symbol] += histograms[source, symbol]
    return bool(first)


@njit()
def count_tail_classes(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    mask: int,
    classes_of: NDArray[np.uint32],
    tail_nodes: Integers,
    becomes: Integers,
    k: int,
    worth: Worth | None,
    details: Integers,
    pool: Integers,
    table: Integers,
    ground: Integers,
    histograms: Integers,
    empty_fails: bool,
    members: Integers,
    listed: Integers,
    listed_end: Integers,
    target: Integers,
) -> None:
    """The same with rules: the classes of a node are made from those of a finer one, and judged if one of them failed.

    `listed` takes the classes in use, node after node; where all pass they are struck off, and with them all coarser.
    """
    used = 0
    for node in range(len(tail_nodes)):
        first_listed, finer = used, tail_nodes[node, FINER]
        if finer < 0:
            for place in range(start, end):
                group = classes_of[np.uint64(keys[place] & mask), node]
                _enter_row(group, place, counts[place], details, pool, histograms, members)
                listed[used] = group
                used += 1
        else:
            shift = tail_nodes[node, BECOMES] - tail_nodes[finer, FIRST_CLASS]
            for place in range(listed_end[finer - 1] if finer > 0 else 0, listed_end[finer]):
                group = becomes[listed[place] + shift]
                if _add_class(group, listed[place], histograms, members):
                    listed[used] = group
                    used += 1
        total, failing = 0, 0
        for place in range(first_listed, used):
            group = listed[place]
            size, passes = members[group, _SIZE], members[group, _FAILING] == 0
            members[group, _USED] = 0
            if not passes and finer >= 0 and not too_small(size, k, empty_fails):
                passes = meets_all(histograms, group, table, ground, size)
            members[group, _FAILING] = 0 if passes else 1
            failing += 0 if passes else 1
            total += _worth_of(passes, members[group, _WEIGHT], size, worth)
        if failing == 0 and worth is None:
            used = first_listed
        listed_end[node] = used
        target[node] += total
