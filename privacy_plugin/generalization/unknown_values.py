"""Values that a hierarchy does not cover: refuse the table, suppress their rows, or write `*` in their place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value
from privacy_plugin.generalization.suppression import most_suppressed

Unknown = Literal["refuse", "suppress", "top"]
UNKNOWN: tuple[Unknown, ...] = ("refuse", "suppress", "top")

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class UnknownRows:
    """How many rows have a value that the hierarchy of its column does not cover, and how many of them are left out.

    `by_column` lists the columns with such values. `total` counts all rows, also those. With a unit, rows are people.
    """

    by_column: Mapping[str, int]
    removed: int
    total: int

    def left_to_suppress(self, max_suppression: float) -> float | Fraction:
        """Return the share of the remaining rows that may still be suppressed; raise if nothing may or can remain."""
        if not self.removed:
            return max_suppression
        allowed, left = most_suppressed(max_suppression, self.total), self.total - self.removed
        if self.removed > allowed or not left:
            raise InfeasibleError(
                f"{self.removed:,} of {self.total:,} rows have values that no hierarchy covers "
                f"({describe_columns(self.by_column)}), more than the suppression limit of {max_suppression:.1%}. "
                "Extend the hierarchies, or allow more suppression"
            )
        return Fraction(allowed - self.removed, left)

    def loss_of_all(self, name: str, loss: float, suppressed: int = 0) -> float:
        """Return the loss of all rows, given that of the remaining ones; the removed rows lose everything.

        A share counts a removed row as an average row that is lost. Discernibility: each suppressed or removed row
        costs the size of the whole table. Average class size: the removed rows burden the published classes.
        """
        left = self.total - self.removed
        if name == "discernibility":
            return loss + float(suppressed * self.removed + self.removed * self.total)
        if name == "average_class_size":
            return loss * self.total / left
        return (loss * left + self.removed) / self.total


def require_unknown(unknown: str) -> None:
    """Raise unless it is a known way to treat unknown values."""
    if unknown not in UNKNOWN:
        raise ParameterError(f"unknown must be one of {', '.join(UNKNOWN)}, not {unknown!r}")


def unknown_codes(dictionary: Sequence[Value], hierarchy: Hierarchy) -> Mask:
    """Tell which values of a column the hierarchy does not cover."""
    return np.array([hierarchy.path_of(value) is None for value in dictionary], dtype=bool)


def unknown_lines(table: FrequencyTable, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Mask]:
    """Return, for every column with values that are not covered, which distinct rows have them."""
    found = {}
    for name, hierarchy in hierarchies.items():
        codes = unknown_codes(table.dictionary(name), hierarchy)
        if codes.any():
            found[name] = codes[table.column_codes(name)]
    return found


def known_table(
    table: FrequencyTable, hierarchies: Mapping[str, Hierarchy], unknown: Unknown, *, counted: str = "rows"
) -> tuple[FrequencyTable, UnknownRows]:
    """Return the table that the hierarchies cover, and how many rows have values that they do not cover.

    `refuse` raises HierarchyError with the column and the number of rows; `suppress` leaves those rows out; `top`
    writes `*` for those values, which is `*` on every level.
    """
    require_unknown(unknown)
    lines = unknown_lines(table, hierarchies)
    rows = {name: int(table.counts[mask].sum()) for name, mask in lines.items()}
    if not lines:
        return table, UnknownRows(by_column={}, removed=0, total=table.rows)
    if unknown == "refuse":
        raise HierarchyError(describe_unknown(table, hierarchies, rows, counted))
    if unknown == "top":
        mappings = {}
        for name in lines:
            codes = unknown_codes(table.dictionary(name), hierarchies[name])
            values = table.dictionary(name)
            mappings[name] = np.where(codes, len(values), np.arange(len(values))), (*values, SUPPRESSED)
        return table.recode(mappings), UnknownRows(by_column=rows, removed=0, total=table.rows)
    gone = np.logical_or.reduce(list(lines.values()))
    kept = FrequencyTable.from_columns(
        table.columns,
        [table.codes[~gone, position] for position in range(len(table.columns))],
        table.dictionaries,
        table.counts[~gone],
    )
    return kept, UnknownRows(by_column=rows, removed=int(table.counts[gone].sum()), total=table.rows)


def describe_unknown(
    table: FrequencyTable, hierarchies: Mapping[str, Hierarchy], rows: Mapping[str, int], counted: str = "rows"
) -> str:
    """Say for each column how many values and rows its hierarchy does not cover, and what to do; never a value."""
    found = []
    for name, number in rows.items():
        values = int(unknown_codes(table.dictionary(name), hierarchies[name]).sum())
        found.append(
            f"the hierarchy of column {name!r} does not cover {values:,} value(s) in {number:,} of {table.rows:,} "
            f"{counted}: it covers {hierarchies[name].covers}"
        )
    return (
        f"{'; '.join(found)}. Extend the hierarchy, or let anonymize say unknown: suppress (leaves those {counted} "
        "out, counted as suppressed) or unknown: top (writes * for those values); generalize(..., reveal=True) or "
        "anonymize --reveal lists the values"
    )


def describe_columns(by_column: Mapping[str, int], counted: str = "rows") -> str:
    """Write the number of rows of every column: `zip: 3 rows`."""
    return ", ".join(f"{name}: {rows:,} {counted}" for name, rows in by_column.items())


def describe_unknown_rows(unknown: Unknown, by_column: Mapping[str, int], counted: str) -> tuple[tuple[str, str], ...]:
    """Return the line of a description about unknown values; none where the policy refuses them."""
    if unknown == "refuse":
        return ()
    done = "left out, counted as suppressed" if unknown == "suppress" else "* written for them"
    found = f"{describe_columns(by_column, counted)}; {done}" if by_column else "none"
    return (("values that no hierarchy covers", found),)


def read_unknown_rows(given: object) -> dict[str, int]:
    """Read the numbers of rows with unknown values of a saved plan."""
    if not isinstance(given, Mapping) or not all(
        isinstance(name, str) and type(rows) is int and rows >= 0 for name, rows in given.items()
    ):
        raise ParameterError("a plan counts rows with unknown values in whole numbers, by column")
    return dict(given)
