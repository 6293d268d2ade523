"""Disclosure of a sensitive value to an attacker who knows given facts, for small tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privacy_plugin.errors import ColumnError, ParameterError, require_columns
from privacy_plugin.frequency import Histograms
from privacy_plugin.frequency.values import Key, canonical, key
from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import Atom
from privacy_plugin.metrics.maximum_disclosure.given_knowledge import ASSIGNMENT_LIMIT, Implication
from privacy_plugin.metrics.maximum_disclosure.given_knowledge import disclosure_of_given_knowledge as enumerate_worlds
from privacy_plugin.metrics.maximum_disclosure.metric import Claim
from privacy_plugin.metrics.measurement import plain
from privacy_plugin.sources import open_source

Stated = Claim | tuple[Any, int, Any]


@dataclass(frozen=True, kw_only=True)
class GivenDisclosure:
    """The most probable claim given the knowledge, or the target, and its exact probability."""

    value: Fraction
    person: int
    people: int
    members: Mapping[str, Any] = field(repr=False)
    held: Any = field(repr=False)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return plain data; `reveal` adds the class's quasi-identifiers and the value."""
        raw = {"members": {name: plain(value) for name, value in self.members.items()}, "held": plain(self.held)}
        return {
            "value": plain(self.value),
            "exact_value": str(self.value),
            "person": self.person,
            "people": self.people,
            **(raw if reveal else {}),
        }


def disclosure_of_given_knowledge(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    implications: Iterable[tuple[Iterable[Stated], Iterable[Stated]]],
    target: Stated | None = None,
    limit: int = ASSIGNMENT_LIMIT,
) -> GivenDisclosure:
    """Return the highest probability of any claim given these implications, or that of `target`.

    An implication is a pair of lists of claims: if all of the first hold, then one of the second does. A claim is
    (class, person, value): the class by its quasi-identifiers, as a mapping, in their order, or alone if there is only
    one; the person by number, from 1 to the size of the class (people of a class are alike); or a claim of a
    `maximum_disclosure` witness. All ways to assign the values of each class to its people are equally likely. Martin
    et al. 2007, definition 5; the general problem is #P-hard, hence TooLargeError when the people who are named could
    have values in more than `limit` ways. A missing value is a value. Cost: these ways times the claims.

    >>> import pandas
    >>> men, women = ["flu", "flu", "lung", "lung", "heart"], ["flu", "flu", "breast", "ovarian", "heart"]
    >>> ward = pandas.DataFrame({"sex": ["m"] * 5 + ["f"] * 5, "disease": men + women})
    >>> hannah, charlie = ("f", 2, "flu"), ("m", 2, "flu")
    >>> disclosure_of_given_knowledge(
    ...     ward, quasi_identifiers=["sex"], sensitive="disease", implications=[([hannah], [charlie])]
    ... ).value
    Fraction(10, 19)
    """
    source = open_source(data)
    require_columns([*quasi_identifiers, sensitive], source.columns)
    histograms = source.frequencies([*quasi_identifiers, sensitive]).histograms(quasi_identifiers, sensitive)
    reader = _Reader(histograms)
    rules = [
        Implication(
            antecedents=reader.atoms(left, f"implication {n}"), consequents=reader.atoms(right, f"implication {n}")
        )
        for n, (left, right) in enumerate(_pairs(implications), start=1)
    ]
    asked = None if target is None else reader.atom(target, "the target")
    found = enumerate_worlds(
        offsets=histograms.offsets, value_counts=histograms.counts, implications=rules, target=asked, limit=limit
    )
    bucket, position = found.target.bucket, found.target.value
    code = histograms.values[histograms.offsets[bucket] + position] if position < reader.held(bucket) else None
    return GivenDisclosure(
        value=found.disclosure,
        person=found.target.person + 1,
        people=int(histograms.classes.sizes[bucket]),
        members=reader.members(bucket),
        held=_asked_value(target) if code is None else histograms.dictionary[code],
    )


class _Reader:
    """Turns claims about a table's people into atoms; its errors never quote a claim."""

    def __init__(self, histograms: Histograms) -> None:
        self._histograms = histograms
        self._names = histograms.classes.quasi_identifiers
        self._values = {key(value): code for code, value in enumerate(histograms.dictionary)}
        self._classes = {
            tuple(key(value) for value in self.members(number).values()): number
            for number in range(len(histograms.classes))
        }

    def members(self, number: int) -> dict[str, Any]:
        table = self._histograms.table
        row = dict(zip(table.columns, table.values(int(self._histograms.classes.example_rows[number])), strict=True))
        return {name: row[name] for name in self._names}

    def held(self, number: int) -> int:
        """Return the number of values of a class."""
        return int(self._histograms.offsets[number + 1] - self._histograms.offsets[number])

    def atoms(self, claims: Iterable[Stated], where: str) -> tuple[Atom, ...]:
        found = tuple(self.atom(claim, where) for claim in claims)
        if not found:
            raise ParameterError(f"{where} has an empty side; give at least one claim on each")
        return found

    def atom(self, claim: Stated, where: str) -> Atom:
        group, person, value = _parts(claim, where)
        number = self._classes.get(self._key(group, where))
        if number is None:
            raise ParameterError(f"{where} names a class that the table does not have")
        people = int(self._histograms.classes.sizes[number])
        if isinstance(person, bool) or not isinstance(person, int) or not 1 <= person <= people:
            raise ParameterError(f"{where}: people of that class are numbered from 1 to {people}")
        code = self._values.get(key(canonical(value)))
        if code is None:
            raise ParameterError(f"{where} names a value that does not occur in the table")
        start = int(self._histograms.offsets[number])
        codes = self._histograms.values[start : start + self.held(number)].tolist()
        return Atom(number, person - 1, codes.index(code) if code in codes else len(codes))

    def _key(self, group: Any, where: str) -> tuple[Key, ...]:
        if isinstance(group, Mapping):
            if set(group) != set(self._names):
                raise ColumnError(f"{where}: a class is named by {', '.join(self._names)}")
            values = [group[name] for name in self._names]
        elif isinstance(group, tuple | list):
            values = list(group)
        else:
            values = [group]
        if len(values) != len(self._names):
            raise ColumnError(f"{where}: a class is named by {len(self._names)} values, not {len(values)}")
        return tuple(key(canonical(value)) for value in values)


def _pairs(implications: Any) -> list[tuple[Any, Any]]:
    pairs = [tuple(pair) for pair in implications]
    if any(len(pair) != 2 or any(isinstance(side, str) for side in pair) for pair in pairs):
        raise ParameterError("an implication is a pair of lists of claims: ([if all of these], [then one of these])")
    return [(left, right) for left, right in pairs]


def _parts(claim: Stated, where: str) -> tuple[Any, Any, Any]:
    if isinstance(claim, Claim):
        return claim.members, claim.person, claim.value
    if not isinstance(claim, tuple) or len(claim) != 3:
        raise ParameterError(f"{where}: a claim is (class, number of the person, value)")
    return claim


def _asked_value(target: Stated | None) -> Any:
    """Return the value of a target that its class does not hold, as the caller gave it."""
    return target.value if isinstance(target, Claim) else canonical(target[2]) if target is not None else None
