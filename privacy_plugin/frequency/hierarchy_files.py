"""Read and write hierarchies in the common `value;level1;...;*` form."""

from collections.abc import Iterable
from pathlib import Path

from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.separated_lines import read_separated_lines
from privacy_plugin.frequency.values import Value, label

_MARKS = '"\r\n'
_BYTE_ORDER_MARK = "\ufeff"  # the first of a file is no part of its text


def read_hierarchy(path: str | Path, *, separator: str = ";") -> TableHierarchy:
    """Read a hierarchy: a line a value, the value first, then what it becomes on each level; no header.

    An empty field stands for the missing value; as the first one of a line also for empty text.
    """
    _require_separator(separator)
    rows = read_separated_lines(path, separator=separator, called="hierarchy file", error=HierarchyError)
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise HierarchyError(
            f"lines of {str(path)!r} have between {min(widths)} and {max(widths)} fields; must be equal"
        )
    if widths == {1}:
        raise HierarchyError(f"lines of {str(path)!r} have one field; is the separator {separator!r} the right one?")
    paths: dict[Value, tuple[Value, ...]] = {}
    for number, (value, *levels) in enumerate(rows, start=1):
        if (value or None) in paths:
            raise HierarchyError(f"line {number} of {str(path)!r} lists a value a second time")
        paths[value or None] = tuple(level or None for level in levels)
    return TableHierarchy(paths)


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, values: Iterable[Value], separator: str = ";") -> None:
    """Write what the given values become on each level; this file holds raw values by its nature."""
    _require_separator(separator)
    listed = list(values)
    levels = hierarchy.levels(listed)
    with Path(path).open("w", encoding="utf-8", newline="") as lines:
        for code in range(len(listed)):
            fields = [label(levels.dictionaries[n][levels.maps[n, code]]) for n in range(levels.height + 1)]
            lines.write(separator.join(_field(text, separator) for text in fields) + "\n")


def _require_separator(separator: str) -> None:
    if not isinstance(separator, str) or len(separator) != 1 or separator in _MARKS:
        raise ParameterError("separator must be a single character, neither a quote nor a line end")


def _field(text: str, separator: str) -> str:
    """Quote what would be read as something else; Python's own writer leaves carriage returns and byte order marks."""
    if text.startswith(_BYTE_ORDER_MARK) or any(mark in text for mark in (separator, *_MARKS)):
        return '"' + text.replace('"', '""') + '"'
    return text
