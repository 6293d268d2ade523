"""Hand people out to buckets, neighbours together as far as their values allow."""

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privacy_plugin.anonymizers.bucket_division import Part
from privacy_plugin.frequency.grouping import Integers

_GOLDEN = (math.sqrt(5) - 1) / 2


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
        _deal_singles([queue.tolist() for queue in taken], singles.tolist(), first, buckets)
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


def _deal_singles(queues: list[list[int]], sizes: list[int], first: int, assigned: Integers) -> None:
    """Deal queues of people, one a value and none longer than there are buckets, at most one a value and bucket.

    With r buckets to go, a bucket takes people of those values of which r are left, who would not fit into fewer, and
    then of those whose next person comes first. As sizes differ by one at most, there are always enough values, and
    never too many of which r are left.
    """
    left = [len(queue) for queue in queues]
    due = defaultdict(list)  # values by how many of their people are left
    for value, count in enumerate(left):
        due[count].append(value)
    waiting = [(queue[0], value) for value, queue in enumerate(queues) if queue]
    heapq.heapify(waiting)
    for number, size in enumerate(sizes):
        to_go = len(sizes) - number
        chosen = {value for value in due.pop(to_go, ()) if left[value] == to_go}
        popped = []
        while len(chosen) < size:
            place, value = heapq.heappop(waiting)
            if left[value]:
                if place == queues[value][-left[value]]:
                    chosen.add(value)
                    popped.append(value)
                else:  # this one has been taken, as one of those who would not fit later
                    heapq.heappush(waiting, (queues[value][-left[value]], value))
        for value in chosen:
            assigned[queues[value][-left[value]]] = first + number
            left[value] -= 1
            due[left[value]].append(value)
        for value in popped:
            if left[value]:
                heapq.heappush(waiting, (queues[value][-left[value]], value))
