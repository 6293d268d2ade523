"""Every way to divide people into buckets, from the definitions alone."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

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
