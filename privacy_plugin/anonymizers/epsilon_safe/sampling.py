"""The delta of random sampling before k-anonymization, and what choosing the generalization adds to it."""

import math
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency.numbers import exact

_DIGITS = 50
_LARGEST_CLASS = 10**7
_MOST_CLASSES = 200_000  # class sizes computed before Chernoff's bound covers all others


def sampling_delta(
    *, k: int, beta: object, epsilon: object = None, choice_epsilon: object = 0, interpolated: bool = False
) -> float:
    """Return the delta of sampling with probability beta followed by safe k-anonymization.

    delta = max over n >= ceil(k/g - 1) of P[Binomial(n, beta) > g n], g = 1 - (1 - beta) e^(-epsilon). `epsilon`
    is the sampling's own share, that is eps - eps' where eps' was spent on choosing the generalization; None means
    the least possible, -ln(1 - beta), for which g = 1 - (1 - beta)^2 exactly. Li, Qardaji, Su 2012, theorem 1; Li
    2019, equation 3.8 (printed with n >= ceil(k/g); table 5.1 uses ceil(k/g - 1), and so do we).

    That holds for a generalization fixed without the sample. Where eps-safe lattice anonymization draws it from the
    sample, delta is larger than printed, and `choice_epsilon` = eps' adds the price: with J ~ Binomial(n, beta),
    delta = max over the same n of X / (X + P[J <= g n]), X = E[e^(eps' (J + c) / (2k)); J > g n], c = 0, or k - 1
    where utilities are `interpolated`. Proof and counterexample: docs/evaluation-epsilon-safe.md.

    "j > g n" is decided exactly for the least epsilon, and otherwise with g rounded down, so that delta is never
    understated. The remaining n are bounded by Chernoff, and the rounding error is added. Cost: milliseconds.

    >>> f"{sampling_delta(k=75, beta=0.7):.2e}", f"{sampling_delta(k=75, beta=0.7, choice_epsilon=0.5):.2e}"
    ('2.53e-06', '3.25e-06')
    """
    share = _share(beta)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1, not {k!r}")
    choice = exact(choice_epsilon, what="choice_epsilon")
    if choice < 0:
        raise ParameterError(f"choice_epsilon must be at least 0, not {choice_epsilon!r}")
    g = _threshold(share, epsilon)
    first = max(math.ceil(k / g - 1), 1)
    if first > _LARGEST_CLASS:
        raise TooLargeError(f"k = {k:,} is too large: delta is computed for classes of up to {_LARGEST_CLASS:,} people")
    tilt = float(choice / (2 * k))
    start = (k - 1) * tilt if interpolated else 0.0
    rate = (_divergence(float(g), float(share)) - tilt * float(g)) * (1 - 1e-9)
    if rate <= 0:
        return 1.0  # the choice may find a class of any size that was oversampled
    largest, n = 0.0, first
    while _chernoff(start - n * rate) > largest and n - first < _MOST_CLASSES:
        largest = max(largest, _drawn_share(n, math.floor(g * n) + 1, float(share), tilt, start))
        n += 1
    rounding = 1e-12 + 4e-16 * n * math.log(n + 1)  # of the log-gamma terms
    found = max(largest, _chernoff(start - n * rate)) * (1 + rounding)
    return min(max(found, sys.float_info.min), 1.0)  # never 0, however small


def smallest_k(
    *, beta: object, delta: object, epsilon: object = None, choice_epsilon: object = 0, interpolated: bool = False
) -> int:
    """Return the smallest k whose delta (see `sampling_delta`) is at most the wanted one.

    Li 2019, section 4.2.2, calls a delta below 0.1 / rows safe. Give `choice_epsilon` if the generalization is drawn
    from the sample, as `epsilon_safe_lattice` does.

    >>> smallest_k(beta=0.7, delta=3.3e-6), smallest_k(beta=0.7, delta=3.3e-6, choice_epsilon=0.5)
    (75, 75)
    """
    wanted = exact(delta, what="delta")
    if not 0 < wanted < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1, not {delta!r}")

    delta_of = partial(
        sampling_delta, beta=beta, epsilon=epsilon, choice_epsilon=choice_epsilon, interpolated=interpolated
    )
    low, high = 0, 1
    while delta_of(k=high) > wanted:
        low, high = high, 2 * high
    while high - low > 1:  # delta never rises with k: fewer n, and a smaller weight for each
        middle = (low + high) // 2
        low, high = (middle, high) if delta_of(k=middle) > wanted else (low, middle)
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
    """Return g, exactly for the least epsilon, rounded down otherwise."""
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


def _drawn_share(n: int, first: int, share: float, tilt: float, start: float) -> float:
    """Return X / (X + P[J < first]) for J ~ Binomial(n, share), X = E[e^(start + tilt J); J >= first].

    Without tilt and start this is P[J >= first].
    """
    if first > n:
        return 0.0
    logarithm = math.lgamma(n + 1) - math.lgamma(first + 1) - math.lgamma(n - first + 1)
    logarithm += first * math.log(share) + (n - first) * math.log1p(-share)
    odds, growth = share / (1 - share), math.exp(tilt)
    if logarithm + start + first * tilt > 0:
        return 1.0
    term, weighted_term = math.exp(logarithm), math.exp(logarithm + start + first * tilt)
    tail = weighted = 0.0
    for j in range(first, n + 1):
        tail += term
        weighted += weighted_term
        term *= odds * (n - j) / (j + 1)
        weighted_term *= growth * odds * (n - j) / (j + 1)
        if weighted_term < weighted * 1e-18:
            break
    return weighted / (weighted + max(1 - tail, 0.0))


def _chernoff(exponent: float) -> float:
    return math.exp(min(exponent, 0.0))


def _divergence(g: float, share: float) -> float:
    """Return KL(g || share) of two coins: P[Binomial(n, share) > g n] <= exp(-n KL)."""
    rest = 1 - g
    return g * math.log(g / share) + (rest * math.log(rest / (1 - share)) if rest else 0.0)
