"""Behind a privacy score: what an attacker would know of a person, what follows from it, and the weight of that."""

from dataclasses import dataclass, field
from typing import Any

from privacy_plugin.frequency.values import Value, label
from privacy_plugin.metrics.measurement import Quantity, plain
from privacy_plugin.metrics.privacy_score.attributes import Attribute


@dataclass(frozen=True, kw_only=True)
class ScoreWitness:
    """Knowledge that reaches a person's score; no part of it alone does.

    `known` and `inferred` are columns; the values stay hidden unless `reveal` is asked for. What follows without being
    dangerous is left out. `confidences` stands beside `inferred_attributes`. `exact` is false when the budget ended
    before the search did: the score may then be higher than `weight`.
    """

    person: int
    people: int
    weight: Quantity
    exact: bool
    known_attributes: tuple[Attribute, ...] = field(repr=False)
    inferred_attributes: tuple[Attribute, ...] = field(repr=False)
    confidences: tuple[float, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """The columns an attacker would know, each once."""
        return _columns(self.known_attributes)

    @property
    def inferred(self) -> tuple[str, ...]:
        """The columns that follow, each once."""
        return _columns(self.inferred_attributes)

    def words(self, *, reveal: bool = False) -> str:
        """Say it in a sentence; without `reveal` no value of the table is named."""
        known = ", ".join(_said(self.known_attributes, reveal=reveal))
        inferred = ", ".join(_said(self.inferred_attributes, reveal=reveal))
        who = f"Who knows {known}" if known else "Anybody"
        what = f"learns {inferred}" if inferred else "learns nothing"
        whom = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{who} {what}: weight {float(self.weight):.4g}, true of {whom}."

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; without `reveal` it holds no value of the table."""
        raw = {
            "known_values": [_pair(attribute) for attribute in self.known_attributes],
            "inferred_values": [_pair(attribute) for attribute in self.inferred_attributes],
        }
        return {
            "person": self.person,
            "people": self.people,
            "known": list(self.known),
            "inferred": list(self.inferred),
            "confidences": list(self.confidences),
            "weight": plain(self.weight),
            "exact": self.exact,
            "words": self.words(reveal=reveal),
            **(raw if reveal else {}),
        }

    def __str__(self) -> str:
        return self.words()


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Columns that together give others away: the highest weight, and how many of the worst people it concerns."""

    known: tuple[str, ...]
    inferred: tuple[str, ...]
    weight: float
    people: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: names of columns and numbers."""
        return {
            "known": list(self.known),
            "inferred": list(self.inferred),
            "weight": self.weight,
            "people": self.people,
        }


def _columns(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(attribute.column for attribute in attributes))


def _said(attributes: tuple[Attribute, ...], *, reveal: bool) -> list[str]:
    if not reveal:
        return list(_columns(attributes))
    return [f"{attribute.column} {_named(attribute.value)}" for attribute in attributes]


def _named(value: Value) -> str:
    return "missing" if value is None else label(value)


def _pair(attribute: Attribute) -> list[Any]:
    return [attribute.column, plain(attribute.value)]
