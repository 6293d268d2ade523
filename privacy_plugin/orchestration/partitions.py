"""Partitions: which one a run works on, and which rows of a table belong to a time window."""

from datetime import datetime
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError

RunContext = dg.AssetExecutionContext | dg.AssetCheckExecutionContext

_MOMENT = "%Y-%m-%d %H:%M:%S"  # as databases write it
_KEY_FORMATS = tuple(_MOMENT[:length] for length in range(2, len(_MOMENT) + 1, 3))
_MIDNIGHT = (" 00:00:00", " 00:00", " 00")


def partition_key(context: RunContext, partitions: Any) -> str | None:
    """Return the partition that a run works on, None without partitions; raise if the run has several."""
    if partitions is None:
        return None
    if not context.has_partition_key:
        raise ParameterError("a gate judges one partition per run; launch one run per partition")
    return str(context.partition_key)


def require_comparable_keys(partitions: Any) -> None:
    """Raise if partition keys are not formatted as databases write dates, because they are compared as text.

    As text 2024-01-15 sorts before 20231231, and 2024-01-31 08:15:00 before 2024-01-31-00:00.
    """
    if isinstance(partitions, dg.TimeWindowPartitionsDefinition) and partitions.fmt not in _KEY_FORMATS:
        raise ParameterError(
            f"partition_column is compared with the partition keys as text, and databases do not write dates as "
            f"{partitions.fmt}; give partitions_def an fmt that is the beginning of {_MOMENT}, such as "
            f"fmt={_MOMENT[:8]!r} or fmt={_MOMENT[:14]!r}"
        )


def time_window(partitions: Any, key: str) -> tuple[str, str] | None:
    """Return begin and end of a partition as text, or None if partitions are not time windows.

    >>> time_window(dg.MonthlyPartitionsDefinition("2024-01-01"), "2024-02-01")
    ('2024-02-01', '2024-03-01')
    """
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return None
    window = partitions.time_window_for_partition_key(key)
    begin, end = _without_midnight(key), _without_midnight(window.end.strftime(partitions.fmt))
    if _parse_moment(key, partitions.fmt) != window.start.replace(tzinfo=None) or begin >= end:
        raise ParameterError(
            f"partition {key} does not begin at the time of its key, or is empty (an hour when clocks are set back): "
            "no column can be compared with it; use keys that include the hour, without offset and timezone"
        )
    return begin, end


def _parse_moment(key: str, key_format: str) -> datetime | None:
    try:
        return datetime.strptime(key, key_format)
    except ValueError:  # the second of two hours with the same clock time
        return None


def _without_midnight(key: str) -> str:
    """Remove a time of midnight: as text, a day sorts before its first hour."""
    return next((key.removesuffix(hour) for hour in _MIDNIGHT if key.endswith(hour)), key)
