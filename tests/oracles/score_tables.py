"""A table as people and attributes, by the definition: booleans held where true, otherwise a value an attribute."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.oracles import score

Name = tuple[str, Any]


def held(row: Mapping[str, Any], booleans: Sequence[str]) -> frozenset[Name]:
    """The attributes of one row; a missing boolean is not true, any other missing value is a value."""
    return frozenset(
        (column, value) for column, value in row.items() if (value is True if column in booleans else True)
    )


def table_scores(
    rows: Sequence[Mapping[str, Any]],
    *,
    booleans: Sequence[str] = (),
    likelihood: Callable[[Name], Fraction] = lambda name: Fraction(1),
    danger: Callable[[Name], Fraction] = lambda name: Fraction(1),
    saturation: Fraction = Fraction(1),
    confidence: Fraction = Fraction(1),
) -> list[Fraction]:
    """The score of every row."""
    return set_scores(
        [held(row, booleans) for row in rows],
        likelihood=likelihood,
        danger=danger,
        saturation=saturation,
        confidence=confidence,
    )


def set_scores(
    people: Sequence[frozenset[Any]],
    *,
    likelihood: Callable[[Any], Fraction],
    danger: Callable[[Any], Fraction],
    saturation: Fraction = Fraction(1),
    confidence: Fraction = Fraction(1),
) -> list[Fraction]:
    """The score of every person, given by the names of their attributes."""
    names = sorted({name for person in people for name in person}, key=repr)
    numbers = {name: number for number, name in enumerate(names)}
    return score.scores(
        [frozenset(numbers[name] for name in person) for person in people],
        likelihood=[likelihood(name) for name in names],
        danger=[danger(name) for name in names],
        saturation=saturation,
        confidence=confidence,
    )
