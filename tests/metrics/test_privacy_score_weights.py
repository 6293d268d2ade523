"""Dangers and likelihoods: the ways to write them, and that they mean the same once written."""

import json
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.metrics.privacy_score.weights import read_weights, written_weights
from tests.metrics.score_frames import VISITS, score
from tests.oracles import score_tables as oracle

steady = settings(deadline=None, derandomize=True, max_examples=50)


@pytest.mark.parametrize(
    "danger",
    [
        {"disease": {"gout": 0.2, "otherwise": 0.5}, "city": 0},
        {("disease", "gout"): 0.2, "disease": 0.5, "city": 0},
        {("disease", "gout"): 0.2, ("disease", "flu"): 0.5, ("city", "Bern"): 0, ("city", "Basel"): 0},
        {"disease": {"gout": Fraction(1, 5), "flu": "1/2"}, "city": {"otherwise": 0}},
    ],
)
def test_weights_have_several_forms_that_mean_the_same(danger):
    weights = {("disease", "gout"): Fraction(1, 5), ("disease", "flu"): Fraction(1, 2)}
    rows = VISITS.to_dict("records")
    expected = oracle.table_scores(rows, danger=lambda name: weights.get(name, Fraction(0)))
    found = score(VISITS, danger=danger)
    assert found.of(VISITS).tolist() == pytest.approx([float(value) for value in expected], abs=1e-12)
    assert max(expected) == Fraction(1, 3)
    again = score(VISITS, danger=json.loads(json.dumps(written_weights(danger))))
    assert again.value == found.value == sum(expected) / 4


@steady
@given(
    st.dictionaries(
        st.sampled_from([30, "30", True, None, "", "otherwise ", 4.5]), st.sampled_from([0, 0.25, 1]), max_size=5
    ).filter(lambda given: not {30, "30"} <= set(given) and not {None, ""} <= set(given)),
    st.sampled_from([None, 0.5]),
)
def test_written_weights_read_back(values, otherwise):
    given = {("age", value): weight for value, weight in values.items()} | ({} if otherwise is None else {"age": 0.5})
    plain = json.loads(json.dumps(written_weights(given)))
    column = [value for value in (30, True, None, 4.5, "otherwise ") if value in values] or ["none"]
    if "30" in values or "" in values:
        return  # as text these are values of their own; by text they are found below
    frame = pd.DataFrame({"age": pd.Series([*column, "more"], dtype=object), "x": range(len(column) + 1)})
    assert score(frame, danger=given).value == score(frame, danger=plain).value
    assert list(read_weights("danger", plain)) == (["age"] if given else [])


@pytest.mark.parametrize("values", [("otherwise",), (30, "30"), (None, ""), (True, "true")])
def test_weights_that_would_be_read_back_for_other_values_raise(values):
    """The danger of one value, written and read, would be that of another one, or of all."""
    danger = {("disease", value): 0 if value == values[0] else 1 for value in values}
    frame = pd.DataFrame({"disease": pd.Series([*values, "flu"], dtype=object), "city": range(len(values) + 1)})
    if None in values or len(values) == 1:  # a number and its text in one column raise
        expected = oracle.table_scores(frame.to_dict("records"), danger=lambda name: Fraction(danger.get(name, 1)))
        assert score(frame, danger=danger).of(frame).tolist() == pytest.approx([float(value) for value in expected])
    for refused in (danger, {**danger, "disease": 0}):
        with pytest.raises(ParameterError, match="'disease' by value cannot be written"):
            pp.require("privacy_score", at_most=0.3, danger=refused).to_dict()


def test_a_value_is_found_by_its_text_where_the_text_is_unique():
    frame = pd.DataFrame({"age": [30, 41], "city": ["Bern", "Basel"]})
    assert score(frame, danger={"age": {"30": 0, "41": 0}}).value == score(frame, danger={"age": 0}).value
    twins = pd.DataFrame({"age": pd.Series([30, True, "true"], dtype=object), "x": [1, 2, 3]})
    with pytest.raises(ColumnError, match="look like another"):
        score(twins, danger={"age": {"true": 0}})
    with pytest.raises(ParameterError, match="two weights"):
        score(frame, danger={"age": {"30": 0, 30: 0}})
