"""Draws with exact probabilities, from random integers alone.

Weights like e^-x are irrational. A uniform number is drawn digit by digit and compared with bounds of the weights that
are narrowed until the comparison is certain, so that rounding changes no probability.
"""

import math
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np

Below = Callable[[int], int]  # a uniform integer from 0 to bound - 1

_FIRST_DIGITS = 30


def secure_below(bound: int) -> int:
    """Draw from the operating system's secure source."""
    return secrets.randbelow(bound)


def seeded_below(generator: np.random.Generator) -> Below:
    """Draw from a test generator, for bounds of any size; not private."""

    def below(bound: int) -> int:
        bits = max((bound - 1).bit_length(), 1)
        while True:
            drawn = int.from_bytes(generator.bytes((bits + 7) // 8), "big") >> (-bits % 8)
            if drawn < bound:
                return drawn

    return below


def exponential_bounds(exponent: Fraction, digits: int) -> tuple[int, int]:
    """Return integers below and above e^-exponent * 10^digits (exponent >= 0), at most a few units apart.

    Decimal's exponential is correctly rounded, so the exact value lies between the neighbours of its result.

    >>> exponential_bounds(Fraction(1), 5)
    (36787, 36788)
    """
    if exponent == 0:
        return 10**digits, 10**digits
    if exponent > 3 * digits:  # ln 10 is below 3
        return 0, 1
    found = []
    for rounding in (ROUND_CEILING, ROUND_FLOOR):  # a larger exponent is a smaller power
        context = Context(prec=digits + 3, rounding=rounding)
        power = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)).copy_negate().exp(context)
        neighbour = power.next_minus(context) if rounding == ROUND_CEILING else power.next_plus(context)
        found.append(math.floor(Fraction(neighbour) * 10**digits))
    return found[0], found[1] + 1


class ExactChoice:
    """Draws index i with probability exactly proportional to multiples[i] * e^-exponents[i].

    A uniform number of [0, 1) is drawn to more and more digits until it certainly lies between two partial sums.
    """

    def __init__(self, multiples: Sequence[int], exponents: Sequence[Fraction]) -> None:
        """Take integer multiples, at least one of them positive, and rational exponents."""
        self._multiples = multiples
        smallest = min(exponent for multiple, exponent in zip(multiples, exponents, strict=True) if multiple)
        self._exponents = [max(exponent - smallest, Fraction(0)) for exponent in exponents]
        self._sums: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, below: Below) -> int:
        """Draw an index."""
        digits, drawn = _FIRST_DIGITS, below(10**_FIRST_DIGITS)
        while True:
            lows, highs = self._bounds(digits)
            index = bisect_right(highs, drawn * lows[-1] // 10**digits) - 1
            if index < len(self._multiples) and -(-(drawn + 1) * highs[-1] // 10**digits) <= lows[index + 1]:
                return index
            drawn, digits = drawn * 10**digits + below(10**digits), 2 * digits

    def _bounds(self, digits: int) -> tuple[list[int], list[int]]:
        """Return bounds of the partial sums, times 10^digits."""
        if digits not in self._sums:
            each = [exponential_bounds(exponent, digits) for exponent in self._exponents]
            sums = [
                [0, *accumulate(m * bounds[side] for m, bounds in zip(self._multiples, each, strict=True))]
                for side in (0, 1)
            ]
            self._sums[digits] = sums[0], sums[1]
        return self._sums[digits]


def happens(exponent: Fraction, below: Below) -> bool:
    """Return True with probability exactly e^-exponent, for a rational exponent of at least 0.

    Canonne, Kamath, Steinke 2020, algorithm 1: whole units one after the other, then the alternating series.
    """
    while exponent > 1:
        if not happens(Fraction(1), below):
            return False
        exponent -= 1
    step = 1
    while below(exponent.denominator * step) < exponent.numerator:
        step += 1
    return step % 2 == 1
