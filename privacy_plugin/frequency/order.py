"""The order that values are meant to have, for whatever measures distances along it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import as_number
from privacy_plugin.frequency.values import Value, kind


def places(values: Sequence[Value]) -> Integers:
    """Return the place of each of a dictionary's values: text that is a number stands where the number would.

    In a CSV file everything is text, and as text 10 comes before 9.

    >>> places(("10", "9", "high")).tolist()
    [1, 0, 2]
    """
    keys = [_key(value, position) for position, value in enumerate(values)]
    order = sorted(range(len(values)), key=keys.__getitem__)
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.arange(len(values))
    return found


def _key(value: Value, position: int) -> tuple[Any, ...]:
    """Keep the dictionary's own order, but for text among the numbers."""
    number = as_number(value) if isinstance(value, str) else None
    if number is not None:
        return kind(0), number, position
    if kind(value) == kind(0):
        return kind(0), value, position
    return kind(value), position
