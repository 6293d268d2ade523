"""Deal people to buckets, people with similar quasi-identifiers together as far as their values allow."""

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from privacy_plugin.anonymizers.bucketization.division import Part, divide, is_safe
from privacy_plugin.compiled import njit
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency.grouping import Integers

_GOLDEN = (math.sqrt(5) - 1) / 2
IntArray = NDArray[np.int64]


def deal_groups(
    held: npt.NDArray[np.integer], groups: Sequence[Integers], *, knowledge: int, below: Fraction
) -> Integers:
    """Return the bucket of every person; each group is dealt separately, its people in the given order.

    The result of a group depends only on its values in their order. Raises InfeasibleError if one of several groups
    cannot be divided; the caller has checked that all people together can be.
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
            f"no buckets can meet it inside {refused:,} of {len(groups):,} groups of neighbours, where too many people "
            "have the same value; raise the number of neighbours, or leave it out"
        )
    return buckets


def deal(held: Integers, parts: Sequence[Part]) -> Integers:
    """Return the bucket of every person: person i, in an order that brings similar people together, has `held[i]`.

    Every part gets people from the whole order. Its buckets are filled one after the other, each with the next people
    in order whose value it can still take. Cost: O(people * log(values)).
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
    """Choose `wanted` of `length` places, evenly spread."""
    steps = np.arange(length + 1) * wanted // max(length, 1)
    return np.diff(steps) > 0


def _places(buckets: int) -> Integers:
    """Return places that put consecutive buckets far apart, so that every stretch of the order gets all values."""
    return np.arange(buckets, dtype=np.int64) * _stride(buckets) % buckets


def _stride(buckets: int) -> int:
    """Return a step that visits all buckets, spread as evenly as the golden ratio spreads points on a circle."""
    step = max(round(buckets * _GOLDEN), 1)
    while math.gcd(step, buckets) > 1:
        step += 1
    return step


@njit()
def deal_singles(people: IntArray, offsets: IntArray, sizes: IntArray) -> IntArray:
    """Return the bucket of every person; value v has `people[offsets[v]:offsets[v + 1]]`, places in an order.

    No value has more people than there are buckets; `sizes` of buckets add up to all people and differ by one at most.
    With r buckets to go, a bucket takes one person of each value that has r people left, who would not fit into fewer
    buckets, and then of the values whose next person comes first. With values of at most r people each and sizes of s
    or s + 1, there are always enough values, and never too many with r people left. Cost: O(people * log(values)).
    """
    values = offsets.size - 1
    heads = offsets[:-1].copy()
    ends = offsets[1:]
    buckets = np.empty(people.size, dtype=np.int64)
    # Chains of values by the number of people left; outdated entries stay in their chain and are skipped.
    chains = np.full(sizes.size + 1, -1, dtype=np.int64)
    following = np.empty(people.size + values, dtype=np.int64)
    owners = np.empty(people.size + values, dtype=np.int64)
    links = 0
    waiting = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for value in np.arange(values):
        count = ends[value] - heads[value]
        owners[links], following[links], chains[count] = value, chains[count], links
        links += 1
        if count > 0:
            heapq.heappush(waiting, (people[heads[value]], value))
    seen = np.full(values, -1, dtype=np.int64)
    chosen = np.empty(values, dtype=np.int64)
    popped = np.empty(values, dtype=np.int64)
    for number in range(sizes.size):
        to_go = sizes.size - number
        taken = 0
        returned = 0
        link = chains[to_go]
        while link >= 0:
            value = owners[link]
            if ends[value] - heads[value] == to_go and seen[value] != number:
                seen[value] = number
                chosen[taken] = value
                taken += 1
            link = following[link]
        while taken < sizes[number]:
            place, value = heapq.heappop(waiting)
            if heads[value] == ends[value]:
                continue
            if place != people[heads[value]]:  # already taken, as one of those who would not fit later
                heapq.heappush(waiting, (people[heads[value]], value))
                continue
            popped[returned] = value
            returned += 1
            if seen[value] != number:
                seen[value] = number
                chosen[taken] = value
                taken += 1
        for value in chosen[:taken]:
            buckets[heads[value]] = number
            heads[value] += 1
            count = ends[value] - heads[value]
            owners[links], following[links], chains[count] = value, chains[count], links
            links += 1
        for value in popped[:returned]:
            if heads[value] < ends[value]:
                heapq.heappush(waiting, (people[heads[value]], value))
    return buckets
