"""Comparisons: a bar for every number that a value is to be seen with, and the declared channel of a mechanism."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privacy_plugin.markup import Child, Markup, element, table
from privacy_plugin.metrics.dependence.channel import Factor, probabilities
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, plain
from privacy_plugin.report.drawing import drawing, line, shape, words
from privacy_plugin.requirements.requirement import Finding, format_value

_WIDTH, _LEFT, _RIGHT = 440.0, 8.0, 372.0
_STEP, _THICK, _TOP = 36.0, 13.0, 6.0
_COLOURS = {"meets": "var(--chart-meets)", "fails": "var(--chart-fails)", "reference": "var(--muted)"}

_MOST_DRAWN = 16  # inputs or outputs of a channel
_CELL = 40.0
_CHANNEL_LEFT, _CHANNEL_TOP = 70.0, 40.0


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A number with its name; `tone` is "meets", "fails", or "reference" for what it is compared with."""

    name: str
    value: float
    written: str
    tone: str = "reference"


def compare_values(finding: Finding, comparison: Comparison) -> Markup:
    """Draw a measurement's comparison, with the limit where it lies on the same axis."""
    bars = [_bar_of(finding, value) for value in comparison.values]
    limited = comparison.limited
    drawn = draw_bars(
        bars,
        caption=comparison.caption,
        limit=float(finding.limit.bounds[0]) if limited else None,
        limit_words=str(finding.limit) if limited else "",
        full=comparison.full,
    )
    if not comparison.table_rows:
        return drawn
    rows: list[list[Child]] = [[name, format_value(plain(number))] for name, number in comparison.table_rows]
    return element("div", drawn, element("p", " "), table(comparison.table_caption, comparison.table_heads, rows))


def _bar_of(finding: Finding, compared: ComparedValue) -> Bar:
    tones = {"judged": "meets" if finding.passed else "fails", "good": "meets", "bad": "fails"}
    number = float(compared.value)
    written = {
        "share": lambda: f"{number:.1%}",
        "count": lambda: f"{compared.value:,}",
        "number": lambda: format_value(plain(compared.value)),
    }[compared.unit]()
    return Bar(name=compared.name, value=number, written=written, tone=tones.get(compared.role, "reference"))


def draw_bars(
    bars: Sequence[Bar], *, caption: str, limit: float | None = None, limit_words: str = "", full: float | None = None
) -> Markup:
    """Draw the bars from 0, the limit as an upright line, and the numbers as a table; `full` ends the axis."""
    finite = [bar.value for bar in bars if math.isfinite(bar.value)]
    end = full or max([*finite, limit or 0.0]) or 1.0
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


def _bar(number: int, bar: Bar, end: float) -> list[Markup]:
    top = _TOP + _STEP * number
    right = _x(min(bar.value, end), end)
    corners = [(_LEFT, top + 16), (right, top + 16), (right, top + 16 + _THICK), (_LEFT, top + 16 + _THICK)]
    strong = bar.tone != "reference"
    colour = "var(--text)" if strong else "var(--muted)"
    return [
        words((_LEFT, top + 11), bar.name, anchor="start", colour=colour, bold=strong),
        shape(corners, fill=_COLOURS[bar.tone], opacity=1 if strong else 0.55),
        words((right + 6, top + 27), bar.written, anchor="start", colour="var(--text)", bold=strong),
    ]


def _limit(limit: float, label: str, end: float, bars: int) -> list[Markup]:
    """Mark the limit across the bars; between them are their names."""
    at, bottom = _x(min(limit, end), end), _TOP + _STEP * bars
    tops = [_TOP + _STEP * number + 14 for number in range(bars)]
    right = at > _WIDTH / 2
    place = (at - 6 if right else at + 6, bottom + 12)
    return [
        *(line((at, top), (at, top + _THICK + 4), "var(--text)", width=1.5) for top in tops),
        line((at, bottom + 2), (at, bottom + 14), "var(--text)", width=1.5),
        words(place, label, anchor="end" if right else "start", colour="var(--text)"),
    ]


def _x(value: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * value / end


def channel(finding: Finding) -> Markup | None:
    """Draw P(released | original) of the declared channel, darker where likelier; values have numbers, not names."""
    if finding.measurement is None:
        return None
    rows = [probabilities(row, what="the channel") for row in finding.requirement.options["channel"]]
    if len(rows) > _MOST_DRAWN or len(rows[0]) > _MOST_DRAWN:
        return element("p", f"The declared channel has {len(rows)} inputs and {len(rows[0])} outputs.", class_="note")
    left, top = _CHANNEL_LEFT, _CHANNEL_TOP
    width, height = left + _CELL * len(rows[0]) + 8, top + _CELL * len(rows) + 8
    drawn = drawing(
        [_cell(x, s, chance) for x, row in enumerate(rows) for s, chance in enumerate(row)],
        [words((left + _CELL * (s + 0.5), top - 8), str(s + 1)) for s in range(len(rows[0]))],
        [words((left - 8, top + _CELL * (x + 0.5) + 4), str(x + 1), anchor="end") for x in range(len(rows))],
        words((left, 14), "released value", anchor="start"),
        words((left - 24, top + 14), "original", anchor="end"),
        width=max(width, _WIDTH),
        height=height,
        description=f"The declared channel: {len(rows)} original values by {len(rows[0])} released values.",
    )
    return element("figure", drawn)


def _cell(x: int, s: int, chance: Factor) -> list[Markup]:
    left, top = _CHANNEL_LEFT + _CELL * s, _CHANNEL_TOP + _CELL * x
    corners = [(left, top), (left + _CELL, top), (left + _CELL, top + _CELL), (left, top + _CELL)]
    number = float(chance)
    return [
        shape(corners, fill="var(--chart-meets)", opacity=0.1 + 0.6 * math.sqrt(number), stroke="var(--line)"),
        words((left + _CELL / 2, top + _CELL / 2 + 4), f"{number:.2g}", colour="var(--text)"),
    ]
