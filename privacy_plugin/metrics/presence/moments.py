"""The number of matching people as a sum of independent events: its cumulants and rigorous bounds of its tails.

Let X be the number of people that match marginals f_1..f_n among U, attributes independent. Any k given
people match with probability product of (f_i)_k / (U)_k, so E[C(X, k)] = C(U, k) * product of (f_i)_k /
(U)_k, where (f)_k = f (f - 1) ... (f - k + 1). The polynomials sum_k C(U, k) ((f)_k / (U)_k) s^k = (1 +
s)^f have only real, negative zeros, and multiplying their coefficients over C(U, k) keeps zeros real (Schur
and Szego's composition theorem). So the generating function of X has only real zeros: X is distributed like
a sum of independent events with some probabilities. We need not know them: sums of independent events obey
Bernstein's and Chernoff's inequalities, and their characteristic functions are tame.
"""

from fractions import Fraction
from functools import cache
from math import comb, exp, factorial, log, prod

from privacy_plugin.metrics.presence.outsiders import Question

_ROOM = 1.0 + 1e-9


def exact_mean(question: Question) -> Fraction:
    """Return the expected number of matching people, product of f_i / U**(n - 1)."""
    return Fraction(prod(question.marginals), max(1, question.others) ** (len(question.marginals) - 1))


def cumulants(question: Question, *, orders: int) -> list[float]:
    """Return the cumulants of orders 0 (unused), 1, ..., `orders`, each correct to one rounding or to 1e-70.

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
    """Bound P(X - mean >= deviation), and as much below, for a sum of independent events of this variance."""
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
    """Bound P(first <= X <= last) by what lies outside, and by what lies inside on the far side of the mean."""
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
