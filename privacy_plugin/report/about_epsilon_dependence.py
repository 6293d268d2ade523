"""epsilon-dependence in the report: the declared channel, and what the pairs of cells show at least."""

import math

from privacy_plugin.metrics.dependence.channel import Factor, probabilities
from privacy_plugin.metrics.measurement import Measurement, plain
from privacy_plugin.report.about import report_section
from privacy_plugin.report.comparison_chart import Bar, held_against, tone
from privacy_plugin.report.drawing import drawing, shape, words
from privacy_plugin.report.markup import Markup, element
from privacy_plugin.requirements.requirement import Finding, shown

_MOST_DRAWN = 16
_CELL = 40.0
_LEFT, _TOP = 70.0, 40.0


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if found is None:
        return None
    return element("div", _bars(finding, found), _channel(finding))


def _bars(finding: Finding, found: Measurement) -> Markup:
    details, refuted = found.details, found.details["refuted"]
    bars = [
        _nats("declared, for any attacker", details["declared_prior_free"], "beside" if refuted else tone(finding)),
        _nats("shown by the pairs, at least", details["audited_lower_bound"], "fails" if refuted else "beside"),
        _nats("mutual information of the pairs, as counted", details["information_of_the_pairs"], "beside"),
        _nats("mutual information, at most (of what is declared)", details["information_bound"], "beside"),
    ]
    if found.parameters["prior"]:
        bars[0] = _nats("declared, for any attacker", details["declared_prior_free"], "beside")
        bars.insert(1, _nats("declared, under the stated prior", details["declared_epsilon"], tone(finding)))
    return held_against(finding, bars, caption="epsilon of one cell, in nats")


def _nats(name: str, value: float, colour: str) -> Bar:
    return Bar(name=name, value=value, written=shown(plain(value)), tone=colour)


def _channel(finding: Finding) -> Markup | None:
    """Draw P(released | original), darker where likelier; values have numbers, not names."""
    rows = [probabilities(row, what="the channel") for row in finding.requirement.options["channel"]]
    if len(rows) > _MOST_DRAWN or len(rows[0]) > _MOST_DRAWN:
        return element("p", f"The declared channel has {len(rows)} inputs and {len(rows[0])} outputs.", class_="note")
    width, height = _LEFT + _CELL * len(rows[0]) + 8, _TOP + _CELL * len(rows) + 8
    cells = [_cell(x, s, chance) for x, row in enumerate(rows) for s, chance in enumerate(row)]
    heads = [words((_LEFT + _CELL * (s + 0.5), _TOP - 8), str(s + 1)) for s in range(len(rows[0]))]
    sides = [words((_LEFT - 8, _TOP + _CELL * (x + 0.5) + 4), str(x + 1), anchor="end") for x in range(len(rows))]
    drawn = drawing(
        cells,
        heads,
        sides,
        words((_LEFT, 14), "released value", anchor="start"),
        words((_LEFT - 24, _TOP + 14), "original", anchor="end"),
        width=max(width, 440.0),
        height=height,
        description=f"The declared channel: {len(rows)} original values by {len(rows[0])} released values.",
    )
    return element("figure", drawn)


def _cell(x: int, s: int, chance: Factor) -> list[Markup]:
    left, top = _LEFT + _CELL * s, _TOP + _CELL * x
    corners = [(left, top), (left + _CELL, top), (left + _CELL, top + _CELL), (left, top + _CELL)]
    number = float(chance)
    return [
        shape(corners, fill="var(--chart-meets)", opacity=0.1 + 0.6 * math.sqrt(number), stroke="var(--line)"),
        words((left + _CELL / 2, top + _CELL / 2 + 4), f"{number:.2g}", colour="var(--text)"),
    ]


report_section(
    "epsilon_dependence",
    axis="epsilon of one cell",
    shows="The declared mechanism moves no belief about one cell by more than the factor e to the power of the limit, "
    "and the pairs of original and released cells do not refute the declaration.",
    hides="That the declared mechanism was really used: data can refute that and never prove it. The epsilon is that "
    "of one cell; the cells of a row add up, and so do releases. It is no certificate of safety.",
    section=_section,
)
