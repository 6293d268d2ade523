"""Charts as SVG inside the page: drawn without a browser and without the network."""

import re
from html import escape
from typing import Any

import altair as alt
import vl_convert

from privacy_plugin.report.bins import Bars
from privacy_plugin.report.markup import Markup

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_WIDTH, _HEIGHT = 340, 150  # narrow, so that a phone need not make the words small

# Colours no chart would use by chance; the page replaces them with its own, which follow light and dark.
_COLOURS = {
    "#010101": "var(--text)",
    "#020202": "var(--muted)",
    "#030303": "var(--line)",
    "#040404": "var(--chart-meets)",
    "#050505": "var(--chart-fails)",
}
_TEXT, _MUTED, _LINE, _MEETS, _FAILS = _COLOURS
_COUNTED = "datum.value ? format(datum.value, '~s') : '0'"


def people_chart(bars: Bars, *, axis: str, limit: str, highest: int, description: str) -> Markup:
    """Draw people by value with the limit as a line, as an image that a screen reader can name.

    The axis of people ends at the `highest` bar, of this chart or of one beside it.
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
