"""The recursion of the paper with its own optimizations, to reproduce its experiments.

Nergiz and Clifton, CSD TR 08-016, section 5: SD, counts further than some deviations from the mean are
given probability 0; DC, hypergeometric values are computed at every b-th count only; DM, only classes that
no other dominates are checked. None overstates the confidence. Errata followed: the mean is n M / N; the
cut applies in the standard case (M / N and n / N below 0.99) and everything is computed otherwise;
dominance is for delta_low = 0 or delta_high = 1, and the dominating class has the lower confidence.
`kernels.presence.presence_confidence_bounds` needs none of this.
"""

from math import exp, lgamma, sqrt

import numpy as np
from numba import njit

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.presence.outsiders import FloatArray, IntArray, question_of, read_delta, validated_classes

LARGEST_TABLE = 5_000_000
"""Most people outside the research table for whom logarithms of factorials are tabulated."""

_UNIT_ROUNDING = 2.0**-53
_STANDARD = 0.99
_FEWEST_BUCKETS = 4


def paper_confidence(
    *,
    marginals: object,
    research_count: object,
    others: int,
    delta_low: object,
    delta_high: object,
    sigma_cut: float | None = None,
    bucket_size: int | None = None,
) -> tuple[FloatArray, IntArray]:
    """Return per class the confidence by the paper's recursion, and how many hypergeometric values it took.

    `sigma_cut` switches SD on (the paper cuts at 2 or 4 deviations), `bucket_size` DC (the paper uses 2 to
    10; where fewer than 4 buckets lie within 2 deviations of the mean nothing is discretized). Each value is
    a lower bound of the confidence, its rounding taken off; without switches it is the confidence up to that
    rounding. Cost: O(attributes * marginal**2).

    >>> exact, calls = paper_confidence(
    ...     marginals=[3, 3, 3], research_count=1, others=4, delta_low=0.33, delta_high=1
    ... )
    >>> round(float(exact[0]), 6), int(calls[0])
    (0.9375, 6)
    """
    classes = validated_classes(
        marginals=marginals,
        research_count=research_count,
        others=others,
        delta_low=delta_low,
        delta_high=delta_high,
    )
    if classes.others > LARGEST_TABLE:
        raise TooLargeError(
            f"others={classes.others} exceeds {LARGEST_TABLE}; presence_confidence_bounds has no such limit"
        )
    if sigma_cut is not None and not sigma_cut > 0:
        raise ParameterError(f"sigma_cut must be above 0 or None, not {sigma_cut!r}")
    if bucket_size is not None and (isinstance(bucket_size, bool) or bucket_size < 1):
        raise ParameterError(f"bucket_size must be a whole number >= 1 or None, not {bucket_size!r}")
    logarithms = _log_factorials(classes.others)
    values = np.empty(classes.research.size, dtype=np.float64)
    calls = np.empty(classes.research.size, dtype=np.int64)
    for index in range(classes.research.size):
        question = question_of(classes, index)
        confidence, calls[index] = _recursion(
            np.array(question.marginals, dtype=np.int64),
            question.others,
            question.first,
            question.last,
            float("inf") if sigma_cut is None else float(sigma_cut),
            1 if bucket_size is None else int(bucket_size),
            logarithms,
        )
        # Relative and a stage: nine logarithms of factorials, each within a few units, and the sums.
        stages = len(question.marginals) - 1
        slack = stages * _UNIT_ROUNDING * (100.0 * logarithms[-1] + 4.0 * question.most + 40.0)
        values[index] = confidence if stages == 0 else max(0.0, min(1.0, confidence * (1.0 - slack) - 1e-300))
    return values, calls


