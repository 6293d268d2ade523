"""Two values that look alike never count as two secrets, two people or two classes."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import require_unambiguous_values
from privacy_plugin.sources import frequency_table

# The values of each group are equal to Python, or an engine writes them alike.
GROUPS: dict[str, list[Any]] = {
    "one": [True, 1, 1.0, Decimal("1.0"), Fraction(1), 1 + 0j, np.int64(1), np.True_, "1", b"1"],
    "zero": [False, 0, -0.0, Decimal(0), Fraction(0), 0j, np.float32(0), np.False_, "0", b"0"],
    "half": [0.5, Decimal("0.50"), Fraction(1, 2), 0.5 + 0j, np.float64(0.5), "0.5", b"0.5"],
    "true": [True, np.True_, "true", "True", b"true"],
    "text": ["hiv", b"hiv", bytearray(b"hiv")],
    "date": [date(2024, 2, 29), datetime(2024, 2, 29), pd.Timestamp("2024-02-29"), "2024-02-29"],
    "moment": [datetime(2024, 2, 29), np.datetime64("2024-02-29"), "2024-02-29 00:00:00"],
    "identifier": [UUID(int=7), str(UUID(int=7))],
    "list": [[1], (1,), [True], [1.0], ["1"], [b"1"], np.array([1]), "[1]"],
    "set": [{2}, frozenset({2}), {2.0}, "{2}"],
    "record": [{"a": 1}, {"a": True}, {"a": 1.0}],
}
PAIRS = [
    pytest.param(one, other, id=f"{group}-{type(one).__name__}-{type(other).__name__}-{number}")
    for group, values in GROUPS.items()
    for number, (one, other) in enumerate(combinations(values, 2))
    if not (type(one) is str and type(other) is str)  # two texts that differ are two values
]


def objects(*values: Any) -> "pd.Series[Any]":
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return pd.Series(array, dtype=object)


def pandas_frame(one: Any, other: Any) -> Any:
    return pd.DataFrame({"q": ["x"] * 4, "v": objects(one, one, other, other), "p": [1, 2, 3, 4]})


def polars_frame(one: Any, other: Any) -> Any:
    return pl.DataFrame({"q": ["x"] * 4, "v": pl.Series([one, one, other, other], dtype=pl.Object), "p": [1, 2, 3, 4]})


def table(one: Any, other: Any) -> Any:
    return FrequencyTable.from_rows(["q", "v", "p"], [("x", v, n) for n, v in enumerate([one, one, other, other])])


def count_secrets(data: Any) -> int:
    return int(pp.l_diversity(data, quasi_identifiers=["q"], sensitive="v").value)


def count_people(data: Any) -> int:
    return int(frequency_table(data, ["q"], unit="v").counts[0])


def count_classes(data: Any) -> int:
    return 4 // int(pp.k_anonymity(data, quasi_identifiers=["v"]).value)


@pytest.mark.parametrize("count", [count_secrets, count_people, count_classes])
@pytest.mark.parametrize("build", [pandas_frame, polars_frame, table])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_pair_that_looks_alike_is_one_value_or_an_error(
    one: Any, other: Any, build: Callable[[Any, Any], Any], count: Callable[[Any], int]
) -> None:
    data = build(one, other)
    try:
        found = count(data)
    except ColumnError:
        with pytest.raises(ColumnError, match="look like another value of another type"):
            count(data)
    else:
        assert found == 1


scalars = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, width=16),
    st.decimals(-3, 3, places=1),
    st.fractions(-3, 3, max_denominator=4),
    st.complex_numbers(max_magnitude=2, allow_nan=False).map(lambda z: complex(round(z.real), 0)),
    st.binary(max_size=2),
    st.text("01ab", max_size=2),
)


@settings(deadline=None, derandomize=True, max_examples=500)
@given(one=scalars, other=scalars)
def test_values_that_python_treats_as_equal_are_never_two(one: Any, other: Any) -> None:
    if one != other or type(one) is type(other):
        return
    values = FrequencyTable.from_rows(["v"], [(one,), (other,)]).dictionary("v")
    if len(values) == 2:
        with pytest.raises(ColumnError):
            require_unambiguous_values(values, "v")


DIFFERENT: list[tuple[Any, Any]] = [
    ("a", "a "),
    ("1", "1.0"),
    (1, 2),
    (1, "one"),
    (True, False),
    (b"a", "b"),
    (b"\xff", "ff."),
    (0.5, "1/2"),
    ([1], [2]),
    ([1], {1}),
    (["a, b"], ["a", "b"]),
    (date(2024, 1, 1), "2024-01-02"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_values_that_differ_stay_two(one: Any, other: Any) -> None:
    assert count_secrets(pandas_frame(one, other)) == 2
