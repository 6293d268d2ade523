"""P(first <= X <= last) from the moments of X, at any population size: a series or an inversion.

X is the number of people that match marginals f_1..f_n among U, attributes independent. Any k given people match with
probability product of (f_i)_k / (U)_k, so E[C(X, k)] = C(U, k) * product of (f_i)_k / (U)_k, where (f)_k = f (f - 1)
... (f - k + 1). The polynomials sum_k C(U, k) ((f)_k / (U)_k) s^k = (1 + s)^f have only real, negative zeros, and
multiplying their coefficients over C(U, k) keeps zeros real (Schur and Szego's composition theorem). So the generating
function of X has only real zeros: X is distributed like a sum of independent events. Their probabilities need not be
known: such sums obey Bernstein's and Chernoff's inequalities, and bound their characteristic functions.

*Few people expected to match*: `series_bounds`, an alternating series whose partial sums lie on either side.

*Many people expected to match*: `inversion_bounds`. With variance v, for every whole number N, exactly,

    P(X mod N in first..last) = (1 / N) sum over j = 0..N-1 of phi(t_j) sum over x of exp(-i t_j x),  t_j =
    2 pi j / N.

With N wide enough the left side is P(first <= X <= last) up to a tail that Bernstein's inequality bounds. On the right,
|phi(t)| <= exp(-2 v sin^2(t / 2)), so a few dozen j matter at any population size; there phi comes from its first
cumulants. What the later ones contribute: an event of probability p has, for its cumulant function K, |K''(z)| <=
p (1 - p) exp(|Re z|) / cos^2(Im z / 2), which is at most 8 p (1 - p) for |z| <= 2; by Cauchy's estimate the cumulants
from order R on add at most 8 v t^2 (t / 2)^(R - 2) / ((R - 1) R (1 - t / 2)) to log phi(t). All of this, and the
rounding, is part of the error.
"""

from fractions import Fraction
from functools import cache
from math import ceil, comb, exp, factorial, floor, log, pi, prod, sin, sqrt

import numpy as np

from privacy_plugin.metrics.presence.outsiders import FloatArray, Question

_ROOM = 1.0 + 1e-9

_ENOUGH = 70
"""Binary digits to which the two partial sums around the truth must agree."""

ORDERS = 13
"""Cumulants used; the remainder starts at the next order."""

SMALLEST_VARIANCE = 36.0
"""From here on the error stays below 1e-9; below, `inversion_bounds` is right but wide."""

_DEVIATIONS = 12.0
_REACH = 14.0
_LARGEST_ANGLE = 1.5
_UNIT_ROUNDING = 2.0**-53


def exact_mean(question: Question) -> Fraction:
    """Return the expected number of matching people, product of f_i / U**(n - 1)."""
    return Fraction(prod(question.marginals), max(1, question.others) ** (len(question.marginals) - 1))


def cumulants(question: Question, *, orders: int) -> list[float]:
    """Return the cumulants of orders 0 (unused), 1, ..., `orders`, correct to one rounding or 1e-70.

    From the factorial moments, in binary fixed point: numbers of people stay below 2**53, so the recursion
    from moments to cumulants loses less than 64 bits an order, and 256 correct fractional bits remain.
    """
    point = 64 * (orders + 1) + 256
    falling = _factorial_moments(question, orders, point)
    raw = [1 << point]
    for order in range(1, orders + 1):
        raw.append(sum(_stirling(order, k) * falling[k] for k in range(1, order + 1)))
    found = [0]
    for order in range(1, orders + 1):
        rest = sum(comb(order - 1, k - 1) * found[k] * raw[order - k] for k in range(1, order))
        found.append(raw[order] - (rest >> point))
    return [value / (1 << point) for value in found]


