"""Tell buckets apart whose least absence agrees up to rounding: every partition of the atoms, then fractions.

Buckets of different histograms often share a value exactly: with all a atoms on one person, the aimed absence is
(n - S(a)) / n(s0), whatever the other counts are. Solving each of thousands in fractions takes seconds. Here a
compiled loop keeps only the partitions that may reach the least product; few distinct fractions remain.
"""

from fractions import Fraction
from math import prod

import numpy as np
from numba import njit

from privacy_plugin.metrics.maximum_disclosure.histograms import Histograms, IntArray

WORK_LIMIT = 200_000_000
"""Most partitions, over all tied buckets, that are looked at."""

NEAR_ZERO = 1e-280
"""Products below it may have lost digits to underflow: they are told apart in fractions."""


def partitions(atoms: int) -> int:
    """Count the ways to write a number as a sum of whole numbers, without order (Euler's recurrence).

    >>> [partitions(atoms) for atoms in (1, 5, 13)]
    [1, 7, 101]
    """
    ways = [1] + [0] * atoms
    for part in range(1, atoms + 1):
        for total in range(part, atoms + 1):
            ways[total] += ways[total - part]
    return ways[atoms]


def least_tied(histograms: Histograms, buckets: IntArray, atoms: int, *, aimed: bool, slack: float) -> int:
    """Return the first of these buckets with exactly the least m_b(atoms), or (n_b / n_b(s0)) m_b(atoms).

    `slack` bounds the relative rounding error of two products from each other. Cost: all partitions of `atoms`
    a bucket, compiled; fractions for the distinct products within `slack` of the least.
    """
    sizes, taken = histograms.sizes[buckets], _taken(histograms, buckets, atoms)
    rows, parts = _near_least(sizes, taken, atoms, aimed, slack)
    people = np.arange(atoms, dtype=np.int64)
    denied = np.take_along_axis(taken[rows], parts, axis=1)
    left = sizes[rows][:, None] - people
    tops = np.where(parts > 0, np.maximum(left - denied, 0), 1)
    bottoms = np.where(parts > 0, left, 1)
    if aimed:
        tops = np.column_stack([tops, sizes[rows]])
        bottoms = np.column_stack([bottoms, taken[rows, 1]])
    distinct, first = np.unique(np.column_stack([tops, bottoms]), axis=0, return_index=True)
    half = distinct.shape[1] // 2
    exact = [Fraction(prod(line[:half]), prod(line[half:])) for line in distinct.tolist()]
    least = min(exact)
    return int(buckets[min(rows[at] for at, value in zip(first.tolist(), exact, strict=True) if value == least)])


def _taken(histograms: Histograms, buckets: IntArray, atoms: int) -> IntArray:
    """S(0..atoms) of each bucket."""
    places = histograms.offsets[buckets][:, None] + np.arange(atoms)
    held = places < histograms.offsets[buckets + 1][:, None]
    counts = np.where(held, histograms.counts[np.where(held, places, 0)], 0)
    return np.column_stack([np.zeros(len(buckets), dtype=np.int64), np.cumsum(counts, axis=1)])


@njit(cache=True)
def _near_least(sizes: IntArray, taken: IntArray, atoms: int, aimed: bool, slack: float) -> tuple[IntArray, IntArray]:
    """Return (bucket, partition padded with 0) for all products within the slack of the least one."""
    rows = np.empty(64, dtype=np.int64)
    found = np.empty((64, atoms), dtype=np.int64)
    parts = np.zeros(atoms, dtype=np.int64)
    kept = 0
    least = np.inf
    for row in range(sizes.size):
        aim = sizes[row] / taken[row, 1] if aimed else 1.0
        parts[:] = 0
        parts[0] = atoms
        more = True
        while more:
            product = aim * _product(sizes[row], taken[row], parts)
            least = min(least, product)
            if product <= least * (1.0 + slack) + NEAR_ZERO:
                if kept == rows.size:
                    rows, found = np.append(rows, rows), np.concatenate((found, found))
                rows[kept] = row
                found[kept] = parts
                kept += 1
            more = _next_partition(parts)
    values = np.empty(kept, dtype=np.float64)
    for index in range(kept):
        row = rows[index]
        aim = sizes[row] / taken[row, 1] if aimed else 1.0
        values[index] = aim * _product(sizes[row], taken[row], found[index])
    near = np.flatnonzero(values <= least * (1.0 + slack) + NEAR_ZERO)
    return rows[:kept][near], found[:kept][near]


@njit(cache=True)
def _product(size: int, taken: IntArray, parts: IntArray) -> float:
    product = 1.0
    for person in range(parts.size):
        if parts[person] == 0:
            break
        if person >= size:  # nobody is left to take these atoms
            return np.inf
        product *= max(0, size - person - taken[parts[person]]) / float(size - person)
    return product


@njit(cache=True)
def _next_partition(parts: IntArray) -> bool:
    """Step to the next partition in descending order, in place; False after the last, 1 + 1 + ... + 1."""
    last = parts.size - 1
    freed = 0
    while last >= 0 and parts[last] <= 1:
        freed += parts[last]
        parts[last] = 0
        last -= 1
    if last < 0:
        return False
    parts[last] -= 1
    freed += 1
    while freed > 0:
        parts[last + 1] = min(freed, parts[last])
        freed -= parts[last + 1]
        last += 1
    return True


def fits(rows: int, atoms: int) -> bool:
    """Tell whether so many tied buckets can be told apart for so many atoms."""
    return rows == 1 or rows * partitions(atoms) <= WORK_LIMIT
