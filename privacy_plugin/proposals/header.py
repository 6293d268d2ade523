"""Whether the first line of a file is a header: without one, one person's values would be taken as column names.

A text file does not state this. Its first line counts as a header only if it differs from the lines below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from privacy_plugin.errors import ColumnError
from privacy_plugin.proposals.column_profile import ColumnProfile, kind_of_values
from privacy_plugin.requirements import column_names

_NEARLY_UNIQUE = 0.95
_ENOUGH_ROWS = 50  # by chance, the first of 50 rows is the only different one with probability 1/50
_TYPED = ("number", "amount", "date", "personal", "code")  # kinds of values that column names rarely have
_REMEDY = "the first line of a file must name the columns. If it does, pass --header"


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A column's profile, and whether its name is one of its values."""

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
        return found.kind in _TYPED and kind_of_values([found.name]) == found.kind and as_long

    @property
    def is_unlike(self) -> bool:
        """Whether the name is of another kind than the values, or occurs nowhere while every value repeats."""
        found = self.profile
        of_another_kind = found.kind in _TYPED and kind_of_values([found.name]) != found.kind
        alone = self.has_several and not self.is_value and not found.unique and found.rows >= _ENOUGH_ROWS
        return of_another_kind or alone


def require_names(headings: Sequence[Heading]) -> None:
    """Raise if at least half of the columns with repeated values are named like one of their own values."""
    repeating = [h for h in headings if h.has_several and h.profile.unique_share < _NEARLY_UNIQUE]
    found = [heading for heading in repeating if heading.is_value]
    if found and 2 * len(found) >= len(repeating):
        raise ColumnError(f"{len(found)} of {len(headings)} columns are named like one of their own values: {_REMEDY}")


def require_header(headings: Sequence[Heading]) -> None:
    """Raise unless some names differ from the values below them, and none is similar.

    One name may differ by chance, because one person's number is replaced by a word such as "unknown". Therefore two
    names must differ or be known column names, or one name must be both.
    """
    alike = [heading for heading in headings if heading.is_alike]
    if alike:
        raise ColumnError(f"{len(alike)} of {len(headings)} columns are named like their own values: {_REMEDY}")
    unlike = {heading.profile.name for heading in headings if heading.is_unlike}
    known = {heading.profile.name for heading in headings if column_names.is_known(heading.profile.name)}
    if len(unlike | known) < 2 and not unlike & known:
        raise ColumnError(f"the names of the columns do not differ from the values below them: {_REMEDY}")
