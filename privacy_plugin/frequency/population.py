"""What is known of a population: the groups that a table shares with it, or the number of people by attribute."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.hierarchy_files import read_separated_lines
from privacy_plugin.frequency.table import FrequencyTable


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedPopulation:
    """The groups of a population that a table has rows in too, and the number of people in all other groups."""

    groups: FrequencyTable
    other_people: int
    other_groups: int
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """The hierarchies that mapped the people's original values to the table's values, if any."""

    @property
    def rows(self) -> int:
        """The number of people in the population."""
        return self.groups.rows + self.other_people


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedPopulation:
    """The people of a population in the classes of `ClassProfiles`, one number for each profile.

    Classes with equal numbers of rows and of people are one profile.
    """

    people: Integers = field(repr=False)
    everybody: int
    other_people: int
    other_groups: int
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of people in the population."""
        return self.everybody


Population: TypeAlias = FrequencyTable | SharedPopulation | CountedPopulation


def read_marginals(path: str | Path, *, separator: str = ";") -> dict[str, dict[str, int]]:
    """Read `column;value;count` lines without a header; an empty value is the missing one.

    Values of the file are text, and are matched with the data by their text.
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


def read_joint(path: str | Path, *, separator: str = ";") -> list[dict[str, Any]]:
    """Read `column;value;column;value;count` lines: how many people have several values together.

    Lines with the same columns in the same order belong to one distribution. Values are text, as in `read_marginals`.
    """
    rows = read_separated_lines(path, separator=separator, called="file of joint counts", error=ParameterError)
    found: dict[tuple[str, ...], list[list[Any]]] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) < 5 or not len(row) % 2 or not row[-1].strip().isdecimal():
            form = separator.join(["column", "value", "column", "value", "count"])
            raise ParameterError(f"line {number} of {str(path)!r} is not {form}")
        found.setdefault(tuple(row[:-1:2]), []).append([*row[1:-1:2], int(row[-1])])
    return [{"columns": list(columns), "counts": counts} for columns, counts in found.items()]
