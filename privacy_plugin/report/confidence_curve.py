"""How many people's classes reach which confidence: a falling curve, as a drawing inside the page."""

from collections.abc import Sequence

from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.report.markup import Markup, element

_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 428.0, 20.0, 190.0
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)

Points = Sequence[tuple[float, float]]


def reached(spread: Spread) -> list[tuple[float, float]]:
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


def confidence_chart(points: Points, *, limit: float, words: str, description: str) -> Markup:
    """Draw the share of people over the confidence from 0 to 1, and the limit as an upright line."""
    return element(
        "svg",
        [_grid(share) for share in _QUARTERS],
        element("polyline", points=_steps(points), fill="none", stroke="var(--chart-meets)", stroke_width="2"),
        _limit(limit, words),
        _text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "confidence", anchor="middle"),
        _text(_LEFT - 34, 12, "share of people whose class has at least that confidence"),
        class_="chart",
        viewBox="0 0 440 232",
        role="img",
        aria_label=description,
    )


def _x(confidence: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * confidence


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _steps(points: Points) -> str:
    """Go level to every confidence and fall there; to the left of the first everybody is in."""
    corners = [(0.0, 1.0)]
    for number, (confidence, share) in enumerate(points):
        after = points[number + 1][1] if number + 1 < len(points) else 0.0
        corners += [(confidence, share), (confidence, after)]
    corners.append((1.0, 0.0))
    return " ".join(f"{_x(confidence):.1f},{_y(share):.1f}" for confidence, share in corners)


def _grid(share: float) -> list[Markup]:
    ends = {"x1": f"{_LEFT:.1f}", "x2": f"{_RIGHT:.1f}", "y1": f"{_y(share):.1f}", "y2": f"{_y(share):.1f}"}
    return [
        element("line", **ends, stroke="var(--line)"),
        _text(_LEFT - 6, _y(share) + 4, f"{share:.0%}", anchor="end"),
        _text(_x(share), _BOTTOM + 16, f"{share:g}", anchor="middle"),
    ]


def _limit(limit: float, words: str) -> list[Markup]:
    at = _x(limit)
    ends = {"x1": f"{at:.1f}", "x2": f"{at:.1f}", "y1": f"{_TOP:.1f}", "y2": f"{_BOTTOM:.1f}"}
    right = limit > 0.5
    place = at - 6 if right else at + 6
    return [
        element("line", **ends, stroke="var(--text)", stroke_width="1.5", stroke_dasharray="5 3"),
        _text(place, _BOTTOM - 8, words, anchor="end" if right else None, colour="var(--text)", weight="600"),
    ]


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str | None = None,
    colour: str = "var(--muted)",
    weight: str | None = None,
) -> Markup:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font_size": "11", "font_family": _FONT}
    return element("text", words, **place, fill=colour, text_anchor=anchor, font_weight=weight)
