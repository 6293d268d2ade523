"""epsilon-dependence of a mechanism: how much its output can change any belief about its input.

This is a property of a channel, the matrix P(output | input) of a randomized mechanism, and not of a table. The
metric of the same name in `metrics.dependence.epsilon_dependence` evaluates a declared channel and the columns
it is declared for.

An exact count is never safe by itself: the factor depends on the attacker's prior beliefs, some outcomes disclose a
row completely, refusing to release those is itself an outcome, and the factors of two releases do not add up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.measurement import plain

Factor = Fraction | float  # an exact fraction, or infinity

_ROUNDED_SUM = Fraction(1, 10**9)
_ULPS = 4  # logarithms of the standard library are right to about one unit in the last place


@dataclass(frozen=True, kw_only=True)
class EpsilonDependence:
    """The smallest epsilon of a channel.

    `value` is in nats, rounded up: the truth lies in [value - error, value]. It is the epsilon under the prior where
    one was given, and the prior-free one otherwise. `factor` is e^epsilon of the same, exact. `mutual_information`
    (nats) needs a prior; `information_bound` is epsilon * tanh(epsilon / 2), which it never exceeds.
    """

    value: float
    error: float
    factor: Factor
    prior_free: float
    prior_free_factor: Factor
    with_prior: float | None
    mutual_information: float | None
    information_bound: float
    inputs: int
    outputs: int

    @property
    def epsilon(self) -> float:
        """The value, by the name it has in formulas."""
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an infinite epsilon is the text "infinite", which JSON can hold."""
        numbers = {
            "value": self.value,
            "factor": self.factor,
            "prior_free": self.prior_free,
            "with_prior": self.with_prior,
            "mutual_information": self.mutual_information,
            "information_bound": self.information_bound,
        }
        shown = {name: plain(number) for name, number in numbers.items()}
        return {
            **shown,
            "exact_factor": str(self.factor) if isinstance(self.factor, Fraction) else "infinite",
            "error": self.error,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "unit": "one input of the channel: a cell where it randomizes cells, a row where it takes rows",
        }


def epsilon_dependence(channel: Any, *, prior: Sequence[Any] | None = None) -> EpsilonDependence:
    """Return the smallest epsilon for which input and output of a mechanism are epsilon-dependent.

    `channel[x][s]` = P(s | x): a row for every input, which sums to 1. With a prior P(x), epsilon = max |ln P(s | x) /
    P(s)| over the possible inputs and outputs (Definition 1, both directions); without, epsilon = max ln P(s | x) /
    P(s | x') (Corollary 1), the supremum over all priors. Dorrestijn 2018, section 2. Errata: the ratio of the
    posteriors of two *outputs* is bounded by e^(2 epsilon), not e^epsilon; Theorem 1's I <= epsilon is loose,
    I <= epsilon * tanh(epsilon / 2).

    Natural logarithm. Whole numbers, fractions ("1/3" too) and decimals are taken exactly as written, e^epsilon is
    then exact; rows of rounded floats may miss 1 by 1e-9, are scaled, and the error bound grows by it. An output
    that no input has is left out, and so is an input of prior probability 0; an output that only some inputs can
    have makes epsilon infinite. Cost: one pass over the matrix.

    >>> kept = epsilon_dependence([["3/4", "1/4"], ["1/4", "3/4"]], prior=["1/2", "1/2"])
    >>> str(kept.prior_free_factor), str(kept.factor), round(kept.value, 6)
    ('3', '2', 0.693147)
    """
    rows, slack = _channel(channel)
    free = _widest([[row[s] for row in rows] for s in range(len(rows[0]))])
    epsilon, error = logarithm_above(free, slack=slack)
    weights = None if prior is None else _prior(prior, len(rows))
    if weights is None:
        found, with_prior, information = free, None, None
    else:
        slack += weights[1]
        found = _factor_with_prior(rows, weights[0])
        with_prior, error = logarithm_above(found, slack=slack)
        information = _mutual_information(rows, weights[0])
    value = epsilon if with_prior is None else with_prior
    return EpsilonDependence(
        value=value,
        error=error,
        factor=found,
        prior_free=epsilon,
        prior_free_factor=free,
        with_prior=with_prior,
        mutual_information=information,
        information_bound=information_bound(value),
        inputs=len(rows),
        outputs=len(rows[0]),
    )


def possible_part(channel: Any, *, prior: Sequence[Any] | None = None) -> list[list[Fraction]]:
    """Return the rows of the inputs that a prior allows, with the outputs that any of them can have.

    >>> possible_part([[1, 0, 0], [0, 1, 0], [0, 0, 1]], prior=["1/2", "1/2", 0])
    [[Fraction(1, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(1, 1)]]
    """
    rows, _ = _channel(channel)
    if prior is not None:
        rows = [row for row, believed in zip(rows, _prior(prior, len(rows))[0], strict=True) if believed]
    outputs = [s for s in range(len(rows[0])) if any(row[s] for row in rows)]
    return [[row[s] for s in outputs] for row in rows]


