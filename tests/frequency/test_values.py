"""One value, one meaning."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.frequency.values import canonical, key, kind, label, sorted_values
from tests.oracles.frequencies import meaning

NAN = float("nan")


class Size(IntEnum):
    LARGE = 3


class Word(StrEnum):
    GOOD = "good"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (39, 39),
        (39.0, 39),
        (Decimal("39.00"), 39),
        (np.int8(39), 39),
        (np.float32(39), 39),
        (True, True),
        (np.bool_(True), True),
        ("39", "39"),
        (np.str_("39"), "39"),
        (0.1, 0.1),
        (np.float64(0.1), 0.1),
        (Decimal("0.10"), Decimal("0.1")),
        (-0.0, 0),
        (1e300, 10**300 + (int(1e300) - 10**300)),
        (float("inf"), float("inf")),
        (Decimal("-Infinity"), -float("inf")),
        (b"x", b"x"),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (date(2024, 2, 29), date(2024, 2, 29)),
        (datetime(2024, 2, 29), date(2024, 2, 29)),
        (datetime(2024, 2, 29, 1), datetime(2024, 2, 29, 1)),
        (datetime(2024, 2, 29, 1, tzinfo=timezone(timedelta(hours=1))), date(2024, 2, 29)),
        (datetime(2024, 2, 29, 1, tzinfo=UTC), datetime(2024, 2, 29, 1)),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "0001-01-01T00:00:00+01:00"),
        (pd.Timestamp("2024-02-29"), date(2024, 2, 29)),
        (pd.Timestamp("2024-02-29 00:00:00.000000001"), "2024-02-29T00:00:00.000000001"),
        (np.datetime64("2024-02-29"), date(2024, 2, 29)),
        (np.datetime64("2024-02-29T00:00:00.000000000", "ns"), date(2024, 2, 29)),
        (np.datetime64("2024-02-29T01:00:00.000000000", "ns"), datetime(2024, 2, 29, 1)),
        (np.datetime64("2024-02-29T00:00:00.000000001", "ns"), "2024-02-29T00:00:00.000000001"),
        (np.datetime64("20000-01-01"), "20000-01-01"),
        (np.timedelta64(1, "D"), "1 day, 0:00:00"),
        (timedelta(days=1), "1 day, 0:00:00"),
        (pd.Timedelta(days=1), "1 day, 0:00:00"),
        (time(10, 30), "10:30:00"),
        (Size.LARGE, 3),
        (Word.GOOD, "good"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ([1, "a"], "[1, 'a']"),
        (np.array([1, 2]), "[1, 2]"),
        ([np.zeros(2)], "[[0.0, 0.0]]"),
        ("*", "*"),
        ("", ""),
    ],
)
def test_canonical(raw: Any, expected: Any) -> None:
    found = canonical(raw)
    assert (type(found), found) == (type(expected), expected)
    assert canonical(found) == found


@pytest.mark.parametrize(
    "raw",
    [
        None,
        NAN,
        np.nan,
        np.float32("nan"),
        pd.NaT,
        pd.NA,
        Decimal("NaN"),
        Decimal("sNaN"),
        np.datetime64("NaT"),
        np.datetime64("NaT", "ns"),
        np.timedelta64("NaT"),
    ],
)
def test_missing_is_missing(raw: Any) -> None:
    assert canonical(raw) is None


def test_decimals_keep_all_their_digits() -> None:
    """Rounded to the 28 digits of the default context, these two would be one."""
    one, other = Decimal("12345678901234567890.12345678901"), Decimal("12345678901234567890.12345678902")
    assert key(canonical(one)) != key(canonical(other))
    assert canonical(one) == one
    assert canonical(Decimal("1" * 40 + ".5")) == Decimal("1" * 40 + ".5")
    assert canonical(Decimal("1" * 40)) == int("1" * 40)


def test_long_nested_arrays_stay_distinct() -> None:
    one = np.arange(2000)
    other = one.copy()
    other[1000] = -1
    for wrap in (lambda a: [a], lambda a: (0, a), lambda a: {"x": [a]}):
        assert canonical(wrap(one)) != canonical(wrap(other))
        assert canonical(wrap(one)) == canonical(wrap(one.copy()))


def test_long_arrays_stay_distinct() -> None:
    """Printed, both would be the same few numbers with dots between them."""
    one = np.zeros(5000)
    other = one.copy()
    other[2500] = 1
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        (True, "true"),
        (False, "false"),
        (39, "39"),
        (0.1, "0.1"),
        (Decimal("0.0000001"), "0.0000001"),
        (0.0000001, "0.0000001"),
        (-1.5e-9, "-0.0000000015"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 1, 2, 3, 4), "2024-02-29T01:02:03.000004"),
        (b"\x00\xff", "00ff"),
        ("*", "*"),
    ],
)
def test_label(value: Any, text: str) -> None:
    assert label(value) == text


def test_kinds_are_never_equal() -> None:
    values = [None, True, 1, date(2024, 1, 1), "1", b"1", "", "true", "2024-01-01", b"", False, 0, "0", "None"]
    assert len({key(value) for value in values}) == len(values)
    assert [kind(value) for value in [None, True, 1, date(2024, 1, 1), "1", b"1"]] == list(range(6))


def test_order() -> None:
    values = ["b", "a", None, 10, 9, 9.5, Decimal("9.25"), True, False, date(2024, 1, 1), b"x", "", -float("inf"), "Z"]
    assert sorted_values(values) == [
        None, False, True, -float("inf"), 9, Decimal("9.25"), 9.5, 10, date(2024, 1, 1), "", "Z", "a", "b", b"x",
    ]  # fmt: skip


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=True, allow_infinity=True, places=3),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(one=scalars, other=scalars)
def test_keys_are_equal_exactly_when_the_meanings_are(one: Any, other: Any) -> None:
    """Floats and decimals are compared by what they write: 0.1 is 0.1, whichever of the two it comes as."""
    different_numbers = (
        isinstance(one, float | Decimal) and isinstance(other, float | Decimal) and type(one) is not type(other)
    )
    if not different_numbers:
        assert (key(canonical(one)) == key(canonical(other))) == (meaning(one) == meaning(other))


@settings(deadline=None, derandomize=True)
@given(value=st.one_of(st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_keep_their_value(value: Any) -> None:
    forms: list[Callable[[Any], Any]] = [lambda v: v, Decimal, np.float64 if isinstance(value, float) else np.int64]
    assert {Fraction(canonical(form(value))) for form in forms} == {Fraction(value)}  # type: ignore[arg-type]
    assert not isinstance(canonical(value), float) or not math.isnan(float(canonical(value)))  # type: ignore[arg-type]
