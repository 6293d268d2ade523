"""Krimp: the itemsets that describe a table in the fewest bits, and the cover of other tables.

Vreeken, van Leeuwen, Siebes 2011: standard cover order (longer, more frequent, then by items), standard candidate
order (more frequent, longer, then by items), post-acceptance pruning. Bits, so logarithms of base 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.compiled import njit
from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.itemsets.itemsets import Itemsets, item_bitsets
from privacy_plugin.metrics.itemsets.krimp_search import compress, item_masks

Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CodeTable:
    """Itemsets of two items or more in cover order, their usage, and the usage of single items.

    `length` is the total in bits, of the data and of this table; `standard_length` the total with single items only,
    `standard_data_length` its data part. `ratio` is the compression, lower is better.
    """

    sets: tuple[tuple[int, ...], ...]
    usage: Integers
    item_usage: Integers
    length: float
    standard_length: float
    standard_data_length: float

    @property
    def ratio(self) -> float:
        """Length over length with single items only; 1 for a table of one item, which takes no bits."""
        return self.length / self.standard_length if self.standard_length else 1.0


def krimp(*, items: Integers, offsets: Integers, counts: Integers, candidates: Itemsets) -> CodeTable:
    """Return the code table that Krimp finds among candidates, for rows as in `frequent_itemsets`.

    L(D, CT) = sum over used itemsets of usage * l + (l + the standard code lengths of the items), with l = -log2(usage
    / all usage). A candidate is kept when it makes the total shorter; then the search tries to leave itemsets that lost
    usage out, least used first (of equals, the last in cover order); unused itemsets are removed. Cost: for each
    candidate, a cover of the rows that hold it.
    """
    if len(offsets) != len(counts) + 1:
        raise ParameterError("krimp needs one offset more than rows")
    if not len(items):
        raise ParameterError("every value is missing: there are no items to describe the rows with")
    universe = int(items.max()) + 1
    if len(candidates.items) and int(candidates.items.max()) >= universe:
        raise ParameterError("a candidate holds an item that no row has")
    held = np.zeros(universe, dtype=np.int64)
    np.add.at(held, items, np.repeat(counts, np.diff(offsets)))
    codes = np.zeros(universe)
    codes[held > 0] = -np.log2(held[held > 0] / held.sum())
    lengths = np.diff(candidates.offsets)
    several = np.flatnonzero(lengths > 1)
    masks = item_masks(candidates.items, candidates.offsets, universe)[several]
    support = candidates.support[several]
    order = _cover_order(lengths[several], support, masks)
    several, support, masks = several[order], support[order], masks[order]  # numbered in cover order from here on
    tried = np.argsort(-support, kind="stable")  # of equal support, the longer is first already
    starts = candidates.offsets[:-1]
    weights = np.add.reduceat(codes[candidates.items], starts)[several] if len(several) else np.zeros(0)
    rows = item_masks(items.astype(np.int64), offsets.astype(np.int64), universe)
    bits = item_bitsets(items.astype(np.int64), offsets.astype(np.int64), np.arange(universe), universe)
    chosen, usage, length = compress(rows, counts.astype(np.int64), bits, masks, weights, tried, held, codes)
    sets = _listed(candidates, several[chosen])
    standard_data = float((held * codes).sum())
    return CodeTable(
        sets=tuple(sets),
        usage=usage[universe + chosen],
        item_usage=usage[:universe],
        length=float(length),
        standard_length=standard_data + 2 * float(codes.sum()),
        standard_data_length=standard_data,
    )


def _cover_order(lengths: Integers, support: Integers, masks: Bits) -> Integers:
    """Return the order longer, more frequent, then by items.

    Of two sets of one length, the larger mask has the smaller first item.
    """
    keys: list[Any] = [-lengths, -support, *~masks.T]
    return np.lexsort(keys[::-1]).astype(np.int64)


def _listed(itemsets: Itemsets, chosen: Integers) -> list[tuple[int, ...]]:
    return [tuple(itemsets.items[itemsets.offsets[at] : itemsets.offsets[at + 1]].tolist()) for at in chosen]


def cover_usage(
    *,
    items: Integers,
    offsets: Integers,
    counts: Integers,
    sets: tuple[tuple[int, ...], ...],
    universe: int,
) -> tuple[Integers, Integers]:
    """Return how often each itemset, in cover order, and each single item covers rows as in `krimp`.

    Standard cover: the first itemset of the table that lies in what is left of a row covers it, and so on; the rest
    of the row is covered item by item. Cost: one comparison of bitsets a distinct row and itemset.
    """
    flat = np.array([item for itemset in sets for item in itemset], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([len(itemset) for itemset in sets])]).astype(np.int64)
    words = (universe + 63) // 64
    rows = _bitsets(items.astype(np.int64), offsets.astype(np.int64), words)
    return _cover(rows, counts.astype(np.int64), _bitsets(flat, starts, words), universe)


@njit()
def _bitsets(items: Integers, offsets: Integers, words: int) -> Bits:
    bits = np.zeros((len(offsets) - 1, words), dtype=np.uint64)
    for one in range(len(offsets) - 1):
        for at in range(offsets[one], offsets[one + 1]):
            bits[one, items[at] >> 6] |= np.uint64(1) << np.uint64(items[at] & 63)
    return bits


@njit()
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
