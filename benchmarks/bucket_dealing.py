"""Compare two ways to deal people to buckets: what replaying the deal reveals, and which counts the pair preserves.

Run from the project's root: python benchmarks/bucket_dealing.py. Every table of four to six people (each known by their
quasi-identifiers) with the values a, b, c, d, up to renaming values, is bucketized below 3/5 without further facts;
then every other table with the same values is dealt out too, in all orders where the deal is random, and those that
lead to the same buckets are counted. Exact: no table and no order is left out.

Adult (PRIVACY_PLUGIN_DATA or ../shared/data): five hundred random counts of people by age, marital status and
occupation, estimated from the pair as in Xiao and Tao 2006 (a bucket's values are spread evenly over its people),
compared with one bucket of everyone, which publishes both columns apart.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

import numpy as np
import pandas as pd
from disclosure import QUASI_IDENTIFIERS, adult

import privacy_plugin as pp
from privacy_plugin.anonymizers.bucketization.dealing import deal
from privacy_plugin.anonymizers.bucketization.division import divide, is_safe

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
    """Return the highest certainty of an attacker who replays the deal, over all tables with these values."""
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


def queries(frame: pd.DataFrame, number: int) -> Iterator[tuple[int, int, list[str], list[str]]]:
    """Ages from, to, marital statuses and occupations of random counts that a thousandth of all answers."""
    generator = np.random.default_rng(0)
    statuses, jobs = (np.array(sorted(frame[name].unique())) for name in ("marital-status", "occupation"))
    while number:
        start, width = int(generator.integers(17, 70)), int(generator.integers(5, 30))
        asked = [generator.choice(values, 3, replace=False).tolist() for values in (statuses, jobs)]
        if count(frame, (start, start + width, *asked)).sum() * 1_000 >= len(frame):
            number -= 1
            yield start, start + width, asked[0], asked[1]


def chosen(frame: pd.DataFrame, query: tuple[int, int, list[str], list[str]]) -> "pd.Series[bool]":
    return frame["age"].between(query[0], query[1]) & frame["marital-status"].isin(query[2])


def count(frame: pd.DataFrame, query: tuple[int, int, list[str], list[str]]) -> "pd.Series[bool]":
    return chosen(frame, query) & frame["occupation"].isin(query[3])


def estimate(individuals: pd.DataFrame, values: pd.DataFrame, query: tuple[int, int, list[str], list[str]]) -> float:
    """Spread the values of every bucket evenly over its people."""
    sizes = np.bincount(individuals["bucket"])
    people = np.bincount(individuals["bucket"][chosen(individuals, query)], minlength=len(sizes))
    held = np.bincount(values["bucket"][values["occupation"].isin(query[3])], minlength=len(sizes))
    return float((people[1:] * held[1:] / sizes[1:]).sum())


def counts(frame: pd.DataFrame) -> None:
    asked = list(queries(frame, 500))
    truth = np.array([count(frame, query).sum() for query in asked])
    print("\nrelative error of 500 random counts on Adult: median, and nine in ten are below")
    one = (frame[QUASI_IDENTIFIERS].assign(bucket=1), frame[["occupation"]].assign(bucket=1))
    pairs = {"everybody in one bucket": one}
    for knowledge, below in ((0, 0.5), (3, 0.6), (3, 0.3)):
        for dealing, neighbours in (("random", None), ("random", 5_000), ("random", 1_000), ("similar", None)):
            named = f"{knowledge} facts, below {below}: {dealing}" + (f" among {neighbours:,}" if neighbours else "")
            asked_for = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "occupation", "dealing": dealing}
            try:
                made = pp.bucketize(frame, **asked_for, knowledge=knowledge, below=below, neighbours=neighbours)
            except pp.PrivacyPluginError as problem:
                print(f"  {named:52s} {str(problem).partition(',')[0]}")
                continue
            pairs[f"{named}, buckets of {made.shared_by:.1f}"] = (made.individuals, made.values)
    for name, pair in pairs.items():
        errors = np.abs(np.array([estimate(*pair, query) for query in asked]) - truth) / truth
        print(f"  {name:52s} {np.median(errors):6.1%} {np.quantile(errors, 0.9):6.1%}")


def main() -> None:
    replays()
    frame = adult()
    if frame is not None:
        counts(frame)


def replays() -> None:
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
