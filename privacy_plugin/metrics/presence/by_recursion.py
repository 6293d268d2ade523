"""P(first <= X <= last) by the recursion of Nergiz and Clifton 2008, exactly or with bounds.

X_1 = f_1; given X_{i-1} = y, X_i is hypergeometric: y people drawn from U, f_i of them marked. In exact fractions the
recursion is cheap for small populations only. That distribution grows with y, so replacing X_{i-1} by a smaller
(larger) variable bounds the distribution function of X_i from above (below). Where the support is short every point is
kept; where it is long, points are moved down to a grid for one bound and up for the other. The tails that are cut off
and the rounding are added to the error. This needs no more than monotonicity, at any population size; it is the check
on the faster inversion of `by_moments`.
"""

from fractions import Fraction
from math import comb, sqrt

import numpy as np

from privacy_plugin.compiled import njit
from privacy_plugin.errors import TooLargeError
from privacy_plugin.metrics.presence.outsiders import FloatArray, IntArray, Question, question_of, validated_classes

WORK_LIMIT = 300_000
"""Most terms of the recursion, over all attributes of a class, that are added up."""

GRID_POINTS = 2_048
MOST_GRID_POINTS = 16_384
_UNIT_ROUNDING = 2.0**-53
_NEGLIGIBLE = 1e-25
_DEVIATIONS = 14.0
_NEARLY_ONE = 1.0 - 1e-9


def exact_presence_confidence(
    *,
    marginals: object,
    research_count: object,
    others: int,
    delta_low: object,
    delta_high: object,
    limit: int = WORK_LIMIT,
) -> tuple[Fraction, ...]:
    """Return per class the exact probability that it is delta-present, given the marginals.

    l^1 is a point mass at f_1; l^i_x = sum over y >= 0 of l^{i-1}_y C(y, x) C(U - y, f_i - x) / C(U, f_i);
    the confidence adds up l^n over the allowed x. Nergiz and Clifton, section 4.2; erratum: y = 0 belongs
    to the sum. One class is a row of marginals, many classes a matrix. `others` is U, the people outside
    the research table. TooLargeError beyond `limit` terms. Cost: O(attributes * smallest marginal**2) on
    long integers.

    >>> exact_presence_confidence(
    ...     marginals=[[3, 3, 3], [1, 1, 1]], research_count=[1, 1], others=4, delta_low=0.33, delta_high=1
    ... )
    (Fraction(15, 16), Fraction(1, 1))
    """
    classes = validated_classes(
        marginals=marginals,
        research_count=research_count,
        others=others,
        delta_low=delta_low,
        delta_high=delta_high,
    )
    questions = [question_of(classes, index) for index in range(classes.research.size)]
    solved = {question: _confidence(question, limit) for question in set(questions)}
    return tuple(solved[question] for question in questions)


def _confidence(question: Question, limit: int) -> Fraction:
    if question.certain is not None:
        return Fraction(int(question.certain))
    terms = (len(question.marginals) - 1) * (question.marginals[0] + 1) ** 2
    if terms > limit:
        raise TooLargeError(
            f"the exact confidence of a class takes up to {terms} terms, more than limit={limit}; "
            "raise limit or use presence_confidence_bounds, which states how exact it is"
        )
    ways = {question.marginals[0]: 1}
    total = 1
    for marked in question.marginals[1:]:
        ways = _next_stage(ways, marked, question.others)
        total *= comb(question.others, marked)
    return Fraction(sum(ways.get(x, 0) for x in range(question.first, question.most + 1) if x <= question.last), total)