def information_bound(epsilon: float) -> float:
    """Return epsilon * tanh(epsilon / 2): no epsilon-dependent pair shares more nats (rounded up)."""
    if epsilon == math.inf:
        return math.inf
    return epsilon * math.tanh(epsilon / 2) * (1 + 1e-15)


def logarithm_above(factor: Factor, *, slack: Fraction = Fraction(0)) -> tuple[float, float]:
    """Return an upper bound of the logarithm of an exact factor >= 1, and how far off it may be.

    >>> logarithm_above(Fraction(1))
    (0.0, 0.0)
    """
    if isinstance(factor, float):
        return math.inf, 0.0
    if factor == 1 and not slack:
        return 0.0, 0.0
    if factor < 2:
        found = scale = math.log1p(float(factor - 1))
    elif factor < 10**300:
        found, scale = math.log(float(factor)), max(math.log(float(factor)), 1.0)
    else:  # whole numbers of any size have a logarithm; such a fraction does not fit into a float
        scale = math.log(factor.numerator)
        found = scale - math.log(factor.denominator)
    margin = _ULPS * math.ulp(max(scale, 1e-290)) + float(2 * slack) * (1 + 1e-12)
    return found + margin, 2 * margin


def probabilities(given: Any, *, what: str) -> list[Fraction]:
    """Read a list of probabilities exactly as they are written; that they sum to 1 is checked elsewhere."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise ParameterError(f"{what} must be a list of probabilities, not {type(given).__name__}")
    found = [exact(number, what=f"a probability of {what}") for number in given]
    if not found or any(number < 0 for number in found):
        raise ParameterError(f"{what} must have probabilities of at least 0, and at least one")
    return found


def distribution(given: Any, *, what: str) -> tuple[list[Fraction], Fraction]:
    """Read probabilities that sum to 1 within rounding; return them and how far their sum was off."""
    found = probabilities(given, what=what)
    total = sum(found, start=Fraction(0))
    missed = abs(total - 1)
    if missed > _ROUNDED_SUM:
        raise ParameterError(f"{what} must sum to 1, not to {float(total):.6g}")
    # Rounded numbers are each off by about as much as their sum shows, or by their last binary digit.
    return [number / total for number in found], (missed + Fraction(1, 2**52) if missed else Fraction(0))


def _channel(given: Any) -> tuple[list[list[Fraction]], Fraction]:
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise ParameterError(f"a channel is a matrix of probabilities, not {type(given).__name__}")
    read = [distribution(row, what=f"row {number} of the channel") for number, row in enumerate(given, start=1)]
    if not read:
        raise ParameterError("a channel needs at least one input")
    if len({len(row) for row, _ in read}) != 1:
        raise ParameterError("every row of a channel must have one probability for every output")
    return [row for row, _ in read], max(slack for _, slack in read)


def _prior(given: Any, inputs: int) -> tuple[list[Fraction], Fraction]:
    weights, slack = distribution(given, what="the prior")
    if len(weights) != inputs:
        raise ParameterError(f"the prior has {len(weights)} probabilities, but the channel has {inputs} inputs")
    return weights, slack


def _widest(groups: Sequence[Sequence[Fraction]]) -> Factor:
    """Return the largest ratio inside any group; 1 for a group of zeros, infinite where only some are 0."""
    widest = Fraction(1)
    for group in groups:
        low, high = min(group), max(group)
        if high and not low:
            return math.inf
        if high:
            widest = max(widest, high / low)
    return widest


def _factor_with_prior(rows: list[list[Fraction]], prior: list[Fraction]) -> Factor:
    possible = [(p, row) for p, row in zip(prior, rows, strict=True) if p]
    widest = Fraction(1)
    for s in range(len(rows[0])):
        output = sum((p * row[s] for p, row in possible), start=Fraction(0))
        likelihoods = [row[s] for _, row in possible]
        if output and not min(likelihoods):
            return math.inf
        if output:
            widest = max(widest, max(likelihoods) / output, output / min(likelihoods))
    return widest


def _mutual_information(rows: list[list[Fraction]], prior: list[Fraction]) -> float:
    terms = []
    for s in range(len(rows[0])):
        output = sum((p * row[s] for p, row in zip(prior, rows, strict=True)), start=Fraction(0))
        terms += [
            float(p * row[s]) * math.log(row[s] / output) for p, row in zip(prior, rows, strict=True) if p * row[s]
        ]
    return max(math.fsum(terms), 0.0)


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
    return _largest_factor(
        [Fraction(int(count)) / chance for count, chance in zip(counts, chances, strict=True) if chance]
    )


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
        widest = max(widest, _largest_factor(likelihoods))
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


def _largest_factor(likelihoods: list[Fraction]) -> Factor:
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
