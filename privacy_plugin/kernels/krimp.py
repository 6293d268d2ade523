"""Krimp: the itemsets that describe a table in the fewest bits.

Vreeken, van Leeuwen, Siebes 2011: standard cover order (longer, more frequent, then by items), standard candidate
order (more frequent, longer, then by items), post-acceptance pruning. Bits, so logarithms of base 2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.kernels.itemset_search import item_bitsets
from privacy_plugin.kernels.itemsets import Itemsets
from privacy_plugin.kernels.krimp_search import compress

Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CodeTable:
    """Itemsets of two items or more in cover order with how often each is used, and the single items' use.

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
        """Length over length with single items only."""
        return self.length / self.standard_length


def krimp(*, items: Integers, offsets: Integers, counts: Integers, candidates: Itemsets) -> CodeTable:
    """Return the code table that Krimp finds among candidates, for rows as `frequent_itemsets` takes them.

    L(D, CT) = sum over used itemsets of usage * l + (l + the standard code lengths of the items), with l = -log2(usage
    / all usage). A candidate stays when it makes the total shorter; then itemsets that lost usage are tried to be left
    out, least used first (of equals, the last in cover order); what is no longer used leaves. Cost: a
    cover of the rows that hold the candidate, for each candidate.
    """
    if len(offsets) != len(counts) + 1 or not len(items):
        raise ParameterError("krimp needs rows with items, and one offset more than rows")
    universe = int(items.max()) + 1
    if len(candidates.items) and int(candidates.items.max()) >= universe:
        raise ParameterError("a candidate holds an item that no row has")
    held = np.zeros(universe, dtype=np.int64)
    np.add.at(held, items, np.repeat(counts, np.diff(offsets)))
    codes = np.zeros(universe)
    codes[held > 0] = -np.log2(held[held > 0] / held.sum())
    several = _select(candidates, np.flatnonzero(np.diff(candidates.offsets) > 1))
    lengths = np.diff(several.offsets)
    order = _ordered(several, -lengths, -several.support)
    several = _select(several, order)  # numbered in cover order from here on
    tried = _candidate_order(several)
    rows = _masks(items, offsets, universe)
    bits = item_bitsets(items.astype(np.int64), offsets.astype(np.int64), np.arange(universe), universe)
    masks = _masks(several.items, several.offsets, universe)
    weights = np.add.reduceat(codes[several.items], several.offsets[:-1]) if len(several) else np.zeros(0)
    chosen, usage, length = compress(rows, counts.astype(np.int64), bits, masks, weights, tried, held, codes)
    sets = _select(several, chosen).sets()
    standard_data = float((held * codes).sum())
    return CodeTable(
        sets=tuple(sets),
        usage=usage[universe + chosen],
        item_usage=usage[:universe],
        length=float(length),
        standard_length=standard_data + 2 * float(codes.sum()),
        standard_data_length=standard_data,
    )


def _select(itemsets: Itemsets, chosen: Integers) -> Itemsets:
    lengths = np.diff(itemsets.offsets)[chosen]
    offsets = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    positions = np.repeat(itemsets.offsets[chosen], lengths) + within
    return Itemsets(items=itemsets.items[positions], offsets=offsets, support=itemsets.support[chosen])


def _ordered(itemsets: Itemsets, *first: Integers) -> Integers:
    """Sort by keys, the first the most important, and then by items."""
    lengths = np.diff(itemsets.offsets)
    widest = int(lengths.max(initial=0))
    padded = np.full((len(itemsets), widest), -1, dtype=np.int64)
    within = np.arange(len(itemsets.items)) - np.repeat(itemsets.offsets[:-1], lengths)
    padded[np.repeat(np.arange(len(itemsets)), lengths), within] = itemsets.items
    keys: list[Any] = [*first, *padded.T]
    return np.lexsort(keys[::-1]).astype(np.int64)


def _candidate_order(itemsets: Itemsets) -> Integers:
    return _ordered(itemsets, -itemsets.support, -np.diff(itemsets.offsets))


def _masks(items: Integers, offsets: Integers, universe: int) -> Bits:
    """One bitset of items a set."""
    masks = np.zeros((len(offsets) - 1, (universe + 63) // 64), dtype=np.uint64)
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    np.bitwise_or.at(masks, (owners, items >> 6), np.uint64(1) << (items & 63).astype(np.uint64))
    return masks
