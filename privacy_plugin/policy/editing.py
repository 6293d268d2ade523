"""Edit one hierarchy in the text of a policy, keeping every other line and comment as it is."""

from typing import Any

import yaml

from privacy_plugin.errors import PolicyError
from privacy_plugin.policy.strict_yaml import load_yaml


def with_hierarchy(text: str, column: str, specification: Any) -> str:
    r"""Return the text of a policy with another hierarchy for one column.

    >>> print(with_hierarchy("columns:\n  age: quasi_identifier  # in years\n", "age", {"flat": {}}))
    columns:
      age: {role: quasi_identifier, hierarchy: {flat: {}}}  # in years
    <BLANKLINE>
    """
    written = _dump_flow(specification)
    before = load_yaml(text)
    entry = _find_value(_find_value(yaml.compose(text), "columns"), column)
    if entry is None:
        raise PolicyError(f"the policy has no column {column!r}; add it with its role first")
    edited = _insert_hierarchy(text, entry, written)
    after = load_yaml(edited)
    expected = before["columns"][column]
    expected = dict(expected) if isinstance(expected, dict) else {"role": expected}
    changed = {**before, "columns": {**before["columns"], column: {**expected, "hierarchy": specification}}}
    if after != changed:  # YAML that this function does not handle
        raise PolicyError(f"this policy cannot be edited by a program; write  hierarchy: {written}  under {column!r}")
    return edited


def _insert_hierarchy(text: str, entry: yaml.Node, written: str) -> str:
    if isinstance(entry, yaml.ScalarNode):
        role = text[entry.start_mark.index : entry.end_mark.index]
        return _splice(text, entry.start_mark.index, entry.end_mark.index, f"{{role: {role}, hierarchy: {written}}}")
    if not isinstance(entry, yaml.MappingNode) or not entry.value:
        raise PolicyError("a column of a policy must be a role, or a mapping with a role")
    present = _find_value(entry, "hierarchy")
    if present is not None:
        return _splice(text, present.start_mark.index, _end_index(present), written)
    end = _end_index(entry.value[-1][1])
    key = entry.value[-1][0]
    separator = ", " if entry.flow_style else "\n" + " " * key.start_mark.column
    if not entry.flow_style:  # a comment may follow the last value on its line
        line_end = text.find("\n", end)
        end = len(text) if line_end < 0 else line_end
    return _splice(text, end, end, f"{separator}hierarchy: {written}")


def _splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _end_index(node: yaml.Node) -> int:
    """Return the end of a node's text; YAML itself ends a block at the next key, after comments."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_index(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _find_value(node: Any, key: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _dump_flow(specification: Any) -> str:
    text = yaml.safe_dump(specification, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1_000_000)
    return text.removesuffix("...\n").strip()  # YAML writes it after a plain scalar
