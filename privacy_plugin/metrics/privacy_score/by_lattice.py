"""The privacy score over the whole lattice of sets K, for relations with few usable attributes.

One array over all 2^m sets of the m attributes that can be in K: AND the dangers of the rows into the sets the rows
hold, AND every set with its supersets (what remains follows from it), turn that into w(K), take the maximum over
subsets, read off the rows. Cost: 2m passes over 2^m words for any number of rows; memory 16 * 2^m bytes.
"""

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.errors import TooLargeError
from privacy_plugin.metrics.privacy_score.reduction import Columns
from privacy_plugin.metrics.privacy_score.relation import Codes, Integers, Weights

Words = NDArray[np.uint64]

LARGEST_LATTICE = 25  # 512 MB
_TIE = 1e-13
_BLOCK = 14  # 2^14 words stay in the processor's cache


def usable_attributes(columns: Columns) -> Integers:
    """Return the attributes that can be in K: possibly known, and not held by everybody."""
    support = _support(columns.codes, columns.offsets)
    return np.flatnonzero((columns.likelihood > 0) & (support < columns.codes.shape[1]))


@njit()
def _support(codes: Codes, offsets: Integers) -> Integers:
    """Return how many rows hold each attribute."""
    support = np.zeros(offsets[-1], dtype=np.int64)
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            if codes[column, row] >= 0:
                support[offsets[column] + codes[column, row]] += 1
    return support


def lattice_scores(columns: Columns, *, saturation: float) -> Weights:
    """Return the score of every row: max of w(K) over the subsets K of what it holds."""
    usable = usable_attributes(columns)
    worth, masks = _worth_of_sets(columns, usable, np.arange(len(columns.likelihood)), saturation)
    _subset_maximum(worth, len(usable))
    scores: Weights = worth[masks.astype(np.int64)]
    return scores


def lattice_witness(columns: Columns, *, row: int, saturation: float) -> tuple[float, list[int]]:
    """Return the score of one row and a smallest K that reaches it, over that row's own lattice."""
    codes = columns.codes[:, row]
    held = columns.offsets[:-1][codes >= 0] + codes[codes >= 0]
    usable = np.intersect1d(usable_attributes(columns), held)
    worth, _ = _worth_of_sets(columns, usable, held, saturation)
    best = float(worth.max())
    reached = np.flatnonzero(worth >= best - _TIE)
    known = int(reached[np.argmin(np.bitwise_count(reached))])
    return best, [int(attribute) for bit, attribute in enumerate(usable) if known >> bit & 1]


def _worth_of_sets(
    columns: Columns, usable: Integers, considered: Integers, saturation: float
) -> tuple[Weights, Words]:
    """w(K) for every set K of the usable attributes (bit b: the b-th), and each row's largest such set."""
    if len(usable) > LARGEST_LATTICE:
        raise TooLargeError(
            f"the lattice of {len(usable)} usable attributes is too large; at most {LARGEST_LATTICE} fit in memory"
        )
    inferred = columns.inferred
    masks = _row_bits(columns, usable)
    danger = np.zeros(1 << len(usable))
    dangerous = considered[inferred[considered] > 0]
    for start in range(0, len(dangerous), 64):
        chunk = dangerous[start : start + 64]
        follows = np.full(1 << len(usable), np.iinfo(np.uint64).max, dtype=np.uint64)
        _follow(masks, _row_bits(columns, chunk), follows, len(usable))
        bits = np.zeros(len(usable), dtype=np.uint64)
        place = {int(attribute): bit for bit, attribute in enumerate(chunk)}
        for index, attribute in enumerate(usable):
            if int(attribute) in place:
                bits[index] = np.uint64(1 << place[int(attribute)])
        _add_danger(follows, _half_unions(bits, 0), _half_unions(bits, 1), _byte_sums(inferred[chunk]), danger)
        del follows
    likelihood, bonus = columns.likelihood[usable], columns.bonus[usable]
    products, sums = _half_tables(likelihood, 1.0, np.multiply), _half_tables(bonus, 0.0, np.add)
    _weigh(danger, *products, *sums, saturation)
    return danger, masks


