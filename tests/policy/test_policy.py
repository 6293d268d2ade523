"""Policies as they are meant: roles, hierarchy files, limits that ask for nothing."""

import textwrap

import pytest

import privacy_plugin as pp
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
