"""The compiled search of Krimp.

The cover of each row is kept, and only rows that a change affects are covered again. Itemsets are numbered in cover
order, so comparing numbers compares places in the code table. Usage has the single items first and then the itemsets.
`cover[r, :depth[r]]` lists the itemsets that cover row r, in order; the rest of the row is covered item by item.
Changes are tried in a scratch copy (`fresh`) and copied when they are accepted. `fitting[r, :fits[r]]` lists the
itemsets of the code table that row r holds, in order: only they can cover it.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privacy_plugin.compiled import njit
from privacy_plugin.metrics.itemsets.itemsets import lowest, popcount

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint64]

MARGIN = 1e-9  # bits; less is rounding


class State(NamedTuple):
    """What never changes (rows to prices), the covers and usage as they are, and room to try a change."""

    rows: Bits
    counts: Integers
    bits: Bits
    spread: Integers
    masks: Bits
    prices: Floats
    usage: Integers
    cover: Integers
    depth: Integers
    fresh: Integers
    fresh_depth: Integers
    changed: Integers
    hit: Integers
    fits: Integers
    left: Bits
    delta: Integers
    touched: Integers
    seen: Any
    suspect: Any
    sums: Floats


def compress(
    rows: Bits,
    counts: Integers,
    bits: Bits,
    masks: Bits,
    weights: Floats,
    tried: Integers,
    held: Integers,
    codes: Floats,
) -> tuple[Integers, Integers, float]:
    """Return (chosen itemsets in cover order, usage of items and itemsets, total length in bits)."""
    many, distinct = len(held) + len(tried), len(rows)
    widest = int(np.bitwise_count(rows).sum(axis=1).max()) // 2 + 1
    state = State(
        rows=rows,
        counts=counts,
        bits=bits,
        spread=np.bitwise_count(bits).sum(axis=1).astype(np.int64),
        masks=masks,
        prices=np.concatenate((codes, weights)),
        usage=np.concatenate((held, np.zeros(len(tried), dtype=np.int64))),
        cover=np.empty((distinct, widest), dtype=np.int64),
        depth=np.zeros(distinct, dtype=np.int64),
        fresh=np.empty((distinct, widest), dtype=np.int64),
        fresh_depth=np.zeros(distinct, dtype=np.int64),
        changed=np.empty(distinct, dtype=np.int64),
        hit=np.empty(distinct, dtype=np.int64),
        fits=np.zeros(distinct, dtype=np.int64),
        left=np.empty(rows.shape[1], dtype=np.uint64),
        delta=np.zeros(many, dtype=np.int64),
        touched=np.empty(many, dtype=np.int64),
        seen=np.zeros(many, dtype=np.bool_),
        suspect=np.zeros(len(tried), dtype=np.bool_),
        sums=np.zeros(3),
    )
    table, length = _search(state, tried, len(held))
    return table, state.usage, length


@njit()
def item_masks(items: Integers, offsets: Integers, universe: int) -> Bits:
    """Return one bitset of items per set; the first item is the highest bit of the first word."""
    masks = np.zeros((len(offsets) - 1, (universe + 63) // 64), dtype=np.uint64)
    for owner in range(len(offsets) - 1):
        for at in range(offsets[owner], offsets[owner + 1]):
            masks[owner, items[at] >> 6] |= np.uint64(1) << np.uint64(63 - (items[at] & 63))
    return masks


@njit()
def _search(state: Any, tried: Integers, universe: int) -> tuple[Integers, float]:
    table = np.empty(len(tried), dtype=np.int64)
    fitting = np.empty((len(state.rows), 16), dtype=np.int32)
    size = 0
    best = _length(state, table[:size], universe)
    for candidate in tried:
        altered, marks = _try_with(state, fitting, candidate, universe)
        if altered and _changed_length(state, marks) < best - MARGIN:
            place = np.searchsorted(table[:size], candidate)
            for at in range(size, place, -1):
                table[at] = table[at - 1]
            table[place] = candidate
            size += 1
            _apply(state, altered, marks, universe)
            fitting = _fit(state, fitting, candidate)
            best = _length(state, table[:size], universe)
            _clear(state, marks)
            size, best = _prune(state, fitting, table, size, best, universe)
        else:
            _clear(state, marks)
    return table[:size].copy(), best


@njit()
def _prune(state: Any, fitting: Numbers, table: Integers, size: int, best: float, universe: int) -> tuple[int, float]:
    """Try to remove itemsets that lost usage, least used first; of equals, the last in cover order."""
    usage = state.usage
    while True:
        place = -1
        for at in range(size):
            lost = state.suspect[table[at]]
            if lost and (place < 0 or usage[universe + table[at]] <= usage[universe + table[place]]):
                place = at
        if place < 0:
            return size, best
        worst = table[place]
        state.suspect[worst] = False
        altered, marks = _try_without(state, fitting, worst, universe)
        # An unused itemset has no code: it is removed without a comparison of lengths.
        if usage[universe + worst] == 0 or _changed_length(state, marks) < best - MARGIN:
            for at in range(place, size - 1):
                table[at] = table[at + 1]
            size -= 1
            _apply(state, altered, marks, universe)
            _unfit(state, fitting, worst)
            state.suspect[worst] = False
            best = _length(state, table[:size], universe)
        _clear(state, marks)


@njit()
def _fit(state: Any, fitting: Numbers, added: int) -> Numbers:
    """List an itemset at its place for the rows that hold it; returns the list, which may have grown."""
    for at in range(_rows_holding(state.masks[added], state.bits, state.spread, state.hit)):
        row = state.hit[at]
        spot = state.fits[row]
        if spot == fitting.shape[1]:
            larger = np.empty((len(fitting), 2 * spot), dtype=np.int32)
            larger[:, :spot] = fitting
            fitting = larger
        while spot > 0 and fitting[row, spot - 1] > added:
            fitting[row, spot] = fitting[row, spot - 1]
            spot -= 1
        fitting[row, spot] = added
        state.fits[row] += 1
    return fitting


@njit()
def _unfit(state: Any, fitting: Numbers, removed: int) -> None:
    for at in range(_rows_holding(state.masks[removed], state.bits, state.spread, state.hit)):
        row = state.hit[at]
        spot = 0
        while fitting[row, spot] != removed:
            spot += 1
        state.fits[row] -= 1
        for later in range(spot, state.fits[row]):
            fitting[row, later] = fitting[row, later + 1]


@njit()
def _try_with(state: Any, fitting: Numbers, candidate: int, universe: int) -> tuple[int, int]:
    """Cover rows with a candidate at its place; returns how many rows and how many usages change."""
    altered = marks = 0
    for at in range(_rows_holding(state.masks[candidate], state.bits, state.spread, state.hit)):
        row = state.hit[at]
        cover = state.cover[row, : state.depth[row]]
        if _taken_before(cover, candidate, state.masks):
            continue
        kept = _covered_before(cover, candidate)
        state.fresh[row, :kept] = cover[:kept]
        state.fresh[row, kept] = candidate
        _continue(state, row, kept + 1, fitting[row, : state.fits[row]], candidate)
        marks = _count(state, row, universe, marks)
        state.changed[altered] = row
        altered += 1
    return altered, marks


@njit()
def _try_without(state: Any, fitting: Numbers, worst: int, universe: int) -> tuple[int, int]:
    """Cover rows without an itemset of the table; returns how many rows and how many usages change."""
    altered = marks = 0
    for at in range(_rows_holding(state.masks[worst], state.bits, state.spread, state.hit)):
        row = state.hit[at]
        cover = state.cover[row, : state.depth[row]]
        kept = _covered_before(cover, worst)
        if kept == len(cover) or cover[kept] != worst:
            continue
        state.fresh[row, :kept] = cover[:kept]
        _continue(state, row, kept, fitting[row, : state.fits[row]], worst)
        marks = _count(state, row, universe, marks)
        state.changed[altered] = row
        altered += 1
    return altered, marks


@njit()
def _rows_holding(mask: Bits, bits: Bits, spread: Integers, out: Integers) -> Any:
    """List the rows that hold all items of a set; returns how many there are."""
    rarest = -1
    for at in range(len(mask)):
        rest = mask[at]
        while rest:
            item = 64 * at + 63 - lowest(rest)
            if rarest < 0 or spread[item] < spread[rarest]:
                rarest = item
            rest &= rest - np.uint64(1)
    found = 0
    for word in range(bits.shape[1]):
        common = bits[rarest, word]  # most words are empty already
        if not common:
            continue
        for at in range(len(mask)):
            rest = mask[at]
            while rest and common:
                common &= bits[64 * at + 63 - lowest(rest), word]
                rest &= rest - np.uint64(1)
        while common:
            out[found] = 64 * word + lowest(common)
            found += 1
            common &= common - np.uint64(1)
    return found


@njit()
def _taken_before(cover: Integers, candidate: int, masks: Bits) -> bool:
    """Return whether an itemset that comes earlier already covers an item of the candidate in this row."""
    for other in cover:
        if other > candidate:
            return False
        for at in range(masks.shape[1]):
            if masks[other, at] & masks[candidate, at]:
                return True
    return False


@njit()
def _covered_before(cover: Integers, candidate: int) -> Any:
    kept = 0
    while kept < len(cover) and cover[kept] < candidate:
        kept += 1
    return kept


@njit()
def _uncovered(state: Any, row: int, cover: Integers) -> Any:
    """Return the uncovered items of a row, in scratch space."""
    left = state.left
    for word in range(len(left)):
        left[word] = state.rows[row, word]
    for other in cover:
        for word in range(len(left)):
            left[word] &= ~state.masks[other, word]
    return left


@njit()
def _continue(state: Any, row: int, used: int, fitting: Numbers, after: int) -> None:
    """Cover what is left of a row by the itemsets it holds that come after one."""
    masks, cover = state.masks, state.fresh[row]
    left = _uncovered(state, row, cover[:used])
    items = 0
    for word in range(len(left)):
        items += popcount(left[word])
    at = np.searchsorted(fitting, after + 1)
    while at < len(fitting) and items > 1:  # every itemset has at least two
        fits = True
        for word in range(len(left)):
            if masks[fitting[at], word] & ~left[word]:
                fits = False
                break
        if fits:
            for word in range(len(left)):
                items -= popcount(masks[fitting[at], word])
                left[word] &= ~masks[fitting[at], word]
            cover[used] = fitting[at]
            used += 1
        at += 1
    state.fresh_depth[row] = used


@njit()
def _count(state: Any, row: int, universe: int, marks: int) -> Any:
    """Note how a row's new cover changes usage; returns how many usages are touched so far."""
    marks = _add_cover(state, row, state.cover[row, : state.depth[row]], -state.counts[row], universe, marks)
    return _add_cover(state, row, state.fresh[row, : state.fresh_depth[row]], state.counts[row], universe, marks)