def minimum_dominant_subset(
    *, marginals: object, research_count: object, others: int, delta_low: object, delta_high: object
) -> IntArray:
    """Return the classes, in ascending order, that no other class dominates (section 5.3, definition 12).

    Their lowest confidence is the lowest of all. With delta_high = 1 a class dominates another when it has
    no more research rows and no smaller marginal, with delta_low = 0 when it has no fewer rows and no
    larger marginal; of equal classes the first stays. With neither every class stays. Cost: O(classes *
    kept * attributes).

    >>> minimum_dominant_subset(
    ...     marginals=[[1, 1, 1], [3, 3, 3]], research_count=[1, 1], others=4, delta_low=0.33, delta_high=1
    ... ).tolist()
    [1]
    """
    classes = validated_classes(
        marginals=marginals,
        research_count=research_count,
        others=others,
        delta_low=delta_low,
        delta_high=delta_high,
    )
    low, high = read_delta(delta_low=delta_low, delta_high=delta_high)
    if low > 0 and high < 1:
        return np.arange(classes.research.size, dtype=np.int64)
    danger = np.hstack([classes.marginals, -classes.research[:, np.newaxis]])
    if high < 1:
        danger = -danger
    order = np.argsort(-danger.sum(axis=1), kind="stable").astype(np.int64)
    return np.sort(_undominated(np.ascontiguousarray(danger), order))


@njit(cache=True)
def _log_factorials(largest: int) -> FloatArray:
    table = np.empty(largest + 1, dtype=np.float64)
    for number in range(largest + 1):
        table[number] = lgamma(number + 1.0)
    return table


@njit(cache=True)
def _hypergeometric(x: int, drawn: int, marked: int, others: int, table: FloatArray) -> float:
    if x < max(0, drawn + marked - others) or x > min(drawn, marked):
        return 0.0
    ways = table[marked] - table[x] - table[marked - x]
    rest = table[others - marked] - table[drawn - x] - table[others - marked - drawn + x]
    return exp(ways + rest - (table[others] - table[drawn] - table[others - drawn]))


@njit(cache=True)
def _deviation(drawn: int, marked: int, others: int) -> float:
    return sqrt(drawn * (marked / others) * (1.0 - marked / others) * (1.0 - drawn / others))


@njit(cache=True)
def _range(drawn: int, marked: int, others: int, cut: float) -> tuple[int, int]:
    least = max(0, drawn + marked - others)
    most = min(drawn, marked)
    if np.isinf(cut) or marked >= _STANDARD * others or drawn >= _STANDARD * others:
        return least, most
    mean = drawn * (marked / others)
    deviation = _deviation(drawn, marked, others)
    return max(least, int(np.ceil(mean - cut * deviation))), min(most, int(np.floor(mean + cut * deviation)))


@njit(cache=True)
def _recursion(
    marginals: IntArray, others: int, first: int, last: int, cut: float, bucket: int, table: FloatArray
) -> tuple[float, int]:
    size = marginals[0] + 1
    likelihood = np.zeros(size, dtype=np.float64)
    likelihood[marginals[0]] = 1.0
    calls = 0
    for marked in marginals[1:]:
        following = np.zeros(size, dtype=np.float64)
        for drawn in range(size):
            if likelihood[drawn] == 0.0:
                continue
            low, high = _range(drawn, marked, others, cut)
            # Buckets pay where at least four of them lie within two deviations of the mean (section 5.4).
            if bucket == 1 or 4.0 * _deviation(drawn, marked, others) < _FEWEST_BUCKETS * bucket:
                for x in range(low, high + 1):
                    following[x] += likelihood[drawn] * _hypergeometric(x, drawn, marked, others, table)
                    calls += 1
                continue
            # Values rise to the mode and fall after it, so the smaller end of a bucket is below all inside.
            start = -(-low // bucket) * bucket
            before = _hypergeometric(start, drawn, marked, others, table)
            calls += 1
            while start + bucket <= high:
                after = _hypergeometric(start + bucket, drawn, marked, others, table)
                calls += 1
                for x in range(start, start + bucket):
                    following[x] += likelihood[drawn] * min(before, after)
                before = after
                start += bucket
        likelihood = following
    total = 0.0
    for x in range(max(0, first), min(last, size - 1) + 1):
        total += likelihood[x]
    return total, calls


@njit(cache=True)
def _undominated(danger: IntArray, order: IntArray) -> IntArray:
    kept = np.empty(order.size, dtype=np.int64)
    found = 0
    for candidate in order:
        dominated = False
        for position in range(found):
            dominated = True
            for column in range(danger.shape[1]):
                if danger[kept[position], column] < danger[candidate, column]:
                    dominated = False
                    break
            if dominated:
                break
        if not dominated:
            kept[found] = candidate
            found += 1
    return kept[:found].copy()
