"""Histograms: how a metric's values are spread over people, in bars that end at the limit, drawn as SVG.

Charts are drawn without a browser and without the network.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import vl_convert

from privacy_plugin.markup import Markup
from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.requirements.limits import Limit

_MOST_EXACT = 10
_STEPS = 8

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_WIDTH, _HEIGHT = 340, 150  # narrow, so that a phone does not shrink the text

# Placeholder colours that no chart uses otherwise; the page replaces them with its own, which follow light and dark.
_COLOURS = {
    "#010101": "var(--text)",
    "#020202": "var(--muted)",
    "#030303": "var(--line)",
    "#040404": "var(--chart-meets)",
    "#050505": "var(--chart-fails)",
}
_TEXT, _MUTED, _LINE, _MEETS, _FAILS = _COLOURS
_COUNTED = "datum.value ? format(datum.value, '~s') : '0'"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Some neighbouring values, as a label, and how many people have them."""

    label: str
    meets: int
    fails: int


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The bars of a chart; `edges` are the labels between bars (none where each bar is one value).

    `limits` are the positions, counted in bars from the left, at which the limit cuts; `beyond` says of each whether
    it lies further out than the bars reach.
    """

    bars: tuple[Bar, ...]
    edges: tuple[str, ...]
    limits: tuple[int, ...]
    beyond: tuple[bool, ...]

    @property
    def highest(self) -> int:
        """How many people the highest bar has."""
        return max((bar.meets + bar.fails for bar in self.bars), default=0)


def bars_of(spread: Spread, limit: Limit, *, smallest: float | None = None, others: Sequence[Spread] = ()) -> Bars:
    """Count people by value: a bar for each value where there are few, otherwise ranges that end at the limit.

    `smallest` is the least value that the metric can have: unless a value lies below it, the bars start no lower. The
    `others`, which are drawn next to it, have the same bars.
    """
    bounds = [float(bound) for bound in limit.bounds]
    failing = limit.failing(spread.values)
    values = np.concatenate([each.values for each in (spread, *others)])
    distinct = np.unique(values[np.isfinite(values)])
    if len(distinct) <= _MOST_EXACT:
        return _exact(spread, failing, distinct, limit, bounds)
    edges = _edges(distinct, bounds, smallest)
    closed_right = limit.kind in ("at_most", "below")
    drawn = _at_their_limit(spread.values, failing, bounds)
    positions = np.searchsorted(edges, drawn, side="left" if closed_right else "right") - 1
    meets, fails = _count(spread, failing, np.clip(positions, 0, len(edges) - 2), len(edges) - 1)
    labels = tuple(short(edge) for edge in edges)
    whole = bool(np.all(distinct == np.floor(distinct))) and not closed_right
    ranges = [_range(low, high, whole=whole) for low, high in pairwise(edges.tolist())]
    return Bars(
        bars=tuple(Bar(label=r, meets=m, fails=f) for r, m, f in zip(ranges, meets, fails, strict=True)),
        edges=labels,
        limits=tuple(min(int(np.searchsorted(edges, bound)), len(edges) - 1) for bound in bounds),
        beyond=tuple(not edges[0] <= bound <= edges[-1] for bound in bounds),
    )


def _at_their_limit(values: Floats, failing: npt.NDArray[np.bool_], bounds: list[float]) -> Floats:
    """Return the values, those that equal the limit up to rounding exactly on it."""
    for bound in bounds:
        values = np.where(~failing & np.isclose(values, bound, rtol=1e-9, atol=0), bound, values)
    return values


def short(value: float) -> str:
    """Write a number for an axis."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _range(low: float, high: float, *, whole: bool) -> str:
    last = high - 1 if whole else high
    return short(low) if whole and last == low else f"{short(low)} to {short(last)}"


def _exact(spread: Spread, failing: npt.NDArray[np.bool_], distinct: Floats, limit: Limit, bounds: list[float]) -> Bars:
    bars = max(len(distinct), 1)
    positions = np.clip(np.searchsorted(distinct, spread.values), 0, bars - 1)
    meets, fails = _count(spread, failing, positions, bars)
    labels = [short(value) for value in distinct] or ["not a number"]
    sides = {"at_least": "left", "below": "left", "above": "right", "at_most": "right", "between": "left"}
    cuts = [int(np.searchsorted(distinct, bound, side=sides[limit.kind])) for bound in bounds]  # type: ignore[call-overload]
    if limit.kind == "between":
        cuts[1] = int(np.searchsorted(distinct, bounds[1], side="right"))
    return Bars(
        bars=tuple(Bar(label=n, meets=m, fails=f) for n, m, f in zip(labels, meets, fails, strict=True)),
        edges=(),
        limits=tuple(cuts),
        beyond=(False,) * len(cuts),
    )


def _count(
    spread: Spread, failing: npt.NDArray[np.bool_], positions: npt.NDArray[np.int64], bars: int
) -> tuple[list[int], list[int]]:
    meets, fails = np.zeros(bars, dtype=np.int64), np.zeros(bars, dtype=np.int64)
    np.add.at(meets, positions[~failing], spread.people[~failing])
    np.add.at(fails, positions[failing], spread.people[failing])
    return meets.tolist(), fails.tolist()


def _edges(distinct: Floats, bounds: list[float], smallest: float | None) -> Floats:
    """Round edges around the values: 1, 2, 5, 10, 20, ... for whole numbers, equal steps for others."""
    low, high = float(distinct[0]), float(distinct[-1])
    whole = low >= 1 and bool(np.all(distinct == np.floor(distinct)))
    series = _one_two_five(high) if whole and high > 4 * _MOST_EXACT else _equal_steps(low, high)
    inside = [bound for bound in bounds if low < bound <= high]
    kept = [edge for edge in series if not any(_crowds(edge, bound, low, high, whole) for bound in inside)]
    first = low if whole and high <= 4 * _MOST_EXACT else max(edge for edge in kept if edge <= low)
    least = bounds if smallest is None else [*bounds, float(smallest)]
    start = max([first, *(edge for edge in least if first < edge <= low)])
    return np.array(sorted({start, *(edge for edge in kept if edge > low), *inside}))


