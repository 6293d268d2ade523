"""Zero-concentrated differential privacy: what mechanisms amount to in rho, and rho as epsilon and delta.

The rhos of mechanisms on the same data add up, and of many mechanisms the sum is far below the sum of their epsilons.
"""

import math
from fractions import Fraction

from privacy_plugin.errors import ParameterError

_HALVINGS = 200
_LARGEST = 10_000  # of rho and epsilon: beyond it rounding errors of logarithms exceed what is added for them


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the epsilon of rho-zero-concentrated differential privacy at a delta: rho + 2 sqrt(rho ln(1 / delta)).

    Bun and Steinke 2016, Proposition 1.3; rounded up. A thousand mechanisms of pure epsilon 0.1 are rho = 5:

    >>> round(zcdp_epsilon(1000 * pure_rho(0.1), 1e-6), 1)
    21.6
    """
    _require(rho >= 0 and 0 < delta < 1, "rho must be at least 0 and delta between 0 and 1")
    return (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + 1e-14)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP is (epsilon, delta)-differentially private (rounded up).

    delta <= exp((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1 / a)^a for every a > 1 (Canonne, Kamath, Steinke 2020,
    Proposition 12). Any a is valid; the best is found by golden section on ln(a - 1).
    """
    _require(rho > 0 and epsilon >= 0, "rho must be positive and epsilon at least 0")

    def logarithm(position: float) -> float:
        a = 1 + math.exp(position)
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    low, high = -10.0, 100.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(_HALVINGS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if logarithm(left) < logarithm(right) else (left, high)
    best = min(logarithm(low), logarithm(high))
    return 1.0 if best >= 0 else math.exp(best) * (1 + 1e-9)


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest rho (rounded down) whose zCDP is within (epsilon, delta).

    >>> rho = rho_within(1.0, 1e-6)
    >>> zcdp_delta(rho, 1.0) <= 1e-6 and 0.02 < rho < 0.03
    True
    """
    _require(epsilon > 0 and 0 < delta < 1, "epsilon must be positive and delta between 0 and 1")
    low, high = 0.0, float(epsilon)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_delta(middle, epsilon) <= delta else (low, middle)
        if high - low < 1e-12 * high:
            break
    return low


def pure_rho(epsilon: float) -> float:
    """Return epsilon^2 / 2, the rho of pure epsilon-differential privacy."""
    return epsilon * epsilon / 2


def exponential_rho(epsilon: float) -> float:
    """Return epsilon^2 / 8, the rho of the exponential mechanism: its bounded range costs a quarter of `pure_rho`."""
    return epsilon * epsilon / 8


def epsilon_within(rho: Fraction, delta: Fraction) -> Fraction | None:
    """Return an epsilon for which rho-zCDP is (epsilon, delta)-differentially private, rounded up to 12 digits.

    None if the numbers are out of reach: delta 0, below what a float holds, or 1, or rho above 10,000.

    >>> float(epsilon_within(Fraction(5), Fraction(1, 10**6)))
    20.5519488147
    """
    if rho <= 0:
        return Fraction(0) if rho == 0 else None
    if rho > _LARGEST or not 0 < delta < 1:
        return None
    at_most, failing = math.nextafter(float(rho), math.inf), math.nextafter(float(delta), 0)
    if failing <= 0:
        return None
    low, high = 0.0, zcdp_epsilon(at_most, failing)
    if high > _LARGEST or zcdp_delta(at_most, high) > failing:  # the second is weaker where rounding decides
        return None if high > _LARGEST else rounded_up(Fraction(high))
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if zcdp_delta(at_most, middle) <= failing else (middle, high)
    return rounded_up(Fraction(high))


def rounded_up(number: Fraction, digits: int = 12) -> Fraction:
    """Return the number with this many significant decimal digits, never below it.

    >>> rounded_up(Fraction(1, 3), digits=3), rounded_up(Fraction(1, 4))
    (Fraction(167, 500), Fraction(1, 4))
    """
    if number <= 0:
        return number
    scale = Fraction(10) ** (digits - len(str(math.floor(number))) if number >= 1 else digits + _zeros(number))
    return Fraction(math.ceil(number * scale)) / scale


def _zeros(number: Fraction) -> int:
    """Return how many zeros follow the decimal point of a number below 1, or one less."""
    return max(len(str(number.denominator)) - len(str(number.numerator)) - 1, 0)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ParameterError(problem)
