"""Read and write hierarchies in the common `value;level1;...;*` form."""

import csv
from collections.abc import Iterable
from pathlib import Path

from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.hierarchy import Hierarchy, TableHierarchy
from privacy_plugin.frequency.separated_lines import read_separated_lines
from privacy_plugin.frequency.values import Value, label


def read_hierarchy(path: str | Path, *, separator: str = ";") -> TableHierarchy:
    """Read a hierarchy: a line a value, the value first, then what it becomes on each level; no header.

    An empty field stands for the missing value; as the first one of a line also for empty text.
    """
    if not isinstance(separator, str) or len(separator) != 1:
        raise ParameterError("separator must be a single character")
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
    listed = list(values)
    levels = hierarchy.levels(listed)
    with Path(path).open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter=separator, lineterminator="\n")
        for code in range(len(listed)):
            writer.writerow([label(levels.dictionaries[n][levels.maps[n, code]]) for n in range(levels.height + 1)])
