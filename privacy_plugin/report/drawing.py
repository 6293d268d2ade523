"""Drawing: lines, text and shapes as SVG in the page's colours."""

from collections.abc import Sequence

from privacy_plugin.markup import Child, Markup, element

Point = tuple[float, float]

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def drawing(*shapes: Child, width: float, height: float, description: str) -> Markup:
    """Return an SVG image with a description for screen readers."""
    box = f"0 0 {width:g} {height:g}"
    return element("svg", *shapes, class_="chart", viewBox=box, role="img", aria_label=description)


def line(start: Point, end: Point, colour: str, *, width: float = 1, dashes: str | None = None) -> Markup:
    """Draw a straight line."""
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    places = {name: f"{place:.1f}" for name, place in ends.items()}
    return element("line", **places, stroke=colour, stroke_width=f"{width:g}", stroke_dasharray=dashes)


def path(points: Sequence[Point], colour: str, *, width: float = 2, dashes: str | None = None) -> Markup:
    """Draw a line through points."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element(
        "polyline", points=places, fill="none", stroke=colour, stroke_width=f"{width:g}", stroke_dasharray=dashes
    )


def shape(
    corners: Sequence[Point], *, fill: str = "none", opacity: float = 1, stroke: str = "none", dashes: str | None = None
) -> Markup:
    """Draw a closed shape."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return element(
        "polygon",
        points=points,
        fill=fill,
        fill_opacity=f"{opacity:g}",
        stroke=stroke,
        stroke_width="1.5",
        stroke_dasharray=dashes,
    )


def dot(centre: Point, colour: str, *, radius: float = 4) -> Markup:
    """Draw a dot."""
    return element("circle", cx=f"{centre[0]:.1f}", cy=f"{centre[1]:.1f}", r=f"{radius:g}", fill=colour)


def words(at: Point, label: str, *, anchor: str = "middle", colour: str = "var(--muted)", bold: bool = False) -> Markup:
    """Write text at a point."""
    return element(
        "text",
        label,
        x=f"{at[0]:.1f}",
        y=f"{at[1]:.1f}",
        fill=colour,
        text_anchor=anchor,
        font_family=_FONT,
        font_size="11",
        font_weight="600" if bold else None,
    )
