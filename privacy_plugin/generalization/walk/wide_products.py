"""Comparisons that decide safety, without rounding: products of 64 bit numbers and entropies that are exactly equal."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@njit(cache=True)
def _high_and_low(first: int, second: int) -> tuple[np.uint64, np.uint64]:
    """The two 64 bit halves of the product of two numbers >= 0."""
    half, lower = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = np.uint64(first), np.uint64(second)
    a_high, a_low, b_high, b_low = a >> half, a & lower, b >> half, b & lower
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & lower)
    return a_high * b_high + (middle >> half) + (other >> half), a * b


@njit(cache=True)
def product_less(a: int, b: int, c: int, d: int) -> bool:
    """Tell whether a * b < c * d, exactly, for numbers from 0 to 2^63 - 1."""
    left_high, left_low = _high_and_low(a, b)
    right_high, right_low = _high_and_low(c, d)
    if left_high != right_high:
        return bool(left_high < right_high)
    return bool(left_low < right_low)


@njit(cache=True)
def _exponent(number: int, prime: int) -> int:
    exponent = 0
    while number % prime == 0:
        number //= prime
        exponent += 1
    return exponent


@njit(cache=True)
def _balanced(counts: Integers, total: int, numerator: int, denominator: int, prime: int) -> bool:
    """Tell whether a prime occurs equally often on both sides of the equation of `entropy_is_exactly`."""
    balance = total * (_exponent(total, prime) + _exponent(denominator, prime) - _exponent(numerator, prime))
    for count in counts:
        if count > 0:
            balance -= count * _exponent(count, prime)
    return balance == 0


@njit(cache=True)
def entropy_is_exactly(counts: Integers, total: int, numerator: int, denominator: int) -> bool:
    """Tell whether the entropy of counts with this total is exactly ln(l), l = numerator / denominator in lowest terms.

    exp(H) = l  <=>  total^total * denominator^total = numerator^total * product of count^count, decided prime by prime.
    Then the numerator divides the total, and every prime of the denominator divides a count.
    Cost: trial division of every count, so call it only for entropies that are equal up to rounding.
    """
    if total % numerator != 0:
        return False
    unexplained = denominator
    for place in range(-1, len(counts)):
        rest = total if place < 0 else counts[place]
        prime = 2
        while rest > 1:
            if prime * prime > rest:
                prime = rest
            if rest % prime == 0:
                if not _balanced(counts, total, numerator, denominator, prime):
                    return False
                while rest % prime == 0:
                    rest //= prime
                while unexplained % prime == 0:
                    unexplained //= prime
            prime += 1
    return unexplained == 1
