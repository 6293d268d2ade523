"""What an anonymizer did to the table: its levels, what it cost and what it reached."""

from privacy_plugin.anonymizers.base import LatticeResult
from privacy_plugin.description import ColumnLevel
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.lattice import lattice_figures
from privacy_plugin.report.markup import Child, Markup, definitions, element, section, table


def change(content: ReportContent) -> Markup:
    """Show what the anonymizer describes, and pictures of its search where it recorded one."""
    if content.plan is None:
        return Markup("")
    described = content.plan.describe()
    pairs: list[tuple[str, Child]] = [(name[:1].upper() + name[1:], value) for name, value in described.rows]
    rows: list[list[Child]] = [[element("code", one.column), _bar(one), one.meaning] for one in described.levels]
    figures = lattice_figures(content.plan) if isinstance(content.plan, LatticeResult) else []
    return section(
        "What was changed",
        definitions(pairs),
        table("Level of every quasi-identifier", ["column", "level", "its values became"], rows) if rows else None,
        element("ul", [element("li", note) for note in described.notes]) if described.notes else None,
        element("div", figures, class_="columns") if figures else None,
        identifier="change",
    )


def _bar(column: ColumnLevel) -> list[Child]:
    steps = [element("i", class_="on" if step <= column.level else None) for step in range(1, column.height + 1)]
    return [element("span", steps, class_="levels", aria_hidden="true"), f" {column.position}"]
