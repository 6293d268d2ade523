"""Maximum disclosure against worst-case background knowledge, in floating point.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-Case Background Knowledge in Privacy, ICDE 2007, section 3. An
attacker knows who is in which bucket, and k basic implications; maximum disclosure(k) is the highest probability with
which any such attacker names one person's sensitive value. It is 1 / (1 + r), where r is the least of (n_j / n_j(s0)) *
product over buckets of m_b(atoms in b), over target buckets j and over the ways to spread k + 1 atoms over the buckets,
at least one of them in j. m_b(a), the least probability that a atoms of bucket b are all false, is the minimum over
a = k_0 + ... + k_{l-1}, k_0 >= k_1 >= ..., l <= n, of the product over i of max(0, n - i - S(k_i)) / (n - i), S(j) the
sum of the j largest counts.

*The whole table.* m_b(a + c) <= m_b(a) m_b(c): order the people of both choices by their atoms, most atoms first; no
person moves forward, and (n - i - S) / (n - i) falls with i. (With more people than the bucket has, a factor is 0.) So
where two buckets hold a and c atoms, either could be exchanged for the bucket with the least m_b(a), or m_b(c), and
when that is the other of the two, it may as well hold all a + c. Hence only the least m_b(a) and the least
(n_b / n_b(s0)) m_b(a) over all buckets matter, for each a: one pass keeps them, and r is the least product of one aimed
and any plain ones whose atoms add up to k + 1. This equals MINIMIZE2 and needs no table of it.

*One bucket.* With the target kept in bucket j, its people reach at most 1 / (1 + r_j),

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
3. Naming j or another bucket again changes nothing: m_b(a + c) <= m_b(a) m_b(c), so all atoms of a bucket may as well
   be taken at once, which is a choice of 2.

The largest over all buckets is the last entry of `disclosure_curve`.

Errata followed: Lemma 12 lost its reciprocal; MINIMIZE2 starts with the target not placed and ends in 1 when it is
placed, infinity when it is not; formula (2) is clipped at 0 and a bucket has at most n people.
"""

from fractions import Fraction

import numpy as np

from privacy_plugin.compiled import njit_later
from privacy_plugin.metrics.maximum_disclosure.histograms import (
    FloatArray,
    Histograms,
    IntArray,
    distinct_histograms,
    validated_knowledge,
)

_UNIT_ROUNDING = 2.0**-53


def _absence_steps(
    offsets: IntArray, ordered: IntArray, sizes: IntArray, buckets: IntArray, width: int, *_: object
) -> int:
    """Estimate the steps of `absence_into` for all buckets."""
    return buckets.size * 4 * (width + 1) ** 2


def _posterior_steps(offsets: IntArray, ordered: IntArray, sizes: IntArray, buckets: IntArray, knowledge: int) -> int:
    return buckets.size * 10 * (knowledge + 1)


def disclosure_curve(*, offsets: object, value_counts: object, knowledge: int) -> tuple[FloatArray, float]:
    """Return the maximum disclosure for k = 0..knowledge implications, and a bound on its rounding error.

    Every entry of the curve lies within the bound of the exact value (`disclosure_error` derives it), so
    `curve[k] + error < c` proves (c, k)-safety. k = 0 is the plain posterior, the largest n(s0) / n.
    Counts of 0 are values a bucket does not hold. Cost: one pass, O(buckets * knowledge**2 * log knowledge),
    equal histograms once; memory O(buckets + knowledge**2).

    >>> curve, error = disclosure_curve(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=2)
    >>> [round(float(value), 4) for value in curve], error < 1e-14
    ([0.4, 0.6667, 1.0], True)
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    plain, aimed = least_absences(
        histograms.offsets, histograms.counts, histograms.sizes, histograms.representatives, histograms.width
    )
    return 1.0 / (1.0 + _least_ratios(plain, aimed)), disclosure_error(knowledge=facts)


def disclosure_error(*, knowledge: int) -> float:
    """Bound the distance between the computed and the exact maximum disclosure, up to `knowledge` facts.

    A ratio r is a product of at most k + 1 quotients of exact integers and one n / n(s0): at most 2k + 4
    roundings, a relative error of g = (2k + 4) u with u = 2**-53, first order. The least of such products
    errs no more. Then 1 / (1 + r) moves by at most g * r / (1 + r)**2 <= g / 4, and is itself rounded
    twice: (k/2 + 3) u in all. The bound returned, (k + 8) u, leaves room for the higher orders and for
    underflow, which moves r, and so the disclosure, by less than 2**-900.
    """
    return (knowledge + 8) * _UNIT_ROUNDING


def negation_curve(*, offsets: object, value_counts: object, knowledge: int) -> tuple[Fraction, ...]:
    """Return the exact maximum disclosure for k = 0..knowledge negations.

    The maximum over buckets of n(s0) / (n - (n(s1) + ... + n(sk))) (Theorem 19): the l-diversity attacker.
    Recursive (c, l)-diversity, n(s0) < c (n - n(s0) - ... - n(s_{l-2})), holds exactly when entry l - 2 is
    below c / (c + 1). Cost: O(buckets * knowledge), integers only.

    >>> negation_curve(offsets=[0, 3], value_counts=[2, 2, 1], knowledge=2)
    (Fraction(2, 5), Fraction(2, 3), Fraction(1, 1))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    return negations_of(histograms)


