"""Editing a policy: one hierarchy changes, and not a letter of anything else."""

import pytest

from privacy_plugin.errors import PolicyError
from privacy_plugin.policy.editing import with_hierarchy
from privacy_plugin.policy.strict_yaml import load_yaml

TEXT = """\
# not signed off yet
dataset: visits
columns:
  age:
    role: quasi_identifier  # in years
    hierarchy: {intervals: {start: 0, stop: 100, widths: [5, 10]}}  # five, ten
    # a remark about age
  zip:
    role: quasi_identifier
    hierarchy:
      mask:
        length: 5
    # a remark about zip
    why: "postal code"
  city: quasi_identifier  # bare
  job: {role: quasi_identifier, why: "x"}  # flow
  home:
    role: quasi_identifier  # last value
requirements:
  - k_anonymity: {at_least: 5}
"""


@pytest.mark.parametrize("column", ["age", "zip", "city", "job", "home"])
@pytest.mark.parametrize("rule", [{"flat": {}}, {"tree": {"a: b": ["#x", "y"]}}, "zip.csv"])
def test_one_hierarchy_changes_and_every_other_line_stays(column, rule):
    edited = with_hierarchy(TEXT, column, rule)
    before, after = load_yaml(TEXT), load_yaml(edited)
    entry = before["columns"][column]
    before["columns"][column] = {**(entry if isinstance(entry, dict) else {"role": entry}), "hierarchy": rule}
    assert after == before
    comments = [line.partition("#")[2] for line in TEXT.splitlines() if "#" in line]
    assert all(comment in edited for comment in comments)


def test_an_unknown_column_is_refused():
    with pytest.raises(PolicyError, match="no column 'agee'"):
        with_hierarchy(TEXT, "agee", {"flat": {}})


def test_what_cannot_be_edited_is_refused_with_the_line_to_write():
    with pytest.raises(PolicyError):
        with_hierarchy("columns:\n  age: [1, 2]\n", "age", {"flat": {}})