def _row_bits(columns: Columns, attributes: Integers) -> Words:
    """Return one word a row: bit b set where the row holds the b-th of these attributes."""
    words = np.zeros(columns.codes.shape[1], dtype=np.uint64)
    bit = np.zeros(len(columns.likelihood), dtype=np.uint64)
    bit[attributes] = np.uint64(1) << np.arange(len(attributes), dtype=np.uint64)
    for column, start in enumerate(columns.offsets[:-1]):
        lookup = np.append(bit[start : columns.offsets[column + 1]], np.uint64(0))  # code -1 reads the last entry
        if lookup.any():
            words |= lookup[columns.codes[column]]
    return words


def _halves(count: int) -> tuple[int, int]:
    return count // 2, count - count // 2


def _half_unions(bits: Words, half: int) -> Words:
    low, _ = _halves(len(bits))
    unions = np.zeros(1, dtype=np.uint64)
    for bit in bits[:low] if half == 0 else bits[low:]:
        unions = np.concatenate([unions, unions | bit])
    return unions


def _half_tables(values: Weights, start: float, combine: np.ufunc) -> tuple[Weights, Weights]:
    """Return what the values of every subset of either half come to."""
    low, _ = _halves(len(values))
    tables = []
    for part in (values[:low], values[low:]):
        table = np.full(1, start)
        for value in part:
            table = np.concatenate([table, combine(table, value)])
        tables.append(table)
    return tables[0], tables[1]


def _byte_sums(terms: Weights) -> Weights:
    """Return the sum of the terms picked by each value of each of the eight bytes of a word."""
    padded = np.zeros(64)
    padded[: len(terms)] = terms
    sums = np.zeros((8, 256))
    for byte in range(8):
        table = np.zeros(1)
        for term in padded[8 * byte : 8 * byte + 8]:
            table = np.concatenate([table, table + term])
        sums[byte] = table
    return sums


@njit()
def _follow(masks: Words, dangers: Words, follows: Words, bits: int) -> None:
    """In each set, leave the dangers that every row holding the set has."""
    for row in range(len(masks)):
        follows[masks[row]] &= dangers[row]
    block = min(bits, _BLOCK)
    for start in range(0, 1 << bits, 1 << block):
        for bit in range(block):
            step = 1 << bit
            for low in range(start, start + (1 << block), 2 * step):
                for place in range(low, low + step):
                    follows[place] &= follows[place + step]
    for bit in range(block, bits):
        step = 1 << bit
        for low in range(0, 1 << bits, 2 * step):
            for place in range(low, low + step):
                follows[place] &= follows[place + step]


@njit()
def _add_danger(follows: Words, low_known: Words, high_known: Words, sums: Weights, danger: Weights) -> None:
    """Add the danger of what follows from each set and is not in it."""
    low = len(low_known)
    for high in range(len(high_known)):
        for index in range(low):
            place = high * low + index
            new = follows[place] & ~(low_known[index] | high_known[high])
            total = 0.0
            byte = 0
            while new != 0:
                total += sums[byte, np.int64(new & np.uint64(255))]
                new >>= np.uint64(8)
                byte += 1
            danger[place] += total


@njit()
def _weigh(
    danger: Weights,
    low_likelihood: Weights,
    high_likelihood: Weights,
    low_bonus: Weights,
    high_bonus: Weights,
    saturation: float,
) -> None:
    """Turn the danger that follows from each set into the set's weight, in place."""
    low = len(low_likelihood)
    for high in range(len(high_likelihood)):
        for index in range(low):
            total = danger[high * low + index] + low_bonus[index] + high_bonus[high]
            known = low_likelihood[index] * high_likelihood[high]
            danger[high * low + index] = known * total / (saturation + total)


@njit()
def _subset_maximum(worth: Weights, bits: int) -> None:
    """In each set, leave the largest weight of its subsets."""
    block = min(bits, _BLOCK)
    for start in range(0, 1 << bits, 1 << block):
        for bit in range(block):
            step = 1 << bit
            for low in range(start, start + (1 << block), 2 * step):
                for place in range(low, low + step):
                    worth[place + step] = max(worth[place + step], worth[place])
    for bit in range(block, bits):
        step = 1 << bit
        for low in range(0, 1 << bits, 2 * step):
            for place in range(low, low + step):
                worth[place + step] = max(worth[place + step], worth[place])
