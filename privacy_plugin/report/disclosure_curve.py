"""Disclosure by the number of facts an attacker knows, and by how uneven classes are, drawn inside the page."""

import math
from collections.abc import Mapping, Sequence

from privacy_plugin.report.markup import Markup, element

_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 428.0, 20.0, 190.0
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_STYLES = (("var(--text)", None), ("var(--muted)", "2 3"))
_MOST_TICKS = 13
_LABEL_HEIGHT = 12.0


def curve_chart(curves: Mapping[str, Sequence[float]], *, limit: float, words: str, description: str) -> Markup:
    """Draw one line a curve from 0 facts on, over probabilities from 0 to 1, and the limit across them."""
    facts = max(len(curve) for curve in curves.values()) - 1
    return element(
        "svg",
        [_across(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        [_tick(number, facts) for number in range(0, facts + 1, math.ceil((facts + 1) / _MOST_TICKS))],
        [
            _line(curve, facts, colour, dashes)
            for curve, (colour, dashes) in zip(curves.values(), _STYLES, strict=False)
        ],
        _limit(limit, words),
        [
            _key(number, name, colour, dashes)
            for number, (name, (colour, dashes)) in enumerate(zip(curves, _STYLES, strict=False))
        ],
        _text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "facts known", anchor="middle"),
        class_="chart",
        viewBox="0 0 440 232",
        role="img",
        aria_label=description,
    )


def band_chart(bands: Sequence[tuple[float, float, float]], *, limit: float, words: str, description: str) -> Markup:
    """Draw a level over each band of entropy (from, to, highest disclosure), and the limit across them."""
    end = max(high for _, high, _ in bands)
    return element(
        "svg",
        [_across(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        [_text(_place(end * share, end), _BOTTOM + 16, f"{end * share:.2g}", anchor="middle") for share in (0, 0.5, 1)],
        [
            _rule(_place(low, end), _y(level), _place(high, end), _y(level), "var(--text)", width="3")
            for low, high, level in bands
        ],
        _limit(limit, words),
        _text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "entropy of the class", anchor="middle"),
        class_="chart",
        viewBox="0 0 440 232",
        role="img",
        aria_label=description,
    )


def _place(entropy: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * entropy / end


def _x(number: float, facts: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * number / max(facts, 1)


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _across(share: float) -> list[Markup]:
    rule = _rule(_LEFT, _y(share), _RIGHT, _y(share), "var(--line)")
    return [rule, _text(_LEFT - 6, _y(share) + 4, f"{share:g}", anchor="end")]


def _tick(number: int, facts: int) -> Markup:
    return _text(_x(number, facts), _BOTTOM + 16, str(number), anchor="middle")


def _line(curve: Sequence[float], facts: int, colour: str, dashes: str | None) -> list[Markup]:
    points = [(_x(number, facts), _y(share)) for number, share in enumerate(curve)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="2.5", fill=colour) for x, y in points]
    line = element("polyline", points=path, fill="none", stroke=colour, stroke_width="2", stroke_dasharray=dashes)
    return [line, *(dots if len(dots) <= 4 * _MOST_TICKS else [])]


def _limit(limit: float, words: str) -> list[Markup]:
    """Write the limit where the curves have not come yet: above its line at the left, or below it at the top."""
    below = limit > 1 - _LABEL_HEIGHT / (_BOTTOM - _TOP)
    place = _y(limit) + _LABEL_HEIGHT if below else _y(limit) - 5
    rule = _rule(_LEFT, _y(limit), _RIGHT, _y(limit), "var(--text)", dashes="5 3")
    return [rule, _text(_LEFT + 6, place, words, colour="var(--text)", weight="600")]


def _key(number: int, name: str, colour: str, dashes: str | None) -> list[Markup]:
    start = _LEFT + 150 * number
    return [
        _rule(start, 8, start + 22, 8, colour, dashes=dashes, width="2"),
        _text(start + 28, 12, name),
    ]


def _rule(
    x1: float, y1: float, x2: float, y2: float, colour: str, *, dashes: str | None = None, width: str = "1"
) -> Markup:
    ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    return element("line", **ends, stroke=colour, stroke_width=width, stroke_dasharray=dashes)


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str | None = None,
    colour: str = "var(--muted)",
    weight: str | None = None,
) -> Markup:
    return element(
        "text",
        words,
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        fill=colour,
        text_anchor=anchor,
        font_family=_FONT,
        font_size="11",
        font_weight=weight,
    )
