"""The privacy score by its definition, in exact fractions: every set K of attributes is tried.

Used where it is cheap: for one set K, for tiny relations, and for weights of 0 and 1, where the floating-point score
determines the fraction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from privacy_plugin.errors import TooLargeError
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.metrics.privacy_score.relation import Attributes, Relation
from privacy_plugin.metrics.privacy_score.result import ERROR, Floats

LARGEST_EXACT = 16

_TINY = 512  # sets K of all distinct people together


def fraction(weight: float) -> Fraction:
    """Return the fraction a weight was written as: 0.1 is one tenth, not the nearest binary number."""
    return Fraction(repr(float(weight)))


def inferences(
    relation: Relation, *, row: int, known: Sequence[int], confidence: float = 1.0
) -> list[tuple[int, Fraction]]:
    """Return what follows for a person from known attributes, with the share of people it holds for.

    x follows from K with confidence c = |people with K and x| / |people with K|; it counts when the person has x,
    x is not in K and c is at least `confidence`. Cost: one pass over the table per attribute of the person.
    """
    among = np.ones(len(relation.counts), dtype=np.bool_)
    for attribute in known:
        among &= relation.holders(attribute)
    total = int(relation.counts[among].sum())
    needed = fraction(confidence)
    follow = []
    for attribute in relation.held_by(row):
        if attribute in known:
            continue
        share = Fraction(int(relation.counts[among & relation.holders(attribute)].sum()), total)
        if share >= needed:
            follow.append((attribute, share))
    return follow


def exact_weight(
    relation: Relation, *, row: int, known: Sequence[int], saturation: float = 1.0, confidence: float = 1.0
) -> Fraction:
    """Return the weight w(K) of a set K for one person.

    w(K) = product of l over K * D / (saturation + D), D = sum of c * d over what follows (White 2021, 3.2-3.4).
    """
    follow = inferences(relation, row=row, known=known, confidence=confidence)
    danger = sum((share * fraction(relation.danger[attribute]) for attribute, share in follow), Fraction(0))
    weight = danger / (fraction(saturation) + danger)
    for attribute in known:
        weight *= fraction(relation.likelihood[attribute])
    return weight


def exact_score(
    relation: Relation, *, row: int, saturation: float = 1.0, confidence: float = 1.0
) -> tuple[Fraction, list[int]]:
    """Return the exact score of one person and a smallest K that reaches it; up to 16 attributes.

    >>> from privacy_plugin.metrics.privacy_score.relation import make_relation
    >>> people = make_relation(matrix=[[1, 1, 1], [0, 1, 1]], likelihood=[1, 1, 1], danger=[1, 1, 1])
    >>> exact_score(people, row=0)
    (Fraction(2, 3), [])
    """
    usable = [attribute for attribute in relation.held_by(row) if relation.likelihood[attribute] > 0]
    if len(usable) > LARGEST_EXACT:
        raise TooLargeError(f"{len(usable)} attributes are too many to try every set; at most {LARGEST_EXACT}")
    best, witness = Fraction(-1), []
    for size in range(len(usable) + 1):
        for known in combinations(usable, size):
            weight = exact_weight(relation, row=row, known=known, saturation=saturation, confidence=confidence)
            if weight > best:
                best, witness = weight, list(known)
    return best, witness


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactScores:
    """Exact scores of the distinct people of a relation: distinct scores, and each person's index."""

    different: tuple[Fraction, ...]
    places: Integers

    def maximum(self, counts: Integers) -> Fraction:
        """Return the highest score of people; added rows count nobody."""
        held: set[int] = set(self.places[counts > 0].tolist())
        return max(self.different[place] for place in held)

    def average(self, counts: Integers) -> Fraction:
        """Return the average over people."""
        people: list[int] = sum_by(self.places, counts, len(self.different)).tolist()
        total = sum((score * count for score, count in zip(self.different, people, strict=True)), Fraction(0))
        return total / sum(people)


def exact_scores(
    related: Attributes, scores: Floats, *, saturation: Fraction, confidence: Fraction
) -> ExactScores | None:
    """Return the exact scores of the distinct people, or None where only floats are available.

    With weights of 0 and 1 every score is n / (s + n) for a whole number n of inferred attributes, which the float
    determines; otherwise every set K of a tiny table is tried.
    """
    if confidence == 1 and {*related.likelihood, *related.danger} <= {0, 1}:
        return _by_counting(scores, saturation)
    if _is_tiny(related) and all(map(_survives_floats, [*related.likelihood, *related.danger, saturation, confidence])):
        return _by_trying(related, saturation, confidence)
    return None


def _by_counting(scores: Floats, saturation: Fraction) -> ExactScores | None:
    distinct, places = np.unique(scores, return_inverse=True)
    found = []
    for score in distinct.tolist():
        inferred = round(float(saturation) * score / (1 - score)) if score < 1 else 0
        exact = inferred / (saturation + inferred)
        if abs(float(exact) - score) > ERROR:
            return None
        found.append(exact)
    return ExactScores(different=tuple(found), places=places.astype(np.int64))


def _is_tiny(related: Attributes) -> bool:
    relation = related.relation
    if len(relation.counts) > _TINY:
        return False
    sizes = [sum(related.likelihood[a] > 0 for a in relation.held_by(row)) for row in range(len(relation.counts))]
    return max(sizes) <= 16 and sum(2**size for size in sizes) <= _TINY


def _by_trying(related: Attributes, saturation: Fraction, confidence: Fraction) -> ExactScores:
    parameters = {"saturation": float(saturation), "confidence": float(confidence)}
    rows = range(len(related.relation.counts))
    found = tuple(exact_score(related.relation, row=row, **parameters)[0] for row in rows)
    return ExactScores(different=found, places=np.arange(len(found), dtype=np.int64))


def _survives_floats(number: Fraction) -> bool:
    """Return whether a number equals the decimal that its float prints as, which the loops use."""
    return Fraction(repr(float(number))) == number
