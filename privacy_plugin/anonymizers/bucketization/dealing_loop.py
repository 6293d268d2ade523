"""Deal people out to buckets, at most one of each value, neighbours together: the loop behind bucketization."""

import heapq

import numpy as np
from numba import njit
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@njit(cache=True)
def deal_singles(people: IntArray, offsets: IntArray, sizes: IntArray) -> IntArray:
    """Return the bucket of everybody: value v has `people[offsets[v]:offsets[v + 1]]`, who are places in an order.

    No value has more people than there are buckets; `sizes` of buckets add up to all people and differ by one at most.
    With r buckets to go, a bucket takes people of those values of which r are left, who would not fit into fewer, and
    then of those whose next person comes first. With values of at most r people each and sizes of s or s + 1, there are
    always enough values, and never too many of which r are left. Cost: O(people * log(values)).
    """
    values = offsets.size - 1
    heads = offsets[:-1].copy()
    ends = offsets[1:]
    buckets = np.empty(people.size, dtype=np.int64)
    # Values by how many of their people are left, as chains; what has been overtaken stays in its chain.
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
            if place != people[heads[value]]:  # this one has been taken, as one of those who would not fit later
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
