"""What the buckets tell somebody who knows the program: every order in every world."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from privacy_plugin.anonymizers.bucket_dealing import deal
from privacy_plugin.anonymizers.bucket_division import divide
from privacy_plugin.anonymizers.bucketize import bucketize_table
from privacy_plugin.frequency import FrequencyTable
from tests.oracles import buckets as oracle

# Values of people, each of whom is known by their age; facts; limit.
TABLES = [
    ("aabb", 0, "3/5"),
    ("abcd", 0, "3/5"),
    ("aabc", 0, "3/5"),
    ("aabbc", 0, "3/5"),
    ("aabbc", 0, "1/1"),
    ("aabcd", 0, "3/5"),
    ("aaabb", 0, "1/1"),
]
LARGER = [("aabbcc", 0, "3/5"), ("aaabbb", 0, "3/5"), ("aaabbc", 0, "3/5"), ("aaaabb", 0, "1/1")]


class Scripted:
    """Lets people step forward in a given order; what is drawn afterwards are numbers that nobody looks at."""

    def __init__(self, order):
        self._drawn = [np.argsort(order).astype(np.uint64)]

    def integers(self, *_, size, **__):
        return self._drawn.pop() if self._drawn else np.arange(size, dtype=np.uint64)


def deals(*, knowledge, below, dealing):
    """The whole program, as the oracle runs it: in a world, the buckets of people for every order."""

    def dealt(world):
        table = FrequencyTable.from_rows(["age", "disease"], list(enumerate(world)))
        asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": knowledge, "below": below}
        orders = permutations(range(len(world))) if dealing == "random" else [range(len(world))]
        for order in orders:
            made = bucketize_table(table, **asked, dealing=dealing, generator=Scripted(order))
            buckets = np.empty(len(world), dtype=int)
            buckets[made.people] = made.buckets
            yield buckets.tolist()

    return dealt


def quick_deals(*, knowledge, below):
    """Its two steps that matter, division and deal, without measuring the result and numbering the buckets."""

    def dealt(world):
        held = np.array(["abcdef".index(value) for value in world])
        parts = divide(np.bincount(held), knowledge=knowledge, below=Fraction(below))
        for order in permutations(range(len(world))):
            buckets = np.empty(len(world), dtype=int)
            buckets[list(order)] = deal(held[list(order)], parts)
            yield buckets.tolist()

    return dealt


def assert_nothing_is_told(replayed, values, below):
    assert len(replayed) > 1
    for seen, odds in replayed.items():
        assert set(odds) == oracle.consistent(seen, tuple(values))
        assert len(set(odds.values())) == 1
        assert oracle.most_certain(odds) < Fraction(below)


@pytest.mark.parametrize(("values", "knowledge", "below"), TABLES[:3])
def test_replaying_the_whole_program_tells_nothing(values, knowledge, below):
    """All worlds of a published pair are equally likely to lead to it: what was measured is what can be inferred."""
    replayed = oracle.replayed(tuple(values), deals(knowledge=knowledge, below=below, dealing="random"))
    assert_nothing_is_told(replayed, values, below)


@pytest.mark.parametrize(
    ("values", "knowledge", "below"), [*TABLES, *(pytest.param(*table, marks=pytest.mark.slow) for table in LARGER)]
)
def test_replaying_a_random_deal_tells_nothing(values, knowledge, below):
    replayed = oracle.replayed(tuple(values), quick_deals(knowledge=knowledge, below=below))
    assert_nothing_is_told(replayed, values, below)


def test_replaying_a_deal_of_similar_people_may_tell_everything():
    """What the documentation says it costs: here the pair promises less than 3/5, and somebody is certain."""
    replayed = oracle.replayed(tuple("aabbc"), deals(knowledge=0, below="3/5", dealing="similar"))
    reached = [oracle.most_certain(odds) for odds in replayed.values()]
    assert max(reached) == 1
    measured = [oracle.most_certain(oracle.Counter(oracle.consistent(seen, tuple("aabbc")))) for seen in replayed]
    assert max(measured) < Fraction(3, 5)
