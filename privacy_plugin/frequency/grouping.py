"""Group rows of integer codes: the one operation everything else is made of."""

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
    exceeds 62 bits, the numbers so far are replaced by their rank before the next column joins.
    """
    length = len(columns[0]) if columns else 0
    packed = np.zeros(length, dtype=np.int64)
    size = 1
    for codes, cardinality in zip(columns, cardinalities, strict=True):
        if size * max(cardinality, 1) > _LARGEST_KEY:
            distinct, ranks = np.unique(packed, return_inverse=True)
            packed, size = ranks.astype(np.int64), len(distinct)
        packed = packed * max(cardinality, 1) + codes
        size *= max(cardinality, 1)
    return packed, size


def group(packed: Integers, size: int) -> tuple[Integers, Integers]:
    """Number the distinct packed rows in ascending order.

    Returns (group of each row, position of one row of each group).
    """
    if size <= min(_DENSE_LIMIT, 8 * len(packed) + 1024):  # small range: counting beats sorting
        places = np.full(size, -1, dtype=np.int64)
        places[packed[::-1]] = np.arange(len(packed) - 1, -1, -1, dtype=np.int64)
        used = np.flatnonzero(places >= 0)
        first = places[used]
        places[used] = np.arange(len(used))
        return places[packed], first
    _, first, groups = np.unique(packed, return_index=True, return_inverse=True)
    return groups.astype(np.int64), first.astype(np.int64)


def sum_by(groups: Integers, weights: Integers, length: int) -> Integers:
    """Sum integer weights by group, exactly (numpy's bincount would go through floating point)."""
    totals = np.zeros(length, dtype=np.int64)
    np.add.at(totals, groups, weights)
    return totals
