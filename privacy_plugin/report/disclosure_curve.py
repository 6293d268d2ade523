"""Disclosure by the number of facts an attacker knows, and by how uneven classes are, drawn inside the page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from privacy_plugin.report.drawing import dot, drawing, line, path, words
from privacy_plugin.report.markup import Markup

_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 428.0, 20.0, 190.0
_WIDTH, _HEIGHT = 440, 232
_STYLES = (("var(--text)", None), ("var(--muted)", "2 3"))
_MOST_TICKS = 13
_LABEL_HEIGHT = 12.0


def curve_chart(curves: Mapping[str, Sequence[float]], *, limit: float, said: str, description: str) -> Markup:
    """Draw one line a curve from 0 facts on, over probabilities from 0 to 1, and the limit across them."""
    facts = max(len(curve) for curve in curves.values()) - 1
    return _chart(
        [_tick(number, facts) for number in range(0, facts + 1, math.ceil((facts + 1) / _MOST_TICKS))],
        [
            _curve(curve, facts, colour, dashes)
            for curve, (colour, dashes) in zip(curves.values(), _STYLES, strict=False)
        ],
        _limit(limit, said),
        [
            _key(number, name, colour, dashes)
            for number, (name, (colour, dashes)) in enumerate(zip(curves, _STYLES, strict=False))
        ],
        below="facts known",
        description=description,
    )


def band_chart(bands: Sequence[tuple[float, float, float]], *, limit: float, said: str, description: str) -> Markup:
    """Draw a level over each band of entropy (from, to, highest disclosure), and the limit across them."""
    end = max(high for _, high, _ in bands)
    return _chart(
        [words((_place(end * share, end), _BOTTOM + 16), f"{end * share:.2g}") for share in (0, 0.5, 1)],
        [
            line((_place(low, end), _y(level)), (_place(high, end), _y(level)), "var(--text)", width=3)
            for low, high, level in bands
        ],
        _limit(limit, said),
        below="entropy of the class",
        description=description,
    )


def _chart(*parts: Sequence[Any], below: str, description: str) -> Markup:
    return drawing(
        [_across(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        *parts,
        words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), below),
        width=_WIDTH,
        height=_HEIGHT,
        description=description,
    )


def _place(entropy: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * entropy / end


def _x(number: float, facts: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * number / max(facts, 1)


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _across(share: float) -> list[Markup]:
    rule = line((_LEFT, _y(share)), (_RIGHT, _y(share)), "var(--line)")
    return [rule, words((_LEFT - 6, _y(share) + 4), f"{share:g}", anchor="end")]


def _tick(number: int, facts: int) -> Markup:
    return words((_x(number, facts), _BOTTOM + 16), str(number))


def _curve(curve: Sequence[float], facts: int, colour: str, dashes: str | None) -> list[Markup]:
    points = [(_x(number, facts), _y(share)) for number, share in enumerate(curve)]
    dots = [dot(point, colour, radius=2.5) for point in points]
    return [path(points, colour, dashes=dashes), *(dots if len(dots) <= 4 * _MOST_TICKS else [])]


def _limit(limit: float, said: str) -> list[Markup]:
    """Write the limit where the curves have not come yet: above its line at the left, or below it at the top."""
    below = limit > 1 - _LABEL_HEIGHT / (_BOTTOM - _TOP)
    place = _y(limit) + _LABEL_HEIGHT if below else _y(limit) - 5
    rule = line((_LEFT, _y(limit)), (_RIGHT, _y(limit)), "var(--text)", dashes="5 3")
    return [rule, words((_LEFT + 6, place), said, anchor="start", colour="var(--text)", bold=True)]


def _key(number: int, name: str, colour: str, dashes: str | None) -> list[Markup]:
    start = _LEFT + 150 * number
    return [
        line((start, 8), (start + 22, 8), colour, dashes=dashes, width=2),
        words((start + 28, 12), name, anchor="start"),
    ]
