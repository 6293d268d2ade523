"""Privacy scores: their distribution over people, the most revealing combinations, and the complex of a small table."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from privacy_plugin.markup import Child, Markup, definitions, element, table
from privacy_plugin.metrics.measurement import Spread
from privacy_plugin.metrics.privacy_score.dowker_complex import DowkerComplex, Face, dowker_complex
from privacy_plugin.metrics.privacy_score.result import PrivacyScore
from privacy_plugin.report.drawing import Point, dot, drawing, line, shape, words
from privacy_plugin.requirements.requirement import Finding, format_value

_COMBINATIONS = 8
_MOST_PEOPLE_DRAWN = 40  # distinct rows: more make a picture of lines only
_BINS = 20
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 428.0, 24.0, 180.0
_WIDTH, _HEIGHT = 440.0, 330.0
_CENTRE, _RADIUS = (220.0, 160.0), 118.0
_LISTED = 8


def score_distribution(finding: Finding) -> Markup | None:
    """Show the scores of people, the most revealing combinations, and the complex where few rows differ."""
    found = finding.measurement
    if not isinstance(found, PrivacyScore):
        return None
    drawn = dowker_complex(found) if found.classes <= _MOST_PEOPLE_DRAWN else None
    summary = f"The average score is {format_value(found.average)}, the highest {format_value(found.maximum)}."
    if not found.complete:
        summary += " Scores are upper ends: the search was cut short by its budget."
    return element(
        "div",
        element("p", summary),
        _spread(found),
        _combinations(found),
        complex_picture(drawn) if drawn is not None else None,
    )


def _spread(found: PrivacyScore) -> Markup | None:
    """Draw the scores, unless the limit is on the highest one: then the card's own chart shows who fails it."""
    threshold = found.parameters["threshold"]
    if found.settings.statistic == "maximum":
        return None
    if threshold is None:
        return _distribution(found.scores, mark=found.average, label=f"average {format_value(found.average)}")
    counted = found.threshold_count(threshold)
    label = f"{counted:,} people score {threshold} or more"
    limit = float(found.settings.threshold or 0)
    return _distribution(found.scores, mark=limit, label=label, fails_from=limit)


def _combinations(found: PrivacyScore) -> Markup | None:
    if not found.combinations:
        return element("p", "Nothing that is dangerous follows from anything an attacker may know.")
    rows: list[list[Child]] = [
        [
            ", ".join(one.known) or "nothing",
            ", ".join(one.inferred),
            f"{one.weight:.3g}",
            f"{one.people:,}",
        ]
        for one in found.combinations[:_COMBINATIONS]
    ]
    heads = ["who knows", "learns", "score", "people"]
    return table("The most revealing combinations, of those with the highest scores", heads, rows)


def _distribution(scores: Spread, *, mark: float, label: str, fails_from: float | None = None) -> Markup:
    """Draw people by score from 0 to 1; bars from `fails_from` on are those a threshold counts."""
    people = _counted(scores)
    most = max(people)
    description = f"Bar chart: people by privacy score from 0 to 1. {label}."
    bars = [_bar(number, count, most, fails_from) for number, count in enumerate(people) if count]
    rows: list[list[Child]] = [
        [f"{number / _BINS:.2f} to {(number + 1) / _BINS:.2f}", f"{count:,}"]
        for number, count in enumerate(people)
        if count
    ]
    return element(
        "figure",
        drawing(
            [_across(share, most) for share in (0.0, 0.5, 1.0)],
            bars,
            [words((_x(tick), _BOTTOM + 16), f"{tick:g}") for tick in (0.0, 0.25, 0.5, 0.75, 1.0)],
            words(((_LEFT + _RIGHT) / 2, _BOTTOM + 34), "privacy score"),
            _marked(mark, label),
            width=440,
            height=222,
            description=description,
        ),
        element(
            "details",
            element("summary", "The numbers"),
            table("People by privacy score", ["score", "people"], rows),
        ),
    )


def _counted(scores: Spread) -> list[int]:
    bins = np.clip((scores.values * _BINS + 1e-9).astype(np.int64), 0, _BINS - 1)
    people = np.zeros(_BINS, dtype=np.int64)
    np.add.at(people, bins, scores.people)
    return [int(count) for count in people]


