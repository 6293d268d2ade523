"""Bound the epsilon of a randomized mechanism from below by running it on two neighbouring tables."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.dependence.binomial_bounds import clopper_pearson


def epsilon_seen(
    first: Sequence[Hashable], second: Sequence[Hashable], *, epsilon: float, delta: float, error: float
) -> float:
    """Return an epsilon that the mechanism exceeds at this delta, but for a probability of at most `error`.

    `first` and `second` are what independent runs on two neighbouring tables made (or any function of it). On every
    other run the outputs are picked that speak against the claimed `epsilon`; on the others their probabilities are
    bounded by Clopper and Pearson: epsilon >= ln((P - delta) / Q), both directions. A value above the claimed epsilon
    refutes the claim; a bound below does not prove privacy.

    >>> epsilon_seen(["yes"] * 2000, ["no"] * 2000, epsilon=1, delta=0, error=1e-6) > 4
    True
    """
    if min(len(first), len(second)) < 2 or not 0 < error < 1:
        raise ParameterError("an audit needs two runs on each table and an error probability between 0 and 1")
    directions = ((first, second), (second, first))
    return max(_one_direction(one, other, epsilon, delta, error / 4) for one, other in directions)


def _one_direction(
    one: Sequence[Hashable], other: Sequence[Hashable], epsilon: float, delta: float, alpha: float
) -> float:
    picking_one, picking_other = Counter(one[::2]), Counter(other[::2])
    factor = math.exp(epsilon) * len(one[::2]) / len(other[::2])
    telling = {output for output, seen in picking_one.items() if seen > factor * picking_other[output]}
    seen = np.array([sum(output in telling for output in runs[1::2]) for runs in (one, other)], dtype=np.int64)
    runs = np.array([len(one[1::2]), len(other[1::2])], dtype=np.int64)
    low, high = clopper_pearson(seen, runs, alpha=alpha)
    return math.log((low[0] - delta) / high[1]) if low[0] > delta else -math.inf
