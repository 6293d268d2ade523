"""What somebody who knows the program learns by replaying how people were dealt to buckets.

Run from the project's root: python benchmarks/bucket_dealing.py. Every table of four to six people (each known by their
quasi-identifiers) with the values a, b, c, d, up to renaming values, is bucketized below 3/5 without further facts;
then every other table with the same values is dealt out too, in all orders where the deal is random, and those that
lead to the same buckets are counted. Exact: no table and no order is left out.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

import numpy as np

from privacy_plugin.anonymizers.bucket_dealing import deal
from privacy_plugin.anonymizers.bucket_division import divide, is_safe

LIMIT = Fraction(3, 5)
World = tuple[int, ...]


def histograms(people: int, most: int, values: int) -> Iterator[tuple[int, ...]]:
    """So many people with at most so many values, the most frequent first."""
    if people == 0:
        yield ()
    for first in range(min(people, most), 0, -1) if values else ():
        for rest in histograms(people - first, first, values - 1):
            yield (first, *rest)


def outcomes(world: World, dealing: str) -> Iterator[frozenset[tuple[frozenset[int], World]]]:
    """What may be published of a table: who is together, with which values."""
    held = np.array(world)
    parts = divide(np.bincount(held), knowledge=0, below=LIMIT)
    for order in permutations(range(len(world))) if dealing == "random" else [tuple(range(len(world)))]:
        dealt = np.empty(len(world), dtype=np.int64)
        dealt[list(order)] = deal(held[list(order)], parts)
        together = [frozenset(np.flatnonzero(dealt == bucket).tolist()) for bucket in range(int(dealt.max()) + 1)]
        yield frozenset((people, tuple(sorted(world[i] for i in people))) for people in together)


def most_certain(odds: Counter[World]) -> Fraction:
    found: Counter[tuple[int, int]] = Counter()
    for world, weight in odds.items():
        for person, value in enumerate(world):
            found[person, value] += weight
    return Fraction(max(found.values()), odds.total())


def replay(counts: tuple[int, ...], dealing: str) -> Iterator[Fraction]:
    """For every table with these values, the most that somebody who replays the deal can be certain of (the worst)."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    odds: dict[object, Counter[World]] = {}
    for world in sorted(set(permutations(values))):
        for seen in outcomes(world, dealing):
            odds.setdefault(seen, Counter())[world] += 1
    reached: dict[World, Fraction] = {}
    for worlds in odds.values():
        certain = most_certain(worlds)
        for world in worlds:
            reached[world] = max(certain, reached.get(world, certain))
    yield from reached.values()


def main() -> None:
    print(f"tables of 4 to 6 people, at most 4 values, bucketized below {LIMIT} (exact, all tables)")
    print(f"{'dealing':>8s} {'people':>7s} {'tables':>7s} {'limit reached':>14s} {'certain':>8s} {'highest':>8s}")
    for dealing in ("similar", "random"):
        for people in (4, 5, 6):
            found: list[Fraction] = []
            for counts in histograms(people, people, 4):
                if len(counts) > 1 and is_safe([list(counts)], knowledge=0, below=LIMIT):
                    found += replay(counts, dealing)
            high = sum(value >= LIMIT for value in found)
            certain = sum(value == 1 for value in found)
            print(f"{dealing:>8s} {people:7d} {len(found):7,d} {high:14,d} {certain:8,d} {float(max(found)):8.3f}")


if __name__ == "__main__":
    main()