def _x(score: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * score


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _across(share: float, most: int) -> list[Markup]:
    rule = line((_LEFT, _y(share)), (_RIGHT, _y(share)), "var(--line)")
    return [
        rule,
        words((_LEFT - 6, _y(share) + 4), f"{share * most:,g}" if most < 100 else f"{share * most:,.0f}", anchor="end"),
    ]


def _bar(number: int, count: int, most: int, fails_from: float | None) -> Markup:
    left, right = _x(number / _BINS) + 1, _x((number + 1) / _BINS) - 1
    top = _y(count / most)
    fails = fails_from is not None and (number + 1) / _BINS > fails_from + 1e-9
    colour = "var(--chart-fails)" if fails else "var(--chart-meets)"
    return shape([(left, _BOTTOM), (left, top), (right, top), (right, _BOTTOM)], fill=colour)


def _marked(mark: float, label: str) -> list[Markup]:
    """Write at the mark's line, on the side that has room."""
    at = _x(min(max(mark, 0.0), 1.0))
    room = mark <= 0.5
    rule = line((at, _TOP - 8), (at, _BOTTOM), "var(--text)", width=1.5, dashes="5 3")
    place = (at + 6 if room else at - 6, _TOP - 10)
    return [rule, words(place, label, anchor="start" if room else "end", colour="var(--text)", bold=True)]


def complex_picture(drawn: DowkerComplex) -> Markup:
    """Draw attributes as points, those that a person has together as filled shapes; list free faces and holes."""
    places = [_place(vertex, len(drawn.vertices)) for vertex in range(len(drawn.vertices))]
    described = (
        f"Picture of the Dowker complex: {len(drawn.vertices)} attributes, {len(drawn.maximal)} maximal faces, "
        f"{len(drawn.free_faces)} smallest free faces, {len(drawn.holes)} holes."
    )
    return element(
        "figure",
        drawing(
            [_filled(face, places) for face in drawn.maximal if len(face) > 2],
            [_hole(face, places) for face in drawn.holes],
            [_edge(edge, places, drawn) for edge in _edges(drawn.maximal)],
            [_vertex(vertex, places, drawn) for vertex in range(len(drawn.vertices))],
            width=_WIDTH,
            height=_HEIGHT,
            description=described,
        ),
        element(
            "figcaption",
            "Every point is an attribute; points joined by a line or a filled shape are what some person has together. "
            "Red: free faces, which lie in one maximal face only and tend to give it away. Dashed: holes, attributes "
            "that no person has together although for each of them some person has all others. A column with several "
            "values has a numbered point for each.",
            class_="note",
        ),
        definitions(_listed(drawn)),
    )


def _place(vertex: int, count: int) -> Point:
    angle = 2 * math.pi * vertex / max(count, 1) - math.pi / 2
    return _CENTRE[0] + _RADIUS * math.cos(angle), _CENTRE[1] + _RADIUS * math.sin(angle)


def _edges(maximal: Sequence[Face]) -> list[Face]:
    return sorted({edge for face in maximal for edge in combinations(face, 2)})


def _filled(face: Face, places: Sequence[Point]) -> Markup:
    return shape([places[vertex] for vertex in face], fill="var(--chart-meets)", opacity=0.16)


def _hole(face: Face, places: Sequence[Point]) -> Markup:
    """A hole's outline lies a little inside, so that the lines it runs along stay visible."""
    corners = [places[vertex] for vertex in face]
    middle = (sum(x for x, _ in corners) / len(corners), sum(y for _, y in corners) / len(corners))
    if len(corners) == 2:
        return line(corners[0], corners[1], "var(--muted)", dashes="3 4")
    inner = [(x + 0.12 * (middle[0] - x), y + 0.12 * (middle[1] - y)) for x, y in corners]
    return shape(inner, stroke="var(--text)", dashes="4 3")


def _edge(edge: Face, places: Sequence[Point], drawn: DowkerComplex) -> Markup:
    free = edge in drawn.free_faces
    return line(
        places[edge[0]],
        places[edge[1]],
        "var(--chart-fails)" if free else "var(--muted)",
        width=2.5 if free else 1,
    )


def _vertex(vertex: int, places: Sequence[Point], drawn: DowkerComplex) -> list[Markup]:
    x, y = places[vertex]
    free = (vertex,) in drawn.free_faces
    away = (x - _CENTRE[0]) / _RADIUS
    anchor = "middle" if abs(away) < 0.2 else "start" if away > 0 else "end"
    label = (x + 9 * away, y + (16 if y > _CENTRE[1] else -9 if anchor == "middle" else 4))
    return [
        dot((x, y), "var(--chart-fails)" if free else "var(--text)", radius=5 if free else 4),
        words(label, _short(drawn.vertices[vertex]), anchor=anchor, colour="var(--text)"),
    ]


def _short(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:9]}…{name[-6:]}"


def _listed(drawn: DowkerComplex) -> list[tuple[str, Child]]:
    return [
        ("Maximal faces", _named(drawn, drawn.maximal)),
        ("Free faces", _named(drawn, drawn.free_faces)),
        ("Something follows from", _named(drawn, drawn.inferring)),
        ("Holes", _named(drawn, drawn.holes)),
    ]


def _named(drawn: DowkerComplex, faces: Sequence[Face]) -> str:
    if not faces:
        return "none"
    named = "; ".join(f"{{{drawn.name(face)}}}" for face in faces[:_LISTED])
    more = f"; and {len(faces) - _LISTED:,} more" if len(faces) > _LISTED else ""
    return f"{len(faces):,}: {named}{more}"
