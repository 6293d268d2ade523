"""Runs of a part in the partition recursion: finding them, and merging neighbours when an attribute goes up a level."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privacy_plugin.generalization.walk.class_lists import copy_class, join_classes
from privacy_plugin.generalization.walk.packing import (
    BUFFER,
    CAPACITY,
    LEAVES,
    MAPS,
    POOL,
    POOL_CAPACITY,
    RUNS,
    SHIFT,
    Plan,
)

Integers = NDArray[np.int64]
Carried = Any  # what a walk with rules carries along (see lattice_class_lists), and None in a walk without


@njit(cache=True)
def find_runs(
    keys: Integers,
    start: int,
    end: int,
    shift: int,
    mask: int,
    base: int,
    run_start: Integers,
    run_leaf: Integers,
) -> int:
    """List the runs of equal digits of a part, from place `base` on; a run ends where the next one starts."""
    run, current = base, -1
    for place in range(start, end):
        leaf = (keys[place] >> shift) & mask
        if leaf != current:
            run_start[run] = place
            run_leaf[run] = leaf
            run += 1
            current = leaf
    run_start[run] = end
    return run - base


@njit(cache=True)
def _copy(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    mask: int,
    target: int,
    free: int,
    details: Carried,
    pool: Carried,
) -> tuple[int, int]:
    """Copy a run, without the digits the mask takes away; return the ends of the copy and of its lists."""
    for place in range(start, end):
        keys[target] = keys[place] & mask
        counts[target] = counts[place]
        if details is not None:
            free = copy_class(details, pool, place, target, free)
        target += 1
    return target, free


@njit(cache=True)
def _merge(
    keys: Integers,
    counts: Integers,
    left: int,
    middle: int,
    end: int,
    mask: int,
    target: int,
    free: int,
    details: Carried,
    pool: Carried,
) -> tuple[int, int]:
    """Merge two neighbouring sorted runs, adding up what has equal keys; return like `_copy`."""
    right = middle
    left_key, right_key = keys[left] & mask, keys[right] & mask
    while True:
        if left_key < right_key:
            keys[target] = left_key
            counts[target] = counts[left]
            if details is not None:
                free = copy_class(details, pool, left, target, free)
            target += 1
            left += 1
            if left == middle:
                break
            left_key = keys[left] & mask
        elif right_key < left_key:
            keys[target] = right_key
            counts[target] = counts[right]
            if details is not None:
                free = copy_class(details, pool, right, target, free)
            target += 1
            right += 1
            if right == end:
                break
            right_key = keys[right] & mask
        else:
            size = counts[left] + counts[right]
            keys[target] = left_key
            counts[target] = size
            if details is not None:
                free = join_classes(details, pool, left, right, target, free)
            target += 1
            left += 1
            right += 1
            if left == middle or right == end:
                break
            left_key, right_key = keys[left] & mask, keys[right] & mask
    target, free = _copy(keys, counts, left, middle, mask, target, free, details, pool)
    return _copy(keys, counts, right, end, mask, target, free, details, pool)


@njit(cache=True)
def _merge_neighbours(
    keys: Integers,
    counts: Integers,
    groups: Integers,
    mask: int,
    target: int,
    free: int,
    base: int,
    runs: int,
    run_start: Integers,
    run_leaf: Integers,
    details: Carried,
    pool: Carried,
) -> tuple[int, bool]:
    """Copy the runs, merging two by two those of one group; return how many are left, and whether to do it again."""
    pending, run, end, kept = False, base, base + runs, base
    while run < end:
        begin, leaf, first, middle = target, run_leaf[run], run_start[run], run_start[run + 1]
        group = groups[leaf]
        if run + 1 < end and groups[run_leaf[run + 1]] == group:
            last = run_start[run + 2]
            target, free = _merge(keys, counts, first, middle, last, mask, target, free, details, pool)
            run += 2
            pending = pending or (run < end and groups[run_leaf[run]] == group)
        else:
            target, free = _copy(keys, counts, first, middle, mask, target, free, details, pool)
            run += 1
        run_start[kept] = begin
        run_leaf[kept] = leaf
        kept += 1
    run_start[kept] = target
    return kept - base, pending


@njit(cache=True)
def roll_up(
    plan: Plan,
    keys: Integers,
    counts: Integers,
    attribute: int,
    level: int,
    runs: int,
    half: int,
    run_start: Integers,
    run_leaf: Integers,
    details: Carried,
    pool: Carried,
) -> tuple[int, int]:
    """Make one run of those that are one group at a level; return how many are left and where they are."""
    row = plan.attributes[attribute]
    base, mask = row[RUNS], (1 << row[SHIFT]) - 1
    first = row[MAPS] + level * row[LEAVES]
    groups = plan.maps[first : first + row[LEAVES]]
    pending = False
    for run in range(base + 1, base + runs):
        pending = pending or groups[run_leaf[run - 1]] == groups[run_leaf[run]]
    while pending:
        half = 1 if half == 0 else 0
        target, free = row[BUFFER] + half * row[CAPACITY], row[POOL] + half * row[POOL_CAPACITY]
        runs, pending = _merge_neighbours(
            keys, counts, groups, mask, target, free, base, runs, run_start, run_leaf, details, pool
        )
    return runs, half