@njit()
def _add_cover(state: Any, row: int, cover: Integers, amount: int, universe: int, marks: int) -> Any:
    for other in cover:
        marks = _add(state, universe + other, amount, marks)
    left = _uncovered(state, row, cover)
    for word in range(len(left)):
        rest = left[word]
        while rest:
            marks = _add(state, 64 * word + 63 - lowest(rest), amount, marks)
            rest &= rest - np.uint64(1)
    return marks


@njit()
def _add(state: Any, where: int, amount: int, marks: int) -> Any:
    if not state.seen[where]:
        state.seen[where] = True
        state.touched[marks] = where
        marks += 1
    state.delta[where] += amount
    return marks


@njit()
def _clear(state: Any, marks: int) -> None:
    for where in state.touched[:marks]:
        state.delta[where] = 0
        state.seen[where] = False


@njit()
def _apply(state: Any, altered: int, marks: int, universe: int) -> None:
    """Accept a tried change, and mark the itemsets that lost usage as suspects."""
    for where in state.touched[:marks]:
        state.usage[where] += state.delta[where]
        if where >= universe and state.delta[where] < 0:
            state.suspect[where - universe] = True
    for row in state.changed[:altered]:
        state.depth[row] = state.fresh_depth[row]
        state.cover[row, : state.depth[row]] = state.fresh[row, : state.depth[row]]


@njit()
def _bits(used: int, price: float) -> float:
    """Return the bits an itemset adds, without the part that depends on the sum of all usage."""
    return price - (used + 1) * math.log2(used) if used > 0 else 0.0


@njit()
def _length(state: Any, table: Integers, universe: int) -> float:
    """Return the total in bits; its parts are kept in `sums`, so that changes can be added to them."""
    usage, sums = state.usage, state.sums
    sums[:] = 0.0
    for at in range(universe + len(table)):
        where = at if at < universe else universe + table[at - universe]
        sums[0] += usage[where]
        sums[1] += 1.0 if usage[where] > 0 else 0.0
        sums[2] += _bits(usage[where], state.prices[where])
    return float(sums[2] + (sums[0] + sums[1]) * math.log2(sums[0]))


@njit()
def _changed_length(state: Any, marks: int) -> float:
    total, used, found = state.sums[0], state.sums[1], state.sums[2]
    for where in state.touched[:marks]:
        old, new = state.usage[where], state.usage[where] + state.delta[where]
        total += new - old
        used += (1.0 if new > 0 else 0.0) - (1.0 if old > 0 else 0.0)
        found += _bits(new, state.prices[where]) - _bits(old, state.prices[where])
    return float(found + (total + used) * math.log2(total))
