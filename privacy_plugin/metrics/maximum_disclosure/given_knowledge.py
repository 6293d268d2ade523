"""Disclosure of given knowledge, by exact enumeration of the values the named people may have.

Martin et al., ICDE 2007, definition 5. The general problem is #P-hard (Theorem 8), hence the size limit.
Only the people the knowledge names are enumerated; everyone else in their buckets is exchangeable and
follows from what is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.maximum_disclosure.exact_disclosure import Atom
from privacy_plugin.metrics.maximum_disclosure.histograms import validated_buckets

ASSIGNMENT_LIMIT = 200_000
"""Most ways to assign values to the named people that are enumerated."""


@dataclass(frozen=True, kw_only=True)
class Implication:
    """If all antecedents hold then one of the consequents does: one basic unit, neither side empty."""

    antecedents: tuple[Atom, ...]
    consequents: tuple[Atom, ...]


@dataclass(frozen=True, kw_only=True)
class GivenDisclosure:
    """The most probable atom given the knowledge, or the target, and its exact probability."""

    target: Atom
    disclosure: Fraction


@dataclass(frozen=True)
class _World:
    """One assignment of values to the named people, its number of ways, and the values left."""

    values: dict[tuple[int, int], int]
    weight: int
    left: dict[int, list[int]]


def disclosure_of_given_knowledge(
    *,
    offsets: object,
    value_counts: object,
    implications: Sequence[Implication],
    target: Atom | None = None,
    limit: int = ASSIGNMENT_LIMIT,
) -> GivenDisclosure:
    """Return the highest posterior of any atom given these implications, or that of `target`.

    All tables that agree with the buckets are equally likely (random worlds). An atom with a value its
    bucket does not hold is false. ParameterError when no table agrees with the knowledge; TooLargeError
    when the named people could take values in more than `limit` ways. Cost: the number of these ways times
    the atoms.

    >>> rule = Implication(antecedents=(Atom(1, 1, 0),), consequents=(Atom(0, 1, 0),))
    >>> disclosure_of_given_knowledge(
    ...     offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], implications=[rule]
    ... )
    GivenDisclosure(target=Atom(bucket=0, person=1, value=0, copy=0), disclosure=Fraction(10, 19))
    """
    starts, counts = validated_buckets(offsets=offsets, value_counts=value_counts)
    buckets = [counts[first:last].tolist() for first, last in pairwise(starts)]
    named = _named_people(implications, target, buckets)
    _require_few(named, buckets, limit)
    total = 0
    scores: dict[Atom, Fraction] = {}
    strangers = _strangers(named, buckets)
    for world in _worlds(named, buckets):
        if not all(_holds(rule, world.values) for rule in implications):
            continue
        total += world.weight
        for (bucket, person), value in world.values.items():
            atom = Atom(bucket, person, value)
            scores[atom] = scores.get(atom, Fraction(0)) + world.weight
        for bucket, person in strangers.items():
            rest = sum(world.left[bucket])
            for value, count in enumerate(world.left[bucket]):
                atom = Atom(bucket, person, value)
                scores[atom] = scores.get(atom, Fraction(0)) + Fraction(world.weight * count, rest)
    if total == 0:
        raise ParameterError(f"no table agrees with the buckets and all {len(implications)} implications")
    if target is not None:
        return GivenDisclosure(target=target, disclosure=scores.get(target, Fraction(0)) / total)
    return _most_certain(scores, total, {bucket for bucket, _ in named}, buckets)


def _most_certain(
    scores: dict[Atom, Fraction], total: int, touched: set[int], buckets: list[list[int]]
) -> GivenDisclosure:
    best = {atom: score / total for atom, score in scores.items()}
    for bucket, held in enumerate(buckets):
        if bucket not in touched:
            value = held.index(max(held))
            best[Atom(bucket, 0, value)] = Fraction(held[value], sum(held))
    target = min(best, key=lambda atom: (-best[atom], atom))
    return GivenDisclosure(target=target, disclosure=best[target])


def _named_people(
    implications: Sequence[Implication], target: Atom | None, buckets: list[list[int]]
) -> list[tuple[int, int]]:
    atoms = [] if target is None else [target]
    for rule in implications:
        if not rule.antecedents or not rule.consequents:
            raise ParameterError("an implication has an empty side; give at least one atom on each")
        atoms.extend((*rule.antecedents, *rule.consequents))
    for atom in atoms:
        if not 0 <= atom.bucket < len(buckets):
            raise ParameterError(f"an atom names bucket {atom.bucket}; valid is 0..{len(buckets) - 1}")
        if not 0 <= atom.person < sum(buckets[atom.bucket]):
            raise ParameterError(
                f"an atom names person {atom.person} of bucket {atom.bucket}; "
                f"valid is 0..{sum(buckets[atom.bucket]) - 1}"
            )
        if atom.value < 0:
            raise ParameterError(f"an atom names value {atom.value}; values count from 0")
    return sorted({(atom.bucket, atom.person) for atom in atoms})


def _require_few(named: list[tuple[int, int]], buckets: list[list[int]], limit: int) -> None:
    ways = 1
    for bucket, _ in named:
        ways *= sum(count > 0 for count in buckets[bucket])
    if ways > limit:
        raise TooLargeError(
            f"the {len(named)} people named by the knowledge could take values in up to {ways} ways, "
            f"more than limit={limit}; name fewer people or raise limit"
        )


def _strangers(named: list[tuple[int, int]], buckets: list[list[int]]) -> dict[int, int]:
    """Return for each touched bucket the first person the knowledge does not name, where there is one."""
    found: dict[int, int] = {}
    for bucket in {bucket for bucket, _ in named}:
        taken = {person for other, person in named if other == bucket}
        free = next((person for person in range(len(taken) + 1) if person not in taken), 0)
        if len(taken) < sum(buckets[bucket]):
            found[bucket] = free
    return found


def _worlds(named: list[tuple[int, int]], buckets: list[list[int]]) -> Iterator[_World]:
    values: dict[tuple[int, int], int] = {}
    left = {bucket: list(buckets[bucket]) for bucket, _ in named}

    def hand_out(position: int, weight: int) -> Iterator[_World]:
        if position == len(named):
            yield _World(values, weight, left)
            return
        bucket = named[position][0]
        for value, count in enumerate(left[bucket]):
            if count > 0:
                values[named[position]] = value
                left[bucket][value] -= 1
                yield from hand_out(position + 1, weight * count)
                left[bucket][value] += 1

    return hand_out(0, 1)


def _holds(rule: Implication, values: dict[tuple[int, int], int]) -> bool:
    if any(values[atom.bucket, atom.person] != atom.value for atom in rule.antecedents):
        return True
    return any(values[atom.bucket, atom.person] == atom.value for atom in rule.consequents)
