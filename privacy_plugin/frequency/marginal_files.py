"""Read what is known of a population by attribute: a line a value with its number of people."""

import csv
from pathlib import Path

from privacy_plugin.errors import ParameterError, kind_of


def read_marginals(path: str | Path, *, separator: str = ";") -> dict[str, dict[str, int]]:
    """Read `column;value;count` lines, no header; an empty value is the missing one.

    What a file holds is text; values are found by their text.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise ParameterError(f"cannot read the marginals file {str(path)!r}: {kind_of(problem)}") from None
    if not rows:
        raise ParameterError(f"the marginals file {str(path)!r} is empty")
    marginals: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != 3 or not row[2].strip().isdecimal():
            raise ParameterError(f"line {number} of {str(path)!r} is not column{separator}value{separator}count")
        column, value, count = row
        if value in marginals.setdefault(column, {}):
            raise ParameterError(f"line {number} of {str(path)!r} lists a value a second time")
        marginals[column][value] = int(count)
    return marginals
