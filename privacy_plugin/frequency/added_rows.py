"""Rows that a repair added to a table: marked in one column, and no people."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency.grouping import Integers, pack, sum_by
from privacy_plugin.frequency.table import FrequencyTable

PERSON, DECOY = "person", "added"  # text, because not every engine has booleans


def select_people(table: FrequencyTable, added: str, columns: Sequence[str]) -> FrequencyTable:
    """Return the rows that are not marked as added.

    >>> rows = FrequencyTable.from_rows(["zip", "added"], [(1, "person"), (2, "added"), (1, "person")])
    >>> select_people(rows, "added", ["zip"]).rows
    2
    """
    real = _is_person(table, added)
    return FrequencyTable.from_columns(
        columns,
        [table.column_codes(name)[real] for name in columns],
        [table.dictionary(name) for name in columns],
        table.counts[real],
    )


def count_people(table: FrequencyTable, added: str, columns: Sequence[str]) -> tuple[FrequencyTable, Integers]:
    """Return the rows of some columns, added ones included, and how many people have each distinct row.

    >>> rows = FrequencyTable.from_rows(["zip", "added"], [(1, "person"), (2, "added"), (1, "added")])
    >>> found, people = count_people(rows, "added", ["zip"])
    >>> found.counts.tolist(), people.tolist()
    ([2, 1], [1, 0])
    """
    codes = [table.column_codes(name) for name in columns]
    packed, _ = pack(codes, [len(table.dictionary(name)) for name in columns])
    distinct, places = np.unique(packed, return_inverse=True)  # ascending, as the rows of a projection
    real = np.where(_is_person(table, added), table.counts, 0)
    return table.project(columns), sum_by(places.astype(np.int64), real, len(distinct))


def _is_person(table: FrequencyTable, added: str) -> npt.NDArray[np.bool_]:
    """Return which distinct rows are people; raise if a mark is neither of the two."""
    marks = table.dictionary(added)
    if not set(marks) <= {PERSON, DECOY}:
        raise ColumnError(f"column {added!r} must have {PERSON!r} or {DECOY!r} in every row, as the repair writes it")
    return np.array([mark == PERSON for mark in marks], dtype=np.bool_)[table.column_codes(added)]
