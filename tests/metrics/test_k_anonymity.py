import random
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.k_anonymity import k_anonymity
from tests.metrics.tables import COLUMNS, QUASI_IDENTIFIERS, merge_first_two_classes, rows, table_of
from tests.oracles import class_metrics as oracle

# Sweeney 2002, figure 2: a 2-anonymous table over race, birth, gender and ZIP code.
SWEENEY = [
    *[("Black", 1965, "m", "0214*", p) for p in ("short breath", "chest pain")],
    *[("Black", 1965, "f", "0213*", p) for p in ("hypertension", "hypertension")],
    *[("Black", 1964, "f", "0213*", p) for p in ("obesity", "chest pain")],
    *[("White", 1964, "m", "0213*", p) for p in ("chest pain", "obesity", "short breath")],
    *[("White", 1967, "m", "0213*", p) for p in ("chest pain", "chest pain")],
]


def k_of(frame: pd.DataFrame, *quasi_identifiers: str) -> object:
    return pp.k_anonymity(frame, quasi_identifiers=list(quasi_identifiers)).value


def test_the_table_of_the_paper_is_2_anonymous_and_loses_that_with_one_more_column():
    table = FrequencyTable.from_rows(["race", "birth", "gender", "zip", "problem"], SWEENEY)
    found = k_anonymity(table, quasi_identifiers=["race", "birth", "gender", "zip"])
    assert (found.value, found.classes, found.rows, found.exact) == (2, 5, 11, True)
    assert k_anonymity(table, quasi_identifiers=["race"]).value == 5
    assert k_anonymity(table, quasi_identifiers=["race", "birth", "gender", "zip", "problem"]).value == 1


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT, pd.NA, np.nan])
def test_a_unique_row_with_a_missing_value_makes_k_one(missing):
    frame = pd.DataFrame({"age": pd.Series([30, 30, 30, missing], dtype=object), "city": ["Bern"] * 4})
    assert k_of(frame, "age", "city") == 1
    assert k_of(frame, "city") == 4


def test_missing_values_are_one_category_of_their_own_and_suppressed_ones_another():
    frame = pd.DataFrame({"age": [None, np.nan, "*", "*", "*", ""]}, dtype=object)
    found = pp.k_anonymity(frame, quasi_identifiers=["age"])
    assert (found.value, found.classes) == (1, 3)
    assert [item.people for item in found.worst] == [1, 2, 3]


@pytest.mark.parametrize(
    "index", [[0, 0, 0, 0, 0], [9, 3, 7, 1, 5], list("edcba"), pd.MultiIndex.from_product([[1], range(5)])]
)
def test_the_index_is_ignored(index):
    frame = pd.DataFrame({"age": [30, 30, 41, 41, 41]}, index=index)
    assert k_of(frame, "age") == 2
    assert k_of(frame[frame.age == 30], "age") == 2


@pytest.mark.parametrize("ages", [[39, "39"], [True, 1], [b"39", "39"], ["39.0", 39]])
def test_quasi_identifiers_that_look_alike_raise(ages):
    with pytest.raises(ColumnError, match=r"column 'age' has 1 value.* look like another value of another type"):
        k_of(pd.DataFrame({"age": pd.Series(ages, dtype=object)}), "age")


def test_whole_floats_equal_integers():
    assert k_of(pd.DataFrame({"age": pd.Series([39, 39.0], dtype=object)}), "age") == 2


def test_whole_numbers_stay_exact_where_floating_point_does_not():
    large = 2**53 + 1
    table = FrequencyTable.from_rows(["age"], [(30,), (41,)], counts=[large, large + 1])
    assert k_anonymity(table, quasi_identifiers=["age"]).value == large
    assert not pp.require("k_anonymity", at_least=large + 1).judge(table, quasi_identifiers=["age"]).passed
    assert pp.require("k_anonymity", at_least=large).judge(table, quasi_identifiers=["age"]).passed


def test_worst_classes_are_shown_by_number_unless_revealed():
    table = FrequencyTable.from_rows(["age"], [("marker-a",), ("marker-b",), ("marker-b",)])
    found = k_anonymity(table, quasi_identifiers=["age"])
    assert "marker" not in str(found.to_dict())
    assert "marker" not in repr(found)
    assert found.to_dict(reveal=True)["worst"][0]["members"] == {"age": "marker-a"}
    assert found.details == {"unique_people": 1}


