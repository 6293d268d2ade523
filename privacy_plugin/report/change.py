"""What a generalization does to the table: levels, loss, suppressed rows; or regions, and what they reached."""

from itertools import pairwise
from typing import Any

from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.plan import Plan
from privacy_plugin.presence import PresenceGeneralization
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.lattice import lattice_figures, loss_words, search_words
from privacy_plugin.report.markup import Child, Markup, definitions, element, section, table


def change(content: ReportContent) -> Markup:
    """Show what was generalized, and what it costs."""
    if content.plan is None:
        return Markup("")
    return _levels(content.plan) if isinstance(content.plan, Plan) else _regions(content.plan)


def _regions(found: PresenceGeneralization) -> Markup:
    low, high = found.regions.delta
    pairs: list[tuple[str, Child]] = [
        ("Regions", f"{found.classes:,}, each with levels of its own"),
        ("Loss metric", f"{found.loss_metric:.4g} on a scale from 0 (nothing lost) to 1 (nothing left)"),
        (
            "Presence",
            f"{float(found.minimum):.4g} to {float(found.maximum):.4g} over the people of the population "
            f"({float(low):g} to {float(high):g} asked for)",
        ),
    ]
    return section("What was changed", definitions(pairs), identifier="change")


def _levels(plan: Plan) -> Markup:
    pairs: list[tuple[str, Child]] = [
        (f"Loss ({plan.loss_name})", loss_words(plan)),
        (
            "Suppressed",
            f"{plan.suppressed:,} of {plan.rows:,} {'people' if plan.unit else 'rows'} ({plan.suppressed_share:.2%}; "
            f"at most {plan.max_suppression:.1%} allowed)",
        ),
        ("Searched", search_words(plan)),
    ]
    rows: list[list[Child]] = [
        [element("code", name), _bar(level, plan.hierarchies[name].height), level_words(plan.hierarchies[name], level)]
        for name, level in plan.levels.items()
    ]
    return section(
        "What was changed",
        definitions(pairs),
        table("Level of every quasi-identifier", ["column", "level", "its values became"], rows),
        element("div", lattice_figures(plan), class_="columns") if plan.lattice or plan.trade_off else None,
        identifier="change",
    )


def _bar(level: int, height: int) -> list[Child]:
    steps = [element("i", class_="on" if step <= level else None) for step in range(1, height + 1)]
    return [element("span", steps, class_="levels", aria_hidden="true"), f" {level} of {height}"]


def level_words(hierarchy: Hierarchy, level: int) -> str:
    """Say what a level does by its rule, never by a value of the data.

    >>> from privacy_plugin.frequency.hierarchy_builders import mask_hierarchy
    >>> level_words(mask_hierarchy(length=5), 3)
    'codes with 3 of 5 characters masked, from the right'
    """
    if level == 0:
        return "unchanged"
    if level == hierarchy.height and not isinstance(hierarchy, TableHierarchy):
        return "all removed: *"
    if isinstance(hierarchy, TableHierarchy):
        groups = {hierarchy.generalize(value, level) for value in hierarchy.values}
        return "all removed: *" if groups == {"*"} else f"{len(groups)} groups of {len(hierarchy.values)} listed values"
    ((rule, parameters),) = hierarchy.specification.items()
    words = _RULES.get(rule)
    return words(parameters, level) if words else f"level {level} of {hierarchy.height}"


def _intervals(parameters: dict[str, Any], level: int) -> str:
    cuts = parameters["boundaries"][level - 1]
    try:
        widths = {round(float(b) - float(a), 9) for a, b in pairwise(cuts)}
    except ValueError:  # written as a fraction
        widths = set()
    return f"intervals of width {widths.pop():g}" if len(widths) == 1 else f"{len(cuts) - 1} intervals"


def _mask(parameters: dict[str, Any], level: int) -> str:
    side = "right" if parameters["from_right"] else "left"
    return f"codes with {level} of {parameters['length']} characters masked, from the {side}"


def _dates(parameters: dict[str, Any], level: int) -> str:
    return f"the {parameters['levels'][level - 1]}"


_RULES = {"intervals": _intervals, "mask": _mask, "dates": _dates}
