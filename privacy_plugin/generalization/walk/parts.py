"""Judging one part of the partition recursion: pass, fail as a whole, or look closer; and counting its tail by table.

Two ways, chosen at compile time: without rules a class is its size; with rules it carries a histogram, as described in
lattice_class_lists.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privacy_plugin.generalization.walk.class_lists import (
    AMOUNT,
    END,
    FAILS,
    NOT_JUDGED,
    START,
    SYMBOL,
    VALUES,
    WEIGHT,
    judge_row,
)
from privacy_plugin.generalization.walk.rules import lacks_values, meets_all, too_small

Integers = NDArray[np.int64]
# What a class is worth: the first number times its weight where it fails; where it passes, the second plus the third
# times its squared size. None stands for (1, 0, 0), the only worth that lets passing parts be skipped.
Worth = tuple[int, int, int]

PASSES, WHOLE, OPEN = range(3)
# Columns of `tail_nodes`, a line a node of the tail: the finer node its classes are made from, and where the classes
# that the finer node's become are listed (its first class comes first).
FINER, FIRST_CLASS, BECOMES = range(3)
# Columns of `members`, a line a class of the tail: rows, weight, failing rows or classes in it, whether it is in use.
_SIZE, _WEIGHT, _FAILING, _USED = range(4)
MEMBER_FIELDS = 4


@njit(cache=True)
def _worth_of(passes: bool, weight: int, size: int, worth: Worth | None) -> int:
    if worth is None:
        return 0 if passes else weight
    if not passes:
        return worth[0] * weight
    return worth[1] + worth[2] * size * size if size > 0 else 0  # of the population alone: no class of the table


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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
