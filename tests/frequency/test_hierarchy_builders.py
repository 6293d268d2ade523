from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import HierarchyError, ParameterError
from privacy_plugin.frequency.hierarchy_builders import (
    date_hierarchy,
    interval_hierarchy,
    mask_hierarchy,
    tree_hierarchy,
)
from privacy_plugin.frequency.values import canonical


def path(hierarchy, value):
    return [hierarchy.generalize(value, level) for level in range(1, hierarchy.height + 1)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, ["[0, 5)", "[0, 20)", "*"]),
        (4, ["[0, 5)", "[0, 20)", "*"]),
        (5, ["[5, 10)", "[0, 20)", "*"]),
        (19, ["[15, 20)", "[0, 20)", "*"]),
        (20, ["[20, 25)", "[20, 40)", "*"]),
        (4.999999999, ["[0, 5)", "[0, 20)", "*"]),
        (99, ["[95, 100)", "[80, 100)", "*"]),
        (100, [">=100", ">=100", "*"]),
        (-1, ["<0", "<0", "*"]),
        (-0.0, ["[0, 5)", "[0, 20)", "*"]),
        ("39", ["[35, 40)", "[20, 40)", "*"]),
        (" 39 ", ["[35, 40)", "[20, 40)", "*"]),
        ("3.9e1", ["[35, 40)", "[20, 40)", "*"]),
        (Decimal("39.99"), ["[35, 40)", "[20, 40)", "*"]),
    ],
)
def test_a_value_on_a_border_belongs_to_the_interval_that_begins_there(value, expected):
    assert path(interval_hierarchy(start=0, stop=100, widths=[5, 20]), value) == expected


def test_closed_ends_do_not_cover_values_outside():
    hierarchy = interval_hierarchy(start=0, stop=100, widths=[10], open_ends=False)
    assert hierarchy.path(99) == ("[90, 100)", "*")
    assert hierarchy.path(100) is None
    assert hierarchy.path(-1) is None


@pytest.mark.parametrize(
    "value",
    [True, "", "abc", "12a", "nan", float("inf"), "inf", date(2024, 1, 1), b"39", "1e999999999", "1e-999999999"],
)
def test_text_that_is_not_a_number_is_not_covered(value):
    assert interval_hierarchy(start=0, stop=100, widths=[10]).path(value) is None


def test_floating_borders_are_read_as_they_are_written():
    hierarchy = interval_hierarchy(start=0, stop=1, widths=[0.1, 0.5])
    assert hierarchy.generalize(0.3, 1) == "[0.3, 0.4)"
    assert hierarchy.generalize(0.1 + 0.2, 1) == "[0.3, 0.4)"
    assert hierarchy.generalize(0.7, 1) == "[0.7, 0.8)"
    assert interval_hierarchy(start=0, stop=1, widths=[Fraction(1, 3)]).generalize(0.5, 1) == "[1/3, 2/3)"


def test_negative_borders():
    hierarchy = interval_hierarchy(start=-20, stop=20, widths=[10])
    assert [hierarchy.generalize(value, 1) for value in (-21, -20, -10.5, -10, -1, 0)] == [
        "<-20", "[-20, -10)", "[-20, -10)", "[-10, 0)", "[-10, 0)", "[0, 10)",
    ]  # fmt: skip


def test_given_boundaries_may_be_uneven_and_the_upper_level_may_leave_out_the_ends():
    hierarchy = interval_hierarchy(boundaries=[[0, 18, 65, 120], [18, 65]])
    assert path(hierarchy, 17) == ["[0, 18)", "<18", "*"]
    assert path(hierarchy, -5) == ["<0", "<18", "*"]
    assert path(hierarchy, 65) == ["[65, 120)", ">=65", "*"]
    assert path(hierarchy, 500) == [">=120", ">=65", "*"]


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-50, 50) | st.floats(-60, 60), min_size=1, max_size=20),
    st.lists(st.integers(-40, 40), min_size=2, max_size=8, unique=True),
    st.integers(0, 255),
)
def test_intervals_hold_their_values_and_coarsen(values, cuts, chosen):
    fine = sorted(cuts)
    coarse = [cut for position, cut in enumerate(fine) if position in (0, len(fine) - 1) or chosen >> position & 1]
    hierarchy = interval_hierarchy(boundaries=[fine, coarse])
    for value in values:
        for level, borders in ((1, fine), (2, coarse)):
            expected = next((f"[{a}, {b})" for a, b in pairwise(borders) if a <= value < b), None)
            expected = expected or (f"<{borders[0]}" if value < borders[0] else f">={borders[-1]}")
            assert hierarchy.generalize(value, level) == expected
    hierarchy.levels([*dict.fromkeys(values)])


