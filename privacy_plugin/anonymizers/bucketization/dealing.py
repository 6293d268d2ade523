"""Hand people out to buckets, neighbours together as far as their values allow."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privacy_plugin.anonymizers.bucketization.dealing_loop import deal_singles
from privacy_plugin.anonymizers.bucketization.division import Part, divide, is_safe
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.grouping import Integers

_GOLDEN = (math.sqrt(5) - 1) / 2


def deal_groups(
    held: npt.NDArray[np.integer], groups: Sequence[Integers], *, knowledge: int, below: Fraction
) -> Integers:
    """Give everybody a bucket, each group of people by itself: they step forward in the order given.

    What becomes of a group depends on nothing but the values that come up in it, in their order. InfeasibleError when
    one of several groups cannot be divided; everybody together must be known to be divisible.
    """
    buckets = np.empty(len(held), dtype=np.int64)
    made = refused = 0
    for people in groups:
        _, values = np.unique(held[people], return_inverse=True)
        counts = np.bincount(values)
        if len(groups) > 1 and not is_safe([counts.tolist()], knowledge=knowledge, below=below):
            refused += 1
            continue
        parts = divide(counts, knowledge=knowledge, below=below)
        buckets[people] = made + deal(values, parts)
        made += sum(part.buckets for part in parts)
    if refused:
        raise InfeasibleError(
            f"no buckets can meet it inside {refused:,} of {len(groups):,} groups of neighbours, where too many have "
            "the same value; deal among more neighbours, or among everybody"
        )
    return buckets


def deal(held: Integers, parts: Sequence[Part]) -> Integers:
    """Give everybody a bucket: person i, in an order in which neighbours are alike, has value `held[i]`.

    Every part gets people from all over the order. Its buckets are filled one after the other, each with the next
    people in order whose value it can still take. Cost: O(people * log(values)).
    """
    queues = np.split(np.argsort(held, kind="stable"), np.cumsum(np.bincount(held))[:-1])
    buckets = np.empty(len(held), dtype=np.int64)
    first = 0
    for part in parts:
        chosen = [_evenly(len(queue), int(wanted)) for queue, wanted in zip(queues, part.people, strict=True)]
        taken = [queue[mask] for queue, mask in zip(queues, chosen, strict=True)]
        queues = [queue[~mask] for queue, mask in zip(queues, chosen, strict=True)]
        *repeated, singles = part.counts(_places(part.buckets)).T
        for value, counts in zip(part.repeated.tolist(), repeated, strict=True):
            buckets[taken[value]] = first + np.repeat(np.arange(part.buckets), counts)
            taken[value] = taken[value][:0]
        places = np.concatenate(taken)
        offsets = np.cumsum([0, *map(len, taken)])
        buckets[places] = first + deal_singles(places, offsets, np.ascontiguousarray(singles))
        first += part.buckets
    return buckets


def _evenly(length: int, wanted: int) -> npt.NDArray[np.bool_]:
    """Choose so many places, evenly spread."""
    steps = np.arange(length + 1) * wanted // max(length, 1)
    return np.diff(steps) > 0


def _places(buckets: int) -> Integers:
    """Seat neighbouring buckets far apart, so that no stretch of the order gets more of a value than another."""
    return np.arange(buckets, dtype=np.int64) * _stride(buckets) % buckets


def _stride(buckets: int) -> int:
    """Return a step that visits all buckets, spread as evenly as the golden ratio spreads points on a circle."""
    step = max(round(buckets * _GOLDEN), 1)
    while math.gcd(step, buckets) > 1:
        step += 1
    return step
