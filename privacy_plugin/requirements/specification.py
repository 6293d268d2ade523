"""Parse hierarchies and marginals as a policy writes them: a file name, or a rule with its parameters."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.hierarchy_builders import (
    date_hierarchy,
    flat_hierarchy,
    interval_hierarchy,
    mask_hierarchy,
    tree_hierarchy,
)
from privacy_plugin.frequency.hierarchy_files import read_hierarchy
from privacy_plugin.frequency.population import read_joint, read_marginals
from privacy_plugin.frequency.vocabulary import vocabulary_hierarchy
from privacy_plugin.metrics.presence.population_marginals import marginals_of, plain_joint

RULES = ("dates", "file", "flat", "intervals", "learned", "mask", "table", "tree", "vocabulary")
_FORMS = f"a hierarchy must be a file name, or one of {', '.join(RULES)} with its parameters"
_RULES: dict[str, Callable[..., Hierarchy]] = {
    "intervals": interval_hierarchy,
    "mask": mask_hierarchy,
    "dates": date_hierarchy,
    "flat": flat_hierarchy,
}


def hierarchy_from_specification(specification: Any, *, folder: Path = Path()) -> Hierarchy:
    """Build a hierarchy from a file name, or from a rule with its parameters."""
    if isinstance(specification, Hierarchy):
        return specification
    if isinstance(specification, str):
        return read_hierarchy(folder / specification)
    if not isinstance(specification, Mapping) or len(specification) != 1:
        raise HierarchyError(_FORMS)
    ((rule, parameters),) = specification.items()
    if rule not in RULES:  # not quoted: without `tree`, the first key is a value
        near = get_close_matches(str(rule), RULES, n=1)
        raise HierarchyError(_FORMS + (f"; did you mean {near[0]!r}?" if near else ""))
    try:
        return _build_hierarchy(rule, parameters, folder)
    except (TypeError, ValueError, LookupError) as problem:
        raise ParameterError(f"hierarchy rule {rule}: {problem}") from None


def _build_hierarchy(rule: str, parameters: Any, folder: Path) -> Hierarchy:
    if rule == "file":
        return read_hierarchy(folder / parameters)
    if rule == "tree":
        return tree_hierarchy(parameters)
    if rule == "vocabulary":
        return vocabulary_hierarchy(parameters)
    if rule == "table":
        return _table_hierarchy(parameters)
    if rule == "learned":
        return _learned_hierarchy(parameters)
    if not isinstance(parameters, Mapping):
        raise ParameterError(f"{rule} needs named parameters: {', '.join(signature(_RULES[rule]).parameters)}")
    valid = list(signature(_RULES[rule]).parameters)
    if not set(parameters) <= set(valid):  # an unknown name is not quoted: it may be a value
        raise ParameterError(f"{rule} has an unknown parameter; valid: {', '.join(valid)}")
    return _RULES[rule](**parameters)


def _learned_hierarchy(parameters: Any) -> TableHierarchy:
    """Build a tree or table whose groups follow from the values of another column, which is named."""
    if not isinstance(parameters, Mapping) or set(parameters) not in ({"from", "tree"}, {"from", "table"}):
        raise ParameterError("learned needs from (the column it was learned from), and tree")
    if "tree" in parameters:
        return tree_hierarchy(parameters["tree"], learned_from=parameters["from"])
    return _table_hierarchy(parameters["table"], learned_from=parameters["from"])


def _table_hierarchy(lines: Any, *, learned_from: str | None = None) -> TableHierarchy:
    paths = {line[0]: line[1:] for line in lines}
    if len(paths) != len(lines):
        raise HierarchyError("the hierarchy lists a value more than once")
    return TableHierarchy(paths, learned_from=learned_from)


def parse_option(name: str, given: Any, *, folder: Path = Path()) -> Any:
    """Parse an option of a metric; hierarchies and marginals may be plain data or files."""
    if name in ("hierarchies", "generalized") and isinstance(given, Mapping):
        return {column: hierarchy_from_specification(entry, folder=folder) for column, entry in given.items()}
    if name == "bins" and isinstance(given, Mapping):
        return {column: parse_option("", entry, folder=folder) for column, entry in given.items()}
    if name == "marginals" and isinstance(given, Mapping) and set(given) == {"file"} and isinstance(given["file"], str):
        return read_marginals(folder / given["file"])
    if name == "marginals" and isinstance(given, FrequencyTable):
        return marginals_of(given)
    if name == "joint" and isinstance(given, Mapping) and set(given) == {"file"} and isinstance(given["file"], str):
        return read_joint(folder / given["file"])
    if name == "joint" and given is not None:
        return plain_joint(given)
    return hierarchy_from_specification(given, folder=folder) if is_specification(given) else given


def is_specification(given: Any) -> bool:
    """Return whether an option is a hierarchy rule with its parameters, not a mapping to numbers."""
    if not isinstance(given, Mapping) or len(given) != 1:
        return False
    ((rule, parameters),) = given.items()
    return rule in RULES and isinstance(parameters, Mapping | list | str)
