"""The explorer: one page to choose a generalization by its loss and its failing rows, without a server."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import yaml

from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import Value, label
from privacy_plugin.generalization.exploration import Exploration
from privacy_plugin.locations import Location
from privacy_plugin.report.page import write_page

_EXAMPLES = 6


def write_explorer(
    path: str | Location,
    explored: Exploration,
    *,
    dataset: str,
    hierarchies: Mapping[str, Hierarchy],
    values: Mapping[str, Sequence[Value]] | None = None,
) -> Location:
    """Write the page; `values`, the values of the columns, are given only if the page may show them."""
    heights = [hierarchies[name].height for name in explored.columns]
    labels = None
    if values is not None:
        labels = [_examples(hierarchies[name], values[name]) for name in explored.columns]
    content = {
        "columns": list(explored.columns),
        "heights": heights,
        "levels": explored.levels.tolist(),
        "losses": [round(float(loss), 5) for loss in explored.losses],
        "limits": [
            {
                "family": each.family,
                "limit": each.limit,
                "lines": [_line(name, given) for name, given in each.line.items()],
                "failing": each.failing.tolist(),
            }
            for each in explored.limits
        ],
        "labels": labels,
        "rows": explored.rows,
        "nodes": explored.nodes,
        "complete": explored.complete,
    }
    folder = files("privacy_plugin.report")
    page = folder.joinpath("explorer.html").read_text(encoding="utf-8")
    for mark, text in {
        "__HEADING__": escape(f"Explore {dataset}"),
        "__STYLE__": folder.joinpath("style.css").read_text(encoding="utf-8"),
        "__DATA__": json.dumps(content).replace("<", "\\u003c"),  # no name can end the script element
    }.items():
        page = page.replace(mark, text)
    return write_page(path, page)


def _line(name: str, given: Any) -> str:
    return f"{name}: {yaml.safe_dump(given, default_flow_style=True, sort_keys=False, width=1_000_000).strip()}"


def _examples(hierarchy: Hierarchy, values: Sequence[Value]) -> list[list[str]]:
    """Return some labels of every level."""
    laid = hierarchy.levels(values, column="")
    return [[label(value) for value in dictionary[:_EXAMPLES]] for dictionary in laid.dictionaries]
