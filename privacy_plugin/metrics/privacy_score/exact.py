"""Privacy scores as exact fractions, where that is cheap: weights of 0 and 1, or a tiny table."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.metrics.privacy_score.attributes import Attributes
from privacy_plugin.metrics.privacy_score.result import ERROR, Floats

_TINY = 512  # sets K of all distinct people together


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactScores:
    """Exact scores of the distinct people of a relation: the different ones, and which of them each person has."""

    different: tuple[Fraction, ...]
    places: Integers

    @property
    def maximum(self) -> Fraction:
        """The highest score."""
        return max(self.different)

    def average(self, counts: Integers) -> Fraction:
        """The average over people."""
        people: list[int] = sum_by(self.places, counts, len(self.different)).tolist()
        total = sum((score * count for score, count in zip(self.different, people, strict=True)), Fraction(0))
        return total / sum(people)


def exact_scores(
    related: Attributes, scores: Floats, *, saturation: Fraction, confidence: Fraction
) -> ExactScores | None:
    """Return the exact scores of the distinct people of the relation, or None where only floats are at hand.

    With weights of 0 and 1 every score is n / (s + n) for a whole number n of inferred attributes, which the float
    tells; otherwise every set K of a tiny table is tried.
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
    from privacy_plugin.metrics.privacy_score.definition import exact_score

    parameters = {"saturation": float(saturation), "confidence": float(confidence)}
    rows = range(len(related.relation.counts))
    found = tuple(exact_score(related.relation, row=row, **parameters)[0] for row in rows)
    return ExactScores(different=found, places=np.arange(len(found), dtype=np.int64))


def _survives_floats(number: Fraction) -> bool:
    """Tell whether the kernels, which read floats as the decimals they print as, see this very number."""
    return Fraction(repr(float(number))) == number
