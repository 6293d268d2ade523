"""Clopper-Pearson bounds of a probability, given how often an event happened."""

import math

import numpy as np
import numpy.typing as npt

from privacy_plugin.compiled import njit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def clopper_pearson(successes: Integers, trials: Integers, *, alpha: float) -> tuple[Floats, Floats]:
    """Return (lower, upper) bounds, each of which fails with probability at most alpha.

    lower: the largest p with P(Binomial(trials, p) >= successes) <= alpha; upper: by symmetry. Both are found by
    bisection of the tail, on the cautious side of its rounding. Needs 0 <= successes <= trials, trials >= 1. Cost:
    50 tails an entry, each of about sqrt(trials) steps.

    >>> low, high = clopper_pearson(np.array([0, 5]), np.array([10, 10]), alpha=0.025)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.1871], [0.3085, 0.8129])
    """
    k, n = successes.astype(np.int64), trials.astype(np.int64)
    return _lower(k, n, float(alpha)), 1.0 - _lower(n - k, n, float(alpha))


@njit()
def _lower(successes: Integers, trials: Integers, alpha: float) -> Floats:
    found = np.zeros(len(successes))
    for i in range(len(successes)):
        k, n = float(successes[i]), float(trials[i])
        if k == 0:
            continue
        # The logarithm of the tail is a difference of numbers as large as n ln n: allow for what they lose.
        wanted = alpha * (1.0 - 1e-9 - 4e-15 * n * math.log(n + 2.0))
        low, high = 0.0, k / n
        for _ in range(50):
            middle = (low + high) / 2
            if _tail(k, n - k + 1.0, middle) <= wanted:
                low = middle
            else:
                high = middle
        found[i] = low
    return found


@njit()
def _tail(a: float, b: float, p: float) -> float:
    """Return P(at least k of n) = I_p(k, n - k + 1) for p <= k / n.

    Computed by the continued fraction of the beta function.
    """
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(p) + b * math.log1p(-p)
    c, d = 1.0, 1.0 / (1.0 - (a + b) * p / (a + 1.0))
    value = d
    for m in range(1, 1_000_000):
        even = m * (b - m) * p / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        value *= d * c
        odd = -(a + m) * (a + b + m) * p / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        value *= d * c
        if abs(d * c - 1.0) < 1e-13:
            break
    return math.exp(front) * value / a
