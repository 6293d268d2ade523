"""Proposed hierarchies: the rule fits the values, every level changes something, no value shows unless asked for."""

import json
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.proposals.column_profile import profile_column
from privacy_plugin.proposals.hierarchies import propose_hierarchy
from privacy_plugin.requirements.specification import hierarchy_from_specification
from privacy_plugin.sources import frequency_table


def proposed(values, *, name="column", reveal=False, related=None):
    table = frequency_table(pd.DataFrame({name: values}), [name])
    both = None
    if related is not None:
        both = frequency_table(pd.DataFrame({name: values, "secret": related}), [name, "secret"])
    return propose_hierarchy(profile_column(table), table, reveal=reveal, related=both)


@pytest.mark.parametrize(
    ("name", "values", "rule"),
    [
        ("country", ["Peru", "Viet Nam", "FR", "usa", "ch"], {"vocabulary": "countries"}),
        ("education", ["HS-grad", "Masters", "Doctorate", "Some-college"], {"vocabulary": "education"}),
        ("size", ["S", "M", "L", "XL"], {"vocabulary": "sizes"}),
        ("sex", ["female", "male"], {"flat": {}}),
        ("smoker", [True, False], {"flat": {}}),
        ("zip", ["80012", "80013", "80134", "81345"], {"mask": {"length": 5, "levels": [1, 3]}}),
        ("age", [18, 33, 47, 62, 71], {"intervals": {"start": 0, "stop": 100, "widths": [10, 20]}}),
        ("born", ["1984-01-02", "1984-02-03", "1991-05-06", "1984-05-01"], {"dates": {"levels": ["month", "year"]}}),
    ],
)
def test_the_rule_fits_the_values_and_every_level_changes_something(name, values, rule):
    found = proposed(values, name=name).specification
    if name in ("age", "born"):  # which levels change something depends on the values
        assert found.keys() == rule.keys()
    else:
        assert found == rule
    groups = [len(d) for d in hierarchy_from_specification(found).levels(tuple(values)).dictionaries]
    if "vocabulary" not in found:
        assert groups == sorted(set(groups), reverse=True)


@settings(deadline=None)
@given(st.lists(st.integers(-10_000, 10_000), min_size=3, max_size=60, unique=True))
def test_intervals_cover_all_numbers_and_every_level_changes_something(values):
    found = proposed(values).specification
    groups = [len(d) for d in hierarchy_from_specification(found).levels(tuple(sorted(set(values)))).dictionaries]
    assert groups == sorted(set(groups), reverse=True)
    assert groups[-1] == 1


def test_intervals_divide_the_rows_evenly():
    """One in ten of 10,000 skewed incomes lies in each of about ten intervals; equal widths would put most in one."""
    incomes = [round(20_000 * 1.0005**step) for step in range(10_000)]
    ((finest, *_),) = [proposed(incomes).specification["intervals"]["boundaries"]]
    counts = pd.cut(pd.Series(incomes), [-1, *finest, max(incomes) + 1], right=False).value_counts()
    assert len(counts) == 16
    assert counts.max() < 3 * counts.min()
    assert all(Fraction(cut) % 500 == 0 for cut in finest)


@pytest.mark.parametrize("values", [["plumber", "nurse", "baker"], ["A1-x", "B2 y", "C3/z"]])
def test_values_are_hidden_without_reveal(values):
    found = proposed(values)
    assert found.specification == {"flat": {}}
    assert "no groups are known" in found.note
    assert not any(value in json.dumps(found.specification) + found.note for value in values)
    assert all(value in json.dumps(proposed(values, reveal=True).specification) for value in values)


def test_shared_words_make_groups_where_values_are_listed():
    found = proposed(["Local-gov", "State-gov", "Self-emp-inc", "Self-emp-not-inc", "Privat"], reveal=True)
    assert found.specification["tree"]["gov"] == ["Local-gov", "State-gov"]


def test_groups_by_association_are_made_only_when_asked_for_and_flagged():
    values, secrets = ["a", "a", "b", "b", "c", "c", "d", "d"], ["x", "x", "x", "y", "y", "y", "x", "x"]
    found = proposed(values, reveal=True, related=secrets)
    tree = {"c|b": ["c", "b"], "a|d": ["a", "d"]}
    assert found.specification == {"learned": {"from": found.note.split("'")[1], "tree": tree}}
    hierarchy = hierarchy_from_specification(found.specification)
    assert hierarchy.learned_from == hierarchy_from_specification(hierarchy.specification).learned_from is not None
    assert "depends on sensitive values" in found.note


def test_numbers_that_cannot_be_read_are_left_to_a_person():
    assert proposed(["1.234,56", "7,50", "1.000,00"]).specification is None
