"""What a walk with rules carries along with every row: its histogram as a short list, and whether it passes.

`details` has a line a row: whether it fails (1), passes (0) or was not judged yet (2); what it weighs when it fails;
its values as bits, where they are few; where its list begins and ends. `pool` holds the lists: symbol and count, sorted
by symbol. A class is judged as a full histogram; the last line of `histograms` is room for one, zero between two uses.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privacy_plugin.generalization.walk.rules import meets_all, too_small

Integers = NDArray[np.int64]

FAILS, WEIGHT, VALUES, START, END = range(5)
DETAIL_FIELDS = 5
NOT_JUDGED = 2
SYMBOL, AMOUNT = range(2)


@njit(cache=True)
def copy_details(details: Integers, source: int, target: int) -> None:
    """Copy a row's details; the copy shares its list."""
    for field in range(DETAIL_FIELDS):
        details[target, field] = details[source, field]


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def join_classes(details: Integers, pool: Integers, left: int, right: int, target: int, free: int) -> int:
    """Make one class of two; if both pass it passes, else it is judged when somebody asks. Return like `copy_class`."""
    end = _merge_lists(details, pool, left, right, free)
    passes = details[left, FAILS] == 0 and details[right, FAILS] == 0
    details[target, FAILS] = 0 if passes else NOT_JUDGED
    details[target, WEIGHT] = details[left, WEIGHT] + details[right, WEIGHT]
    details[target, VALUES] = details[left, VALUES] | details[right, VALUES]
    details[target, START] = free
    details[target, END] = end
    return end
