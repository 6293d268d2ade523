"""Find the rows of a frame among the distinct rows of a frequency table, by value, whatever the frame's index."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError, SourceError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, pack
from privacy_plugin.frequency.values import Value, canonical, key

_LISTING = ("to_pylist", "to_list", "tolist")  # Arrow; polars and pandas; numpy


def matching_rows(table: FrequencyTable, frame: Any) -> Integers:
    """Return the distinct row of the table that each row of the frame is; raises where one is none of them.

    Cost: one lookup a cell.
    """
    require_columns(table.columns, _names(frame))
    codes = [_codes(_values(frame, name), table.dictionary(name)) for name in table.columns]
    if len({len(column) for column in codes}) > 1:
        raise SourceError("the columns of the frame have different lengths")
    known = np.logical_and.reduce([column >= 0 for column in codes])
    sizes = table.cardinalities
    together = [
        np.concatenate([table.codes[:, position], np.maximum(column, 0)]) for position, column in enumerate(codes)
    ]
    packed, _ = pack(together, sizes)
    measured, asked = packed[: table.distinct], packed[table.distinct :]
    order = np.argsort(measured)
    places = np.minimum(np.searchsorted(measured[order], asked), table.distinct - 1)
    rows: Integers = order[places]
    strangers = int((~known | (measured[rows] != asked)).sum())
    if strangers:
        raise ParameterError(f"{strangers:,} of {len(asked):,} rows are not among the rows that were measured")
    return rows


def _names(frame: Any) -> list[str]:
    if isinstance(frame, Mapping):
        return list(frame)
    if not isinstance(frame, FrequencyTable) and not hasattr(frame, "shape"):  # no frame, or a query nobody has run
        raise SourceError(f"a frame with rows is needed to align scores with, not {type(frame).__name__}")
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _values(frame: Any, name: str) -> Iterable[Any]:
    if isinstance(frame, FrequencyTable):
        dictionary = frame.dictionary(name)
        return [dictionary[code] for code in frame.column_codes(name).tolist()]
    try:
        column = frame[name]
        if isinstance(column, list | tuple):
            return column
        listing = next(getattr(column, method) for method in _LISTING if hasattr(column, method))
        listed: Iterable[Any] = listing()
    except (TypeError, StopIteration):  # a query that nobody has run yet
        raise SourceError(
            f"the rows of a {type(frame).__name__} have no order to align scores with; give a pandas, polars or Arrow "
            "frame"
        ) from None
    return listed


def _codes(values: Iterable[Any], dictionary: tuple[Value, ...]) -> Integers:
    """The position of every value in the dictionary, -1 where it has none."""
    positions = {key(value): position for position, value in enumerate(dictionary)}
    seen: dict[tuple[type, Any], int] = {}
    codes = []
    for raw in values:
        try:
            place = seen.get((type(raw), raw))
        except TypeError:  # a value that cannot be hashed
            codes.append(positions.get(key(canonical(raw)), -1))
            continue
        if place is None:
            value = canonical(raw)
            place = positions.get(key(value), -1)
            if value is not None:  # not a number differs from itself: each would be remembered anew
                seen[type(raw), raw] = place
        codes.append(place)
    return np.array(codes, dtype=np.int64)
