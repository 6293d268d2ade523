"""Frequent and closed itemsets: depth first over bitsets of rows.

Rows are given as distinct sets of items with counts. An itemset's bitset says which distinct rows hold it; its
support is the sum of their counts. Where all counts are 1 a bitset is counted by its bits.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.itemsets.search import closed_search, frequent_search, item_bitsets

Integers = npt.NDArray[np.int64]

MOST_ITEMSETS = 20_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Itemsets:
    """Itemsets in one list: set i holds items[offsets[i] : offsets[i + 1]], ascending, and support[i] rows hold it."""

    items: Integers
    offsets: Integers
    support: Integers

    def __len__(self) -> int:
        return len(self.support)

    def sets(self) -> list[tuple[int, ...]]:
        """Return the itemsets as tuples."""
        ends = self.offsets.tolist()
        listed = self.items.tolist()
        return [tuple(listed[a:b]) for a, b in pairwise(ends)]


def frequent_itemsets(
    *, items: Integers, offsets: Integers, counts: Integers, support: int, most: int = MOST_ITEMSETS
) -> Itemsets:
    """Return every non-empty itemset that at least `support` rows hold.

    Distinct row r holds items[offsets[r] : offsets[r + 1]] (numbers from 0, each once) and stands for counts[r] rows.
    More than `most` itemsets raise TooLargeError. Cost: one intersection of bitsets an itemset and tried item.
    """
    return _mine(items, offsets, counts, support, most, closed=False)


def closed_itemsets(
    *, items: Integers, offsets: Integers, counts: Integers, support: int, most: int = MOST_ITEMSETS
) -> Itemsets:
    """Return the frequent itemsets that no larger itemset matches in support.

    Prefix-preserving closure extension (Uno, Asai, Uchida, Arimura 2004): every closed set is found once, and none is
    kept to compare with. Arguments as in `frequent_itemsets`.
    """
    return _mine(items, offsets, counts, support, most, closed=True)


def _mine(items: Integers, offsets: Integers, counts: Integers, support: int, most: int, *, closed: bool) -> Itemsets:
    if isinstance(support, bool) or not isinstance(support, int | np.integer) or support < 1:
        raise ParameterError("support must be a whole number of at least 1")
    if len(offsets) != len(counts) + 1:
        raise ParameterError(f"{len(counts)} rows need {len(counts) + 1} offsets, not {len(offsets)}")
    universe = int(items.max()) + 1 if len(items) else 0
    held = np.zeros(universe, dtype=np.int64)
    np.add.at(held, items, np.repeat(counts, np.diff(offsets)))
    common = np.flatnonzero(held >= support)
    order = common[np.argsort(held[common], kind="stable")]  # rare items first: their bitsets are nearly empty
    bits = item_bitsets(items.astype(np.int64), offsets.astype(np.int64), order, universe)
    search = closed_search if closed else frequent_search
    found, lengths, supports, complete = search(bits, counts.astype(np.int64), int(support), int(most))
    if not complete:
        raise TooLargeError(f"there are more than {most:,} itemsets of support {support:,}; ask for a higher support")
    return _sorted(order[found], lengths, supports)


def _sorted(items: Integers, lengths: Integers, supports: Integers) -> Itemsets:
    """Put the items of every set in ascending order; the sets stay in the order they were found."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    owners = np.repeat(np.arange(len(lengths)), lengths)
    return Itemsets(items=items[np.lexsort((items, owners))], offsets=offsets, support=supports)
