"""Group rows of integer codes: the basic operation of frequency tables."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]

_LARGEST_KEY = 2**62
_DENSE_LIMIT = 1 << 22


def pack(columns: Sequence[npt.NDArray[np.integer]], cardinalities: Sequence[int]) -> tuple[Integers, int]:
    """Pack each row of codes into one number; returns the numbers and the size of their range.

    Equal rows get equal numbers and different rows different ones. When the product of the cardinalities
    exceeds 62 bits, the numbers so far are replaced by their rank before the next column is added.
    """
    length = len(columns[0]) if columns else 0
    packed = np.zeros(length, dtype=np.int64)
    size = 1
    for codes, cardinality in zip(columns, cardinalities, strict=True):
        if size * max(cardinality, 1) > _LARGEST_KEY:
            distinct, ranks = np.unique(packed, return_inverse=True)
            packed, size = ranks.astype(np.int64), len(distinct)
        packed *= max(cardinality, 1)
        packed += codes
        size *= max(cardinality, 1)
    return packed, size


def group(packed: Integers, size: int) -> tuple[Integers, Integers]:
    """Number the distinct packed rows in ascending order.

    Returns (group of each row, position of one row of each group).
    """
    if is_dense(len(packed), size):
        positions = _first_positions(packed, size)
        used = np.flatnonzero(positions >= 0)
        first = positions[used]
        positions[used] = np.arange(len(used))
        return positions[packed], first
    _, first, groups = np.unique(packed, return_index=True, return_inverse=True)
    return groups.astype(np.int64), first.astype(np.int64)


def tally(packed: Integers, size: int, counts: Integers | None = None) -> tuple[Integers, Integers]:
    """Return the position of one row of each distinct packed row, in ascending order, and their totals.

    A row counts once, or as often as `counts` gives.
    """
    if is_dense(len(packed), size):
        positions = np.full(size, -1, dtype=np.int64)
        positions[packed] = np.arange(len(packed))
        used = np.flatnonzero(positions >= 0)
        first = positions.take(used)
        if counts is None:
            return first, np.bincount(packed, minlength=size).take(used)
        if len(used) == len(packed):
            return first, counts.take(first)
        return first, sum_by(packed, counts, size).take(used)
    order = np.argsort(packed)
    inorder = packed.take(order)
    starts = np.flatnonzero(np.concatenate([inorder[:1] == inorder[:1], inorder[1:] != inorder[:-1]]))
    if counts is None:
        return order.take(starts), np.diff(starts, append=len(packed))
    inorder = counts.take(order)
    if len(starts) < len(packed):
        inorder = np.add.reduceat(inorder, starts)
    return order.take(starts), inorder


def is_dense(rows: int, size: int) -> bool:
    """Return whether the range is so small that counting is faster than sorting."""
    return size <= min(_DENSE_LIMIT, 8 * rows + 1024)


def _first_positions(packed: Integers, size: int) -> Integers:
    """Return the first row of every number of the range, or -1."""
    positions = np.full(size, -1, dtype=np.int64)
    positions[packed[::-1]] = np.arange(len(packed) - 1, -1, -1, dtype=np.int64)
    return positions


def sum_by(groups: Integers, weights: Integers, length: int) -> Integers:
    """Sum integer weights by group, exactly (numpy's bincount uses floating point)."""
    totals = np.zeros(length, dtype=np.int64)
    np.add.at(totals, groups, weights)
    return totals
