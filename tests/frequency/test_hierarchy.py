"""Every hierarchy covers, coarsens, keeps missing and suppressed values apart, and reveals no value."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from privacy_plugin.frequency.hierarchy_builders import (
    date_hierarchy,
    interval_hierarchy,
    mask_hierarchy,
    tree_hierarchy,
)
from privacy_plugin.requirements.specification import hierarchy_from_specification, is_specification

BUILT = {
    "intervals": interval_hierarchy(start=0, stop=100, widths=[10, 50]),
    "mask": mask_hierarchy(length=4),
    "dates": date_hierarchy(),
    "dates in a format": date_hierarchy(format="%d.%m.%Y"),
    "tree": tree_hierarchy({"a": ["x", "y"], "b": ["z"]}),
    "table": TableHierarchy({"x": ("a", "*"), "y": ("a", "*")}),
}


@pytest.mark.parametrize("hierarchy", BUILT.values(), ids=BUILT)
def test_a_missing_value_stays_missing_until_the_top(hierarchy):
    found = [hierarchy.generalize(None, level) for level in range(hierarchy.height + 1)]
    assert found == [None] * hierarchy.height + ["*"]
    assert hierarchy.generalize(float("nan"), 0) is None


@pytest.mark.parametrize("hierarchy", BUILT.values(), ids=BUILT)
def test_a_suppressed_value_stays_suppressed(hierarchy):
    assert {hierarchy.generalize("*", level) for level in range(hierarchy.height + 1)} == {"*"}


@pytest.mark.parametrize("hierarchy", BUILT.values(), ids=BUILT)
@pytest.mark.parametrize("level", [-1, 99, 1.0, True, "1", None])
def test_a_level_that_does_not_exist_is_refused(hierarchy, level):
    with pytest.raises(ParameterError):
        hierarchy.generalize("x", level)


@pytest.mark.parametrize("hierarchy", BUILT.values(), ids=BUILT)
def test_plain_data_builds_the_same_hierarchy_again(hierarchy):
    again = hierarchy_from_specification(hierarchy.specification)
    assert again.specification == hierarchy.specification
    for value in (39, "1234", date(1984, 2, 29), "x", "y", None, "*"):
        if hierarchy.path(value) is not None:
            assert again.path(value) == hierarchy.path(value)


def test_a_hierarchy_may_list_the_missing_value_itself():
    hierarchy = TableHierarchy({"x": ("known", "*"), None: ("unknown", "*")})
    assert [hierarchy.generalize(None, level) for level in (0, 1, 2)] == [None, "unknown", "*"]


def test_a_level_that_separates_again_is_refused():
    with pytest.raises(HierarchyError, match=r"level 2 .* separates"):
        TableHierarchy({"x": ("g", "1"), "y": ("g", "2")})
    with pytest.raises(HierarchyError, match="separates"):
        tree_hierarchy({"a": {"other": ["x"]}, "b": {"other": ["y"]}})


def test_a_suppressed_group_that_becomes_something_again_is_refused():
    hierarchy = TableHierarchy({"x": ("*", "again")})
    with pytest.raises(HierarchyError, match="separates"):
        hierarchy.levels(["x", "*"])


@pytest.mark.parametrize(
    "paths", [{}, {"x": ("a",), "y": ("a", "b")}, {"1": ("a",), 1: ("a",)}, {"": ("a",), None: ("a",)}]
)
def test_a_malformed_table_is_refused(paths):
    with pytest.raises(HierarchyError):
        TableHierarchy(paths)


@pytest.mark.parametrize("value", [39, 39.0, Decimal("39.00"), "39", np.int64(39)])
def test_files_have_text_only_so_a_number_finds_its_line(value):
    assert TableHierarchy({"39": ("30s",)}).generalize(value, 1) == "30s"


@pytest.mark.parametrize(
    ("line", "value"), [("true", True), ("TRUE", True), ("False", False), (True, "TRUE"), (False, False)]
)
def test_booleans_find_their_line_in_either_case(line, value):
    assert TableHierarchy({line: ("any",)}).generalize(value, 1) == "any"


def test_uncovered_values_are_counted_and_not_named():
    values = [f"marker{number}" for number in range(25)]
    hierarchy = BUILT["tree"]
    with pytest.raises(HierarchyError) as caught:
        hierarchy.levels(["x", *values], column="disease")
    assert "25 value(s) of column 'disease'" in str(caught.value)
    assert "marker" not in str(caught.value)
    with pytest.raises(HierarchyError) as caught:
        hierarchy.levels(["x", *values], column="disease", reveal=True)
    assert str(caught.value).count("marker") == 10
    assert "and 15 more" in str(caught.value)


def test_an_uncovered_value_is_not_named_by_generalize_either():
    with pytest.raises(HierarchyError) as caught:
        BUILT["tree"].generalize("marker", 1)
    assert "marker" not in str(caught.value)


def test_reveal_lists_uncovered_values():
    data = pd.DataFrame({"disease": ["x", "marker1", "marker2"]})
    search = {"hierarchies": {"disease": BUILT["tree"]}, "requirements": [pp.require("k_anonymity", at_least=1)]}
    with pytest.raises(HierarchyError, match=r"'disease' does not cover 2 value\(s\).*reveal=True") as caught:
        pp.generalize(data, **search)
    assert "marker" not in str(caught.value)
    with pytest.raises(HierarchyError, match="'marker1', 'marker2'"):
        pp.generalize(data, **search, reveal=True)


def test_groups_that_python_calls_equal_stay_apart():
    """True and 1 are the same to a set, and a release would say true of people who are in group 1."""
    hierarchy = TableHierarchy({"a": [True, "*"], "b": [1, "*"], "c": ["1", "*"], "d": [1.0, "*"]})
    levels = hierarchy.levels(["a", "b", "c", "d"])
    shown = [levels.dictionaries[1][code] for code in levels.maps[1]]
    assert [(type(value), value) for value in shown] == [(bool, True), (int, 1), (str, "1"), (int, 1)]
    assert len(levels.dictionaries[1]) == 3


def test_levels_map_every_code():
    levels = BUILT["tree"].levels([None, "x", "y", "z"])
    assert levels.height == 2
    assert [levels.dictionaries[1][code] for code in levels.maps[1]] == [None, "a", "a", "b"]
    assert levels.dictionaries[2] == ("*",)
    assert levels.maps.tolist()[0] == [0, 1, 2, 3]


_tables = st.dictionaries(
    st.text(max_size=4), st.tuples(st.sampled_from("ab"), st.sampled_from("12"), st.just("*")), min_size=1, max_size=6
)


@settings(deadline=None, derandomize=True)
@given(_tables)
def test_a_table_is_taken_exactly_when_every_level_is_a_function_of_the_one_below(paths):
    pairs = {(path[0], path[1]) for path in paths.values()}
    coarsens = len(pairs) == len({low for low, _ in pairs})
    folded = [text.lower() if text in ("True", "False", "TRUE", "FALSE") else text for text in paths]
    if coarsens and len(set(folded)) == len(paths):
        hierarchy = TableHierarchy(paths)
        assert all(hierarchy.generalize(value, 1) == path[0] for value, path in paths.items() if value != "*")
    else:
        with pytest.raises(HierarchyError):
            TableHierarchy(paths)


@pytest.mark.parametrize(
    "specification",
    [
        None,
        5,
        [],
        {},
        {"mask": {"length": 5}, "dates": {}},
        {"masc": {"length": 5}},
        {"mask": 5},
        {"mask": {"lenght": 5}},
        {"mask": {"length": "5"}},
        {"mask": {"length": True}},
        {"mask": {"length": 0}},
        {"mask": {"length": 5, "character": "**"}},
        {"mask": {"length": 5, "from_right": "no"}},
        {"intervals": {"start": 0, "stop": 100}},
        {"intervals": {"start": 0, "stop": 100, "widths": 5}},
        {"intervals": {"start": 0, "stop": 100, "widths": [7]}},
        {"intervals": {"start": 0, "stop": 100, "widths": [10, 15]}},
        {"intervals": {"start": 0, "stop": 100, "widths": [-10]}},
        {"intervals": {"start": 100, "stop": 0, "widths": [10]}},
        {"intervals": {"start": "0", "stop": 100, "widths": [10]}},
        {"intervals": {"boundaries": []}},
        {"intervals": {"boundaries": [[1]]}},
        {"intervals": {"boundaries": [[1, 1]]}},
        {"intervals": {"boundaries": [[2, 1]]}},
        {"intervals": {"boundaries": [5]}},
        {"intervals": {"boundaries": "12"}},
        {"intervals": {"boundaries": [[0, 10], [0, 5]]}},
        {"intervals": {"boundaries": [[0, 10]], "start": 0}},
        {"intervals": {"boundaries": [[0, float("nan")]]}},
        {"intervals": {"boundaries": [[0, 10]], "open_ends": "no"}},
        {"dates": {"levels": []}},
        {"dates": {"levels": "month"}},
        {"dates": {"levels": ["week"]}},
        {"dates": {"levels": ["year", "month"]}},
        {"dates": {"levels": ["year", "year"]}},
        {"dates": {"levels": [1]}},
        {"dates": {"levels": None}},
        {"tree": {}},
        {"tree": []},
        {"tree": {"a": ["x"], "b": ["x"]}},
        {"table": None},
        {"table": []},
        {"table": [[]]},
        {"table": [["x", "a"], ["x", "b"]]},
        {"table": [["x", "a"], ["y"]]},
        {"table": [[["x"], "a"]]},
        {"file": "there-is-no-such-file.csv"},
        {"file": None},
        "there-is-no-such-file.csv",
    ],
    ids=repr,
)
def test_a_malformed_specification_raises_our_error(specification):
    with pytest.raises((HierarchyError, ParameterError)):
        hierarchy_from_specification(specification)


def test_an_option_that_maps_columns_to_weights_is_not_a_hierarchy():
    assert is_specification({"mask": {"length": 3}})
    assert is_specification({"file": "age.csv"})
    assert not is_specification({"file": 0.5})
    assert not is_specification({"age": {"length": 3}})


def test_a_root_is_written_out_where_every_value_has_its_name() -> None:
    assert TableHierarchy({"f": ("*", "*", "*"), "m": ("*", "*", "*")}).top == 1
    assert TableHierarchy({"f": ("*", "*"), "m": ("man", "*")}).top == 2
    assert TableHierarchy({"f": ("woman", "anybody", "anybody"), "m": ("man", "anybody", "anybody")}).top == 2
    assert TableHierarchy({"f": ("anybody", "*"), "m": ("anybody", "*")}).top == 2  # a level of its own, by its name
    assert TableHierarchy({"f": ("woman",), "m": ("man",)}).top == 1
    assert all(hierarchy.top == hierarchy.height for hierarchy in BUILT.values())


def test_values_meet_where_they_are_one_whatever_that_is_called() -> None:
    assert TableHierarchy({"f": ("woman", "anybody", "*"), "m": ("man", "anybody", "*")}).meeting == 2
    assert TableHierarchy({"f": ("*", "*"), "m": ("*", "*")}).meeting == 1
    assert TableHierarchy({"f": ("*", "*"), "m": ("man", "*")}).meeting == 2
    assert TableHierarchy({"f": ("woman",), "m": ("man",)}).meeting == 1
