"""Frequent and closed itemsets: depth first over bitsets of rows.

Rows are given as distinct sets of items with counts. The bitset of an itemset marks the distinct rows that hold it; its
support is the sum of their counts. Where all counts are 1 the support is the number of bits.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.core import types
from numba.extending import intrinsic

from privacy_plugin.compiled import njit
from privacy_plugin.errors import ParameterError, TooLargeError


def _popcount(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _lowest(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 0))

    return types.int64(types.uint64), generate


popcount: Any = intrinsic(_popcount)  # how many bits are set
lowest: Any = intrinsic(_lowest)  # the place of the lowest set bit; 64 where there is none


Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Found = tuple[Integers, Integers, Integers, bool]

MOST_ITEMSETS = 20_000_000


@njit()
def item_bitsets(items: Integers, offsets: Integers, order: Integers, universe: int) -> Bits:
    """Return for every item of `order` the bitset of the rows that hold it."""
    rows = len(offsets) - 1
    bits = np.zeros((len(order), (rows + 63) // 64), dtype=np.uint64)
    position = np.full(universe, -1, dtype=np.int64)
    for i in range(len(order)):
        position[order[i]] = i
    for row in range(rows):
        for at in range(offsets[row], offsets[row + 1]):
            if position[items[at]] >= 0:
                bits[position[items[at]], row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return bits


@njit()
def _weight(word: Any, first: int, counts: Integers, plain: bool) -> Any:
    """Return how many rows the bits of one word stand for."""
    if plain:
        return popcount(word)
    total = np.int64(0)
    while word:
        low = word & (~word + np.uint64(1))
        total += counts[first + popcount(low - np.uint64(1))]
        word ^= low
    return total


@njit()
def _intersect(
    parent: Bits, words: Integers, size: int, item: Bits, out: Bits, kept: Integers, counts: Integers, plain: bool
) -> Any:
    """Intersect on the parent's non-empty words; returns (support, how many words are not empty)."""
    total, left = np.int64(0), 0
    for at in range(size):
        word = parent[at] & item[words[at]]
        if word:
            out[left] = word
            kept[left] = words[at]
            left += 1
            total += _weight(word, words[at] << 6, counts, plain)
    return total, left


@njit()
def _grown(array: Integers, needed: int) -> Integers:
    if needed <= len(array):
        return array
    larger = np.empty(max(2 * len(array), needed), dtype=np.int64)
    larger[: len(array)] = array
    return larger


