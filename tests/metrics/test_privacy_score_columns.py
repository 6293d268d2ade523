"""Which attributes a column gives: booleans, missing values, bins, and the leaves below a generalized value."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, HierarchyError
from privacy_plugin.metrics.privacy_score.relation import leaves_held
from tests.metrics.score_frames import score
from tests.oracles import score_tables as oracle

steady = settings(deadline=None, derandomize=True, max_examples=50)


def test_a_missing_boolean_is_not_held_and_any_other_missing_value_is_a_value():
    booleans = pd.DataFrame({"smoker": [True, True, False, None], "city": ["Bern", "Bern", "Basel", "Basel"]})
    with_false = booleans.assign(smoker=[True, True, False, False])
    assert score(booleans).of(booleans).tolist() == score(with_false).of(with_false).tolist()
    texts = pd.DataFrame({"smoker": ["yes", "yes", "no", None], "city": ["Bern", "Bern", "Basel", "Basel"]})
    found = score(texts)
    assert found.of(texts).tolist() == [0.5, 0.5, 0.5, 0.5]
    last = found.witness(int(np.flatnonzero(found.table.codes[:, 0] == 0)[0]))
    assert (last.known, last.known_attributes[0].value) == (("smoker",), None)


def test_a_boolean_column_with_missing_values_is_one_attribute():
    everybody = pd.DataFrame({"ill": [True, True], "city": ["Bern", "Basel"]})
    assert score(everybody).value == Fraction(1, 2)
    assert score(everybody).details["attributes"] == 3
    healthy = everybody.assign(ill=False)
    assert score(healthy).value == 0
    unknown = pd.DataFrame({"ill": [None, None], "city": ["Bern", "Basel"]})
    assert score(unknown).value == Fraction(1, 2)  # nothing says it is a boolean: missing is a value all have
    mixed = pd.DataFrame({"ill": pd.Series([True, 2, "yes"], dtype=object)})
    assert score(mixed).details["attributes"] == 3


def test_a_number_and_its_text_in_one_column_raise():
    """A reader sees one value, and all people of Bern have it."""
    twins = pd.DataFrame({"ill": pd.Series([250, "250"], dtype=object), "city": "Bern"})
    with pytest.raises(ColumnError, match="look like another"):
        score(twins)


def test_numbers_are_binned_by_boundaries_or_by_the_first_level_of_a_hierarchy():
    frame = pd.DataFrame({"age": [17, 18, 40, None], "disease": ["flu", "flu", "gout", "gout"]})
    options = {"roles": {"age": "quasi_identifier", "disease": "sensitive"}}
    by_list = score(frame, bins={"age": [0, 30, 60]}, **options)
    by_hierarchy = score(frame, bins={"age": pp.interval_hierarchy(boundaries=[[0, 30, 60], [0, 60]])}, **options)
    named = frame.assign(age=["[0, 30)", "[0, 30)", "[30, 60)", None])
    assert by_list.value == by_hierarchy.value == score(named, **options).value == Fraction(1, 2)
    wide = score(frame, bins={"age": [0, 100]}, **options)
    assert wide.of(frame).tolist() == [0, 0, 0, 0.5]  # the missing age is a bin of its own
    weighed = score(frame, bins={"age": [0, 30, 60]}, likelihood={"age": {"[0, 30)": 0.5}}, **options)
    assert weighed.of(frame).tolist() == [0.25, 0.25, 0.5, 0.5]


def test_many_numbers_without_bins_are_noted():
    frame = pd.DataFrame({"age": range(30), "x": [1] * 30})
    assert any("bins" in note for note in score(frame).notes)
    assert not score(frame, bins={"age": [0, 100]}).notes
    assert any("danger" in note for note in score(frame[["x"]], danger={"x": 0}).notes)


@pytest.mark.parametrize(
    ("tree", "values", "expected"),
    [
        (
            pp.tree_hierarchy({"west": ["Nyon", "Vevey"], "east": ["Arbon"]}),
            ["Nyon", "west", "*", "east"],
            {"Nyon": {"Nyon"}, "west": {"Nyon", "Vevey"}, "*": {"Nyon", "Vevey", "Arbon"}, "east": {"Arbon"}},
        ),
        (
            pp.interval_hierarchy(boundaries=[[0, 10, 20], [0, 20]], open_ends=True),
            [7, "[0, 10)", "[0, 20)", ">=20", "<0", None],
            {
                7: {7},
                "[0, 10)": {7, "[0, 10)"},
                "[0, 20)": {7, "[0, 10)", "[10, 20)"},
                ">=20": {">=20"},
                "<0": {"<0"},
                None: {None},
            },
        ),
        (
            pp.mask_hierarchy(length=4),
            ["8001", "80**", "81**", "*", None],
            {
                "8001": {"8001"},
                "80**": {"8001", "80**"},
                "81**": {"81**"},
                "*": {"8001", "80**", "81**", None},
                None: {None},
            },
        ),
        (pp.mask_hierarchy(length=2), ["*", None], {"*": {"*", None}, None: {None}}),
    ],
)
def test_a_generalized_value_holds_the_leaves_below_it(tree, values, expected):
    leaves, holds = leaves_held(tree, values, column="place")
    for value, line in zip(values, holds, strict=True):
        assert {leaf for leaf, held in zip(leaves, line, strict=True) if held} == expected[value]


def test_leaves_of_a_file_are_found_as_text_and_other_values_raise():
    tree = pp.tree_hierarchy({"young": ["17", "18"], "old": ["70"]})
    leaves, holds = leaves_held(tree, [17, "young"], column="age")
    assert (leaves, holds.tolist()) == (("17", "18"), [[True, False], [True, True]])
    with pytest.raises(HierarchyError, match=r"2 value.*'age'"):
        leaves_held(tree, [17, 19, "middle"], column="age")


@steady
@given(
    st.lists(
        st.tuples(st.sampled_from(["Nyon", "Vevey", "Arbon", "west", "*"]), st.sampled_from(["flu", "gout"])),
        min_size=1,
        max_size=8,
    )
)
def test_scores_by_leaves_follow_the_definition(rows):
    """Chapter 5 with everybody generalized differently."""
    below = {"west": ["Nyon", "Vevey"], "*": ["Nyon", "Vevey", "Arbon"]}
    people = [frozenset({("city", leaf) for leaf in below.get(c, [c])} | {("disease", d)}) for c, d in rows]
    expected = oracle.set_scores(
        people, likelihood=lambda name: Fraction(1), danger=lambda name: Fraction(1 if name[0] == "disease" else 0)
    )
    frame = pd.DataFrame(rows, columns=["city", "disease"])
    tree = pp.tree_hierarchy({"west": ["Nyon", "Vevey"], "east": ["Arbon"]})
    found = score(frame, generalized={"city": tree}, danger={"city": 0})
    assert found.of(frame).tolist() == pytest.approx([float(value) for value in expected], abs=1e-12)
