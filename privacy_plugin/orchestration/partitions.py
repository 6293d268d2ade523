"""Partitions that are windows of time: from where to where their rows are."""

from datetime import datetime
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError

_MOMENT = "%Y-%m-%d %H:%M:%S"  # as databases write it
_KEYS = tuple(_MOMENT[:length] for length in range(2, len(_MOMENT) + 1, 3))
_MIDNIGHT = (" 00:00:00", " 00:00", " 00")


def require_keys_like_moments(partitions: Any) -> None:
    """Refuse keys that are not written as databases write dates and moments, with which they are compared as text.

    As text 2024-01-15 lies before 20231231, and 2024-01-31 08:15:00 before 2024-01-31-00:00.
    """
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition) and partitions.fmt not in _KEYS:
        raise ParameterError(
            f"partition_column is compared with the keys as text, and databases write no date or moment like "
            f"{partitions.fmt}; give partitions_def an fmt that is the beginning of {_MOMENT}, the year first, such as "
            f"fmt={_MOMENT[:8]!r} or fmt={_MOMENT[:14]!r}"
        )


def window_of(partitions: Any, key: str) -> tuple[str, str] | None:
    """Return where a partition begins and where the next one does, or None where partitions are no windows of time.

    >>> window_of(dg.MonthlyPartitionsDefinition("2024-01-01"), "2024-02-01")
    ('2024-02-01', '2024-03-01')
    """
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return None
    window = partitions.time_window_for_partition_key(key)
    begin, end = _border(key), _border(window.end.strftime(partitions.fmt))
    if _moment(key, partitions.fmt) != window.start.replace(tzinfo=None) or begin >= end:
        raise ParameterError(
            f"partition {key} does not begin when its key says, or ends when it begins, as an hour does when clocks "
            "are set back; no column can be compared with it: write the hour into the keys, leave offset and timezone "
            "out"
        )
    return begin, end


def _moment(key: str, written_as: str) -> datetime | None:
    try:
        return datetime.strptime(key, written_as)
    except ValueError:  # the second of two hours that a clock shows alike
        return None


def _border(key: str) -> str:
    """Leave midnight out: as text, a day comes before its first hour."""
    return next((key.removesuffix(hour) for hour in _MIDNIGHT if key.endswith(hour)), key)
