"""Divide people into buckets: how many buckets there are, and how many people of each value every bucket gets.

Only the histograms of the buckets matter for worst-case disclosure (Martin et al., ICDE 2007). Facts:

- One bucket of all people has the least disclosure of all divisions (Theorem 15, merging never raises it): if that is
  not below the limit, no division is.
- A bucket of n people with n different values has disclosure 1 / (n - k); no bucket of n people has less. So the
  smallest possible bucket has L = floor(1 / limit) + k + 1 people, all different.
- If every value is held by at most one in L people, floor(rows / L) buckets of different values exist (deal people in
  the order of their values). No other division has more buckets or more even sizes.
- Otherwise some values must occur twice in a bucket. Then t buckets of L different values are set apart, taken where
  values are most frequent, and the rest is dealt evenly into b buckets; of all (t, b) tried, the one with the least sum
  of squared bucket sizes (the sum over people of the people in their bucket) is kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

import numpy as np

from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.metrics.maximum_disclosure.disclosure import disclosure_curve

_COARSE = 64  # numbers of buckets set apart that are tried before looking closer
_GROWTH = 24  # bucket sizes are tried in steps of one, from this size on in steps of a share


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The number of people of each value that are dealt evenly into a number of buckets.

    They are dealt in rounds: first the values with more people than there are buckets, the most frequent first, then
    all others together, so that sizes differ by one at most. So the extra person that some buckets get of one value
    rarely meets the extra person of the next value. Of the other values a bucket gets one person or none; `dealing`
    decides which.
    """

    people: Integers
    buckets: int

    @property
    def cost(self) -> int:
        """The sum of squared bucket sizes."""
        size, larger = divmod(int(self.people.sum()), self.buckets)
        return (self.buckets - larger) * size**2 + larger * (size + 1) ** 2

    @cached_property
    def repeated(self) -> Integers:
        """The values that some buckets hold more than once, the most frequent first."""
        values = np.flatnonzero(self.people > self.buckets)
        return values[np.argsort(-self.people[values], kind="stable")]

    @cached_property
    def _ends(self) -> Integers:
        """The end of each repeated value in the dealing order, and, last, the end of all others."""
        return np.cumsum([*self.people[self.repeated], self.people[self.people <= self.buckets].sum()])

    def counts(self, places: Integers) -> Integers:
        """Return how many people of each repeated value, and, last, of all others, these buckets get."""
        rounds = (self._ends - 1 - places[:, None]) // self.buckets + 1
        return np.diff(rounds, axis=1, prepend=0)

    def histograms(self) -> list[list[int]]:
        """Return every histogram that a bucket of this part can have."""
        turns = np.unique(np.append(self._ends, 0) % self.buckets)  # from one of these to the next nothing changes
        patterns = np.unique(self.counts(turns), axis=0)
        return [[*repeated, *[1] * singles] for *repeated, singles in patterns.tolist()]


def smallest_bucket(*, knowledge: int, below: Fraction) -> int:
    """Return the least number of people in a bucket: the least n with 1 / (n - knowledge) < below.

    >>> smallest_bucket(knowledge=3, below=Fraction(1, 2))
    6
    """
    return floor(1 / below) + knowledge + 1


def divide(people: Integers, *, knowledge: int, below: Fraction) -> tuple[Part, ...]:
    """Divide people, counted by value, into buckets whose maximum disclosure lies below the limit.

    One bucket of all of them must be below the limit. Cost: at most some thousand small disclosure curves.
    """
    least = smallest_bucket(knowledge=knowledge, below=below)
    rows = int(people.sum())
    even = Part(people=people, buckets=max(rows // least, 1))
    if people.max() <= even.buckets and is_safe(even.histograms(), knowledge=knowledge, below=below):
        return (even,)
    best: tuple[Part, ...] = (Part(people=people, buckets=1),)
    step = max(rows // least // _COARSE, 1)
    tried: set[int] = set()
    candidates = list(range(0, rows // least + 1, step))
    while candidates:
        for apart in candidates:
            tried.add(apart)
            best = _best_with(apart, best, people, least, knowledge, below)
        centre = best[0].buckets if len(best) > 1 else 0
        step = max(step // 4, 1)
        near = range(max(centre - 4 * step, 0), min(centre + 4 * step, rows // least) + 1, step)
        candidates = [apart for apart in near if apart not in tried]
    return best


def is_safe(histograms: list[list[int]], *, knowledge: int, below: Fraction) -> bool:
    """Return whether buckets with these histograms, any number of each, have a disclosure below the limit."""
    offsets = np.cumsum([0, *(len(counts) for counts in histograms)])
    counts = np.array([count for histogram in histograms for count in histogram], dtype=np.int64)
    curve, error = disclosure_curve(offsets=offsets, value_counts=counts, knowledge=knowledge)
    return Fraction(float(curve[-1])) + Fraction(error) < below


def _best_with(
    apart: int, best: tuple[Part, ...], people: Integers, least: int, knowledge: int, below: Fraction
) -> tuple[Part, ...]:
    """Return the better of `best` and the best division with `apart` buckets of different values set apart."""
    taken = _levelled(people, apart, least)
    if taken is None:
        return best
    rest = people - taken
    first = (Part(people=taken, buckets=apart),) if apart else ()
    shapes = [[1] * least] if apart else []
    if not rest.any():
        return first if _cost(first) < _cost(best) else best
    failed = int(rest.sum()) // least + 1
    for buckets in _numbers_of_buckets(int(rest.sum()), least):
        part = Part(people=rest, buckets=buckets)
        if _cost((*first, part)) >= _cost(best):
            return best
        if is_safe([*shapes, *part.histograms()], knowledge=knowledge, below=below):
            break
        failed = buckets
    else:
        return best
    while failed - part.buckets > 1:  # look closer between the number that fails and the one that does not
        closer = Part(people=rest, buckets=(failed + part.buckets) // 2)
        if is_safe([*shapes, *closer.histograms()], knowledge=knowledge, below=below):
            part = closer
        else:
            failed = closer.buckets
    return (*first, part)


def _numbers_of_buckets(rows: int, least: int) -> Iterator[int]:
    """Yield numbers of buckets of at least `least` people, falling to 1."""
    size, last = least, 0
    while size <= rows:
        if rows // size != last:
            last = rows // size
            yield last
        size += 1 + size // _GROWTH
    if last != 1 and rows >= least:
        yield 1


def _levelled(people: Integers, buckets: int, size: int) -> Integers | None:
    """Take size * buckets people, at most one of a value for each bucket, so that the rest is as even as possible.

    From every value, the people above a common level are taken, as far as there are buckets for them.
    """
    wanted = size * buckets
    if int(np.minimum(people, buckets).sum()) < wanted:
        return None
    low, high = 0, int(people.max())
    while high - low > 1:
        level = (low + high) // 2
        if int(np.clip(people - level, 0, buckets).sum()) >= wanted:
            low = level
        else:
            high = level
    taken = np.clip(people - low, 0, buckets)
    spare = np.flatnonzero((people - low > 0) & (people - low <= buckets))
    taken[spare[: int(taken.sum()) - wanted]] -= 1
    return taken


def _cost(parts: tuple[Part, ...]) -> int:
    return sum(part.cost for part in parts)
