import secrets
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.anonymizers.bucketization.buckets import _random_order, bucketize_table
from privacy_plugin.anonymizers.bucketization.dealing import deal
from privacy_plugin.anonymizers.bucketization.division import Part, divide, smallest_bucket
from privacy_plugin.errors import EmptyTableError, InfeasibleError, ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from tests.oracles import buckets as oracle
from tests.oracles.disclosure import partition_curve

limits = st.sampled_from(
    [Fraction(1, 3), Fraction(2, 5), Fraction(1, 2), Fraction(51, 100), Fraction(2, 3), Fraction(1)]
)
people_of_values = st.lists(st.integers(1, 60), min_size=1, max_size=12).map(lambda counts: np.array(counts))


def partitions(total, cap=None):
    """Every histogram of so many people."""
    if not total:
        yield []
    for first in range(min(total, cap or total), 0, -1):
        for rest in partitions(total - first, first):
            yield [first, *rest]


def bucketized(values, **options):
    """One person of every age, in this order, with these values."""
    table = FrequencyTable.from_rows(["age", "disease"], list(enumerate(values)))
    return bucketize_table(table, quasi_identifiers=["age"], sensitive="disease", **options)


def contents(made):
    """The sensitive values of every bucket: by the people in it, and as they are published."""
    held = made.table.column_codes("disease")
    by_people, published = {}, {}
    for bucket, person, value in zip(made.buckets.tolist(), made.people, made.values, strict=True):
        by_people.setdefault(bucket, []).append(int(held[person]))
        published.setdefault(bucket, []).append(int(held[value]))
    return by_people, published


def histograms_of(held, buckets):
    pairs = Counter(zip(buckets.tolist(), held.tolist(), strict=True))
    found = {}
    for (bucket, _), count in pairs.items():
        found.setdefault(bucket, []).append(count)
    return [sorted(counts, reverse=True) for counts in found.values()]


@pytest.mark.parametrize(
    ("knowledge", "below", "size"),
    [(0, "1/2", 3), (0, "2/5", 3), (0, "1/3", 4), (3, "1/2", 6), (3, "3/5", 5), (5, "1", 7), (0, "1", 2)],
)
def test_the_smallest_bucket_is_safe_and_no_smaller_one_is(knowledge, below, size):
    limit = Fraction(below)
    assert smallest_bucket(knowledge=knowledge, below=limit) == size
    assert partition_curve([[1] * size], knowledge)[-1] < limit
    for smaller in range(1, size):
        for histogram in partitions(smaller):
            assert partition_curve([histogram], knowledge)[-1] >= limit


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=7).filter(lambda c: sum(c) <= 7), st.integers(0, 2), limits)
def test_no_division_has_smaller_buckets(people, knowledge, limit):
    """On small tables, against every division there is."""
    least = oracle.least_squares(tuple(people), knowledge, limit)
    if least is None:
        assert partition_curve([people], knowledge)[-1] >= limit
        return
    assert sum(part.cost for part in divide(np.array(people), knowledge=knowledge, below=limit)) == least


@settings(deadline=None, derandomize=True, max_examples=100)
@given(people_of_values, st.integers(1, 40), st.randoms(use_true_random=False))
def test_every_person_is_dealt_as_the_part_defines(people, buckets, generator):
    held = np.repeat(np.arange(len(people)), people)
    generator.shuffle(held)
    part = Part(people=people, buckets=min(buckets, int(people.sum())))
    dealt = deal(held, [part])
    sizes = np.bincount(dealt, minlength=part.buckets)
    assert sizes.max() - sizes.min() <= 1
    assert part.cost == int((sizes**2).sum())
    possible = {tuple(sorted(histogram, reverse=True)) for histogram in part.histograms()}
    assert {tuple(histogram) for histogram in histograms_of(held, dealt)} <= possible