def negations_of(histograms: Histograms) -> tuple[Fraction, ...]:
    """Return the same for 0 to width - 1 facts, for given histograms."""
    numerators, denominators = _largest_posteriors(
        histograms.offsets, histograms.counts, histograms.sizes, histograms.representatives, histograms.width - 1
    )
    return tuple(Fraction(int(top), int(bottom)) for top, bottom in zip(numerators, denominators, strict=True))


def absence_table(histograms: Histograms, *, first: int, last: int) -> FloatArray:
    """Return m_b(0..width) of the distinct histograms first..last-1; relative error < 2 width u."""
    return _absence_rows(
        histograms.offsets,
        histograms.counts,
        histograms.sizes,
        histograms.representatives[first:last],
        histograms.width,
    )


@njit_later()
def absence_into(
    offsets: IntArray,
    ordered: IntArray,
    sizes: IntArray,
    bucket: int,
    width: int,
    taken: IntArray,
    layer: FloatArray,
    absence: FloatArray,
) -> None:
    """Fill `absence` with m_b(0..width).

    `layer[cap, rest]` is the least product when every further person of the bucket takes at most `cap` atoms
    and `rest` atoms are left.
    """
    size = sizes[bucket]
    held = offsets[bucket + 1] - offsets[bucket]
    taken[0] = 0
    for step in range(width):
        taken[step + 1] = taken[step] + (ordered[offsets[bucket] + step] if step < held else 0)
    layer[:, 1:] = np.inf
    layer[:, 0] = 1.0
    people = min(width, size)
    for person in range(people - 1, -1, -1):
        left = float(size - person)
        most = width if person == 0 else width // person
        for cap in range(1, most + 1):
            factor = max(0, size - person - taken[cap]) / left
            for rest in range(width - person * cap, 0, -1):
                best = layer[cap - 1, rest]
                if rest >= cap:
                    product = factor * layer[cap, rest - cap]
                    # Infinity times 0 is NaN, which must lose; min() could return it.
                    if product < best:
                        best = product
                layer[cap, rest] = best
    absence[:] = layer[width, :]


@njit_later(steps=_absence_steps)
def _absence_rows(offsets: IntArray, ordered: IntArray, sizes: IntArray, buckets: IntArray, width: int) -> FloatArray:
    rows = np.empty((buckets.size, width + 1), dtype=np.float64)
    taken = np.empty(width + 1, dtype=np.int64)
    layer = np.empty((width + 1, width + 1), dtype=np.float64)
    for row in range(buckets.size):
        absence_into(offsets, ordered, sizes, buckets[row], width, taken, layer, rows[row])
    return rows