def _factorial_moments(question: Question, orders: int, point: int) -> list[int]:
    numerator, denominator = 1, 1
    found = [1 << point]
    for k in range(orders):
        for count in question.marginals:
            numerator *= max(0, count - k)
        denominator *= max(1, question.others - k) ** (len(question.marginals) - 1)
        found.append((numerator << point) // denominator)
    return found


@cache
def _stirling(order: int, k: int) -> int:
    """Return the number of ways to part `order` things into k groups."""
    signed: int = sum((-1) ** (k - j) * comb(k, j) * j**order for j in range(k + 1))
    return signed // factorial(k)


def bernstein_tail(deviation: float, variance: float) -> float:
    """Bound P(X - mean >= deviation), and P(mean - X >= deviation), for sums of independent events."""
    if deviation <= 0.0:
        return 1.0
    return min(1.0, _ROOM * exp(-(deviation**2) / (2.0 * (variance + deviation / 3.0)) / _ROOM))


def chernoff_tail(count: int, mean: float) -> float:
    """Bound P(X >= count) where count is above the mean, P(X <= count) where it is below.

    exp(-(mean - count + count log(count / mean))), which holds for sums of independent events; `mean` may
    be off by a relative 1e-13.
    """
    if mean <= 0.0:
        return 0.0 if count > 0 else 1.0
    exponent = mean - count + (count * log(count / mean) if count else 0.0)
    return min(1.0, exp(-exponent + 1e-12 * (mean + count + 1.0)))


def tail_bounds(question: Question, mean: float) -> tuple[float, float]:
    """Bound P(first <= X <= last) by the tails outside of it, and by the tail that contains it."""
    below = above = 0.0
    upper = 1.0
    if question.first > 0:
        below = chernoff_tail(question.first - 1, mean) if question.first - 1 < mean else 1.0
        if question.first > mean:
            upper = chernoff_tail(question.first, mean)
    if question.last < question.most:
        above = chernoff_tail(question.last + 1, mean) if question.last + 1 > mean else 1.0
        if question.last < mean:
            upper = min(upper, chernoff_tail(question.last, mean))
    return max(0.0, 1.0 - below - above - 1e-15), min(1.0, upper * (1.0 + 1e-15))


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


def inversion_bounds(question: Question, *, known: list[float] | None = None) -> tuple[float, float]:
    """Return bounds of the probability that first..last people match, by inversion.

    `known` are the cumulants of orders 0..ORDERS where the caller has them. Cost: some fifty complex exponentials, at
    any population size. Sines, cosines and exponentials are taken to be correct to 4 units in the last place.
    """
    kappa = cumulants(question, orders=ORDERS) if known is None else known
    mean, variance = exact_mean(question), kappa[2]
    spread = _DEVIATIONS * sqrt(variance)
    left, right = floor(mean - Fraction(spread)), ceil(mean + Fraction(spread))
    tail = 2.0 * bernstein_tail(spread * (1.0 - 1e-9), variance * (1.0 + 1e-9))
    first, last = max(question.first, left), min(question.last, right)
    if last < first:
        return 0.0, min(1.0, tail)
    period = max(right - first, last - left) + 1
    distance = float(mean - Fraction(first + last, 2))
    value, error = _sum_over_circle(kappa, distance, last - first + 1, period)
    # Once for the other multiples of the period, once for the ends that were cut off.
    error += 2.0 * tail
    return max(0.0, value - error), min(1.0, value + error)


def _sum_over_circle(kappa: list[float], distance: float, length: int, period: int) -> tuple[float, float]:
    variance = kappa[2]
    reach = min(_REACH / sqrt(variance), _LARGEST_ANGLE) if variance > 0.0 else _LARGEST_ANGLE
    steps = max(1, ceil(reach * period / (2.0 * pi)))
    angles = np.arange(1, steps + 1, dtype=np.float64) * (2.0 * pi / period)
    if angles[-1] >= 1.99:
        return 0.5, 0.5
    logarithm, phase, size = _cumulant_sums(kappa, angles, distance)
    half = np.sin(angles / 2.0)
    modulus = np.exp(logarithm)
    waves = modulus * np.cos(phase) * np.sin(angles * (length / 2.0)) / half
    value = (length + 2.0 * float(np.sum(waves))) / period
    doubt = 64.0 * _UNIT_ROUNDING * (2.0 + size + angles * length) + steps * _UNIT_ROUNDING
    rounding = 2.0 * float(np.sum(modulus / half * doubt)) / period + 8.0 * _UNIT_ROUNDING
    true_modulus = np.exp(-2.0 * variance * (1.0 - 1e-12) * half**2)
    dropped = 2.0 * float(np.sum(true_modulus / half * np.expm1(_remainder(variance, angles)))) / period
    return value, 1.01 * (rounding + dropped + _beyond(variance, float(angles[-1])))


def _cumulant_sums(
    kappa: list[float], angles: FloatArray, distance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log |phi|, the phase of phi around the middle, and the absolute sum of their terms."""
    logarithm = np.zeros_like(angles)
    phase = angles * distance
    size = np.abs(phase)
    for order in range(2, len(kappa)):
        term = kappa[order] * angles**order / factorial(order)
        size += np.abs(term)
        signed = term if order % 4 < 2 else -term
        if order % 2 == 0:
            logarithm += signed
        else:
            phase += signed
    return logarithm, phase, size


def _remainder(variance: float, angles: FloatArray) -> FloatArray:
    order = ORDERS + 1
    ratio = angles / 2.0
    return 8.0 * variance * angles**2 * ratio ** (order - 2) / ((order - 1) * order * (1.0 - ratio))


def _beyond(variance: float, angle: float) -> float:
    """Bound what larger angles contribute: the integral of |phi(t)| / t from `angle` to pi, in two ways."""
    if variance <= 0.0:
        return 1.0
    gaussian = 2.0 * variance * angle**2 / pi**2
    return min(
        exp(-gaussian) / (2.0 * gaussian),
        exp(-2.0 * variance * sin(angle / 2.0) ** 2) * log(pi / angle),
    )