def _next_stage(ways: dict[int, int], marked: int, others: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for drawn, count in ways.items():
        for x in range(max(0, drawn + marked - others), min(drawn, marked) + 1):
            found[x] = found.get(x, 0) + count * comb(drawn, x) * comb(others - drawn, marked - x)
    return found


def window_bounds(
    question: Question,
    *,
    points: int = GRID_POINTS,
    most_points: int = MOST_GRID_POINTS,
    tolerance: float = 1e-9,
    decide_at: float | None = None,
) -> tuple[float, float]:
    """Return bounds of the probability that first..last people match, on a grid of growing fineness.

    The grid is refined until the bounds are `tolerance` apart, or `decide_at` lies outside of them, or it
    has `most_points`. Exact up to rounding once every point of the support is a grid point. Cost: a
    refinement costs O(attributes * points * width of one hypergeometric distribution).
    """
    while True:
        lower, upper, complete = _once(question, points)
        decided = decide_at is not None and (lower >= decide_at or upper < decide_at)
        if complete or decided or upper - lower <= tolerance or 2 * points > most_points:
            return lower, upper
        points *= 2


def _once(question: Question, points: int) -> tuple[float, float, bool]:
    """Run the recursion with at most `points` grid points a stage; tell also whether no point was moved."""
    others = question.others
    places = np.array([question.marginals[0]], dtype=np.int64)
    smaller = np.ones(1)
    larger = np.ones(1)
    error = 0.0
    complete = True
    for marked in question.marginals[1:-1]:
        left, right = _reach(places, marked, others)
        step = -(-(right - left + 1) // points)
        complete = complete and step == 1
        smaller, larger, dropped, widest = _advance(places, smaller, larger, marked, others, left, right, step)
        error += dropped + _UNIT_ROUNDING * (10.0 * widest + places.size * (step + 2.0) + 20.0)
        places = left + step * np.arange(smaller.size, dtype=np.int64)
        places, smaller, larger, trimmed = _trim(places, smaller, larger)
        error += trimmed
    if len(question.marginals) == 1:
        inside = float(question.first <= question.most <= question.last)
        return inside, inside, True
    below, upto, dropped, widest = _finish(
        places, smaller, larger, question.marginals[-1], others, question.first, question.last
    )
    error += dropped + _UNIT_ROUNDING * (10.0 * widest + 2.0 * places.size + 20.0)
    error *= 1.01
    lower = (1.0 if question.last >= question.most else upto[1]) - below[0] - error
    upper = (1.0 if question.last >= question.most else upto[0]) - below[1] + error
    return max(0.0, float(lower)), min(1.0, float(upper)), complete


def _reach(places: IntArray, marked: int, others: int) -> tuple[int, int]:
    """Return a range that holds all but a negligible part of the next stage, from any point."""
    ends = []
    for drawn, sign in ((int(places[0]), -1.0), (int(places[-1]), 1.0)):
        mean = drawn * (marked / others)
        deviation = sqrt(max(0.0, mean * (1.0 - marked / others) * (others - drawn) / max(1, others - 1)))
        ends.append(round(mean + sign * (_DEVIATIONS * deviation + 40.0)))
    least = max(0, int(places[0]) + marked - others)
    most = min(int(places[-1]), marked)
    return max(least, ends[0]), min(most, ends[1])


def _trim(places: IntArray, smaller: FloatArray, larger: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, float]:
    kept = np.flatnonzero((smaller > _NEGLIGIBLE) | (larger > _NEGLIGIBLE))
    first, last = int(kept[0]), int(kept[-1]) + 1
    trimmed = max(
        float(smaller[:first].sum() + smaller[last:].sum()), float(larger[:first].sum() + larger[last:].sum())
    )
    return places[first:last], smaller[first:last], larger[first:last], trimmed


@njit()
def _masses(drawn: int, marked: int, others: int, left: int, right: int, masses: FloatArray) -> tuple[int, int, float]:
    """Fill masses[x - left] with P(x of the drawn people are marked).

    Returns the range and a bound of the rest. Ratios of neighbours from the mode outwards, then divided by their sum:
    no logarithms of factorials, whose rounding would swamp the result in large populations. Ratios fall outwards, so
    the rest is below a geometric series.
    """
    least = max(max(0, drawn + marked - others), left)
    most = min(min(drawn, marked), right)
    start = int((drawn + 1.0) * ((marked + 1.0) / (others + 2.0)))
    start = min(max(start, least), most)
    masses[start - left] = 1.0
    total = 1.0
    rest = 0.0
    mass = 1.0
    top = start
    while top < min(drawn, marked):
        ratio = (float(drawn - top) * float(marked - top)) / (float(top + 1) * float(others - drawn - marked + top + 1))
        if top == right or (mass < 1e-24 and ratio < _NEARLY_ONE):
            rest += mass * ratio / (1.0 - ratio) if ratio < _NEARLY_ONE else 1.0
            break
        mass *= ratio
        top += 1
        masses[top - left] = mass
        total += mass
    mass = 1.0
    bottom = start
    while bottom > max(0, drawn + marked - others):
        ratio = (float(bottom) * float(others - drawn - marked + bottom)) / (
            float(drawn - bottom + 1) * float(marked - bottom + 1)
        )
        if bottom == left or (mass < 1e-24 and ratio < _NEARLY_ONE):
            rest += mass * ratio / (1.0 - ratio) if ratio < _NEARLY_ONE else 1.0
            break
        mass *= ratio
        bottom -= 1
        masses[bottom - left] = mass
        total += mass
    for x in range(bottom, top + 1):
        masses[x - left] /= total
    return bottom, top, min(1.0, rest / total)


@njit()
def _advance(
    places: IntArray,
    smaller: FloatArray,
    larger: FloatArray,
    marked: int,
    others: int,
    left: int,
    right: int,
    step: int,
) -> tuple[FloatArray, FloatArray, float, int]:
    """Return the next stage on the points left, left + step, ...

    Points are moved down for the smaller variable, up for the larger.
    """
    cells = -((left - right) // step) + 1
    down = np.zeros(cells, dtype=np.float64)
    up = np.zeros(cells, dtype=np.float64)
    masses = np.empty(right - left + 1, dtype=np.float64)
    dropped = 0.0
    widest = 0
    for index in range(places.size):
        if smaller[index] == 0.0 and larger[index] == 0.0:
            continue
        bottom, top, rest = _masses(places[index], marked, others, left, right, masses)
        dropped += max(smaller[index], larger[index]) * rest
        widest = max(widest, top - bottom + 1)
        for x in range(bottom, top + 1):
            mass = masses[x - left]
            cell = (x - left) // step
            down[cell] += smaller[index] * mass
            if cell * step + left < x:
                cell += 1
            up[cell] += larger[index] * mass
    return down, up, dropped, widest


@njit()
def _finish(
    places: IntArray, smaller: FloatArray, larger: FloatArray, marked: int, others: int, first: int, last: int
) -> tuple[FloatArray, FloatArray, float, int]:
    """Return P(X < first) and P(X <= last) for the smaller and the larger variable."""
    below = np.zeros(2, dtype=np.float64)
    upto = np.zeros(2, dtype=np.float64)
    dropped = 0.0
    widest = 0
    for index in range(places.size):
        drawn = places[index]
        mean = drawn * (marked / others)
        deviation = np.sqrt(max(0.0, mean * (1.0 - marked / others) * (others - drawn) / max(1, others - 1)))
        reach = int(_DEVIATIONS * deviation + 40.0)
        left = max(max(0, drawn + marked - others), int(mean) - reach)
        right = min(min(drawn, marked), int(mean) + reach + 1)
        masses = np.empty(right - left + 1, dtype=np.float64)
        bottom, top, rest = _masses(drawn, marked, others, left, right, masses)
        dropped += max(smaller[index], larger[index]) * rest
        widest = max(widest, top - bottom + 1)
        before = 0.0
        through = 0.0
        for x in range(bottom, min(top, last) + 1):
            through += masses[x - left]
            if x < first:
                before += masses[x - left]
        below += np.array((smaller[index], larger[index])) * before
        upto += np.array((smaller[index], larger[index])) * through
    return below, upto, dropped, widest
