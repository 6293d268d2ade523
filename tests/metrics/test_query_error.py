"""COUNT queries on a release, against counting by hand."""

import json

import pandas as pd
import pytest
from hypothesis import given, settings

import privacy_plugin as pp
from privacy_plugin.errors import ParameterError
from privacy_plugin.metrics.usability.compared_tables import compare_tables
from privacy_plugin.metrics.usability.query_error import answers, choose_queries, column_sets, evenly
from tests.metrics.released_tables import COLUMNS, HIERARCHIES, meaning, pairs, table_of
from tests.oracles import usability as oracle


def error_of(released, original, **options):
    given = {"columns": COLUMNS, "hierarchies": HIERARCHIES} | options
    return pp.query_error(table_of(released), original=table_of(original), **given)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(pair=pairs())
def test_counting_by_hand(pair):
    original, released = pair
    known = meaning(original)
    found = error_of(released, original)
    assert found.value == pytest.approx(float(oracle.query_error(original, released, **known)), abs=1e-12)
    assert found.queries == len(oracle.queries(original, known["leaves"]))
    json.dumps(found.to_dict(), allow_nan=False)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(pair=pairs())
def test_the_original_answers_every_query_right(pair):
    original, released = pair
    found = error_of(original[::-1], original)
    assert (found.value, found.error, found.details["mean"]) == (0, 0, 0)
    again = error_of(released[::-1], original[::-1], columns=["ill", "city", "age"])
    assert again.value == error_of(released, original).value


def test_stars_answer_by_the_size_of_the_domain():
    original = pd.DataFrame({"city": ["Bern"] * 3 + ["Kiel"]})
    found = pp.query_error(original.assign(city="*"), original=original, columns=["city"])
    assert found.value == pytest.approx(1 / 3)
    assert found.details["percentile_90"] == pytest.approx(1)


def test_of_many_numbers_a_query_asks_for_a_range():
    frame = pd.DataFrame({"age": [None, *range(100)]})
    table = pp.frequency_table(frame, ["age"])
    compared = compare_tables(table, table, attributes=["age"], hierarchies=None)
    (asked,) = choose_queries(compared)
    wide = asked.low[:, 0] > 0
    assert set((asked.high - asked.low + 1)[wide, 0].tolist()) == {10}
    assert set((asked.high - asked.low + 1)[~wide, 0].tolist()) == {1}
    assert asked.high.max() == 100
    assert set(answers(compared.original, asked)[wide].tolist()) == {10}


def test_which_sets_of_columns_are_asked_about():
    assert len(column_sets(3)) == 7
    assert len(column_sets(8)) == 92
    assert len(column_sets(20)) == len({*column_sets(20)}) == 100
    assert evenly(4, 8).tolist() == [1, 3, 5, 7]
    assert evenly(3, 1).tolist() == [0, 0, 0]


def test_limits():
    original = pd.DataFrame({"city": ["Bern"] * 3 + ["Kiel"]})
    exactly = pp.query_error(original, original=original, columns=["city"])
    assert pp.require("query_error", at_most=0).limit.holds(exactly)
    with pytest.raises(ParameterError, match="use at_most or below"):
        pp.require("query_error", at_least=0.1)
    with pytest.raises(ParameterError, match="must be at least 0"):
        pp.require("query_error", at_most=-1)
