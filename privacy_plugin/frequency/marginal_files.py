"""Read what is known of a population by attribute: a line a value with its number of people."""

from pathlib import Path

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.separated_lines import read_separated_lines


def read_marginals(path: str | Path, *, separator: str = ";") -> dict[str, dict[str, int]]:
    """Read `column;value;count` lines, no header; an empty value is the missing one.

    What a file holds is text; values are found by their text.
    """
    rows = read_separated_lines(path, separator=separator, called="marginals file", error=ParameterError)
    marginals: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != 3 or not row[2].strip().isdecimal():
            raise ParameterError(f"line {number} of {str(path)!r} is not column{separator}value{separator}count")
        column, value, count = row
        if value in marginals.setdefault(column, {}):
            raise ParameterError(f"line {number} of {str(path)!r} lists a value a second time")
        marginals[column][value] = int(count)
    return marginals
