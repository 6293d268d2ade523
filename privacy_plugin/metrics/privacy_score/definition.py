"""The privacy score straight from its definition, in exact fractions: one set K, or one person of a tiny relation."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from privacy_plugin.errors import TooLargeError
from privacy_plugin.metrics.privacy_score.relation import Relation

LARGEST_EXACT = 16


def fraction(weight: float) -> Fraction:
    """The fraction a weight was written as: 0.1 is one tenth, not the nearest binary number."""
    return Fraction(repr(float(weight)))


def inferences(
    relation: Relation, *, row: int, known: Sequence[int], confidence: float = 1.0
) -> list[tuple[int, Fraction]]:
    """What follows for a person from the attributes known of them, with the share of people it holds for.

    x follows from K with confidence c = |people with K and x| / |people with K|; it counts when the person has x,
    x is not in K and c is at least `confidence`. Cost: one pass over the table an attribute of the person.
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
    """w(K) = product of l over K * D / (saturation + D), D = sum of c * d over what follows (thesis 3.2-3.4)."""
    follow = inferences(relation, row=row, known=known, confidence=confidence)
    danger = sum((share * fraction(relation.danger[attribute]) for attribute, share in follow), Fraction(0))
    weight = danger / (fraction(saturation) + danger)
    for attribute in known:
        weight *= fraction(relation.likelihood[attribute])
    return weight


def exact_score(
    relation: Relation, *, row: int, saturation: float = 1.0, confidence: float = 1.0
) -> tuple[Fraction, list[int]]:
    """The exact score of one person and a smallest K that reaches it, by trying every K; up to 16 attributes.

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
