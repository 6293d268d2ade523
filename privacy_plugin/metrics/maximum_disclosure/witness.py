"""The knowledge behind a disclosure: the target and the facts; values only with `reveal`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal

from privacy_plugin.frequency.values import label
from privacy_plugin.metrics.measurement import plain

Attacker = Literal["implications", "negations"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A person of a class has one of its values: people count from 1, values by frequency from 1."""

    class_rank: int
    people: int
    person: int
    value_rank: int
    value: Any = field(repr=False)
    members: Mapping[str, Any] = field(repr=False)

    def who(self, *, reveal: bool = False) -> str:
        """Name the person by number; `reveal` adds the quasi-identifiers of the class."""
        shown = ", ".join(f"{name} {_named(value)}" for name, value in self.members.items())
        return f"person {self.person} of class {self.class_rank}" + (f" ({shown})" if reveal else "")

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; `reveal` adds the value and the quasi-identifiers."""
        raw = {"value": plain(self.value), "members": {name: plain(value) for name, value in self.members.items()}}
        return {
            "class": self.class_rank,
            "people": self.people,
            "person": self.person,
            "value_rank": self.value_rank,
            **(raw if reveal else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Knowledge that reaches the disclosure: the target, the facts, and the exact probability they give.

    Against implications every fact stands for "if `fact` then `target`", which for the target's own other values means
    that the person does not have them; against negations for "not `fact`". There may be fewer facts than the attacker
    could know, when fewer do the same.
    """

    attacker: Attacker
    sensitive: str
    target: Claim
    facts: tuple[Claim, ...]
    probability: Fraction

    def words(self, *, reveal: bool = False) -> str:
        """Return the disclosure and its facts as sentences; without `reveal` they contain no value."""
        kind = self.attacker.removesuffix("s") if len(self.facts) == 1 else self.attacker
        known = f"these {len(self.facts)} {kind}" if len(self.facts) != 1 else f"this {kind}"
        size = f"{self.target.people:,} {'person' if self.target.people == 1 else 'people'}"
        sentence = (
            f"An attacker who knows {known if self.facts else 'nothing more'} names {self.sensitive} of "
            f"{self.target.who(reveal=reveal)}, a class of {size}, with probability {_odds(self.probability)}: "
            f"{_values([self.target], reveal=reveal)}"
        )
        return f"{sentence}." + (f" Known: {'; '.join(self.sentences(reveal=reveal))}." if self.facts else "")

    def sentences(self, *, reveal: bool = False) -> list[str]:
        """Return the facts as sentences, one per person: "one of two values" is a fact for each value."""
        return [self._sentence(list(group), reveal) for _, group in groupby(self.facts, key=_person)]

    def _sentence(self, facts: list[Claim], reveal: bool) -> str:
        who, values = facts[0].who(reveal=reveal), _values(facts, reveal=reveal)
        if self.attacker == "negations" or _person(facts[0]) == _person(self.target):
            return f"{who} does not have {values}"
        reached = f"{self.target.who(reveal=reveal)} has {_values([self.target], reveal=reveal)}"
        return f"if {who} has {values}, then {reached}"

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; without `reveal` it holds no value of the table."""
        return {
            "attacker": self.attacker,
            "probability": plain(self.probability),
            "exact_probability": str(self.probability),
            "target": self.target.to_dict(reveal=reveal),
            "facts": [fact.to_dict(reveal=reveal) for fact in self.facts],
            "words": self.words(reveal=reveal),
        }

    def __str__(self) -> str:
        return self.words()


def _person(claim: Claim) -> tuple[int, int]:
    return claim.class_rank, claim.person


def _values(claims: list[Claim], *, reveal: bool) -> str:
    """Describe the values of one person's claims, which are neighbours by frequency, by rank or by value."""
    if reveal:
        return " or ".join(_named(claim.value) for claim in claims)
    first, last = claims[0].value_rank, claims[-1].value_rank
    if first == last:
        return f"the {'' if first == 1 else f'{_ordinal(first)} '}most frequent value of the class"
    ranks = f"{last}" if first == 1 else f"{_ordinal(first)} to {_ordinal(last)}"
    return f"any of the {ranks} most frequent values of the class"


def _named(value: Any) -> str:
    return "missing" if value is None else label(value)


def _odds(probability: Fraction) -> str:
    short = probability.denominator < 1_000
    return f"{float(probability):.4g}" + (f" ({probability})" if short and probability.denominator > 1 else "")


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
