"""Bars beneath each other, so that a number is never seen without what it has to be compared with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privacy_plugin.report.drawing import drawing, line, shape, words
from privacy_plugin.report.markup import Child, Markup, element, table
from privacy_plugin.requirements.requirement import Finding

_WIDTH, _LEFT, _RIGHT = 440.0, 8.0, 372.0
_STEP, _THICK, _TOP = 36.0, 13.0, 6.0
_COLOURS = {"meets": "var(--chart-meets)", "fails": "var(--chart-fails)", "beside": "var(--muted)"}


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A number with its name; `tone` is "meets", "fails", or "beside" for what it is compared with."""

    name: str
    value: float
    written: str
    tone: str = "beside"


def tone(finding: Finding) -> str:
    """Return the tone of what was held against the limit."""
    return "meets" if finding.passed else "fails"


def share(name: str, value: object, *, tone: str = "beside") -> Bar:
    """Return a bar of a share, written in percent."""
    number = float(value)  # type: ignore[arg-type]  # an exact fraction or a float
    return Bar(name=name, value=number, written=f"{number:.1%}", tone=tone)


def comparison(
    bars: Sequence[Bar], *, caption: str, limit: float | None = None, limit_words: str = "", whole: float | None = None
) -> Markup:
    """Draw the bars from 0, the limit as an upright line, and the numbers as a table; `whole` ends the axis."""
    finite = [bar.value for bar in bars if math.isfinite(bar.value)]
    end = whole or max([*finite, limit or 0.0]) or 1.0
    height = _TOP + _STEP * len(bars) + (18 if limit is not None else 4)
    description = f"{caption}: " + "; ".join(f"{bar.name} {bar.written}" for bar in bars)
    description += f". The limit is {limit_words}." if limit is not None else "."
    drawn = drawing(
        [_bar(number, bar, end) for number, bar in enumerate(bars)],
        _limit(limit, limit_words, end, len(bars)) if limit is not None else None,
        width=_WIDTH,
        height=height,
        description=description,
    )
    rows: list[list[Child]] = [[bar.name, bar.written] for bar in bars]
    numbers = element("details", element("summary", "The numbers"), table(caption, ["what", "how much"], rows))
    return element("figure", drawn, numbers)


def held_against(finding: Finding, bars: Sequence[Bar], *, caption: str, whole: float | None = None) -> Markup:
    """Draw the bars with the limit that the finding was held against."""
    limit = float(finding.limit.bounds[0])
    return comparison(bars, caption=caption, limit=limit, limit_words=str(finding.limit), whole=whole)


def _bar(number: int, bar: Bar, end: float) -> list[Markup]:
    top = _TOP + _STEP * number
    right = _x(min(bar.value, end), end)
    corners = [(_LEFT, top + 16), (right, top + 16), (right, top + 16 + _THICK), (_LEFT, top + 16 + _THICK)]
    said = bar.tone != "beside"
    return [
        words((_LEFT, top + 11), bar.name, anchor="start", colour="var(--text)" if said else "var(--muted)", bold=said),
        shape(corners, fill=_COLOURS[bar.tone], opacity=1 if said else 0.55),
        words((right + 6, top + 27), bar.written, anchor="start", colour="var(--text)", bold=said),
    ]


def _limit(limit: float, said: str, end: float, bars: int) -> list[Markup]:
    """Mark the limit across the bars; between them are their names."""
    at, bottom = _x(min(limit, end), end), _TOP + _STEP * bars
    tops = [_TOP + _STEP * number + 14 for number in range(bars)]
    right = at > _WIDTH / 2
    place = (at - 6 if right else at + 6, bottom + 12)
    return [
        *(line((at, top), (at, top + _THICK + 4), "var(--text)", width=1.5) for top in tops),
        line((at, bottom + 2), (at, bottom + 14), "var(--text)", width=1.5),
        words(place, said, anchor="end" if right else "start", colour="var(--text)"),
    ]


def _x(value: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * value / end
