"""A recoding: the result of an anonymizer in a form that every engine can apply to its data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from privacy_plugin.errors import ColumnError, ParameterError, require_columns
from privacy_plugin.frequency.values import Value


@dataclass(frozen=True, kw_only=True)
class Recoding:
    """The columns to keep, the new values, and the rows to suppress.

    `mappings[column]` gives the new value of every original value (both canonical); columns without a mapping
    are unchanged. `suppressed` holds tuples of *new* values over `suppressed_columns`: their rows are removed
    (`drop`) or have `*` in all those columns (`mask`). `combined` is for anonymizers whose new values depend on
    several columns at once: pairs of original and new values over `combined_columns`, one for every combination;
    not all of these columns need to be kept. Together with `combined`, the tuples of `suppressed` are *original*
    values over the same columns, or values of other columns, and their rows are removed. Columns with a mapping become
    text, unless they are `typed`: their new values are numbers of the column's own type.
    """

    keep: tuple[str, ...]
    mappings: Mapping[str, Mapping[Value, Value]] = field(repr=False)
    suppressed_columns: tuple[str, ...] = ()
    suppressed: frozenset[tuple[Value, ...]] = field(default_factory=frozenset, repr=False)
    suppression: Literal["drop", "mask"] = "drop"
    combined_columns: tuple[str, ...] = ()
    combined: tuple[tuple[tuple[Value, ...], tuple[Value, ...]], ...] = field(default=(), repr=False)
    typed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_columns(self.keep, self.keep, role="keep")
        if self.suppression not in ("drop", "mask"):  # anything else would leave the rows unchanged
            raise ParameterError(f"suppression must be drop or mask, not {self.suppression!r}")
        if set(self.combined_columns) & set(self.mappings):
            raise ParameterError("a column is recoded by a mapping, or in combination, not both")
        if not set(self.typed) <= set(self.mappings):
            raise ParameterError("only columns with a mapping can keep their type")
        if self.combined_columns and self.suppressed:
            apart = not set(self.suppressed_columns) & set(self.combined_columns)
            if (self.suppressed_columns != self.combined_columns and not apart) or self.suppression != "drop":
                raise ParameterError("rows of combined values are removed by whole combinations, not masked")
            if not apart:
                return
        for column in (*self.mappings, *self.suppressed_columns):
            if column not in self.keep:
                raise ColumnError(f"column {column!r} is recoded but not kept")
