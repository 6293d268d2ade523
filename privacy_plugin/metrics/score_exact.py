"""Privacy scores as exact fractions, where that is cheap: weights of 0 and 1, or a tiny table."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privacy_plugin.metrics.score_attributes import Attributes
from privacy_plugin.metrics.score_result import ERROR, Floats

_TINY = 512  # sets K of all distinct people together


def exact_scores(
    related: Attributes, scores: Floats, *, saturation: Fraction, confidence: Fraction
) -> list[Fraction] | None:
    """Return the exact score of every distinct person of the relation, or None where only floats are at hand.

    With weights of 0 and 1 every score is n / (s + n) for a whole number n of inferred attributes, which the float
    tells; otherwise every set K of a tiny table is tried.
    """
    if confidence == 1 and {*related.likelihood, *related.danger} <= {0, 1}:
        return _by_counting(scores, saturation)
    if _is_tiny(related) and all(map(_survives_floats, [*related.likelihood, *related.danger, saturation, confidence])):
        return _by_trying(related, saturation, confidence)
    return None


def _by_counting(scores: Floats, saturation: Fraction) -> list[Fraction] | None:
    distinct, places = np.unique(scores, return_inverse=True)
    found = []
    for score in distinct.tolist():
        inferred = round(float(saturation) * score / (1 - score)) if score < 1 else 0
        exact = inferred / (saturation + inferred)
        if abs(float(exact) - score) > ERROR:
            return None
        found.append(exact)
    return [found[place] for place in places.tolist()]


def _is_tiny(related: Attributes) -> bool:
    relation = related.relation
    if len(relation.counts) > _TINY:
        return False
    sizes = [sum(related.likelihood[a] > 0 for a in relation.held_by(row)) for row in range(len(relation.counts))]
    return max(sizes) <= 16 and sum(2**size for size in sizes) <= _TINY


def _by_trying(related: Attributes, saturation: Fraction, confidence: Fraction) -> list[Fraction]:
    from privacy_plugin.kernels.score_weight import exact_score

    parameters = {"saturation": float(saturation), "confidence": float(confidence)}
    rows = range(len(related.relation.counts))
    return [exact_score(related.relation, row=row, **parameters)[0] for row in rows]


def _survives_floats(number: Fraction) -> bool:
    """Tell whether the kernels, which read floats as the decimals they print as, see this very number."""
    return Fraction(repr(float(number))) == number


def exact_average(scores: Sequence[Fraction], counts: Sequence[int]) -> Fraction:
    """The average over people, summed once for each distinct score."""
    people: dict[Fraction, int] = {}
    for score, count in zip(scores, counts, strict=True):
        people[score] = people.get(score, 0) + int(count)
    return sum((score * count for score, count in people.items()), Fraction(0)) / sum(people.values())
