"""What random sampling before k-anonymization is worth: the delta of the sampling theorem."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency.numbers import exact

_DIGITS = 50
_LARGEST_CLASS = 10**7


def sampling_delta(*, k: int, beta: object, epsilon: object = None) -> float:
    """Return the delta that sampling with probability beta, then safe k-anonymization, leaves open.

    delta = max over n >= ceil(k/g - 1) of P[Binomial(n, beta) > g n], g = 1 - (1 - beta) e^(-epsilon). `epsilon`
    is the sampling's own share, that is eps - eps' where eps' was spent on choosing the generalization; None means
    the least possible, -ln(1 - beta), for which g = 1 - (1 - beta)^2 exactly. Li, Qardaji, Su 2012, theorem 1; Li
    2019, equation 3.8 (printed with n >= ceil(k/g); table 5.1 uses ceil(k/g - 1), and so do we). "j > g n" is
    decided exactly for that epsilon, and otherwise with g rounded down, so that delta is never understated. The
    maximum over all n is proven by the Chernoff bound exp(-n KL(g || beta)) for every n not looked at. The rounding
    error is added to the result. Cost: milliseconds.

    >>> f"{sampling_delta(k=75, beta=0.7):.2e}"
    '2.53e-06'
    """
    share = _share(beta)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1, not {k!r}")
    g = _threshold(share, epsilon)
    first = max(math.ceil(k / g - 1), 1)
    if first > _LARGEST_CLASS:
        raise TooLargeError(f"k = {k:,} is beyond the {_LARGEST_CLASS:,} people this is computed for")
    rate = _divergence(float(g), float(share))
    largest, n = 0.0, first
    while math.exp(-n * rate) > largest:
        largest = max(largest, _binomial_tail(n, math.floor(g * n) + 1, float(share)))
        n += 1
    rounding = 1e-12 + 4e-16 * n * math.log(n + 1)  # of the log-gamma terms
    return min(largest * (1 + rounding), 1.0)


def smallest_k(*, beta: object, delta: object, epsilon: object = None) -> int:
    """Return the smallest k whose delta is at most the wanted one (it need not fall with every step of k).

    A delta below 0.1 / rows is called safe by Li 2019, section 4.2.2.

    >>> smallest_k(beta=0.7, delta=3.3e-6)
    75
    """
    wanted = exact(delta, what="delta")
    if not 0 < wanted < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1, not {delta!r}")
    low, high = 0, 1
    while sampling_delta(k=high, beta=beta, epsilon=epsilon) > wanted:
        low, high = high, 2 * high
    while high - low > 1:  # delta is a maximum over n >= n_0(k), so it never rises with k
        middle = (low + high) // 2
        if sampling_delta(k=middle, beta=beta, epsilon=epsilon) > wanted:
            low = middle
        else:
            high = middle
    return high


def least_epsilon(beta: object) -> float:
    """Return -ln(1 - beta), the least epsilon that sampling alone can give, rounded up."""
    return math.nextafter(-math.log1p(-float(_share(beta))), math.inf)


def _share(beta: object) -> Fraction:
    share = exact(beta, what="beta")
    if not 0 < share < 1:
        raise ParameterError(f"beta, the share of rows that are kept, must lie strictly between 0 and 1, not {beta!r}")
    return share


def _threshold(share: Fraction, epsilon: object) -> Fraction:
    """g, exactly for the least epsilon, rounded down otherwise."""
    least = -math.log1p(-float(share))
    if epsilon is None or abs(float(exact(epsilon, what="epsilon")) - least) <= 4e-15 * max(least, 1.0):
        return 1 - (1 - share) ** 2
    given = exact(epsilon, what="epsilon")
    if float(given) < least:
        raise ParameterError(f"epsilon must be at least -ln(1 - beta) = {least:.6g}; sampling alone cannot give less")
    with localcontext() as context:
        context.prec = _DIGITS
        factor = (-Decimal(given.numerator) / Decimal(given.denominator)).exp()
        upper = Fraction(factor) * (1 + Fraction(1, 10 ** (_DIGITS - 4)))
    return 1 - (1 - share) * upper


def _binomial_tail(n: int, first: int, share: float) -> float:
    """P[Binomial(n, share) >= first], as a sum of terms that fall by their ratio."""
    if first > n:
        return 0.0
    logarithm = math.lgamma(n + 1) - math.lgamma(first + 1) - math.lgamma(n - first + 1)
    term = math.exp(logarithm + first * math.log(share) + (n - first) * math.log1p(-share))
    odds = share / (1 - share)
    total = 0.0
    for j in range(first, n + 1):
        total += term
        term *= odds * (n - j) / (j + 1)
        if term < total * 1e-18:
            break
    return total


def _divergence(g: float, share: float) -> float:
    """KL(g || share) of two coins: P[Binomial(n, share) > g n] <= exp(-n KL)."""
    rest = 1 - g
    return g * math.log(g / share) + (rest * math.log(rest / (1 - share)) if rest else 0.0)
