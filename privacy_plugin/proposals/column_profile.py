"""The profile of a column from its frequency table: kind of values, distinct values, unique values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import SUPPRESSED, Value, label

# `amount` is a number in a format that hierarchies do not read (1.234,56 or 1,234.56 or 12 EUR); `personal` identifies
# a person under any column name (an e-mail address, a phone, bank account or social security number).
Kind = Literal["empty", "boolean", "number", "amount", "date", "personal", "code", "text"]

ISO = "ISO"  # the default format of dates

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_CURRENCY = r"(?:[€$£]|EUR|CHF|USD|Fr\.)"
_AMOUNT = re.compile(
    rf"(?:{_CURRENCY}\s?)?-?(?:\d+(?:[.,]\d+)?|\d{{1,3}}(?:[.'’ \u00a0\u202f]\d{{3}})+(?:,\d+)?"
    rf"|\d{{1,3}}(?:[,'’]\d{{3}})+(?:\.\d+)?)(?:\s?{_CURRENCY})?"
)
_CENTS = re.compile(r"[.,]\d{1,2}\D*$")
_CODE = re.compile(r"(?=.*\d)[0-9A-Za-z-]{2,12}")
_PERSONAL = re.compile(
    r"\s*(?:[^@\s]+@[^@\s]+\.[^@\s]+|(?:\+|00)[\d\s()/.-]{7,20}|0(?=(?:\D*\d){8,})[\d\s()/.-]{8,20}"
    r"|[A-Z]{2}\d{2}[A-Z0-9 ]{11,32}|756\.\d{4}\.\d{4}\.\d{2}|\d{3}-\d{2}-\d{4})\s*"
)
_DATE = re.compile(
    r"(?:(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})"
    r"|\d{4}(?P<other>[./])(?P<month>\d{1,2})(?P=other)(?P<day>\d{1,2}))"
    r"(?P<time>[ T]\d{1,2}:\d{2}(?P<seconds>:\d{2})?)?"
)


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """Counts about one column, without its values."""

    name: str
    kind: Kind
    whole: bool
    rows: int
    distinct: int
    missing: int
    unique: int
    longest: int
    date_format: str | None = None

    @property
    def unique_share(self) -> float:
        """The share of rows (a person may have several) whose value no other row has."""
        return self.unique / self.rows

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same value."""
        return self.distinct <= 1


def profile_column(table: FrequencyTable) -> ColumnProfile:
    """Return the profile of the only column of a frequency table."""
    (name,), (dictionary,) = table.columns, table.dictionaries
    present = [value for value in dictionary if value is not None and value != SUPPRESSED]
    missing = int(table.counts[table.codes[:, 0] == dictionary.index(None)].sum()) if None in dictionary else 0
    kind = kind_of_values(present)
    return ColumnProfile(
        name=name,
        kind=kind,
        whole=_is_whole(kind, present),
        rows=table.rows,
        distinct=table.distinct,
        missing=missing,
        unique=int((table.counts == 1).sum()),
        longest=max((len(label(value)) for value in present), default=0),
        date_format=date_format(present) if kind == "date" else None,
    )


def kind_of_values(values: Sequence[Value]) -> Kind:
    """Return the kind of values; text is classified by its content, because files contain only text.

    >>> [kind_of_values(v) for v in (["02138", "02139"], ["39", "4.5"], ["2024-02-29"], ["flu", "cold"])]
    ['code', 'number', 'date', 'text']
    >>> [kind_of_values(v) for v in (["1.234,56", "7,50"], ["29.02.1984"], ["a@example.org", "unknown"])]
    ['amount', 'date', 'personal']
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
    if all(_AMOUNT.fullmatch(text) for text in texts) and not all(text.isdigit() for text in texts):
        return "amount"
    if 2 * sum(_PERSONAL.fullmatch(text) is not None for text in texts) >= len(texts):
        return "personal"
    same_length = len({len(text) for text in texts}) == 1
    return "code" if same_length and all(_CODE.fullmatch(text) for text in texts) else "text"


def quantiles(table: FrequencyTable, shares: Sequence[float]) -> list[float]:
    """Return the quantiles of a numeric column at these shares."""
    (dictionary,) = table.dictionaries
    numbers = [
        (float(label(value)), int(count))
        for value, count in zip(dictionary, table.counts.tolist(), strict=True)
        if value is not None and value != SUPPRESSED
    ]
    ordered = np.array(sorted(numbers))
    sums = np.cumsum(ordered[:, 1])
    return [float(ordered[np.searchsorted(sums, share * sums[-1]), 0]) for share in shares]


def date_format(values: Sequence[Value]) -> str | None:
    """Return the format of dates; None if formats differ, or more than one fits.

    >>> date_format(["29.02.1984", "01.12.1990"]), date_format(["1984-02-29"]), date_format(["01/02/1984"])
    ('%d.%m.%Y', 'ISO', None)
    """
    found = _DATE.fullmatch(values[0]) if isinstance(values[0], str) else None
    if found is None:
        return ISO if all(not isinstance(value, str) or not _DATE.fullmatch(value) for value in values) else None
    mark = found["mark"] or found["other"]
    clock = f"{found['time'][0]}%H:%M{':%S' if found['seconds'] else ''}" if found["time"] else ""
    # 12.31.1984 is not a format in use
    orders = ["%Y %m %d"] if found["other"] else ["%d %m %Y"] if mark == "." else ["%d %m %Y", "%m %d %Y"]
    forms = [order.replace(" ", mark) + clock for order in orders]
    fitting = [form for form in forms if all(_fits(value, form) for value in values)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(value: Value, form: str) -> bool:
    try:
        datetime.strptime(str(value), form)
    except ValueError:
        return False
    return True


def _is_whole(kind: Kind, values: Sequence[Value]) -> bool:
    if kind == "number":
        return all("." not in label(value) for value in values)
    return kind == "amount" and not any(_CENTS.search(label(value)) for value in values)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is not None:
        numbers = sorted(int(number) for number in found.group("first", "second", "month", "day") if number)
        return 1 <= numbers[0] <= 12 and numbers[1] <= 31
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text
