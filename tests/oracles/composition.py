"""The exact delta of composed mechanisms, from the worst pair of output distributions of each, by enumeration.

Every (epsilon, delta) mechanism is dominated by one that reveals all with probability delta and is otherwise a
randomized response of epsilon (Kairouz, Oh, Viswanath 2015); Gaussian noise of mean shift sqrt(2 rho) is exactly
rho-zero-concentrated. The product of such pairs is a worst case of their composition.
"""

import itertools
import math
from collections.abc import Sequence


def exact_delta(epsilon: float, *, pairs: Sequence[tuple[float, float]] = (), rhos: Sequence[float] = ()) -> float:
    """Return the smallest delta at which (epsilon, delta) holds for responses of (epsilon_i, delta_i) and Gaussians."""
    hidden = math.prod(1 - delta for _, delta in pairs)
    found = 0.0
    for answers in itertools.product((1, -1), repeat=len(pairs)):
        loss = sum(answer * each for answer, (each, _) in zip(answers, pairs, strict=True))
        chances = (_chance(answer * each) for answer, (each, _) in zip(answers, pairs, strict=True))
        found += math.prod(chances) * _gaussian_delta(epsilon - loss, sum(rhos))
    return (1 - hidden) + hidden * found


def _chance(loss: float) -> float:
    return 1 / (1 + math.exp(-loss))


def _gaussian_delta(epsilon: float, rho: float) -> float:
    """Balle and Wang 2018, Theorem 5, for mean shift sqrt(2 rho) and deviation 1."""
    if rho == 0:
        return max(0.0, 1 - math.exp(epsilon)) if epsilon < 0 else 0.0
    shift = math.sqrt(2 * rho)
    return _normal(shift / 2 - epsilon / shift) - math.exp(epsilon) * _normal(-shift / 2 - epsilon / shift)


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
