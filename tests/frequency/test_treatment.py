"""Treatments of numeric columns: exact arithmetic, groups of enough rows, and what the gate finds wrong."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency.treatment import Treatment


def treated(given: Any, values: list[Any], counts: list[int] | None = None) -> list[Any]:
    numbers = np.array(counts or [1] * len(values), dtype=np.int64)
    return list(Treatment.read(given).mapping("income", values, numbers))


def test_coding_and_rounding() -> None:
    assert treated({"top": 90, "bottom": 18}, [5, 18, 40, 95, None]) == [18, 18, 40, 90, None]
    assert treated({"round": 10}, [14, 15, 25, -15]) == [10, 20, 20, -20]
    assert treated({"round": 0.5}, [1.2, "1.3", Decimal("1.75")]) == [1, "1.5", 2]
    assert treated({"round": 0.1, "top": 1}, ["0.25", "7"]) == ["0.2", "1"]


def test_microaggregation_takes_means_of_neighbours() -> None:
    assert treated({"microaggregate": 2}, [10, 11, 20, 21, 30]) == [10, 10, 24, 24, 24]
    assert treated({"microaggregate": 3}, ["1.5", "2.0", "9.0", None], [3, 1, 2, 5]) == ["1.5", "6.7", "6.7", None]
    with pytest.raises(InfeasibleError, match="too few"):
        treated({"microaggregate": 3}, [1, 2])


@given(st.lists(st.integers(0, 40), min_size=6, max_size=60), st.integers(2, 6))
def test_every_mean_stands_for_enough_rows_and_keeps_the_total(rows: list[int], group: int) -> None:
    counted = Counter(rows)
    values = list(counted)
    new = treated({"microaggregate": group}, values, list(counted.values()))
    mapping = dict(zip(values, new, strict=True))
    assert min(Counter(mapping[row] for row in rows).values()) >= group
    assert abs(Fraction(sum(mapping[row] for row in rows) - sum(rows), len(rows))) <= Fraction(1, 2)
    assert [mapping[value] for value in sorted(values)] == sorted(new)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"cap": 3},
        {"top": "high"},
        {"top": 1, "bottom": 2},
        {"round": 0},
        {"round": 10, "top": 95},
        {"round": "1/3"},
        {"microaggregate": 1},
        {"microaggregate": True},
        {"microaggregate": 5, "round": 5},
        ["top"],
    ],
)
def test_senseless_treatments_are_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        Treatment.read(wrong)


def test_values_that_are_no_numbers_are_counted_and_not_named() -> None:
    with pytest.raises(ParameterError, match="1 of its values, in 4 rows") as caught:
        treated({"top": 3}, [1, "secret"], [1, 4])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "values", "labels", "words"),
    [
        ({"top": 3}, [1, 4], False, "1 rows are not"),
        ({"round": 5}, [5, 7], False, "1 rows are not"),
        ({"top": 3}, ["[0, 5)", 4], True, "1 rows are not"),
        ({"top": 3}, ["[0, 5)", 3], False, "no number"),
        ({"microaggregate": 2}, [1, 2, 3], False, "3 rows have a value that fewer share"),
    ],
)
def test_the_gate_sees_what_was_not_treated(given: Any, values: list[Any], labels: bool, words: str) -> None:
    counts = np.ones(len(values), dtype=np.int64)
    assert words in str(Treatment.read(given).problem("income", values, counts, labels=labels))
    assert Treatment.read({"top": 99}).problem("income", [1, 2, None], np.ones(3, dtype=np.int64), labels=False) is None
