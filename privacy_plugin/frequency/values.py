"""Canonical values: one form for each value, whatever engine it came from.

Engines return the same value in different forms: 39, 39.0 or Decimal("39.00"); NaN, None or NaT; a date or a
timestamp at midnight. `canonical` removes those differences and no others: merging different values would make
classes look larger, and the table safer, than they are.

Rules: every kind of missing value is `None`; a boolean is never the number 1; text is never a number;
`*` (suppressed) is ordinary text and never missing; text is compared code point by code point.
"""

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

from privacy_plugin.errors import ColumnError, SourceError

Value: TypeAlias = bool | int | float | Decimal | date | str | bytes | None
Key: TypeAlias = tuple[int, str]

SUPPRESSED = "*"
LARGEST_EXPONENT = 1000  # text such as 1e999999999 is not a measurement, and would fill the memory

_CANONICAL = (str, int, bool, date)
_MISSING, _BOOLEAN, _NUMBER, _TIME, _TEXT, _BYTES = range(6)
KIND_WORDS = ("missing values", "booleans", "numbers", "dates", "text", "bytes")


def canonical(raw: Any) -> Value:
    """Return the canonical form of a value.

    >>> canonical(39.0), canonical(float("nan")), canonical(True), canonical("39")
    (39, None, True, '39')
    """
    kind = type(raw)
    if raw is None or kind in _CANONICAL:
        return raw  # type: ignore[no-any-return]  # the most frequent types first
    if kind is float:
        return _canonical_float(raw)
    return _canonical_datetime(raw) if kind is datetime else _canonical_other(_unwrap(raw))


def _unwrap(raw: Any) -> Any:
    """Return the plain value of numpy scalars and arrays and of enumeration members."""
    if isinstance(raw, Enum):
        return raw.value
    if type(raw).__module__ != "numpy":
        return raw
    if type(raw).__name__ in ("datetime64", "timedelta64"):
        return _unwrap_time(raw)
    return raw.tolist() if hasattr(raw, "tolist") else raw


def _unwrap_time(raw: Any) -> Any:
    """Convert numpy's times to Python's; nanoseconds and years outside 1 to 9999 become text."""
    if raw != raw:
        return None
    plain = raw.astype(f"{type(raw).__name__}[us]")
    python = plain.item() if plain == raw else str(raw)
    return str(raw) if isinstance(python, int) else python


def _canonical_other(raw: Any) -> Value:
    if raw is None or isinstance(raw, bool | int | bytes):
        return raw
    if isinstance(raw, str):
        return str(raw)
    if isinstance(raw, float):
        return _canonical_float(raw)
    if isinstance(raw, Decimal):
        return _canonical_decimal(raw)
    if isinstance(raw, Fraction):
        return _canonical_fraction(raw)
    if isinstance(raw, complex) and raw.imag == 0:  # Python treats 0.5 and 0.5 + 0j as equal
        return _canonical_float(raw.real)
    if _is_missing(raw):
        return None
    if isinstance(raw, datetime):
        return _canonical_datetime(raw)
    if isinstance(raw, date):
        return raw
    if isinstance(raw, bytearray | memoryview):
        return bytes(raw)
    if isinstance(raw, timedelta) and not getattr(raw, "nanoseconds", 0):
        return str(timedelta(days=raw.days, seconds=raw.seconds, microseconds=raw.microseconds))
    return raw.isoformat() if isinstance(raw, time) else _own_text(raw)


def _own_text(raw: Any) -> str:
    """Return the text of a value of any other class; redact the error it may raise, which could quote it."""
    try:
        return str(_normalize_container(raw))
    except Exception as problem:  # noqa: BLE001  the class of the value may raise anything
        message = f"a value of type {type(raw).__name__} cannot be converted to text: {type(problem).__name__}"
        raise SourceError(message) from None


def _normalize_container(raw: Any) -> Any:
    """Convert tuples and arrays to lists, and sort dictionaries and sets.

    Engines return tuples as lists. The text of a long array omits its middle, and equal dictionaries and sets may be
    written in different orders.
    """
    if type(raw) in (list, tuple):
        return [_normalize_container(item) for item in raw]
    if isinstance(raw, dict):
        return {name: _normalize_container(raw[name]) for name in sorted(raw, key=repr)}
    if isinstance(raw, set | frozenset):
        return "{" + ", ".join(sorted(map(repr, raw))) + "}"
    return _unwrap(raw)


def _is_missing(raw: Any) -> bool:
    """Recognize pandas' NA, whose comparisons have no truth value, and NaT and NaN, which differ from themselves."""
    if type(raw).__name__ == "NAType":
        return True
    try:
        return bool(raw != raw)
    except Exception:  # noqa: BLE001  comparing arrays has no single result, and other classes may raise anything
        return False


def _canonical_fraction(raw: Fraction) -> Value:
    """Return the integer or float that Python treats as equal, or the text of a fraction that is neither."""
    if raw.denominator == 1:
        return int(raw)
    try:
        number = float(raw)
    except OverflowError:
        return str(raw)
    return number if Fraction(number) == raw else str(raw)


def _canonical_float(raw: float) -> Value:
    if math.isnan(raw):
        return None
    return int(raw) if raw.is_integer() else float(raw)


def _canonical_decimal(raw: Decimal) -> Value:
    if raw.is_nan():
        return None
    if raw.is_infinite():
        return float(raw)
    if raw == raw.to_integral_value():
        return int(raw)
    # The default context would round to 28 digits and merge different values.
    return raw.normalize(Context(prec=len(raw.as_tuple().digits), Emax=MAX_EMAX, Emin=MIN_EMIN))


