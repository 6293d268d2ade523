"""Plain content that a terminal, a report and a metadata panel can show of a result, each in its own layout."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privacy_plugin.markup import notebook_table


@dataclass(frozen=True, kw_only=True)
class ColumnLevel:
    """The generalization level of one column.

    `meaning` states the rule of the level ("intervals of width 10"), never a value of the data.
    """

    column: str
    level: int
    height: int
    meaning: str

    @property
    def position(self) -> str:
        """The level and the highest level there is."""
        return f"{self.level} of {self.height}"


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a result did to a table: names of columns, levels, counts and costs, never a value of the table.

    `rows` are pairs of a name and a text, in the order to show them; a name may occur more than once. `facts` are plain
    data under names that stay the same from run to run, so that they can be plotted. `released_rows` is None where the
    number of rows is not known before the table is written.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    levels: tuple[ColumnLevel, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    released_rows: int | None = None

    def _repr_html_(self) -> str:
        levels = ((f"level of {each.column}", f"{each.position}: {each.meaning}") for each in self.levels)
        return notebook_table(self.title, ("", ""), (*self.rows, *levels), self.notes)


class Described(ABC):
    """A result that a notebook shows by its description, which holds no value of the table."""

    @abstractmethod
    def describe(self) -> Description:
        """Return what was done, for people."""

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()