@settings(deadline=None, derandomize=True, max_examples=100)
@given(people_of_values, st.integers(0, 4), limits, st.randoms(use_true_random=False))
def test_buckets_are_safe_and_contain_every_person(people, knowledge, limit, generator):
    values = np.repeat(np.arange(len(people)), people)
    generator.shuffle(values)
    whole = partition_curve([people.tolist()], knowledge)[-1]
    if whole >= limit:
        with pytest.raises(InfeasibleError):
            bucketized(values, knowledge=knowledge, below=limit)
        return
    made = bucketized(values, knowledge=knowledge, below=limit)
    by_people, published = contents(made)
    assert {b: sorted(codes) for b, codes in by_people.items()} == {b: sorted(codes) for b, codes in published.items()}
    assert sorted(made.people.tolist()) == list(range(len(values)))
    assert sorted(by_people) == list(range(1, len(made.sizes) + 1))
    shapes = {tuple(sorted(Counter(codes).values(), reverse=True)) for codes in published.values()}
    assert partition_curve([list(shape) for shape in shapes], knowledge)[-1] == made.measurement.value < limit
    assert made.private


def test_few_people_of_a_frequent_value_do_not_make_all_buckets_large():
    """35 of 100 have one value: 25 buckets of three with one of them each, and 5 of five with two."""
    parts = divide(np.array([35, *[1] * 65]), knowledge=0, below=Fraction(41, 100))
    assert sum(part.cost for part in parts) <= 25 * 9 + 5 * 25


def test_where_no_value_is_frequent_buckets_are_of_the_smallest_size():
    made = bucketized(["abcdefgh"[number % 8] for number in range(803)], knowledge=3, below=0.5)
    assert (len(made.sizes), made.sizes.min(), made.sizes.max()) == (133, 6, 7)
    assert all(len(set(codes)) == len(codes) for codes in contents(made)[0].values())


def test_neighbours_share_a_bucket():
    values = ["abcdef"[number % 6] for number in range(600)]
    made = bucketized(values, knowledge=3, below=0.5, dealing="similar")
    ages = np.array(made.table.dictionary("age"))[made.table.column_codes("age")]
    for bucket in range(1, 101):
        members = ages[made.people[made.buckets == bucket]]
        assert members.max() - members.min() == 5


def test_neighbours_share_a_bucket_even_where_values_repeat():
    values = ["aabcdefgh"[number % 9] for number in range(9_000)]
    made = bucketized(values, knowledge=2, below=0.35, dealing="similar")
    assert made.sizes.max() > smallest_bucket(knowledge=2, below=Fraction("0.35"))
    ages = np.array(made.table.dictionary("age"))[made.table.column_codes("age")]
    spreads = [np.ptp(ages[made.people[made.buckets == bucket]]) for bucket in range(1, len(made.sizes) + 1)]
    assert np.median(spreads) < 100  # of 9,000


def test_columns_of_few_values_come_first_in_the_order():
    rows = [(age, sex, "abc"[age % 3]) for age in range(60) for sex in "fm"]
    table = FrequencyTable.from_rows(["age", "sex", "disease"], rows)
    asked = {"quasi_identifiers": ["age", "sex"], "sensitive": "disease", "dealing": "similar"}
    made = bucketize_table(table, **asked, knowledge=0, below=0.4)
    sexes = table.column_codes("sex")[made.people]
    assert all(len(set(sexes[made.buckets == bucket])) == 1 for bucket in range(1, len(made.sizes) + 1))


def test_a_value_that_is_too_frequent_is_reported_without_naming_it():
    with pytest.raises(InfeasibleError) as caught:
        bucketized(["influenza"] * 5 + ["cold", "gout", "mumps"], knowledge=0, below=0.5)
    assert str(caught.value) == (
        "no buckets can meet it: column 'disease' has 4 values, and 5 of 8 people have the most frequent one. "
        "With all people in one bucket, 0 facts still disclose a value with probability 0.625, and below 0.5 is "
        "required. Raise the limit, assume fewer facts, or leave out people with the most frequent values"
    )


def test_the_limit_is_strict_and_read_as_it_is_written():
    values = list("abcde") * 2
    assert bucketized(values, knowledge=0, below=0.21).measurement.value == Fraction(1, 5)
    with pytest.raises(InfeasibleError):
        bucketized(values, knowledge=0, below=0.2)
    assert bucketized(list("abc"), knowledge=0, below="334/1000").measurement.value == Fraction(1, 3)


