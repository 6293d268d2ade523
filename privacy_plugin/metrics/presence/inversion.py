"""P(first <= X <= last) where many people are expected to match: the characteristic function, inverted with a bound.

X is a sum of independent events (see `presence_moments`) with variance v. For every whole number N, exactly,

    P(X mod N in first..last) = (1 / N) sum over j = 0..N-1 of phi(t_j) sum over x of exp(-i t_j x),  t_j =
    2 pi j / N.

With N wide enough the left side is P(first <= X <= last) up to a tail that Bernstein's inequality bounds.
On the right, |phi(t)| <= exp(-2 v sin^2(t / 2)), so a few dozen j matter whatever the population; there phi
comes from its first cumulants. What the later ones contribute: an event of probability p has, for its
cumulant function K, |K''(z)| <= p (1 - p) exp(|Re z|) / cos^2(Im z / 2), which is at most 8 p (1 - p) for
|z| <= 2; by Cauchy's estimate the cumulants from order R on add at most 8 v t^2 (t / 2)^(R - 2) / ((R - 1)
R (1 - t / 2)) to log phi(t). All of this, and the rounding, is part of the error.
"""

from fractions import Fraction
from math import ceil, exp, factorial, floor, log, pi, sin, sqrt

import numpy as np

from privacy_plugin.metrics.presence.moments import bernstein_tail, cumulants, exact_mean
from privacy_plugin.metrics.presence.outsiders import FloatArray, Question

ORDERS = 13
"""Cumulants used; the remainder starts at the next order."""

SMALLEST_VARIANCE = 36.0
"""From here on the error stays below 1e-9; below, `inversion_bounds` is right but wide."""

_DEVIATIONS = 12.0
_REACH = 14.0
_LARGEST_ANGLE = 1.5
_UNIT_ROUNDING = 2.0**-53


def inversion_bounds(question: Question, *, known: list[float] | None = None) -> tuple[float, float]:
    """Return bounds of the probability that first..last people match, about 1e-12 apart for large deviations.

    `known` are the cumulants of orders 0..ORDERS where the caller has them. Cost: whatever the population,
    some fifty complex exponentials. Sines, cosines and exponentials are taken to be correct to 4 units in
    the last place.
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
    """Return log |phi|, the phase of phi around the middle of the range, and the absolute sum of their terms."""
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