def _crowds(edge: float, bound: float, low: float, high: float, whole: bool) -> bool:
    """Return whether an inner edge lies so near the limit that their labels would overlap."""
    if edge <= low or edge > high:
        return False
    return 0.8 < edge / bound < 1.25 if whole else abs(edge - bound) < (high - low) / (3 * _STEPS)


def _one_two_five(high: float) -> list[float]:
    series = [float(factor * 10**power) for power in range(19) for factor in (1, 2, 5)]
    last = next(number for number, edge in enumerate(series) if edge > high)
    return series[: last + 1]


def _equal_steps(low: float, high: float) -> list[float]:
    rough = (high - low) / _STEPS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]


def people_chart(bars: Bars, *, axis: str, limit: str, highest: int, description: str) -> Markup:
    """Draw people by value with the limit as a line, as an image that a screen reader can name.

    The axis of people ends at the `highest` bar, of this chart or of one next to it.
    """
    chart = alt.layer(_columns(bars, axis, highest), _limit_lines(bars), _limit_words(bars, limit))
    spec = chart.properties(width=_WIDTH, height=_HEIGHT, background="transparent").configure_view(stroke=None)
    return _svg(spec.to_dict(validate=False), description)


def _columns(bars: Bars, axis: str, highest: int) -> Any:
    values = []
    for position, bar in enumerate(bars.bars):
        ends = {"left": position + 0.06, "right": position + 0.94}
        values.append({**ends, "low": 0, "high": bar.fails, "state": "fails"})
        values.append({**ends, "low": bar.fails, "high": bar.fails + bar.meets, "state": "meets"})
    colour = alt.Color("state:N", legend=None, scale=alt.Scale(domain=["meets", "fails"], range=[_MEETS, _FAILS]))
    return (
        alt.Chart(_data(values))
        .mark_rect()
        .encode(
            x=alt.X("left:Q", axis=_axis(axis, **_ticks(bars)), scale=_span(bars)),
            x2="right:Q",
            y=alt.Y(
                "low:Q",
                axis=_axis("people", labelExpr=_COUNTED, tickCount=4, grid=True, domain=False),
                scale=alt.Scale(domain=[0, max(highest, 1)], nice=True),
            ),
            y2="high:Q",
            color=colour,
        )
    )


def _ticks(bars: Bars) -> dict[str, Any]:
    """Label the bars where each is one value, otherwise the edges between them."""
    labels = list(bars.edges) or [bar.label for bar in bars.bars]
    places = [float(n) if bars.edges else n + 0.5 for n in range(len(labels))]
    return {
        "values": places,
        "labelExpr": f"{labels!r}[floor(datum.value)]",
        "labelOverlap": "greedy",
        "labelSeparation": 8,
        "grid": False,
    }


def _limit_lines(bars: Bars) -> Any:
    values = [{"at": at} for at, outside in zip(bars.limits, bars.beyond, strict=True) if not outside]
    mark = alt.Chart(_data(values)).mark_rule(color=_TEXT, strokeWidth=1.5, strokeDash=[5, 3])
    return mark.encode(x=alt.X("at:Q", scale=_span(bars)))


def _limit_words(bars: Bars, limit: str) -> Any:
    """Write the limit at the top of its line, on the side that has room; an arrow points where it lies further out."""
    at = bars.limits[0]
    left = at <= len(bars.bars) / 2
    if bars.beyond[0]:
        limit = f"← {limit}" if left else f"{limit} →"
    mark = alt.Chart(_data([{"at": at, "words": limit}])).mark_text(
        color=_TEXT, align="left" if left else "right", dx=6 if left else -6, y=-8, fontWeight=600, font=_FONT
    )
    return mark.encode(x=alt.X("at:Q", scale=_span(bars)), text="words:N")


def _data(values: list[dict[str, Any]]) -> Any:
    return alt.Data(values=values)  # type: ignore[no-untyped-call]


def _span(bars: Bars) -> alt.Scale:
    return alt.Scale(domain=[0, len(bars.bars)], nice=False)


def _axis(title: str, **given: Any) -> alt.Axis:
    return alt.Axis(
        title=title,
        labelColor=_MUTED,
        titleColor=_MUTED,
        domainColor=_LINE,
        tickColor=_LINE,
        gridColor=_LINE,
        labelFont=_FONT,
        labelFontSize=11,
        titleFont=_FONT,
        titleFontWeight="normal",
        titleLimit=_WIDTH,  # a title that is wider than the chart would make the chart small
        titlePadding=10,  # a reader's font may be wider than the one that was measured
        **given,
    )


def _svg(spec: dict[str, Any], description: str) -> Markup:
    drawn = str(vl_convert.vegalite_to_svg(spec))
    for placeholder, colour in _COLOURS.items():
        drawn = drawn.replace(f'"{placeholder}"', f'"{colour}"')
    body = re.sub(r"<svg[^>]*>|</svg>", "", drawn)
    body = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", body)  # the whole image has one name of its own
    box = re.search(r'viewBox="([^"]*)"', drawn)
    assert box is not None  # every drawing has one
    return Markup(
        f'<svg class="chart" viewBox="{box.group(1)}" role="img" aria-label="{escape(description)}">{body}</svg>'
    )
