"""How many people's classes reach which confidence: a falling curve, as a drawing inside the page."""

from collections.abc import Sequence

from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.report.drawing import Point, drawing, line, path, words
from privacy_plugin.report.markup import Markup

_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 428.0, 20.0, 190.0
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)

Points = Sequence[Point]


def reached(spread: Spread) -> list[Point]:
    """Return (confidence, share of people whose class has at least that much), by rising confidence."""
    total = int(spread.people.sum())
    people: dict[float, int] = {}
    for confidence, count in zip(spread.values.tolist(), spread.people.tolist(), strict=True):
        people[confidence] = people.get(confidence, 0) + count
    points, left = [], total
    for confidence in sorted(people):
        points.append((confidence, left / total))
        left -= people[confidence]
    return points


def confidence_chart(points: Points, *, limit: float, said: str, description: str) -> Markup:
    """Draw the share of people over the confidence from 0 to 1, and the limit as an upright line."""
    return drawing(
        [_grid(share) for share in _QUARTERS],
        path([(_x(confidence), _y(share)) for confidence, share in _steps(points)], "var(--chart-meets)"),
        _limit(limit, said),
        words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), "confidence"),
        words((_LEFT - 34, 12), "share of people whose class has at least that confidence", anchor="start"),
        width=440,
        height=232,
        description=description,
    )


def _x(confidence: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * confidence


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _steps(points: Points) -> list[Point]:
    """Go level to every confidence and fall there; to the left of the first everybody is in."""
    corners = [(0.0, 1.0)]
    for number, (confidence, share) in enumerate(points):
        after = points[number + 1][1] if number + 1 < len(points) else 0.0
        corners += [(confidence, share), (confidence, after)]
    return [*corners, (1.0, 0.0)]


def _grid(share: float) -> list[Markup]:
    return [
        line((_LEFT, _y(share)), (_RIGHT, _y(share)), "var(--line)"),
        words((_LEFT - 6, _y(share) + 4), f"{share:.0%}", anchor="end"),
        words((_x(share), _BOTTOM + 16), f"{share:g}"),
    ]


def _limit(limit: float, said: str) -> list[Markup]:
    at = _x(limit)
    right = limit > 0.5
    place = (at - 6 if right else at + 6, _BOTTOM - 8)
    return [
        line((at, _TOP), (at, _BOTTOM), "var(--text)", width=1.5, dashes="5 3"),
        words(place, said, anchor="end" if right else "start", colour="var(--text)", bold=True),
    ]
