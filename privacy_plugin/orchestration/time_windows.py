"""Partitions that are windows of time: from which key to which one their rows are."""

import re
from datetime import datetime
from typing import Any

import dagster as dg

from privacy_plugin.errors import ParameterError

_COARSE_TO_FINE = ["%Y", "%m", "%d", "%H", "%M", "%S"]


def require_keys_in_order(partitions: Any) -> None:
    """Refuse keys whose order as text is not that of time: 02.01.2024 would lie between 01.01.2024 and 01.02.2024."""
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return
    written = re.findall(r"%.", partitions.fmt)
    if written != _COARSE_TO_FINE[: len(written)]:
        raise ParameterError(
            f"partition_column is compared with the keys as text, and keys like {partitions.fmt} are not in the order "
            "of time; write the year first, such as %Y-%m-%d"
        )


def end_of_window(partitions: Any, key: str) -> str | None:
    """Return the key at which a partition ends and the next begins, or None where partitions are no windows of time.

    >>> end_of_window(dg.MonthlyPartitionsDefinition("2024-01-01"), "2024-02-01")
    '2024-03-01'
    """
    if not isinstance(partitions, dg.TimeWindowPartitionsDefinition):
        return None
    window = partitions.time_window_for_partition_key(key)
    if datetime.strptime(key, partitions.fmt) != window.start.replace(tzinfo=None):
        raise ParameterError(
            f"partition {key} does not begin when its key says, so that no column can be compared with it; "
            "write the hour into the keys, or leave the offset out"
        )
    return window.end.strftime(partitions.fmt)
