"""What an exact count or histogram reveals about one row to an attacker who knows its distribution.

An exact count is never safe by itself: the factor depends on the attacker's prior beliefs, some outcomes disclose a
row completely, refusing to release those is itself an outcome, and the factors of two releases do not add up.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.dependence.channel import Factor, distribution, probabilities

_MOST_ROWS = 400
_MOST_STEPS = 3_000_000


def count_dependence(row_probabilities: Sequence[Any]) -> tuple[Factor | None, ...]:
    """Return e^epsilon of every outcome y = 0, ..., n of releasing how many rows have a property.

    Rows are independent and row i has the property with probability p_i. For outcome y it is the largest factor
    between P(y | row i has it) and P(y | it has not) over all rows with 0 < p_i < 1: with Y' the count of the other
    rows, P(Y' = y - 1) against P(Y' = y). Dorrestijn 2018, Theorem 5, evaluated instead of assumed. Infinity: the
    outcome gives a row away. None: the outcome cannot happen. Exact fractions. Cost: n^2 for each distinct p.

    >>> [str(factor) for factor in count_dependence(["1/2"] * 4)]
    ['inf', '3', '1', '3', 'inf']
    """
    chances = probabilities(row_probabilities, what="the rows")
    if any(chance > 1 for chance in chances):
        raise ParameterError("the probability of a row must be between 0 and 1")
    if len(chances) > _MOST_ROWS and len(set(chances)) > 1:
        raise TooLargeError(f"exact fractions are computed for at most {_MOST_ROWS} rows of different probabilities")
    open_rows = sorted({chance for chance in chances if 0 < chance < 1})
    certain = sum(chance == 1 for chance in chances)
    uncertain = [chance for chance in chances if 0 < chance < 1]
    found: list[Factor | None] = []
    factors = [_factors_without(uncertain, chance) for chance in open_rows]
    for outcome in range(len(chances) + 1):
        y = outcome - certain
        if not 0 <= y <= len(uncertain):
            found.append(None)
        else:
            found.append(max((of_row[y] for of_row in factors), default=Fraction(1)))
    return tuple(found)


def histogram_dependence(
    counts: Sequence[int],
    *,
    value_probabilities: Sequence[Any] | None = None,
    row_probabilities: Sequence[Sequence[Any]] | None = None,
) -> Factor:
    """Return e^epsilon of releasing this exact histogram of independent rows.

    It is the largest factor between P(y | row i has value a) and P(y | row i has value b) over all rows and the values
    possible for them. With `value_probabilities`, the same for every row, P(y | a) is proportional to y_a / p_a, so it
    is the largest (y_a / p_a) / (y_b / p_b). With `row_probabilities`, a list for every row, P(y | a) is the
    probability that the other rows have the histogram y - e_a. Dorrestijn 2018, Theorem 6, corrected: as printed its
    neighbours have another number of rows and the condition is empty; the neighbour of y is y - e_a + e_b. A possible
    value that no row has makes it infinite. Exact. Cost: for different rows, the number of histograms below y * rows *
    values, for each distinct row; too many are refused.

    >>> str(histogram_dependence([2, 1, 1], value_probabilities=["1/2", "1/4", "1/4"]))
    '1'
    >>> str(histogram_dependence([1, 1], row_probabilities=[["1/2", "1/2"], ["1/4", "3/4"]]))
    '3'
    """
    if (value_probabilities is None) == (row_probabilities is None):
        raise ParameterError("give either value_probabilities, the same for every row, or row_probabilities")
    if isinstance(counts, str) or any(
        isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0 for count in counts
    ):
        raise ParameterError("counts must be whole numbers of at least 0")
    if not sum(counts):
        raise ParameterError("counts must not all be 0")
    if row_probabilities is not None:
        return _histogram_of_rows([int(count) for count in counts], row_probabilities)
    chances, _ = distribution(value_probabilities, what="the values")
    if len(counts) != len(chances):
        raise ParameterError(f"there are {len(counts)} counts, but {len(chances)} values have a probability")
    if any(count and not chance for count, chance in zip(counts, chances, strict=True)):
        raise ParameterError("a value of probability 0 was counted; the probabilities do not describe these rows")
    return _widest([Fraction(int(count)) / chance for count, chance in zip(counts, chances, strict=True) if chance])


def _histogram_of_rows(counts: list[int], row_probabilities: Sequence[Sequence[Any]]) -> Factor:
    rows = [tuple(distribution(row, what=f"row {number}")[0]) for number, row in enumerate(row_probabilities, start=1)]
    if len(rows) != sum(counts) or any(len(row) != len(counts) for row in rows):
        raise ParameterError(f"{sum(counts)} rows of {len(counts)} values were counted; give their probabilities")
    kinds = sorted(set(rows))
    if math.prod(count + 1 for count in counts) * len(rows) * len(counts) * len(kinds) > _MOST_STEPS:
        raise TooLargeError("the histogram is too large to go through all it could have been; merge values or rows")
    widest: Factor = Fraction(1)
    for kind in kinds:
        others = list(rows)
        others.remove(kind)
        below = _histograms(others, counts)
        likelihoods = [below.get(_without(counts, value), Fraction(0)) for value, chance in enumerate(kind) if chance]
        if not any(likelihoods):
            raise ParameterError("these counts cannot happen; the probabilities do not describe these rows")
        widest = max(widest, _widest(likelihoods))
    return widest


def _histograms(rows: list[tuple[Fraction, ...]], counts: list[int]) -> dict[tuple[int, ...], Fraction]:
    """Return the distribution of the histogram of some rows, as far as it lies below the counts."""
    found = {(0,) * len(counts): Fraction(1)}
    for row in rows:
        grown: dict[tuple[int, ...], Fraction] = {}
        for histogram, likely in found.items():
            for value, chance in enumerate(row):
                if chance and histogram[value] < counts[value]:
                    larger = (*histogram[:value], histogram[value] + 1, *histogram[value + 1 :])
                    grown[larger] = grown.get(larger, Fraction(0)) + likely * chance
        found = grown
    return found


def _without(counts: list[int], value: int) -> tuple[int, ...]:
    return (*counts[:value], counts[value] - 1, *counts[value + 1 :])


def _widest(likelihoods: list[Fraction]) -> Factor:
    """Return the largest factor between two of them, infinite where only some are 0."""
    low, high = min(likelihoods), max(likelihoods)
    return high / low if low else math.inf


def _factors_without(chances: list[Fraction], chance: Fraction) -> list[Factor]:
    """Return the factor of every outcome, for a row of this probability.

    It lies between the probabilities that the others' count is y - 1 and y.
    """
    others = list(chances)
    others.remove(chance)
    inner = range(1, len(others) + 1)
    if len(set(others)) <= 1:
        odds = others[0] / (1 - others[0]) if others else Fraction(1)
        ratios = [Fraction(y, len(others) - y + 1) / odds for y in inner]
    else:
        counts = _counts(others)
        ratios = [counts[y - 1] / counts[y] for y in inner]
    return [math.inf, *(max(ratio, 1 / ratio) for ratio in ratios), math.inf]


def _counts(chances: list[Fraction]) -> list[Fraction]:
    """Return the distribution of how many of these rows have the property."""
    counts = [Fraction(1)]
    for p in chances:
        stay, move = [(1 - p) * c for c in counts], [p * c for c in counts]
        counts = [a + b for a, b in zip([*stay, Fraction(0)], [Fraction(0), *move], strict=True)]
    return counts
