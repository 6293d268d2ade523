"""Whether the names of columns are names: in a file without a first line for them, one person's values take its place.

A file of text cannot say so by itself. Its first line is taken for names only where it is unlike the lines below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from privacy_plugin.errors import ColumnError
from privacy_plugin.proposals import column_names
from privacy_plugin.proposals.column_profile import ColumnProfile, kind_of_values

_NEARLY_UNIQUE = 0.95
_ENOUGH_ROWS = 50  # one of so many is the one that differs from all others once in fifty times
_TELLING = ("number", "amount", "date", "personal", "code")  # kinds of values that names seldom are
_SAY_SO = "the first line of a file must name the columns. If it does, say so with --header"


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A column's profile, and whether one of its values is its name."""

    profile: ColumnProfile
    is_value: bool

    @property
    def has_several(self) -> bool:
        """Whether the column has more than one value."""
        return self.profile.distinct - (self.profile.missing > 0) > 1

    @property
    def is_alike(self) -> bool:
        """Whether the name could be one of the column's values."""
        found = self.profile
        if self.is_value and self.has_several:
            return True
        as_long = found.kind != "code" or len(found.name) == found.longest
        return found.kind in _TELLING and kind_of_values([found.name]) == found.kind and as_long

    @property
    def is_unlike(self) -> bool:
        """Whether the name is of another kind than all values, or the only one that occurs once."""
        found = self.profile
        of_another_kind = found.kind in _TELLING and kind_of_values([found.name]) != found.kind
        alone = self.has_several and not self.is_value and not found.unique and found.rows >= _ENOUGH_ROWS
        return of_another_kind or alone


def require_names(headings: Sequence[Heading]) -> None:
    """Refuse a table of which at least half of the columns that could tell are named like one of their own values."""
    repeating = [h for h in headings if h.has_several and h.profile.unique_share < _NEARLY_UNIQUE]
    found = [heading for heading in repeating if heading.is_value]
    if found and 2 * len(found) >= len(repeating):
        raise ColumnError(f"{len(found)} of {len(headings)} columns are named like one of their own values: {_SAY_SO}")


def require_first_line_of_names(headings: Sequence[Heading]) -> None:
    """Refuse a file unless some names are unlike the values below them, and none is like them.

    One name may be unlike because one person's number is missing in words of its own; so it takes two names that are
    unlike or known to name columns, or one that is both.
    """
    alike = [heading for heading in headings if heading.is_alike]
    if alike:
        raise ColumnError(f"{len(alike)} of {len(headings)} columns are named like their own values: {_SAY_SO}")
    unlike = {heading.profile.name for heading in headings if heading.is_unlike}
    known = {heading.profile.name for heading in headings if column_names.is_known(heading.profile.name)}
    if len(unlike | known) < 2 and not unlike & known:
        raise ColumnError(f"nothing tells the names of the columns from the values below them: {_SAY_SO}")