def test_masks_cover_one_more_character_each_level():
    mask = mask_hierarchy(length=5)
    assert path(mask, "02138") == ["0213*", "021**", "02***", "0****", "*"]
    assert path(mask, 2138) == ["2138*", "213**", "21***", "2****", "*"]
    assert path(mask, 2138.0) == path(mask, "2138")
    assert path(mask_hierarchy(length=3, from_right=False), "123") == ["*23", "**3", "*"]
    assert path(mask_hierarchy(length=3, character="x"), "123") == ["12x", "1xx", "*"]
    assert path(mask_hierarchy(length=1), "7") == ["*"]


def test_short_codes_are_padded_and_long_or_empty_ones_not_covered():
    mask = mask_hierarchy(length=4)
    assert path(mask, "12") == ["12**", "12**", "1***", "*"]
    assert path(mask_hierarchy(length=4, from_right=False), "12") == ["**12", "**12", "***2", "*"]
    assert mask.path("12345") is None
    assert mask.path("") is None


@settings(deadline=None, derandomize=True)
@given(st.lists(st.text(alphabet="12*é", min_size=1, max_size=4), min_size=1, max_size=12, unique=True), st.booleans())
def test_masks_always_coarsen(codes, from_right):
    levels = mask_hierarchy(length=4, from_right=from_right).levels(codes)
    assert levels.dictionaries[-1] == ("*",)


@pytest.mark.parametrize(
    "value",
    [date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59), "2024-02-29", "2024-02-29T23:59:59", "2024-02-29 08:00"],
)
def test_a_leap_day_in_every_form(value):
    hierarchy = date_hierarchy(levels=["day", "month", "quarter", "year", "decade", "century"])
    assert path(hierarchy, value) == ["2024-02-29", "2024-02", "2024-Q1", "2024", "2020s", "2000-2099", "*"]


@pytest.mark.parametrize("value", ["2023-02-29", "29.02.2024", "2024", "", "yesterday", 20240229, True])
def test_text_that_is_not_a_date_is_not_covered(value):
    assert date_hierarchy().path(value) is None


def test_dates_are_written_in_other_ways_too():
    hierarchy = date_hierarchy(levels=["day", "year"], format="%d.%m.%Y")
    assert path(hierarchy, "29.02.2024") == path(hierarchy, date(2024, 2, 29)) == ["2024-02-29", "2024", "*"]
    assert date_hierarchy(format="%m/%d/%Y %H:%M").generalize("12/31/1999 23:59", 1) == "1999-12"


@pytest.mark.parametrize(
    "value", ["2024-02-29", "29.02.2023", "29.02.24", "29.02.2024 ", "29 Feb 2024", None, 29022024]
)
def test_text_in_another_date_format_is_not_covered(value):
    assert date_hierarchy(format="%d.%m.%Y").path(value) is None


@pytest.mark.parametrize(
    "wrong", ["", "%d.%m", "%d.%m.%y", "%d %b %Y", "%d.%m.%Y%", "%d.%d.%m.%Y", "%x", 7, ["%d.%m.%Y"]]
)
def test_a_format_that_means_different_days_is_refused(wrong):
    with pytest.raises(ParameterError, match="format must hold"):
        date_hierarchy(format=wrong)


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        (date_hierarchy(), "text like 1984-02-29"),
        (date_hierarchy(format="%d.%m.%Y"), "text like 29.02.1984"),
        (interval_hierarchy(start=0, stop=9, widths=[3]), "it covers numbers, as text with a decimal point;"),
        (interval_hierarchy(start=0, stop=9, widths=[3], open_ends=False), "decimal point, from its first boundary"),
        (mask_hierarchy(length=2), "it covers codes of 1 to 2 characters"),
        (tree_hierarchy(["a"]), "it covers the listed values"),
    ],
)
def test_the_error_describes_the_covered_values(hierarchy, words):
    with pytest.raises(HierarchyError, match="does not cover 1 value") as caught:
        hierarchy.levels(["marker"])
    assert words in str(caught.value)
    assert "marker" not in str(caught.value)


