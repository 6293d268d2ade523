"""Curves: disclosure by the number of facts and by entropy, confidence of presence by the share of people."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from privacy_plugin.markup import Markup, element, table
from privacy_plugin.metrics.maximum_disclosure.metric import DisclosureMeasurement
from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.metrics.presence.presence_confidence import PresenceConfidence
from privacy_plugin.report.drawing import Point, dot, drawing, line, path, words
from privacy_plugin.requirements.requirement import Finding, format_value

_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 428.0, 20.0, 190.0
_WIDTH, _HEIGHT = 440, 232
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_STYLES = (("var(--text)", None), ("var(--muted)", "2 3"))
_MOST_TICKS = 13
_LABEL_HEIGHT = 12.0
_MOST_LINES = 20
_KINDS = {"implications": "implications", "negations": "negations only"}

Points = Sequence[Point]


def disclosure_curve(finding: Finding) -> Markup | None:
    """Show the worst knowledge of an attacker, the disclosure by number of facts, and the classes by entropy."""
    found = finding.measurement
    if not isinstance(found, DisclosureMeasurement):
        return None
    sentences = found.witness.sentences()
    return element(
        "div",
        element("p", element("strong", "The worst such attacker. "), found.witness.words().split(" Known: ")[0]),
        element("p", "What they would have to know:") if sentences else None,
        element("ul", [element("li", sentence) for sentence in sentences]) if sentences else None,
        _by_facts(found, finding),
        _by_entropy(found, finding),
    )


def _by_facts(found: DisclosureMeasurement, finding: Finding) -> Markup | None:
    """Draw what every number of facts up to the required one gives away; with none there is no curve."""
    curves = {name: [float(v) for v in curve] for name, curve in found.details["curves"].items() if len(curve) > 1}
    if not curves:
        return None
    names = list(curves)
    ends = ", ".join(
        f"{_KINDS[name]} {format_value(curves[name][0])} to {format_value(curves[name][-1])}" for name in names
    )
    rows = [
        [str(facts), *(format_value(curves[name][facts]) for name in names)] for facts in range(len(curves[names[0]]))
    ]
    heads = ["facts known", *(_KINDS[name] for name in names)]
    return element(
        "figure",
        curve_chart(
            {_KINDS[name]: curve for name, curve in curves.items()},
            limit=float(finding.limit.bounds[-1]),
            label=str(finding.limit),
            description=f"Line chart: maximum disclosure by the number of facts that an attacker knows: {ends}.",
        ),
        element("details", element("summary", "The curves"), table("Maximum disclosure by knowledge", heads, rows)),
    )


def _by_entropy(found: DisclosureMeasurement, finding: Finding) -> Markup:
    """Draw the disclosure of classes by their entropy: an even class may disclose much next to uneven ones."""
    bands = found.details["entropy_bands"]
    ends = ", ".join(f"{band['from']:.2g} to {band['to']:.2g}: {format_value(band['highest'])}" for band in bands)
    rows = [
        [
            f"{band['from']:.2g} to {band['to']:.2g}",
            f"{band['classes']:,}",
            f"{band['people']:,}",
            format_value(band["highest"]),
        ]
        for band in bands
    ]
    heads = ["entropy of the class", "classes", "people", "highest disclosure"]
    least = f"The most uneven class has an entropy of {found.details['least_entropy']:.3g} (natural logarithm)."
    return element(
        "figure",
        band_chart(
            [(band["from"], band["to"], band["highest"]) for band in bands],
            limit=float(finding.limit.bounds[-1]),
            label=str(finding.limit),
            description=f"Bands of entropy and the highest disclosure of the classes in each: {ends}.",
        ),
        element("p", least, class_="note"),
        element("details", element("summary", "By entropy"), table("Classes by how uneven they are", heads, rows)),
    )


def curve_chart(curves: Mapping[str, Sequence[float]], *, limit: float, label: str, description: str) -> Markup:
    """Draw each curve as a line from 0 facts on, over probabilities from 0 to 1, and the limit across them."""
    facts = max(len(curve) for curve in curves.values()) - 1
    return _chart(
        [_tick(number, facts) for number in range(0, facts + 1, math.ceil((facts + 1) / _MOST_TICKS))],
        [
            _curve(curve, facts, colour, dashes)
            for curve, (colour, dashes) in zip(curves.values(), _STYLES, strict=False)
        ],
        _limit_across(limit, label),
        [
            _key(number, name, colour, dashes)
            for number, (name, (colour, dashes)) in enumerate(zip(curves, _STYLES, strict=False))
        ],
        below="facts known",
        description=description,
    )


def band_chart(bands: Sequence[tuple[float, float, float]], *, limit: float, label: str, description: str) -> Markup:
    """Draw a level over each band of entropy (from, to, highest disclosure), and the limit across them."""
    end = max(high for _, high, _ in bands)
    return _chart(
        [words((_x(end * share, end), _BOTTOM + 16), f"{end * share:.2g}") for share in (0, 0.5, 1)],
        [
            line((_x(low, end), _y(level)), (_x(high, end), _y(level)), "var(--text)", width=3)
            for low, high, level in bands
        ],
        _limit_across(limit, label),
        below="entropy of the class",
        description=description,
    )


def _chart(*parts: Sequence[Any], below: str, description: str) -> Markup:
    return drawing(
        [_across(share, f"{share:g}") for share in _QUARTERS],
        *parts,
        words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), below),
        width=_WIDTH,
        height=_HEIGHT,
        description=description,
    )


def _x(number: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * number / end


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _across(share: float, label: str) -> list[Markup]:
    rule = line((_LEFT, _y(share)), (_RIGHT, _y(share)), "var(--line)")
    return [rule, words((_LEFT - 6, _y(share) + 4), label, anchor="end")]


def _tick(number: int, facts: int) -> Markup:
    return words((_x(number, max(facts, 1)), _BOTTOM + 16), str(number))


def _curve(curve: Sequence[float], facts: int, colour: str, dashes: str | None) -> list[Markup]:
    points = [(_x(number, max(facts, 1)), _y(share)) for number, share in enumerate(curve)]
    dots = [dot(point, colour, radius=2.5) for point in points]
    return [path(points, colour, dashes=dashes), *(dots if len(dots) <= 4 * _MOST_TICKS else [])]


def _limit_across(limit: float, label: str) -> list[Markup]:
    """Write the limit where the curves have not come yet: above its line at the left, or below it at the top."""
    below = limit > 1 - _LABEL_HEIGHT / (_BOTTOM - _TOP)
    place = _y(limit) + _LABEL_HEIGHT if below else _y(limit) - 5
    rule = line((_LEFT, _y(limit)), (_RIGHT, _y(limit)), "var(--text)", dashes="5 3")
    return [rule, words((_LEFT + 6, place), label, anchor="start", colour="var(--text)", bold=True)]


def _key(number: int, name: str, colour: str, dashes: str | None) -> list[Markup]:
    start = _LEFT + 150 * number
    return [
        line((start, 8), (start + 22, 8), colour, dashes=dashes, width=2),
        words((start + 28, 12), name, anchor="start"),
    ]


def confidence_curve(finding: Finding) -> Markup | None:
    """Show what is assumed of the population, what the classes do not cover, and who reaches which confidence."""
    found = finding.measurement
    if not isinstance(found, PresenceConfidence) or found.spread is None:
        return None
    low, high = found.parameters["delta"]
    possible = found.details["possible_tuples"]
    uncovered = found.details["uncovered_possible_tuples"]
    tuples = "not known" if uncovered is None else f"{uncovered:,} of {possible:,}"
    return element(
        "div",
        element(
            "p",
            f"Presence between {low} and {high} among {found.parameters['population_size']:,} people, of whom only the "
            f"distribution of every column is known. Combinations of values that occur in no class: {tuples}; about "
            f"{found.details['expected_people_uncovered']:,.0f} people are expected to have one.",
        ),
        _by_confidence(confident_shares(found.spread), finding),
    )


def _by_confidence(points: Points, finding: Finding) -> Markup:
    limit = float(finding.limit.bounds[0])
    enough = next((share for confidence, share in points if confidence >= limit), 0.0)
    description = (
        f"Falling curve: the share of people whose class is delta-present with at least so much confidence. "
        f"{enough:.1%} reach the limit, {finding.limit}."
    )
    listed = points if len(points) <= _MOST_LINES else points[:: -(-len(points) // _MOST_LINES)]
    rows = [[format_value(confidence), f"{share:.1%}"] for confidence, share in listed]
    numbers = table("Confidence and who reaches it", ["confidence", "people whose class reaches it"], rows)
    return element(
        "figure",
        confidence_chart(points, limit=limit, label=str(finding.limit), description=description),
        element("details", element("summary", "The curve"), numbers),
    )


def confident_shares(spread: Spread) -> list[Point]:
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


def confidence_chart(points: Points, *, limit: float, label: str, description: str) -> Markup:
    """Draw the share of people over the confidence from 0 to 1, and the limit as an upright line."""
    ticks = [words((_x(share, 1), _BOTTOM + 16), f"{share:g}") for share in _QUARTERS]
    return drawing(
        [_across(share, f"{share:.0%}") for share in _QUARTERS],
        ticks,
        path([(_x(confidence, 1), _y(share)) for confidence, share in _steps(points)], "var(--chart-meets)"),
        _limit_upright(limit, label),
        words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), "confidence"),
        words((_LEFT - 34, 12), "share of people whose class has at least that confidence", anchor="start"),
        width=_WIDTH,
        height=_HEIGHT,
        description=description,
    )


def _steps(points: Points) -> list[Point]:
    """Go level to every confidence and fall there; to the left of the first everybody is in."""
    corners = [(0.0, 1.0)]
    for number, (confidence, share) in enumerate(points):
        after = points[number + 1][1] if number + 1 < len(points) else 0.0
        corners += [(confidence, share), (confidence, after)]
    return [*corners, (1.0, 0.0)]


def _limit_upright(limit: float, label: str) -> list[Markup]:
    at = _x(limit, 1)
    right = limit > 0.5
    place = (at - 6 if right else at + 6, _BOTTOM - 8)
    return [
        line((at, _TOP), (at, _BOTTOM), "var(--text)", width=1.5, dashes="5 3"),
        words(place, label, anchor="end" if right else "start", colour="var(--text)", bold=True),
    ]