def test_missing_values_are_values():
    made = bucketized([None, float("nan"), "a", "b"], knowledge=0, below=0.6)
    assert made.measurement.value == Fraction(1, 2)
    assert all(len(set(codes)) == 2 for codes in contents(made)[0].values())


@pytest.mark.parametrize(
    "options",
    [
        {"knowledge": -1, "below": 0.5},
        {"knowledge": True, "below": 0.5},
        {"knowledge": 0, "below": 0},
        {"knowledge": 0, "below": 1.5},
        {"knowledge": 0, "below": "half"},
        {"knowledge": 0, "below": float("nan")},
        {"knowledge": 0, "below": 0.5, "dealing": "alike"},
        {"knowledge": 0, "below": 0.5, "dealing": None},
    ],
)
def test_invalid_options_are_refused(options):
    with pytest.raises(ParameterError):
        bucketized(list("abcd"), **options)


def test_a_table_that_cannot_be_measured_is_refused():
    with pytest.raises(EmptyTableError):
        bucketized([], knowledge=0, below=0.5)
    with pytest.raises(TooLargeError):
        bucketized(list(range(300)), knowledge=120, below=0.5)
    persons = FrequencyTable(
        columns=("age", "disease"),
        codes=np.zeros((1, 2), dtype=np.int32),
        counts=np.ones(1, dtype=np.int64),
        dictionaries=((1,), ("a",)),
        unit="person",
    )
    with pytest.raises(ParameterError, match="one row per person"):
        bucketize_table(persons, quasi_identifiers=["age"], sensitive="disease", knowledge=0, below=0.5)


def test_a_generator_makes_it_repeatable_and_not_private():
    values = list("abcdef") * 30
    first, second = (bucketized(values, knowledge=1, below=0.5, generator=np.random.default_rng(7)) for _ in range(2))
    assert not first.private
    assert first.values.tolist() == second.values.tolist()
    assert first.buckets.tolist() == second.buckets.tolist()


def test_without_a_generator_the_order_comes_from_the_operating_system(monkeypatch):
    asked = []
    genuine = secrets.token_bytes
    monkeypatch.setattr(secrets, "token_bytes", lambda size: asked.append(size) or genuine(size))
    values = list("abcdef") * 200
    first, second = (bucketized(values, knowledge=1, below=0.5) for _ in range(2))
    assert asked == [8 * 1200, 8 * 300, 8 * 1200] * 2  # one for every person, every bucket, and every value
    bucketized(values, knowledge=1, below=0.5, dealing="similar")
    assert asked[6:] == [8 * 300, 8 * 1200]
    assert first.values.tolist() != second.values.tolist()


def test_every_order_is_equally_likely():
    generator = np.random.default_rng(11)
    seen = Counter(tuple(_random_order(4, generator).tolist()) for _ in range(24_000))
    assert len(seen) == 24
    assert (
        sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 50
    )  # chi-square, 23 degrees: 0.999 quantile 49.7


def test_equal_random_numbers_are_drawn_again():
    drawn = [np.array([5, 5, 1], dtype=np.uint64), np.array([5, 3, 4], dtype=np.uint64)]

    class Repeating:
        def integers(self, *_, **__):
            return drawn.pop(0)

    assert _random_order(3, Repeating()).tolist() == [1, 2, 0]
    assert drawn == []


def test_the_published_order_reveals_nothing_about_people():
    """Over many draws every position of a bucket holds the first person's value equally often."""
    values = list("abcd")
    table = FrequencyTable.from_rows(["age", "disease"], list(enumerate(values)))
    generator = np.random.default_rng(3)
    asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "knowledge": 1, "below": 0.9}
    seen = Counter()
    for _ in range(400):
        made = bucketize_table(table, **asked, generator=generator)
        first = made.values[made.buckets == made.buckets[made.people == 0]]
        seen[first.tolist().index(0)] += 1
    assert set(seen) == {0, 1, 2, 3}
    assert min(seen.values()) > 70
