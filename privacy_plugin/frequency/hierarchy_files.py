"""Read and write hierarchies in the common `value;level1;...;*` form."""

import csv
from collections.abc import Iterable
from pathlib import Path

from privacy_plugin.errors import HierarchyError, ParameterError, PrivacyPluginError, describe_error
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.values import Value, label
from privacy_plugin.text_files import require_regular_file

_MARKS = '"\r\n'
_BYTE_ORDER_MARK = "\ufeff"  # at the start of a file it is not part of the text


def read_hierarchy(path: str | Path, *, separator: str = ";") -> TableHierarchy:
    """Read a hierarchy without header: one line for each value, with the value and what it becomes on each level.

    An empty field is the missing value; as the first field of a line it is also the empty text.
    """
    _require_separator(separator)
    rows = read_separated_lines(path, separator=separator, called="hierarchy file", error=HierarchyError)
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise HierarchyError(
            f"lines of {str(path)!r} have between {min(widths)} and {max(widths)} fields; all need the same number"
        )
    if widths == {1}:
        raise HierarchyError(f"lines of {str(path)!r} have one field; is {separator!r} the right separator?")
    paths: dict[Value, tuple[Value, ...]] = {}
    for number, (value, *levels) in enumerate(rows, start=1):
        if (value or None) in paths:
            raise HierarchyError(f"line {number} of {str(path)!r} lists a value a second time")
        paths[value or None] = tuple(level or None for level in levels)
    return TableHierarchy(paths)


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, values: Iterable[Value], separator: str = ";") -> None:
    """Write what the given values become on each level; the file contains raw values."""
    _require_separator(separator)
    listed = list(values)
    levels = hierarchy.levels(listed)
    with Path(path).open("w", encoding="utf-8", newline="") as lines:
        for code in range(len(listed)):
            fields = [label(levels.dictionaries[n][levels.maps[n, code]]) for n in range(levels.height + 1)]
            lines.write(separator.join(_quote_field(text, separator) for text in fields) + "\n")


def _require_separator(separator: str) -> None:
    if not isinstance(separator, str) or len(separator) != 1 or separator in _MARKS:
        raise ParameterError("separator must be a single character that is neither a quote nor a line end")


def _quote_field(text: str, separator: str) -> str:
    """Quote a field if needed; Python's own writer does not quote carriage returns and byte order marks."""
    if text.startswith(_BYTE_ORDER_MARK) or any(mark in text for mark in (separator, *_MARKS)):
        return '"' + text.replace('"', '""') + '"'
    return text


def read_separated_lines(
    path: str | Path, *, separator: str, called: str, error: type[PrivacyPluginError]
) -> list[list[str]]:
    """Return the fields of every line that is not empty; `called` names the file in errors of class `error`."""
    try:
        require_regular_file(path)
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    except ParameterError as problem:
        raise error(f"cannot read the {called}: {problem}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise error(f"cannot read the {called} {str(path)!r}: {describe_error(problem)}") from None
    if not rows:
        raise error(f"the {called} {str(path)!r} is empty")
    return rows
