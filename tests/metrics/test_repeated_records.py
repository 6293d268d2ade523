"""Repeated records, compared by content and never by position, and with chance."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError
from privacy_plugin.metrics.repeated_records import VARIANTS
from tests.metrics.generated_tables import COLUMNS, pairs, tables
from tests.oracles import generated as oracle


@settings(max_examples=60, deadline=None, derandomize=True)
@given(pair=pairs)
def test_counting_by_hand(pair):
    real, made = tables(*pair)
    wanted = oracle.shares_of_records(*pair)
    for variant in VARIANTS:
        found = pp.repeated_records(made, attributes=COLUMNS, original=real, variant=variant)
        assert found.value == wanted[variant]
        assert found.exact
    assert {name: found.details[name] for name in VARIANTS} == wanted
    assert found.if_independent == pytest.approx(oracle.repeated_if_independent(pair[0]))
    once = oracle.repeated_if_independent(pair[0], once=True)
    assert found.details["unique_if_independent"] == pytest.approx(once)


def test_a_shuffled_copy_is_a_copy():
    """Compared row by row, as the thesis does, it would have nothing in common."""
    data = pd.DataFrame({"x": range(20), "y": [0, 1] * 10})
    for variant in VARIANTS:
        found = pp.repeated_records(data.iloc[::-1], attributes=["y", "x"], original=data, variant=variant)
        assert found.value == 1


def test_independent_columns_repeat_the_stated_share():
    """2,000 rows of shuffled columns: a share further than 0.05 from its mean has a chance below 1e-4."""
    generator = np.random.default_rng(3)
    real = pd.DataFrame({name: generator.integers(0, 6, 2_000) for name in "abcd"})
    made = pd.DataFrame({name: generator.permutation(real[name]) for name in real})
    found = pp.repeated_records(made, attributes=list("abcd"), original=real)
    assert 0.5 < found.if_independent < 0.9
    assert float(found.value) == pytest.approx(found.if_independent, abs=0.05)


def test_missing_is_a_category_and_a_boolean_is_not_a_number():
    real = pd.DataFrame({"x": [1, None, 3], "y": ["a", "a", "a"]})
    made = pd.DataFrame({"x": [None, 3.0, 4], "y": ["a", "a", "a"]})
    assert pp.repeated_records(made, attributes=["x", "y"], original=real).value == Fraction(2, 3)


@pytest.mark.parametrize("made", [["1", "2"], [None, "1"], [True, False], ["a", "b"], [7, 8]])
def test_a_column_that_could_never_match_closes_the_gate(made):
    """Otherwise zip codes read as numbers would make any copy look new, and pass."""
    real = pd.DataFrame({"x": [1, 2, None], "y": ["u", "v", "w"]})
    generated = pd.DataFrame({"x": made, "y": ["u", "v"]})
    with pytest.raises(ColumnError, match="any copy would look new"):
        pp.repeated_records(generated, attributes=["x", "y"], original=real)
    requirement = pp.require("repeated_records", at_most=1)
    assert not requirement.judge(generated, attributes=["x", "y"], population=real).passed


def test_a_copy_in_which_numbers_became_text_is_not_new():
    """One common value does not make the others comparable: 999 of 1,000 rows of this copy were called new."""
    original = pp.FrequencyTable.from_rows(["x"], [(1,), ("other",)], [999, 1])
    copy = pp.FrequencyTable.from_rows(["x"], [("1.0",), ("other",)], [999, 1])
    with pytest.raises(ColumnError, match="look like another value of another type"):
        pp.repeated_records(copy, attributes=["x"], original=original)


def test_invalid_options_raise():
    data = pd.DataFrame({"x": ["a"], "y": ["b"]})
    with pytest.raises(ParameterError, match="needs the original table"):
        pp.require("repeated_records", at_most=1) and pp.repeated_records(data, attributes=["x"], original=None)
    with pytest.raises(EmptyTableError):
        pp.repeated_records(data, attributes=["x"], original=data.iloc[:0])
    with pytest.raises(EmptyTableError):
        pp.repeated_records(data.iloc[:0], attributes=["x"], original=data)
    with pytest.raises(ColumnError):
        pp.repeated_records(data[["x"]], attributes=["x", "y"], original=data)
    with pytest.raises(ColumnError):
        pp.repeated_records(data, attributes=["x", "y"], original=data[["x"]])
    with pytest.raises(ParameterError, match="did you mean 'repeated'"):
        pp.require("repeated_records", variant="repeatd", at_most=1)
    for wrong in ({"at_least": 0.1}, {"at_most": 2}, {}):
        with pytest.raises(ParameterError):
            pp.require("repeated_records", **wrong)
