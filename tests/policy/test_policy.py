"""Policies as they are meant: roles, hierarchy files, limits that ask for nothing."""

import re
import textwrap

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import PolicyError
from tests.policies import COMPLETE, changed


def test_a_complete_policy():
    policy = pp.Policy.from_dict(COMPLETE)
    assert policy.quasi_identifiers == ("age", "zip")
    assert policy.sensitive == ("disease", "income")
    assert policy.rules.released == ("age", "zip", "disease", "income", "note")
    assert [str(requirement) for requirement in policy.requirements] == [
        "k_anonymity at least 5",
        "l_diversity(recursive, c=2, disease) at least 2",
        "t_closeness(ground=ordered, disease) at most 0.2",  # without a name it holds for each sensitive column
        "t_closeness(ground=ordered, income) at most 0.2",
    ]
    assert set(policy.hierarchies) == {"age", "zip"}


def test_hierarchy_files_are_found_next_to_the_policy(tmp_path):
    (tmp_path / "age.csv").write_text("30;30-39;*\n41;40-49;*\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        textwrap.dedent("""
            dataset: visits
            columns:
              age: {role: quasi_identifier, hierarchy: age.csv}
              pay: sensitive
            requirements:
              - k_anonymity: {at_least: 2}
              - t_closeness: {at_most: 0.5, ground: {file: age.csv}}
        """),
        encoding="utf-8",
    )
    policy = pp.Policy.load(tmp_path / "policy.yaml")
    assert policy.hierarchies["age"].generalize(41, 1) == "40-49"
    digest = policy.digest
    (tmp_path / "age.csv").write_text("30;30-39;*\n41;30-39;*\n", encoding="utf-8")
    assert pp.Policy.load(tmp_path / "policy.yaml").digest != digest


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ({"k_anonymity": {"at_least": 1}}, "k_anonymity at least 1 is the weakest limit: every table meets it"),
        (
            {"reidentification_risk": {"at_most": 1}},
            "reidentification_risk at most 1 is the weakest limit: every table meets it",
        ),
        (
            {"delta_presence": {"between": [0, 1]}},
            "delta_presence between 0 and 1 is the weakest limit: every table meets it",
        ),
        ({"k_anonymity": {"at_least": 2}}, None),
        ({"k_anonymity": {"above": 1}}, None),
        ({"reidentification_risk": {"below": 1}}, None),
        ({"delta_presence": {"between": [0, 0.9]}}, None),
    ],
)
def test_the_weakest_limit_is_noted(line, note):
    """A limit that every table meets opens the gate; the record contains a note."""
    policy = pp.Policy.from_dict(changed(requirements=[line]))
    assert policy.notes == (() if note is None else (note,))


def test_a_comparison_with_the_original_is_noted_as_outside_the_budget():
    """With `unique_repeated` at most 0, a record that passes is not unique in the original, at any epsilon."""
    budget = {"privacy_budget": {"at_most": 1, "privacy_unit": "row"}}
    audit = {"repeated_records": {"variant": "unique_repeated", "at_most": "1/2"}}
    table = {"dataset": "visits", "columns": {"age": "quasi_identifier"}}
    both = pp.Policy.from_dict({**table, "requirements": [budget, audit]})
    (note,) = both.notes
    assert "the budget does not cover which tables pass: repeated_records compares with the exact original" in note
    assert pp.Policy.from_dict({**table, "requirements": [budget, {"k_anonymity": {"at_least": 2}}]}).notes == ()


def test_wishes_of_columns_become_options_of_the_default_method():
    given = changed()
    given["anonymize"] = {"max_suppression": 0.01}
    given["columns"]["age"] = {**given["columns"]["age"], "weight": 3, "keep": {"at_most_level": 1}}
    policy = pp.Policy.from_dict(given)
    assert policy.method == "generalize_locally"
    assert dict(policy.anonymize) == {"max_suppression": 0.01, "weights": {"age": 3}, "keep": {"age": 1}}


@pytest.mark.parametrize(
    ("age", "anonymize", "message"),
    [
        ({"weight": 0}, {}, "weights must be positive"),
        ({"weight": "much"}, {}, "weights"),
        ({"keep": 1}, {}, "keep: {at_most_level: 1}"),
        ({"keep": {"at_most_level": -1}}, {}, "must be a level"),
        ({"weight": 2}, {"method": "generalize"}, "cannot follow weight"),
        ({}, {"loss": "entropy"}, "add method: generalize"),
        ({}, {"labels": "seen"}, "hierarchy"),
    ],
)
def test_wishes_that_cannot_be_followed_are_refused(age, anonymize, message):
    given = changed()
    given["anonymize"] = anonymize
    given["columns"]["age"] = {**given["columns"]["age"], **age}
    with pytest.raises(PolicyError, match=re.escape(message)):
        pp.Policy.from_dict(given)
