"""Hierarchies as a policy writes them: a file, or a rule with its parameters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privacy_plugin.errors import HierarchyError, ParameterError, unknown_name
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.hierarchy_builders import (
    date_hierarchy,
    interval_hierarchy,
    mask_hierarchy,
    tree_hierarchy,
)
from privacy_plugin.frequency.hierarchy_files import read_hierarchy

RULES = ("dates", "file", "intervals", "mask", "table", "tree")
_RULES = {"intervals": interval_hierarchy, "mask": mask_hierarchy, "dates": date_hierarchy}


def hierarchy_from_specification(specification: Any, *, folder: Path = Path()) -> Hierarchy:
    """Build a hierarchy from a file name, or from a rule with its parameters."""
    if isinstance(specification, Hierarchy):
        return specification
    if isinstance(specification, str):
        return read_hierarchy(folder / specification)
    if not isinstance(specification, Mapping) or len(specification) != 1:
        raise HierarchyError(f"a hierarchy is a file name, or one of {', '.join(RULES)} with its parameters")
    ((rule, parameters),) = specification.items()
    if rule == "file":
        return read_hierarchy(folder / str(parameters))
    if rule == "tree":
        return tree_hierarchy(parameters)
    if rule == "table":
        return TableHierarchy({line[0]: line[1:] for line in parameters})
    if rule not in _RULES:
        raise HierarchyError(unknown_name("hierarchy rule", str(rule), RULES))
    if not isinstance(parameters, Mapping):
        raise ParameterError(f"{rule} takes named parameters")
    try:
        built: Hierarchy = _RULES[rule](**parameters)
    except TypeError as problem:
        raise ParameterError(f"{rule}: {problem}") from None
    return built


def is_specification(given: Any) -> bool:
    """Tell whether an option is a hierarchy written as a rule with its parameters."""
    return isinstance(given, Mapping) and len(given) == 1 and next(iter(given)) in RULES