def test_people_with_several_rows_count_once():
    visits = pd.DataFrame({"city": ["Bern"] * 6 + ["Basel"] * 3, "person": [1, 1, 1, 1, 1, 2, 3, 4, 5]})
    assert k_of(visits, "city") == 3
    found = pp.k_anonymity(visits, quasi_identifiers=["city"], unit="person")
    assert (found.value, found.parameters["unit"]) == (2, "person")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"quasi_identifiers": []}, ColumnError),
        ({"quasi_identifiers": "ab"}, ColumnError),
        ({"quasi_identifiers": ["a", "a"]}, ColumnError),
        ({"quasi_identifiers": ["c"]}, ColumnError),
        ({"quasi_identifiers": [1]}, ColumnError),
        ({"quasi_identifiers": 5}, ColumnError),
        ({"quasi_identifiers": None}, ColumnError),
        ({}, ParameterError),
        ({"quasi_identifiers": ["a"], "sensitive": "b"}, ParameterError),
        ({"quasi_identifiers": ["a"], "unit": "c"}, ColumnError),
    ],
)
def test_invalid_columns_raise_with_their_names(given, error):
    frame = pd.DataFrame({"a": [1, 1], "b": [2, 2]})
    with pytest.raises(error):
        pp.k_anonymity(frame, **given)


def test_any_sequence_of_names_is_accepted():
    frame = pd.DataFrame({"a": [1, 1], "b": [2, 2]})
    for names in (("a", "b"), frame.columns, (name for name in "ab"), {"a": 1, "b": 2}):
        assert pp.k_anonymity(frame, quasi_identifiers=names).value == 2


def test_an_empty_table_raises():
    with pytest.raises(EmptyTableError):
        pp.k_anonymity(pd.DataFrame({"a": []}), quasi_identifiers=["a"])
    with pytest.raises(SourceError):
        pp.k_anonymity([{"a": 1}], quasi_identifiers=["a"])


@settings(deadline=None, derandomize=True)
@given(rows)
def test_k_is_the_smallest_class_of_the_definition(given_rows):
    found = k_anonymity(table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS)
    assert found.value == oracle.k(given_rows, [0, 1])
    assert found.classes == len(oracle.equivalence_classes(given_rows, [0, 1]))
    frame = pd.DataFrame(given_rows, columns=COLUMNS)
    assert pp.k_anonymity(frame, quasi_identifiers=QUASI_IDENTIFIERS).value == found.value


@settings(deadline=None, derandomize=True)
@given(rows, st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_does_not_matter(given_rows, generator: random.Random):
    shuffled = generator.sample(given_rows, len(given_rows))
    ours = k_anonymity(table_of(given_rows), quasi_identifiers=["age", "city"])
    other = k_anonymity(table_of(shuffled), quasi_identifiers=["city", "age"])
    assert (ours.value, ours.classes) == (other.value, other.classes)


@settings(deadline=None, derandomize=True)
@given(rows, st.integers(2, 5))
def test_repeating_every_row_multiplies_k(given_rows, times):
    once = k_anonymity(table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS).value
    assert k_anonymity(table_of(given_rows * times), quasi_identifiers=QUASI_IDENTIFIERS).value == times * once


@settings(deadline=None, derandomize=True)
@given(rows)
def test_merging_classes_never_lowers_k(given_rows):
    before = k_anonymity(table_of(given_rows), quasi_identifiers=QUASI_IDENTIFIERS).value
    after = k_anonymity(table_of(merge_first_two_classes(given_rows)), quasi_identifiers=QUASI_IDENTIFIERS).value
    assert after >= before


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 130), min_size=1, max_size=30))
def test_rolling_up_a_hierarchy_never_lowers_k(ages):
    hierarchy = pp.interval_hierarchy(start=0, stop=120, widths=[10, 40])
    table = FrequencyTable.from_rows(["age"], [(age,) for age in ages])
    levels = hierarchy.levels(table.dictionary("age"))
    found = [
        k_anonymity(table.recode({"age": (levels.maps[n], levels.dictionaries[n])}), quasi_identifiers=["age"]).value
        for n in range(hierarchy.height + 1)
    ]
    assert all(low <= high for low, high in pairwise(found))
    assert found[-1] == len(ages)
