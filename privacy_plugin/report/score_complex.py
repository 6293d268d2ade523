"""The Dowker complex of a small table as a picture: what goes together, what gives more away, what is missing."""

import math
from collections.abc import Sequence
from itertools import combinations

from privacy_plugin.metrics.privacy_score.dowker_complex import DowkerComplex, Face
from privacy_plugin.report.drawing import Point, dot, drawing, line, shape, words
from privacy_plugin.report.markup import Child, Markup, definitions, element

_WIDTH, _HEIGHT = 440.0, 330.0
_CENTRE, _RADIUS = (220.0, 160.0), 118.0
_LISTED = 8


def complex_picture(drawn: DowkerComplex) -> Markup:
    """Draw attributes as points, what somebody has together as filled shapes, and list free faces and holes."""
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
            "Every point is an attribute; points joined by a line or a filled shape are what somebody has together. "
            "Red: free faces, which lie in one maximal face only and tend to give it away. Dashed: holes, attributes "
            "that nobody has together although somebody has all but any one of them. A column with several values has "
            "a numbered point for each.",
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
    said = "; ".join(f"{{{drawn.name(face)}}}" for face in faces[:_LISTED])
    more = f"; and {len(faces) - _LISTED:,} more" if len(faces) > _LISTED else ""
    return f"{len(faces):,}: {said}{more}"
