"""P(first <= X <= last) where few people are expected to match: an alternating series with known direction."""

from fractions import Fraction

from privacy_plugin.metrics.presence.outsiders import Question

_ENOUGH = 70
"""Binary digits to which the two partial sums around the truth must agree."""


def series_bounds(question: Question) -> tuple[Fraction, Fraction]:
    """Return rational bounds of the probability that first..last people match, less than 2**-60 apart.

    P(X >= m) = sum over k >= m of (-1)^(k - m) C(k - 1, m - 1) E[C(X, k)] (Bonferroni: consecutive partial
    sums lie on either side of it), E[C(X, k)] = C(U, k) product of (f_i)_k / (U)_k. Fixed point with
    outward rounding and enough digits for the cancellation. Cost: a few hundred long multiplications while
    the mean is below a hundred.
    """
    digits = 256
    while True:
        reached = _at_least(question, question.first, digits)
        above = _at_least(question, question.last + 1, digits)
        if reached is not None and above is not None:
            lowest, highest = reached[0] - above[1], reached[1] - above[0]
            if highest - lowest <= 1 << (digits - 60):
                scale = 1 << digits
                return Fraction(max(0, lowest), scale), Fraction(min(scale, highest), scale)
        digits *= 2


def _at_least(question: Question, count: int, digits: int) -> tuple[int, int] | None:
    """Return bounds of P(X >= count) in units of 2**-digits, or None when the digits do not suffice."""
    one = 1 << digits
    if count <= question.least:
        return one, one
    if count > question.most:
        return 0, 0
    lowest = highest = 0
    floor_moment, ceil_moment = one, one
    weight = 1
    for k in range(1, question.most + 1):
        floor_moment, ceil_moment = _next_moment(question, k - 1, floor_moment, ceil_moment)
        if k < count:
            continue
        if k > count:
            weight = weight * (k - 1) // (k - count)
        if (k - count) % 2 == 0:
            lowest, highest = lowest + weight * floor_moment, highest + weight * ceil_moment
        else:
            lowest, highest = lowest - weight * ceil_moment, highest - weight * floor_moment
        if weight * (ceil_moment - floor_moment) > one >> _ENOUGH:
            return None
        term = weight * ceil_moment
        if term < one >> _ENOUGH:
            # The truth lies between this partial sum and the one before it.
            return lowest - term, highest + term
    return lowest, highest


def _next_moment(question: Question, k: int, floor_moment: int, ceil_moment: int) -> tuple[int, int]:
    numerator = 1
    for count in question.marginals:
        numerator *= max(0, count - k)
    denominator = (k + 1) * (question.others - k) ** (len(question.marginals) - 1)
    return floor_moment * numerator // denominator, -(-ceil_moment * numerator // denominator)
