"""Cover a table with a code table that was made for another one."""

import numpy as np
import numpy.typing as npt
from numba import njit

Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


def cover_usage(
    *,
    items: Integers,
    offsets: Integers,
    counts: Integers,
    sets: tuple[tuple[int, ...], ...],
    universe: int,
) -> tuple[Integers, Integers]:
    """Return how often each itemset, in cover order, and each single item covers rows as `krimp` takes them.

    Standard cover: the first itemset of the table that lies in what is left of a row covers it, and so on; the rest
    of the row is covered item by item. Cost: one comparison of bitsets a distinct row and itemset.
    """
    flat = np.array([item for itemset in sets for item in itemset], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([len(itemset) for itemset in sets])]).astype(np.int64)
    words = (universe + 63) // 64
    rows = _bitsets(items.astype(np.int64), offsets.astype(np.int64), words)
    return _cover(rows, counts.astype(np.int64), _bitsets(flat, starts, words), universe)


@njit(cache=True)
def _bitsets(items: Integers, offsets: Integers, words: int) -> Bits:
    bits = np.zeros((len(offsets) - 1, words), dtype=np.uint64)
    for one in range(len(offsets) - 1):
        for at in range(offsets[one], offsets[one + 1]):
            bits[one, items[at] >> 6] |= np.uint64(1) << np.uint64(items[at] & 63)
    return bits


@njit(cache=True)
def _cover(rows: Bits, counts: Integers, sets: Bits, universe: int) -> tuple[Integers, Integers]:
    usage = np.zeros(len(sets), dtype=np.int64)
    single = np.zeros(universe, dtype=np.int64)
    left = np.empty(rows.shape[1], dtype=np.uint64)
    for row in range(len(rows)):
        left[:] = rows[row]
        for number in range(len(sets)):
            inside = True
            for word in range(len(left)):
                if sets[number, word] & ~left[word]:
                    inside = False
                    break
            if inside:
                usage[number] += counts[row]
                for word in range(len(left)):
                    left[word] &= ~sets[number, word]
        for item in range(universe):
            if (left[item >> 6] >> np.uint64(item & 63)) & np.uint64(1):
                single[item] += counts[row]
    return usage, single