@njit_later(steps=_absence_steps)
def least_absences(
    offsets: IntArray, ordered: IntArray, sizes: IntArray, buckets: IntArray, width: int
) -> tuple[FloatArray, FloatArray]:
    """Return the least m_b(a) and the least (n_b / n_b(s0)) m_b(a) over the buckets, for a = 0..width."""
    plain = np.full(width + 1, np.inf)
    aimed = np.full(width + 1, np.inf)
    taken = np.empty(width + 1, dtype=np.int64)
    layer = np.empty((width + 1, width + 1), dtype=np.float64)
    absence = np.empty(width + 1, dtype=np.float64)
    for bucket in buckets:
        absence_into(offsets, ordered, sizes, bucket, width, taken, layer, absence)
        aim = sizes[bucket] / ordered[offsets[bucket]]
        for atoms in range(width + 1):
            plain[atoms] = min(plain[atoms], absence[atoms])
            aimed[atoms] = min(aimed[atoms], aim * absence[atoms])
    return plain, aimed


@njit_later(steps=lambda plain, *_: 2 * plain.size**2)
def _least_ratios(plain: FloatArray, aimed: FloatArray) -> FloatArray:
    """Return, for 1..width atoms, the least product of one aimed and any number of plain absences."""
    width = plain.size - 1
    free = np.ones(width + 1, dtype=np.float64)
    ratios = np.full(width, np.inf)
    for total in range(1, width + 1):
        for atoms in range(1, total + 1):
            free[total] = min(free[total], plain[atoms] * free[total - atoms])
        for atoms in range(1, total + 1):
            ratios[total - 1] = min(ratios[total - 1], aimed[atoms] * free[total - atoms])
    return ratios


@njit_later()
def _is_larger(top: int, bottom: int, other_top: int, other_bottom: int) -> bool:
    """Compare two fractions exactly by Euclid's algorithm: cross products could overflow."""
    flipped = False
    while True:
        whole, other_whole = top // bottom, other_top // other_bottom
        if whole != other_whole:
            return (whole > other_whole) != flipped
        top -= whole * bottom
        other_top -= other_whole * other_bottom
        if top == 0 or other_top == 0:
            return (top > other_top) != flipped if top != other_top else False
        top, bottom = bottom, top
        other_top, other_bottom = other_bottom, other_top
        flipped = not flipped


@njit_later(steps=_posterior_steps)
def _largest_posteriors(
    offsets: IntArray, ordered: IntArray, sizes: IntArray, representatives: IntArray, knowledge: int
) -> tuple[IntArray, IntArray]:
    tops = np.zeros(knowledge + 1, dtype=np.int64)
    bottoms = np.ones(knowledge + 1, dtype=np.int64)
    for bucket in representatives:
        top = ordered[offsets[bucket]]
        bottom = sizes[bucket]
        for facts in range(knowledge + 1):
            if facts > 0 and offsets[bucket] + facts < offsets[bucket + 1]:
                bottom -= ordered[offsets[bucket] + facts]
            if _is_larger(top, bottom, tops[facts], bottoms[facts]):
                tops[facts] = top
                bottoms[facts] = bottom
    return tops, bottoms


def class_disclosures(*, offsets: object, value_counts: object, knowledge: int) -> tuple[FloatArray, float]:
    """Return the highest disclosure in each bucket against `knowledge` implications, and its error.

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
    """Return the same for given histograms and the least m_b(0..width) of all of them."""
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
    """Return n(s0) and n - (n(s1) + ... + n(sk)) of each bucket.

    Their quotient is the bucket's disclosure against negations.

    >>> class_negations(offsets=[0, 3, 7], value_counts=[2, 2, 1, 2, 1, 1, 1], knowledge=1)
    (array([2, 2]), array([3, 4]))
    """
    facts = validated_knowledge(knowledge)
    histograms = distinct_histograms(offsets=offsets, value_counts=value_counts, width=facts + 1)
    tops, bottoms = _posteriors(
        histograms.offsets, histograms.counts, histograms.sizes, histograms.representatives, facts
    )
    return tops[histograms.members], bottoms[histograms.members]


@njit_later(steps=lambda plain, *_: 2 * plain.size**2)
def _least_free(plain: FloatArray) -> FloatArray:
    """P(0..width): the least product of plain absences with so many atoms in all."""
    free = np.ones(plain.size, dtype=np.float64)
    for total in range(1, plain.size):
        for atoms in range(1, total + 1):
            free[total] = min(free[total], plain[atoms] * free[total - atoms])
    return free


@njit_later(steps=_absence_steps)
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


@njit_later(steps=_posterior_steps)
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
