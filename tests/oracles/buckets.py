"""Every way to divide people into buckets, and what a deal reveals to those who replay it, by definition."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product

from tests.oracles.disclosure import partition_curve

Histogram = tuple[int, ...]


def divisions(people: Histogram, largest: Histogram | None = None) -> Iterator[tuple[Histogram, ...]]:
    """Divide people, counted by value, into buckets; every division once, its buckets in falling order."""
    if not any(people):
        yield ()
        return
    for bucket in product(*(range(count + 1) for count in people)):
        if any(bucket) and (largest is None or bucket <= largest):
            rest = tuple(count - taken for count, taken in zip(people, bucket, strict=True))
            for others in divisions(rest, bucket):
                yield (bucket, *others)


@cache
def disclosure(shapes: tuple[Histogram, ...], knowledge: int) -> Fraction:
    """The maximum disclosure of buckets with these histograms."""
    return partition_curve([list(shape) for shape in shapes], knowledge)[-1]


def least_squares(people: Histogram, knowledge: int, below: Fraction) -> int | None:
    """The least sum of squared bucket sizes of all safe divisions, or None where there is none."""
    best: int | None = None
    for division in divisions(people):
        cost = sum(sum(bucket) ** 2 for bucket in division)
        if best is None or cost < best:
            shapes = sorted(tuple(sorted((n for n in bucket if n), reverse=True)) for bucket in division)
            if disclosure(tuple(shapes), knowledge) < below:
                best = cost
    return best


People = frozenset[int]
Published = frozenset[tuple[People, tuple[str, ...]]]
World = tuple[str, ...]


def worlds(values: World) -> list[World]:
    """Every way to hand these values to as many people."""
    return sorted(set(permutations(values)))


def published(world: World, buckets: Sequence[int]) -> Published:
    """What is seen of a table, person i having `world[i]`, when person i is in `buckets[i]`; numbers mean nothing."""
    members = [frozenset(i for i, b in enumerate(buckets) if b == number) for number in set(buckets)]
    return frozenset((people, tuple(sorted(world[i] for i in people))) for people in members)


def replayed(values: World, deals: Callable[[World], Iterator[Sequence[int]]]) -> dict[Published, Counter[World]]:
    """Run a program, which in each world deals people to buckets in equally likely ways, in every world.

    Returns, for everything that can be published, how often each world leads to it: to an attacker who knows the
    program and held all worlds equally likely before, these are the odds of the worlds afterwards.
    """
    odds: dict[Published, Counter[World]] = {}
    for world in worlds(values):
        for buckets in deals(world):
            odds.setdefault(published(world, buckets), Counter())[world] += 1
    return odds


def consistent(seen: Published, values: World) -> set[World]:
    """The worlds in which every bucket's people have its values."""
    return {
        world
        for world in worlds(values)
        if all(tuple(sorted(world[i] for i in people)) == held for people, held in seen)
    }


def most_certain(odds: Counter[World]) -> Fraction:
    """The highest probability of any person's value."""
    found: Counter[tuple[int, str]] = Counter()
    for world, weight in odds.items():
        for person, value in enumerate(world):
            found[person, value] += weight
    return Fraction(max(found.values()), odds.total())
