"""What buckets reveal to an attacker who knows the program: every order in every world."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from privacy_plugin.anonymizers.bucketization.buckets import bucketize_table
from privacy_plugin.anonymizers.bucketization.dealing import deal_groups
from privacy_plugin.anonymizers.bucketization.division import divide, is_safe
from privacy_plugin.errors import InfeasibleError, ParameterError
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


class Scripted:
    """Takes people in a given order; later draws are not used."""

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


@pytest.fixture
def remembered(monkeypatch):
    """Remember how people are divided, which is the same in thousands of orders."""

    @cache
    def divided(people, knowledge, below):
        return divide(np.array(people), knowledge=knowledge, below=below)

    @cache
    def safe(people, knowledge, below):
        return is_safe([list(people)], knowledge=knowledge, below=below)

    where = "privacy_plugin.anonymizers.bucketization.dealing."
    monkeypatch.setattr(where + "divide", lambda people, **asked: divided(tuple(people.tolist()), **asked))
    monkeypatch.setattr(where + "is_safe", lambda shapes, **asked: safe(tuple(shapes[0]), **asked))


def quick_deals(*, knowledge, below, sizes=None):
    """Its steps that matter, division and deal, in groups of so many neighbours, for every order of each."""

    def dealt(world):
        held = np.array(["abcdef".index(value) for value in world])
        people = np.split(np.arange(len(world)), np.cumsum(sizes or [len(world)])[:-1])
        for orders in product(*(permutations(group.tolist()) for group in people)):
            try:
                yield deal_groups(held, [*map(np.array, orders)], knowledge=knowledge, below=Fraction(below)).tolist()
            except InfeasibleError:
                return

    return dealt


def assert_nothing_is_told(replayed, values, below):
    assert replayed
    for seen, odds in replayed.items():
        assert set(odds) == oracle.consistent(seen, tuple(values))
        assert len(set(odds.values())) == 1
        assert oracle.most_certain(odds) < Fraction(below)


@pytest.mark.parametrize(("values", "knowledge", "below"), TABLES[:3])
def test_replaying_the_whole_program_reveals_nothing(values, knowledge, below):
    """All worlds of a published pair are equally likely to lead to it: what was measured is what can be inferred."""
    replayed = oracle.replayed(tuple(values), deals(knowledge=knowledge, below=below, dealing="random"))
    assert_nothing_is_told(replayed, values, below)


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(("values", "knowledge", "below"), TABLES)
def test_replaying_a_random_deal_reveals_nothing(values, knowledge, below):
    replayed = oracle.replayed(tuple(values), quick_deals(knowledge=knowledge, below=below))
    assert_nothing_is_told(replayed, values, below)


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize(
    ("values", "knowledge", "below", "sizes"),
    [
        ("aabbcc", 0, "3/5", (4, 2)),
        ("aaabbc", 0, "1/1", (4, 2)),
        ("aabbc", 0, "3/5", (2, 3)),
        ("aabb", 0, "3/5", (2, 2)),
    ],
)
def test_replaying_a_deal_among_neighbours_reveals_nothing(values, knowledge, below, sizes):
    """A group that cannot be divided is refused in all worlds of what would have been published, or in none."""
    replayed = oracle.replayed(tuple(values), quick_deals(knowledge=knowledge, below=below, sizes=sizes))
    assert_nothing_is_told(replayed, values, below)


def test_groups_of_neighbours_are_made_by_quasi_identifiers_alone():
    """Groups do not depend on the values; people with equal quasi-identifiers are separated at random."""
    generator, drawn = np.random.default_rng(5), np.random.default_rng(6)
    together = []
    for _ in range(40):
        values = drawn.permutation(list("abcd") * 10).tolist()
        table = FrequencyTable.from_rows(["age", "disease"], list(zip(range(40), values, strict=True)))
        asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": 0, "below": "3/5"}
        try:
            made = bucketize_table(table, **asked, neighbours=10, generator=generator)
        except InfeasibleError:
            continue
        together.append([{int(person) // 10 for person in made.people[made.buckets == b]} for b in set(made.buckets)])
    assert len(together) > 5
    assert all(len(groups) == 1 for buckets in together for groups in buckets)


def test_equal_people_are_put_into_groups_at_random():
    """Of eight equal people two are lined up with the younger ones, with whatever value."""
    rows = [(age, value) for age in (1, 2, 2, 3) for value in "ab"]
    table = FrequencyTable.from_rows(["age", "disease"], rows)
    asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": 0, "below": "3/4"}
    seen, generator = set(), np.random.default_rng(8)
    for _ in range(60):
        try:
            made = bucketize_table(table, **asked, neighbours=4, generator=generator)
        except InfeasibleError:
            seen.add("refused")
            continue
        first = set(made.buckets[made.table.column_codes("age")[made.people] == 0])
        held = made.table.column_codes("disease")
        seen.add(tuple(sorted(Counter(held[made.people[np.isin(made.buckets, [*first])]].tolist()).items())))
    assert len(seen) > 1


@pytest.mark.parametrize("options", [{"neighbours": 1}, {"neighbours": 2.0}, {"neighbours": 9, "dealing": "similar"}])
def test_invalid_neighbours_are_refused(options):
    table = FrequencyTable.from_rows(["age", "disease"], list(enumerate("abab")))
    asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": 0, "below": "3/5"}
    with pytest.raises(ParameterError):
        bucketize_table(table, **asked, **options)
    few = bucketize_table(table, **asked, neighbours=3)  # too few people for two groups: they are one
    assert len(few.sizes) == 2


def test_neighbours_who_cannot_be_divided_are_refused_without_naming_a_value():
    table = FrequencyTable.from_rows(["age", "disease"], list(enumerate(["flu"] * 4 + ["mumps"] * 4)))
    asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": 0, "below": "3/5"}
    assert len(bucketize_table(table, **asked).sizes) == 4
    with pytest.raises(InfeasibleError, match="inside 2 of 2 groups of neighbours") as caught:
        bucketize_table(table, **asked, neighbours=4)
    assert "flu" not in str(caught.value)


def test_replaying_a_deal_of_similar_people_may_reveal_every_value():
    """The documented cost: the pair promises less than 3/5, and one person's value is certain."""
    replayed = oracle.replayed(tuple("aabbc"), deals(knowledge=0, below="3/5", dealing="similar"))
    reached = [oracle.most_certain(odds) for odds in replayed.values()]
    assert max(reached) == 1
    measured = [oracle.most_certain(oracle.Counter(oracle.consistent(seen, tuple("aabbc")))) for seen in replayed]
    assert max(measured) < Fraction(3, 5)
