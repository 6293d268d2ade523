"""What values became on a level of a hierarchy, in words for people."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from privacy_plugin.description import ColumnLevel
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy


def column_levels(levels: Mapping[str, int], hierarchies: Mapping[str, Hierarchy]) -> tuple[ColumnLevel, ...]:
    """Return the level of every column with its height and its meaning."""
    return tuple(
        ColumnLevel(
            column=name,
            level=level,
            height=hierarchies[name].height,
            meaning=level_words(hierarchies[name], level),
        )
        for name, level in levels.items()
    )


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
