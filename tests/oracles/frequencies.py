"""Count rows by the meaning of their values, one by one: what every engine must agree with."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

Meaning = tuple[str, Any]


def meaning(value: Any) -> Meaning:
    """What a value means: its kind, and a form in which equal means equal."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ("missing", None)
    if isinstance(value, Decimal) and value.is_nan():
        return ("missing", None)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float | Decimal):
        return ("number", str(value) if math.isinf(value) else Fraction(value))
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return ("time", moment)
    if isinstance(value, date):
        return ("time", datetime.combine(value, time()))
    return ("bytes", value) if isinstance(value, bytes) else ("text", value)


def count_rows(rows: Iterable[Sequence[Any]]) -> Counter[tuple[Meaning, ...]]:
    """How often each row occurs."""
    return Counter(tuple(map(meaning, row)) for row in rows)


def count_units(rows: Iterable[Sequence[Any]], units: Iterable[Any]) -> dict[tuple[Meaning, ...], int]:
    """How many different units each row belongs to."""
    found: dict[tuple[Meaning, ...], set[Meaning]] = defaultdict(set)
    for row, unit in zip(rows, units, strict=True):
        found[tuple(map(meaning, row))].add(meaning(unit))
    return {row: len(people) for row, people in found.items()}
