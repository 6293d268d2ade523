"""What a column looks like, from its frequency table alone: kind of values, how many, how many of them unique."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import SUPPRESSED, Value, label

Kind = Literal["empty", "boolean", "number", "date", "code", "text"]

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_CODE = re.compile(r"(?=.*\d)[0-9A-Za-z-]{2,12}")


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """Counts about one column; no value of it."""

    name: str
    kind: Kind
    whole: bool
    rows: int
    distinct: int
    missing: int
    unique: int
    longest: int

    @property
    def unique_share(self) -> float:
        """The share of rows whose value no other row has."""
        return self.unique / self.rows

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same value."""
        return self.distinct <= 1


def profile(table: FrequencyTable) -> ColumnProfile:
    """Describe the one column of a frequency table."""
    (name,), (dictionary,) = table.columns, table.dictionaries
    present = [value for value in dictionary if value is not None and value != SUPPRESSED]
    missing = int(table.counts[table.codes[:, 0] == dictionary.index(None)].sum()) if None in dictionary else 0
    kind = kind_of(present)
    return ColumnProfile(
        name=name,
        kind=kind,
        whole=kind == "number" and all("." not in label(value) for value in present),
        rows=table.rows,
        distinct=table.distinct,
        missing=missing,
        unique=int((table.counts == 1).sum()),
        longest=max((len(label(value)) for value in present), default=0),
    )


def kind_of(values: Sequence[Value]) -> Kind:
    """Say what kind of values these are; text counts as what it spells, because files hold nothing else.

    >>> kind_of(["02138", "02139"]), kind_of(["39", "4.5"]), kind_of(["2024-02-29"]), kind_of(["flu", "cold"])
    ('code', 'number', 'date', 'text')
    """
    if not values:
        return "empty"
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values):
        return "number"
    if all(isinstance(value, date) for value in values):
        return "date"
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        return "text"
    if all(_NUMBER.fullmatch(text) for text in texts):
        return "number"
    if all(_is_date(text) for text in texts):
        return "date"
    same_length = len({len(text) for text in texts}) == 1
    return "code" if same_length and all(_CODE.fullmatch(text) for text in texts) else "text"


def quantiles(table: FrequencyTable, shares: Sequence[float]) -> list[float]:
    """Return the numbers below which these shares of a column's rows lie."""
    (dictionary,) = table.dictionaries
    numbers = [
        (float(label(value)), int(count))
        for value, count in zip(dictionary, table.counts.tolist(), strict=True)
        if value is not None and value != SUPPRESSED
    ]
    ordered = np.array(sorted(numbers))
    sums = np.cumsum(ordered[:, 1])
    return [float(ordered[np.searchsorted(sums, share * sums[-1]), 0]) for share in shares]


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text
