"""The privacy score by its definition alone, in exact fractions, trying every set K of every person."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Person = frozenset[int]


def subsets(attributes: Person) -> list[Person]:
    ordered = sorted(attributes)
    return [frozenset(chosen) for size in range(len(ordered) + 1) for chosen in combinations(ordered, size)]


def confidence_of(people: Sequence[Person], counts: Sequence[int], known: Person, attribute: int) -> Fraction:
    """The share of the people with `known` who also have the attribute."""
    among = sum(count for person, count in zip(people, counts, strict=True) if known <= person)
    having = sum(count for person, count in zip(people, counts, strict=True) if known | {attribute} <= person)
    return Fraction(having, among)


def weight(
    people: Sequence[Person],
    counts: Sequence[int],
    person: Person,
    known: Person,
    likelihood: Sequence[Fraction],
    danger: Sequence[Fraction],
    saturation: Fraction,
    confidence: Fraction,
) -> Fraction:
    total = Fraction(0)
    for attribute in person - known:
        share = confidence_of(people, counts, known, attribute)
        if share >= confidence:
            total += share * danger[attribute]
    product = Fraction(1)
    for attribute in known:
        product *= likelihood[attribute]
    return product * total / (saturation + total)


def scores(
    people: Sequence[Person],
    *,
    likelihood: Sequence[Fraction],
    danger: Sequence[Fraction],
    counts: Sequence[int] | None = None,
    saturation: Fraction = Fraction(1),
    confidence: Fraction = Fraction(1),
) -> list[Fraction]:
    """priv(i) of every given person, duplicates and people inside others included."""
    weighed = [1] * len(people) if counts is None else list(counts)
    return [
        max(
            weight(people, weighed, person, known, likelihood, danger, saturation, confidence)
            for known in subsets(person)
        )
        for person in people
    ]


def minimal_non_faces(people: Sequence[Person], attributes: int, largest: int) -> set[Person]:
    """The sets of attributes that no person has although, for each proper subset, some person has it."""

    def held(candidate: Person) -> bool:
        return any(candidate <= person for person in people)

    found = set()
    for size in range(1, largest + 1):
        for chosen in combinations(range(attributes), size):
            candidate = frozenset(chosen)
            if not held(candidate) and all(held(candidate - {attribute}) for attribute in candidate):
                found.add(candidate)
    return found
