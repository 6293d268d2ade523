"""Worst-case disclosure bucket by bucket: how surely an attacker can name a value of somebody in this bucket.

Martin et al., ICDE 2007, section 3, with the target kept in bucket j. Its people reach at most 1 / (1 + r_j),

    r_j = min over a = 1..k+1 of (n_j / n_j(s0)) m_j(a) P(k + 1 - a),

P(x) the least product of plain absences m_b, over any buckets (j too, and any bucket more than once) whose atoms
add up to x, P(0) = 1. Why this is the maximum over all knowledge of k basic implications:

1. Fix the target atom A of bucket j, and any knowledge "all of alpha_i imply one of beta_i", i = 1..k, that leaves A
   possible. Take one atom A_i of each alpha_i. Where A and all A_i are false, every implication holds; so the odds
   P(not A, knowledge) / P(A, knowledge) are at least P(A and all A_i false) / P(A). The implications A_i -> A turn
   this into an equality: they leave all of A, and of the rest only where all A_i are false. (This is Theorem 9, for
   each target by itself.)
2. Buckets are independent, so P(A and all A_i false) is a product over buckets. With a atoms in j, A among them, and
   a_b in the others it is at least m_j(a) times the product of m_b(a_b), and P(A) is at most n_j(s0) / n_j. Both are
   reached at once: the atoms behind m_j(a) deny person 0 the k_0 >= 1 most frequent values, s0 first, and that atom
   can be the target. Hence r_j is the least (n_j / n_j(s0)) m_j(a) times a product over the *other* buckets, each
   named once.
3. Naming j or another bucket again changes nothing: m_b(a + c) <= m_b(a) m_b(c) (`disclosure` proves it), so all
   atoms of a bucket may as well be taken at once, which is a choice of 2.

The largest over all buckets is `disclosure_curve`'s last entry.
"""

import numpy as np
from numba import njit

from privacy_plugin.metrics.maximum_disclosure.disclosure import absence_into, disclosure_error, least_absences
from privacy_plugin.metrics.maximum_disclosure.histograms import (
    FloatArray,
    Histograms,
    IntArray,
    distinct_histograms,
    validated_knowledge,
)


def class_disclosures(*, offsets: object, value_counts: object, knowledge: int) -> tuple[FloatArray, float]:
    """Return the highest disclosure of anybody in each bucket against `knowledge` implications, and a rounding bound.

    The bound is `disclosure_error`, for the same products and roundings. Cost: two passes over the distinct
    histograms, O(buckets * knowledge**2 * log knowledge).

    >>> values, _ = class_disclosures(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=1)
    >>> [round(float(value), 4) for value in values]
    [0.6667, 0.5714]
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    plain, _ = least_absences(
        histograms.offsets, histograms.counts, histograms.sizes, histograms.representatives, histograms.width
    )
    return disclosures_of(histograms, plain), disclosure_error(knowledge=facts)


def disclosures_of(histograms: Histograms, plain: FloatArray) -> FloatArray:
    """Return the same for histograms that are there already, and the least m_b(0..width) of all of them."""
    ratios = _least_aimed(
        histograms.offsets,
        histograms.counts,
        histograms.sizes,
        histograms.representatives,
        histograms.width,
        _least_free(plain),
    )
    return (1.0 / (1.0 + ratios))[histograms.members]


def class_negations(*, offsets: object, value_counts: object, knowledge: int) -> tuple[IntArray, IntArray]:
    """Return n(s0) and n - (n(s1) + ... + n(sk)) of each bucket: its disclosure against negations is the quotient.

    >>> class_negations(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=1)
    (array([2, 2]), array([3, 4]))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    tops, bottoms = _posteriors(
        histograms.offsets, histograms.counts, histograms.sizes, histograms.representatives, facts
    )
    return tops[histograms.members], bottoms[histograms.members]


@njit(cache=True)
def _least_free(plain: FloatArray) -> FloatArray:
    """P(0..width): the least product of plain absences with so many atoms in all."""
    free = np.ones(plain.size, dtype=np.float64)
    for total in range(1, plain.size):
        for atoms in range(1, total + 1):
            free[total] = min(free[total], plain[atoms] * free[total - atoms])
    return free


@njit(cache=True)
def _least_aimed(
    offsets: IntArray, ordered: IntArray, sizes: IntArray, buckets: IntArray, width: int, free: FloatArray
) -> FloatArray:
    ratios = np.full(buckets.size, np.inf)
    taken = np.empty(width + 1, dtype=np.int64)
    layer = np.empty((width + 1, width + 1), dtype=np.float64)
    absence = np.empty(width + 1, dtype=np.float64)
    for row in range(buckets.size):
        bucket = buckets[row]
        absence_into(offsets, ordered, sizes, bucket, width, taken, layer, absence)
        aim = sizes[bucket] / ordered[offsets[bucket]]
        for atoms in range(1, width + 1):
            ratios[row] = min(ratios[row], aim * absence[atoms] * free[width - atoms])
    return ratios


@njit(cache=True)
def _posteriors(
    offsets: IntArray, ordered: IntArray, sizes: IntArray, buckets: IntArray, knowledge: int
) -> tuple[IntArray, IntArray]:
    tops = np.empty(buckets.size, dtype=np.int64)
    bottoms = np.empty(buckets.size, dtype=np.int64)
    for row in range(buckets.size):
        bucket = buckets[row]
        tops[row] = ordered[offsets[bucket]]
        bottoms[row] = sizes[bucket]
        for place in range(offsets[bucket] + 1, min(offsets[bucket] + knowledge + 1, offsets[bucket + 1])):
            bottoms[row] -= ordered[place]
    return tops, bottoms
