"""epsilon-dependence of a mechanism: how much its output can change any belief about its input.

This is a property of a channel, the matrix P(output | input) of a randomized mechanism, and not of a table. The
metric of the same name in `metrics.dependence.epsilon_dependence` evaluates a declared channel and the columns
it is declared for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.errors import ParameterError
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
