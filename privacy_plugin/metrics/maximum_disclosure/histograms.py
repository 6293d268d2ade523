"""The buckets of a table as sorted histograms, equal ones merged: the input of worst-case disclosure.

A table of buckets comes as a CSR histogram: bucket b holds `value_counts[offsets[b]:offsets[b + 1]]`, one
count per sensitive value. With at most `width` atoms in a bucket only its size and its `width` largest counts
matter, so buckets that agree on these are one histogram. One copy of it is enough: a + c atoms in one
bucket disclose at least as much as a atoms in one copy and c in another (proof in `disclosure`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit_later
from privacy_plugin.errors import EmptyTableError, ParameterError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LARGEST_TABLE = 2**53
"""From this many rows on, counts are no longer exact in double precision and no rounding bound holds."""

_SHORT = 48


@dataclass(frozen=True, kw_only=True)
class Histograms:
    """Buckets with counts in descending order, and the distinct histograms among them."""

    offsets: IntArray
    counts: IntArray
    sizes: IntArray
    representatives: IntArray
    """The first bucket of each histogram, in order of appearance."""
    members: IntArray
    """The histogram of every bucket, by its position among the representatives."""
    width: int


def distinct_histograms(*, offsets: object, value_counts: object, width: int) -> Histograms:
    """Sort every bucket's counts in descending order and merge the buckets that disclose the same.

    Two buckets are merged when they agree on their size and on their `width` largest counts. A count of 0
    is a value the bucket does not hold; a bucket without rows raises. Cost: linear in the buckets and
    the counts.

    >>> distinct_histograms(offsets=[0, 2, 4], value_counts=[1, 2, 2, 1], width=2).representatives.tolist()
    [0]
    """
    starts, counts = validated_buckets(offsets=offsets, value_counts=value_counts)
    ordered = _sorted_descending(starts, counts)
    sizes = np.add.reduceat(ordered, starts[:-1])
    representatives, members = _first_of_equal(starts, ordered, sizes, width)
    return Histograms(
        offsets=starts,
        counts=ordered,
        sizes=sizes,
        representatives=representatives,
        members=members,
        width=width,
    )


def validated_buckets(*, offsets: object, value_counts: object) -> tuple[IntArray, IntArray]:
    """Return offsets and counts as int64 arrays; raise if they do not describe buckets."""
    starts = _whole_numbers(offsets, name="offsets")
    counts = _whole_numbers(value_counts, name="value_counts")
    if starts.size < 2:
        raise EmptyTableError(f"offsets has {starts.size} entries, so it describes no bucket; give at least 2")
    if starts[0] != 0 or starts[-1] != counts.size or bool(np.any(np.diff(starts) < 0)):
        raise ParameterError(
            f"offsets must rise from 0 to the number of value_counts ({counts.size}); "
            f"they run from {starts[0]} to {starts[-1]}"
        )
    if bool(np.any(counts < 0)):
        raise ParameterError(f"value_counts holds {int(np.sum(counts < 0))} negative counts; counts are >= 0")
    if float(counts.astype(np.float64).sum()) >= LARGEST_TABLE:
        raise ParameterError(f"value_counts adds up to 2**53 rows or more; valid is below {LARGEST_TABLE}")
    if bool(np.any(np.diff(starts) == 0)) or bool(np.any(np.add.reduceat(counts, starts[:-1]) == 0)):
        raise ParameterError("a bucket has no rows; leave empty buckets out")
    return starts, counts


def validated_knowledge(knowledge: object) -> int:
    """Return the number of facts an attacker knows as a plain integer of at least 0."""
    if isinstance(knowledge, bool) or not isinstance(knowledge, int | np.integer) or knowledge < 0:
        raise ParameterError(f"knowledge must be a whole number >= 0, not {knowledge!r}")
    return int(knowledge)


def _whole_numbers(values: object, *, name: str) -> IntArray:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ParameterError(f"{name} must be one row of whole numbers, not {array.ndim} dimensions of {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


@njit_later(steps=lambda offsets, counts: np.minimum(np.diff(offsets), _SHORT) @ np.diff(offsets))
def _sorted_descending(offsets: IntArray, counts: IntArray) -> IntArray:
    ordered = counts.copy()
    for bucket in range(offsets.size - 1):
        start, stop = offsets[bucket], offsets[bucket + 1]
        if stop - start > _SHORT:
            ordered[start:stop] = np.sort(ordered[start:stop])[::-1]
            continue
        for right in range(start + 1, stop):
            count = ordered[right]
            left = right - 1
            while left >= start and ordered[left] < count:
                ordered[left + 1] = ordered[left]
                left -= 1
            ordered[left + 1] = count
    return ordered


@njit_later()
def _hash_of(offsets: IntArray, ordered: IntArray, sizes: IntArray, bucket: int, width: int) -> np.uint64:
    mixed = np.uint64(sizes[bucket]) * np.uint64(0x9E3779B97F4A7C15)
    stop = min(offsets[bucket] + width, offsets[bucket + 1])
    for position in range(offsets[bucket], stop):
        if ordered[position] == 0:
            break
        mixed ^= mixed >> np.uint64(29)
        mixed = (mixed + np.uint64(ordered[position])) * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    return mixed


@njit_later()
def _same_histogram(offsets: IntArray, ordered: IntArray, sizes: IntArray, one: int, other: int, width: int) -> bool:
    if sizes[one] != sizes[other]:
        return False
    for step in range(width):
        left = offsets[one] + step
        right = offsets[other] + step
        mine = ordered[left] if left < offsets[one + 1] else 0
        theirs = ordered[right] if right < offsets[other + 1] else 0
        if mine != theirs:
            return False
        if mine == 0:
            return True
    return True


@njit_later(steps=lambda offsets, ordered, sizes, width: sizes.size * (20 + 5 * width))
def _first_of_equal(offsets: IntArray, ordered: IntArray, sizes: IntArray, width: int) -> tuple[IntArray, IntArray]:
    buckets = offsets.size - 1
    capacity = 16
    while capacity < 2 * buckets:
        capacity *= 2
    mask = np.uint64(capacity - 1)
    slots = np.full(capacity, -1, dtype=np.int64)
    numbers = np.empty(capacity, dtype=np.int64)
    representatives = np.empty(buckets, dtype=np.int64)
    members = np.empty(buckets, dtype=np.int64)
    found = 0
    for bucket in range(buckets):
        slot = _hash_of(offsets, ordered, sizes, bucket, width) & mask
        while slots[slot] >= 0 and not _same_histogram(offsets, ordered, sizes, slots[slot], bucket, width):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = bucket
            numbers[slot] = found
            representatives[found] = bucket
            found += 1
        members[bucket] = numbers[slot]
    return representatives[:found].copy(), members