def _canonical_datetime(raw: datetime) -> Value:
    try:
        moment = raw.astimezone(UTC).replace(tzinfo=None) if raw.tzinfo is not None else raw
    except OverflowError:  # in UTC it is outside of the years 1 to 9999
        return raw.isoformat()
    if not 1 <= moment.year <= 9999:  # pandas has more years; they stay text
        return moment.isoformat()
    if getattr(moment, "nanosecond", 0):  # pandas has nanoseconds, which datetime would drop
        return moment.isoformat()
    clock = moment.hour, moment.minute, moment.second, moment.microsecond
    return datetime(moment.year, moment.month, moment.day, *clock) if any(clock) else moment.date()


def label(value: Value) -> str:
    """Return the text of a canonical value for hierarchies and reports; a missing value is empty.

    >>> label(39), label(0.00001), label(True), label(date(2024, 2, 29)), label(None)
    ('39', '0.00001', 'true', '2024-02-29', '')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        digits = repr(value)
        return format(Decimal(digits), "f") if "e" in digits else digits  # like a decimal with the same digits
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def kind(value: Value) -> int:
    """Return the kind of a canonical value; values of different kinds are never equal."""
    if value is None:
        return _MISSING
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, int | float | Decimal):
        return _NUMBER
    return _TIME if isinstance(value, date) else _BYTES


def key(value: Value) -> Key:
    """Return the key that identifies a canonical value in every engine and table."""
    return kind(value), label(value)


def sorted_values(values: Iterable[Value]) -> list[Value]:
    """Sort canonical values: missing first, then booleans, numbers, times, text; numbers by size."""
    listed = list(values)
    if not plainly_ordered(listed):
        return sorted(listed, key=_sort_key)
    present = [value for value in listed if value is not None]
    return [None] * (len(listed) - len(present)) + sorted(present)  # faster than with keys


def one_plain_type(values: Iterable[Any]) -> bool:
    """Return whether all values are missing or of one type that is canonical: text, integers or dates."""
    return set(map(type, values)) - {type(None)} in ({str}, {int}, {date})


def plainly_ordered(values: Iterable[Value]) -> bool:
    """Return whether Python's equality and order of these canonical values are ours."""
    types = set(map(type, values)) - {type(None)}
    return types in ({str}, {date}) or types <= {int, float}


def require_unambiguous_values(values: Sequence[Value], column: str) -> None:
    """Raise if two values of a column look alike: True and 1, a number and its text, bytes and the same text.

    Counting them as two values makes sensitive values look more diverse than they are, and one person look like two.
    Python and engines treat such pairs as equal or write them alike. "37.0" and 37 are one number: pandas reads a
    large CSV file in chunks, and a chunk that contains text stays text.
    """
    alike = _count_alike(values)
    if alike:
        raise ColumnError(
            f"column {column!r} has {alike:,} value(s) that look like another value of another type, such as a number "
            "and its text, or true and 1; convert the column to one type"
        )


def _count_alike(values: Sequence[Value]) -> int:
    """Count the values that look like an earlier one."""
    types = set(map(type, values)) - {type(None)}
    if types == {str}:
        return _count_alike_containers(values)
    if plainly_ordered(values):
        return 0
    seen: set[str] = set()
    alike = 0
    for value in (v for v in values if v is not None and not isinstance(v, str)):
        looks = _looks(value)
        alike += not seen.isdisjoint(looks)
        seen |= looks
    texts = [value for value in values if isinstance(value, str)]
    alike += sum(not seen.isdisjoint(_readings(text)) for text in texts)
    return alike + _count_alike_containers(texts)


def _looks(value: Value) -> set[str]:
    """Return the texts that engines write for a value that is not text: some write true as 1, and bytes as text."""
    if isinstance(value, bool):
        return {label(value), str(int(value))}
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return {label(value), value.decode()}
    return {label(value)}


def _readings(text: str) -> set[str]:
    """Return the labels of a text that is read as a boolean, a number or a moment."""
    plain = text.strip()
    found = {text, plain, plain.lower()}
    with suppress(InvalidOperation):
        number = Decimal(plain)
        if number.is_finite() and abs(number.adjusted()) <= LARGEST_EXPONENT:
            found.add(label(_canonical_decimal(number)))
    with suppress(ValueError):
        found.add(label(_canonical_datetime(datetime.fromisoformat(plain))))
    return found


# Inside of the text of a container: true and false, floats that are whole, numbers in quotes, and bytes.
_NESTED_BOOLEAN = re.compile(r"\b(?:True|False)\b")
_NESTED_WHOLE_FLOAT = re.compile(r"(?<![\w.])(-?\d+)\.0+(?![\w.])")
_NESTED_QUOTED_NUMBER = re.compile(r"""(['"])(-?\d+(?:\.\d+)?)\1""")
_NESTED_BYTES = re.compile(r"""\bb(?=['"])""")


def _count_alike_containers(texts: Sequence[Value]) -> int:
    """Count the texts of lists, sets and records that differ only in the types of their items."""
    containers = [text for text in texts if isinstance(text, str) and text[:1] in ("[", "{", "(")]
    return len(containers) - len({_container_look(text) for text in containers}) if len(containers) > 1 else 0


def _container_look(text: str) -> str:
    numbers = _NESTED_BOOLEAN.sub(lambda found: "1" if found[0] == "True" else "0", text)
    unquoted = _NESTED_QUOTED_NUMBER.sub(r"\2", _NESTED_BYTES.sub("", numbers))
    return _NESTED_WHOLE_FLOAT.sub(r"\1", unquoted)


def _sort_key(value: Value) -> tuple[Any, ...]:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return _NUMBER, value, ""
    return kind(value), 0, label(value)
