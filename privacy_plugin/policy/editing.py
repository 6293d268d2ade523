"""Edit one hierarchy in the text of a policy, keeping every other line and comment as it is."""

from typing import Any

import yaml

from privacy_plugin.errors import PolicyError
from privacy_plugin.policy.strict_yaml import read_plain


def with_hierarchy(text: str, column: str, specification: Any) -> str:
    r"""Return the text of a policy with another hierarchy for one column.

    >>> print(with_hierarchy("columns:\n  age: quasi_identifier  # in years\n", "age", {"flat": {}}))
    columns:
      age: {role: quasi_identifier, hierarchy: {flat: {}}}  # in years
    <BLANKLINE>
    """
    written = _in_one_line(specification)
    before = read_plain(text)
    entry = _value_of(_value_of(yaml.compose(text), "columns"), column)
    if entry is None:
        raise PolicyError(f"the policy has no column {column!r}; add it with its role first")
    edited = _edited(text, entry, written)
    after = read_plain(edited)
    expected = before["columns"][column]
    expected = dict(expected) if isinstance(expected, dict) else {"role": expected}
    changed = {**before, "columns": {**before["columns"], column: {**expected, "hierarchy": specification}}}
    if after != changed:  # whatever YAML allows that this does not foresee
        raise PolicyError(f"this policy cannot be edited by a program; write  hierarchy: {written}  under {column!r}")
    return edited


def _edited(text: str, entry: yaml.Node, written: str) -> str:
    if isinstance(entry, yaml.ScalarNode):
        role = text[entry.start_mark.index : entry.end_mark.index]
        return _spliced(text, entry.start_mark.index, entry.end_mark.index, f"{{role: {role}, hierarchy: {written}}}")
    if not isinstance(entry, yaml.MappingNode) or not entry.value:
        raise PolicyError("a column of a policy is a role, or a mapping with a role")
    present = _value_of(entry, "hierarchy")
    if present is not None:
        return _spliced(text, present.start_mark.index, _end(present), written)
    end = _end(entry.value[-1][1])
    key = entry.value[-1][0]
    separator = ", " if entry.flow_style else "\n" + " " * key.start_mark.column
    if not entry.flow_style:  # a comment may follow the last value on its line
        line_end = text.find("\n", end)
        end = len(text) if line_end < 0 else line_end
    return _spliced(text, end, end, f"{separator}hierarchy: {written}")


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _end(node: yaml.Node) -> int:
    """Return where the text of a node ends; a block reaches in YAML's eyes up to the next key, comments included."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _value_of(node: Any, key: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _in_one_line(specification: Any) -> str:
    text = yaml.safe_dump(specification, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1_000_000)
    return text.removesuffix("...\n").strip()  # which YAML writes after a bare text