@njit()
def _everything(rows: int, length: int) -> Bits:
    full = np.zeros(length, dtype=np.uint64)
    for row in range(rows):
        full[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return full


@njit()
def frequent_search(bits: Bits, counts: Integers, support: int, most: int) -> Found:
    """Extend each itemset by later items, depth first.

    Returns (items, lengths, supports, whether all were found).
    """
    many, length = bits.shape
    plain = bool((counts == 1).all())
    stack = np.empty((many + 1, length), dtype=np.uint64)
    words = np.empty((many + 1, length), dtype=np.int64)
    sizes = np.zeros(many + 1, dtype=np.int64)
    stack[0] = _everything(len(counts), length)
    words[0] = np.arange(length)
    sizes[0] = length
    chosen = np.full(many + 2, -1, dtype=np.int64)
    items, lengths, supports = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    found = used = depth = 0
    while depth >= 0:
        chosen[depth] += 1
        item = chosen[depth]
        if item >= many:
            depth -= 1
            continue
        total, left = _intersect(
            stack[depth], words[depth], sizes[depth], bits[item], stack[depth + 1], words[depth + 1], counts, plain
        )
        if total < support:
            continue
        if found == most:
            return items[:used], lengths[:found], supports[:found], False
        items = _grown(items, used + depth + 1)
        lengths, supports = _grown(lengths, found + 1), _grown(supports, found + 1)
        items[used : used + depth + 1] = chosen[: depth + 1]
        lengths[found], supports[found] = depth + 1, total
        used += depth + 1
        found += 1
        sizes[depth + 1] = left
        chosen[depth + 1] = item
        depth += 1
    return items[:used], lengths[:found], supports[:found], True


@njit()
def _holds(item: Bits, rows: Bits, words: Integers, size: int) -> bool:
    """Return whether all rows of a set hold an item."""
    for at in range(size):  # noqa: SIM110  the compiler takes no all() of a generator
        if rows[at] & ~item[words[at]]:
            return False
    return True


@njit()
def closed_search(bits: Bits, counts: Integers, support: int, most: int) -> Found:
    """Prefix-preserving closure extension; returns as `frequent_search`."""
    many, length = bits.shape
    plain = bool((counts == 1).all())
    stack = np.empty((many + 2, length), dtype=np.uint64)
    words = np.empty((many + 2, length), dtype=np.int64)
    sizes = np.zeros(many + 2, dtype=np.int64)
    member = np.zeros((many + 2, many), dtype=np.bool_)
    stack[0] = _everything(len(counts), length)
    words[0] = np.arange(length)
    sizes[0] = length
    chosen = np.full(many + 3, -1, dtype=np.int64)
    items, lengths, supports = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    found = used = depth = 0
    for item in range(many):
        member[0, item] = _holds(bits[item], stack[0], words[0], length)
    start = member[0].any() and counts.sum() >= support
    while depth >= 0:
        if start:  # the set at this depth is new: write it down
            if found == most:
                return items[:used], lengths[:found], supports[:found], False
            size = int(member[depth].sum())
            items = _grown(items, used + size)
            lengths, supports = _grown(lengths, found + 1), _grown(supports, found + 1)
            for item in range(many):
                if member[depth, item]:
                    items[used] = item
                    used += 1
            total = np.int64(0)
            for at in range(sizes[depth]):
                total += _weight(stack[depth, at], words[depth, at] << 6, counts, plain)
            lengths[found], supports[found] = size, total
            found += 1
            start = False
        chosen[depth] += 1
        item = chosen[depth]
        if item >= many:
            depth -= 1
            continue
        if member[depth, item]:
            continue
        total, left = _intersect(
            stack[depth], words[depth], sizes[depth], bits[item], stack[depth + 1], words[depth + 1], counts, plain
        )
        if total < support:
            continue
        if not _prefix_kept(bits, item, stack[depth + 1], words[depth + 1], left, member[depth]):
            continue
        for other in range(many):
            member[depth + 1, other] = (
                member[depth, other]
                or other == item
                or (other > item and _holds(bits[other], stack[depth + 1], words[depth + 1], left))
            )
        sizes[depth + 1] = left
        chosen[depth + 1] = item
        depth += 1
        start = True
    return items[:used], lengths[:found], supports[:found], True


@njit()
def _prefix_kept(bits: Bits, item: int, rows: Bits, words: Integers, size: int, member: Any) -> bool:
    """Return whether the closure adds no item before the one that was tried.

    Otherwise the set is found elsewhere.
    """
    for other in range(item):  # noqa: SIM110
        if not member[other] and _holds(bits[other], rows, words, size):
            return False
    return True


@njit()
def supports(bits: Bits, counts: Integers, items: Integers, offsets: Integers) -> Integers:
    """Return how many rows hold each of some itemsets, given the bitsets of all items."""
    plain = bool((counts == 1).all())
    found = np.zeros(len(offsets) - 1, dtype=np.int64)
    for itemset in range(len(found)):
        for word in range(bits.shape[1]):
            common = ~np.uint64(0)
            for at in range(offsets[itemset], offsets[itemset + 1]):
                common &= bits[items[at], word]
            found[itemset] += _weight(common, word << 6, counts, plain)
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Itemsets:
    """Itemsets in one list.

    Set i holds items[offsets[i] : offsets[i + 1]], ascending, and support[i] rows hold it.
    """

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
