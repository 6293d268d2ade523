"""Bounds of the confidence of delta-presence from attribute distributions.

Nergiz and Clifton, delta-presence without complete world knowledge, CSD TR 08-016, section 4. Of the U people outside
the research table only the attribute distributions are known; the number X of them that share all generalized values of
a class is random. The confidence is P(first <= X <= last); `outsiders` has the range. Computed by `series_bounds` where
few matches are expected, by `inversion_bounds` for a variance above 36, otherwise or on request by `window_bounds`, the
recursion of section 4.2. Each returns an interval that contains the exact value.
"""

from fractions import Fraction
from math import inf, nextafter
from typing import Literal

import numpy as np

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.metrics.presence.by_moments import (
    ORDERS,
    SMALLEST_VARIANCE,
    chernoff_tail,
    cumulants,
    exact_mean,
    inversion_bounds,
    series_bounds,
    tail_bounds,
)
from privacy_plugin.metrics.presence.by_recursion import window_bounds
from privacy_plugin.metrics.presence.outsiders import FloatArray, Question, question_of, read_number, validated_classes

Method = Literal["automatic", "window"]

_FEW = 100
_SMALL_TAIL = 1e-21


def presence_confidence_bounds(
    *,
    marginals: object,
    research_count: object,
    others: int,
    delta_low: object,
    delta_high: object,
    decide_at: object = None,
    method: Method = "automatic",
    tolerance: float = 1e-9,
) -> tuple[FloatArray, FloatArray]:
    """Return per class a lower and an upper bound of the probability that it is delta-present.

    `marginals` holds per class how many of the `others`, the people outside the research table, have each
    of its generalized values; `research_count` its rows in the table. The truth lies between the bounds,
    rounding included: the lower end never overstates privacy. They are less than 1e-9 apart with
    method="automatic"; with "window", the recursion on a grid, until `tolerance` is met or the grid has
    16,384 points. With `decide_at` the refinement of a class ends once all of its interval is at or above, or
    below, that confidence. A float in delta stands for the decimal it prints as. Cost: about a millisecond
    per distinct class, at any population size.

    >>> lower, upper = presence_confidence_bounds(
    ...     marginals=[[3, 3, 3], [1, 1, 1]], research_count=[1, 1], others=4, delta_low=0.33, delta_high=1
    ... )
    >>> [round(float(bound), 6) for bound in (*lower, *upper)]
    [0.9375, 1.0, 0.9375, 1.0]
    """
    if method not in ("automatic", "window"):
        raise ParameterError(unknown_name("method", str(method), ["automatic", "window"]))
    wanted = None if decide_at is None else read_number(decide_at, name="decide_at")
    classes = validated_classes(
        marginals=marginals,
        research_count=research_count,
        others=others,
        delta_low=delta_low,
        delta_high=delta_high,
    )
    questions = [question_of(classes, index) for index in range(classes.research.size)]
    solved = {question: _bounds(question, wanted, method, tolerance) for question in set(questions)}
    lower = np.array([solved[question][0] for question in questions], dtype=np.float64)
    upper = np.array([solved[question][1] for question in questions], dtype=np.float64)
    return lower, upper


def _bounds(question: Question, wanted: Fraction | None, method: Method, tolerance: float) -> tuple[float, float]:
    if question.certain is not None:
        return float(question.certain), float(question.certain)
    if method == "window":
        return window_bounds(question, tolerance=tolerance, decide_at=None if wanted is None else _decisive(wanted))
    mean = exact_mean(question)
    quick = tail_bounds(question, float(mean))
    if wanted is not None and (Fraction(quick[0]) >= wanted or Fraction(quick[1]) < wanted):
        return quick
    if mean > SMALLEST_VARIANCE:
        # The variance never exceeds the mean.
        kappa = cumulants(question, orders=ORDERS)
        if kappa[2] >= SMALLEST_VARIANCE:
            return inversion_bounds(question, known=kappa)
        if mean > _FEW:
            # So small a variance leaves short supports at every stage of the recursion.
            return window_bounds(question, tolerance=tolerance)
    return _few_matches(question, float(mean))


def _decisive(wanted: Fraction) -> float:
    """Round a confidence up to a float, so that reaching the float proves reaching the confidence."""
    nearest = float(wanted)
    return nearest if Fraction(nearest) >= wanted else nextafter(nearest, inf)


def _few_matches(question: Question, mean: float) -> tuple[float, float]:
    """Use the series, after cutting counts so far above the mean that they practically never occur."""
    ceiling = question.most
    reach = mean + 40.0
    while reach < question.most and chernoff_tail(int(reach), mean) > _SMALL_TAIL:
        reach *= 1.2
    cut = 0.0
    if reach < question.most:
        ceiling, cut = int(reach), _SMALL_TAIL
    first, last = question.first, question.last if question.last < ceiling else question.most
    if first > ceiling:
        return 0.0, cut
    lowest, highest = series_bounds(
        Question(marginals=question.marginals, others=question.others, first=first, last=last)
    )
    return max(0.0, nextafter(float(lowest) - cut, -1.0)), min(1.0, nextafter(float(highest) + cut, 2.0))