def test_borders_of_periods():
    hierarchy = date_hierarchy(levels=["quarter", "year", "decade", "century"])
    assert path(hierarchy, date(1999, 12, 31)) == ["1999-Q4", "1999", "1990s", "1900-1999", "*"]
    assert path(hierarchy, date(2000, 1, 1)) == ["2000-Q1", "2000", "2000s", "2000-2099", "*"]
    assert [hierarchy.generalize(date(2001, month, 1), 1)[-2:] for month in range(1, 13)] == [
        f"Q{1 + month // 3}" for month in range(12)
    ]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.dates(), min_size=1, max_size=20, unique=True))
def test_every_date_is_covered_and_periods_coarsen(days):
    hierarchy = date_hierarchy(levels=["day", "month", "quarter", "year", "decade", "century"])
    levels = hierarchy.levels(days)
    assert [levels.dictionaries[1][code] for code in levels.maps[1]] == [day.isoformat() for day in days]


def test_shallow_branches_of_a_tree_repeat_their_last_group():
    hierarchy = tree_hierarchy({"respiratory": ["flu", "cold"], "chronic": {"heart": ["angina"]}, "": "other"})
    assert path(hierarchy, "flu") == ["respiratory", "respiratory", "*"]
    assert path(hierarchy, "angina") == ["heart", "chronic", "*"]
    assert path(hierarchy, "other") == ["", "", "*"]
    assert tree_hierarchy(["a", "b"]).generalize("a", 1) == "*"
    assert tree_hierarchy({"a": ["x"]}, root="anything").generalize("x", 2) == "anything"
    assert path(tree_hierarchy({"*": ["f", "m"]}), "f") == ["*"]
    assert path(tree_hierarchy({"*": {"near": ["x"], "far": ["y"]}}), "x") == ["near", "*"]


def test_leaves_of_a_tree_may_be_numbers_dates_and_missing():
    hierarchy = tree_hierarchy({"low": [1, 2.0], "high": [date(2024, 1, 1)], "none": [None]})
    assert hierarchy.generalize("2", 1) == "low"
    assert hierarchy.generalize(datetime(2024, 1, 1), 1) == "high"
    assert hierarchy.generalize(None, 1) == "none"


def test_a_leaf_in_two_places_is_refused():
    with pytest.raises(HierarchyError, match="more than once"):
        tree_hierarchy({"a": ["x"], "b": {"c": ["x"]}})


def test_a_grid_needs_all_of_its_parts():
    for given_parts in ({"start": 0}, {"start": 0, "stop": 1}, {"widths": [1]}, {}):
        with pytest.raises(ParameterError):
            interval_hierarchy(**given_parts)


def test_a_moment_with_a_time_zone_lies_in_one_day_be_it_text_or_not():
    """Else people would be looked for among others of a population that writes the same moments as text."""
    days = date_hierarchy(levels=["day", "year"])
    for local in ("2000-01-01T00:00:00+01:00", "2000-07-01T00:30:00+02:00", "1999-12-31T20:00:00-05:00"):
        moment = canonical(datetime.fromisoformat(local))
        assert path(days, local) == path(days, moment)
    assert path(days, "2000-01-01T00:00:00+01:00") == ["1999-12-31", "1999", "*"]
    assert days.generalize("0001-01-01T00:00:00+01:00", 0) == "0001-01-01T00:00:00+01:00"
    with pytest.raises(HierarchyError):
        days.generalize("0001-01-01T00:00:00+01:00", 1)


@given(st.dates())
def test_no_two_periods_share_a_name(day):
    names = path(date_hierarchy(levels=["day", "month", "quarter", "year", "decade", "century"]), day)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [False, None, 1.5])
def test_groups_whose_names_yaml_reads_as_something_else_are_refused(name):
    with pytest.raises(HierarchyError, match="put it in quotes"):
        tree_hierarchy({name: ["oslo", "bergen"], "se": ["malmo"]})


@pytest.mark.parametrize(
    ("start", "stop", "width", "words"),
    [
        (0, 100, 30, "stop - start = 100 exactly, got 30"),
        (0, 100, -5, "every width must be positive, got -5"),
        (100, 0, 10, "got start 100 and stop 0"),
    ],
)
def test_the_error_names_the_wrong_grid_parameter(start: int, stop: int, width: int, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        interval_hierarchy(start=start, stop=stop, widths=[width])
