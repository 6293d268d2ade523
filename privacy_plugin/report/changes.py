"""What an anonymizer changed: its levels, what it cost, and pictures of the search that found it."""

from collections.abc import Sequence

from privacy_plugin.anonymizers.base import AnonymizerResult, LatticeResult
from privacy_plugin.description import ColumnLevel
from privacy_plugin.generalization.plan import LatticeNode, TradeOff
from privacy_plugin.markup import Child, Markup, definitions, element, section, table
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.drawing import Point, drawing, line
from privacy_plugin.report.trade_off import trade_off_figure, trade_off_left_out

_WIDTH, _MARGIN = 640.0, 26.0
_PALEST = 0.2


def changes(content: ReportContent) -> Markup:
    """Show what the anonymizer describes, and pictures of its search where it recorded one."""
    if content.plan is None:
        return Markup("")
    described = content.plan.describe()
    pairs: list[tuple[str, Child]] = [(name[:1].upper() + name[1:], value) for name, value in described.rows]
    pairs += [(name[:1].upper() + name[1:], value) for name, value in content.steps]
    pairs += [(f"Column {name}", treatment.describe()) for name, treatment in content.policy.treatments.items()]
    rows: list[list[Child]] = [[element("code", one.column), _steps(one), one.meaning] for one in described.levels]
    points, problem = content.trade_off
    left_out = trade_off_left_out(content.plan, points, problem)
    figures = search_figures(content.plan, points)
    return section(
        "What was changed",
        definitions(pairs),
        table("Level of every quasi-identifier", ["column", "level", "its values became"], rows) if rows else None,
        element("ul", [element("li", note) for note in described.notes]) if described.notes else None,
        element("div", figures, class_="columns") if figures else None,
        element("p", left_out, class_="note") if left_out else None,
        identifier="change",
    )


def _steps(column: ColumnLevel) -> list[Child]:
    steps = [element("i", class_="on" if step <= column.level else None) for step in range(1, column.height + 1)]
    return [element("span", steps, class_="levels", aria_hidden="true"), f" {column.position}"]


def search_figures(plan: AnonymizerResult, computed: Sequence[TradeOff] = ()) -> list[Markup]:
    """Draw the recorded search: the lattice if it is small, and the curve of loss against k, `computed` or recorded."""
    figures = []
    if isinstance(plan, LatticeResult) and plan.lattice:
        figures.append(_figure(_lattice(plan), _lattice_key(plan)))
    curve = trade_off_figure(plan, computed)
    return figures if curve is None else [*figures, curve]


def _figure(picture: Markup, caption: str) -> Markup:
    return element("figure", picture, element("figcaption", caption, class_="key"))


def _lattice_key(plan: LatticeResult) -> str:
    unknown = " Dashed: not checked." if any(node.feasible is None for node in plan.lattice) else ""
    return (
        "Each mark is one combination of levels, with the original values at the bottom; a line leads one level up in "
        "one column. Circle: meets the policy; square: does not. Paler: more is lost, by generalizing and by "
        "suppressing the rows that fail. Thin ring: meets the policy, and nothing less general does. "
        f"Thick ring: chosen.{unknown}"
    )


def _lattice(plan: LatticeResult) -> Markup:
    """Draw a Hasse diagram with a row for every sum of levels."""
    rows: dict[int, list[LatticeNode]] = {}
    for node in plan.lattice:
        rows.setdefault(sum(node.levels), []).append(node)
    widest = max(map(len, rows.values()))
    step = min(44.0, 620.0 / max(len(rows) - 1, 1))
    height = 2 * _MARGIN + step * (len(rows) - 1)
    radius = max(min(8.0, 0.36 * (_WIDTH - 2 * _MARGIN) / widest, 0.36 * step), 1.5)
    places = {
        node.levels: (_across(number, len(row)), height - _MARGIN - step * total)
        for total, row in rows.items()
        for number, node in enumerate(row)
    }
    names = tuple(plan.levels)
    return drawing(
        [
            line(places[one], places[other], "var(--line)")
            for one in places
            for other in _higher(one)
            if other in places
        ],
        [_mark(plan, node, names, places[node.levels], radius) for node in plan.lattice],
        width=_WIDTH,
        height=height,
        description=_lattice_description(plan),
    )


def _across(number: int, count: int) -> float:
    """Spread a row over the width, its ends not farther out than a row of twelve would have them."""
    usable = (_WIDTH - 2 * _MARGIN) * min(count / 12, 1.0)
    return _WIDTH / 2 + (usable * ((number + 0.5) / count - 0.5))


def _higher(node: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*node[:axis], node[axis] + 1, *node[axis + 1 :]) for axis in range(len(node))]


def _mark(plan: LatticeResult, node: LatticeNode, names: Sequence[str], at: Point, radius: float) -> list[Markup]:
    """Draw a node; circles and squares serve readers who cannot distinguish the colours."""
    losses = [other.loss for other in plan.lattice]
    span = max(losses) - min(losses)
    strength = 1 - (1 - _PALEST) * ((node.loss - min(losses)) / span if span else 0.0)
    known = {True: "meets the policy", False: "does not meet the policy", None: "not checked"}[node.feasible]
    levels = ", ".join(f"{name} {level}" for name, level in zip(names, node.levels, strict=True))
    title = element("title", f"{levels}: {known}, loss {node.loss:.4g}")
    colour = {True: "var(--chart-meets)", False: "var(--chart-fails)", None: "var(--card)"}[node.feasible]
    look = {"fill": colour, "fill_opacity": f"{strength:.2f}"}
    if node.feasible is None:
        look |= {"stroke": "var(--muted)", "stroke_dasharray": "2 2"}
    marks = [_circle(at, radius, fill="var(--card)")]  # lines end under pale dots
    if node.feasible is False:
        side = 1.7 * radius
        corner = {"x": f"{at[0] - side / 2:.1f}", "y": f"{at[1] - side / 2:.1f}"}
        marks.append(element("rect", title, **corner, width=f"{side:.1f}", height=f"{side:.1f}", **look))
    else:
        marks.append(_circle(at, radius, title, **look))
    if node.levels == tuple(plan.levels.values()):
        marks.append(_circle(at, radius + 3, fill="none", stroke="var(--text)", stroke_width="2.5"))
    elif any(tuple(other.values()) == node.levels for other in plan.minimal_nodes):
        marks.append(_circle(at, radius + 2.5, fill="none", stroke="var(--text)"))
    return marks


def _circle(at: Point, radius: float, *children: Child, **look: str) -> Markup:
    return element("circle", *children, cx=f"{at[0]:.1f}", cy=f"{at[1]:.1f}", r=f"{radius:.1f}", **look)


def _lattice_description(plan: LatticeResult) -> str:
    allowed = sum(node.feasible is True for node in plan.lattice)
    chosen = ", ".join(f"{name} {level}" for name, level in plan.levels.items())
    return (
        f"Lattice of {len(plan.lattice):,} combinations of levels: {allowed:,} are known to meet the policy, "
        f"{len(plan.minimal_nodes):,} of them minimal; chosen: {chosen}, loss {plan.loss:.4g}."
    )
