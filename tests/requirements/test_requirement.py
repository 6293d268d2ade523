import json
from fractions import Fraction

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import HierarchyError, ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable

FRAME = pd.DataFrame({"age": [30, 30, 30, 41, 41], "disease": ["flu", "cold", "flu", "cold", "flu"]})


class Unreadable:
    """A source whose driver fails with a message that quotes the data."""

    columns = ("age", "disease")
    engine = "broken"

    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def frequencies(self, columns, *, unit=None):
        raise self.problem

    row_count = fingerprint = snapshot = recode = publish = frequencies


def test_a_finding_states_value_limit_and_people_affected():
    finding = pp.require("k_anonymity", at_least=3).judge(FRAME, quasi_identifiers=["age"])
    assert (finding.status, finding.passed, finding.value, finding.people_affected) == ("failed", False, 2, 2)
    assert finding.limit.given == {"at_least": 3}
    assert "2 of 5 people (40.0%)" in finding.reason
    assert "An attacker who knows age" in finding.reason
    assert "To fix it" in finding.reason


def test_a_passed_finding_has_no_people_affected():
    finding = pp.require("k_anonymity", at_least=2).judge(FRAME, quasi_identifiers=["age"])
    assert (finding.status, finding.passed, finding.value, finding.people_affected) == ("passed", True, 2, None)
    assert "5 people in 2 classes" in finding.reason


@pytest.mark.parametrize(
    ("metric", "given", "value"),
    [
        ("l_diversity", {"at_least": 2}, 2),
        ("l_diversity", {"at_least": 2, "variant": "recursive", "c": 3}, 2),
        ("t_closeness", {"at_most": 0.2}, Fraction(1, 10)),
        ("reidentification_risk", {"at_most": 0.5}, Fraction(1, 2)),
    ],
)
def test_every_metric_is_judged_by_the_same_call(metric, given, value):
    finding = pp.require(metric, **given).judge(FRAME, quasi_identifiers=["age"], sensitive="disease")
    assert finding.passed
    assert finding.value == value


@pytest.mark.parametrize(
    ("data", "roles", "words"),
    [
        (FRAME, {}, "needs quasi_identifiers"),
        (FRAME, {"quasi_identifiers": []}, "empty"),
        (FRAME, {"quasi_identifiers": "age"}, "list of column names, got str"),
        (FRAME, {"quasi_identifiers": ["age", 1]}, "list of strings, got int"),
        (FRAME, {"quasi_identifiers": ["age"], "unit": ["person"]}, "unit must be the name of one column, got list"),
        (FRAME, {"quasi_identifiers": ["aeg"]}, "did you mean 'age'"),
        (FRAME, {"quasi_identifiers": ["age", "age"]}, "more than once"),
        (FRAME, {"quasi_identifiers": ["age"], "unit": "person"}, "unknown column in unit"),
        (FRAME[:0], {"quasi_identifiers": ["age"]}, "no rows"),
        (None, {"quasi_identifiers": ["age"]}, "NoneType"),
        ("no/such/file.csv", {"quasi_identifiers": ["age"]}, "file"),
        (Unreadable(SourceError("the table is gone")), {"quasi_identifiers": ["age"]}, "the table is gone"),
    ],
)
def test_a_requirement_that_cannot_be_measured_is_not_evaluated(data, roles, words):
    finding = pp.require("k_anonymity", at_least=1).judge(data, **roles)
    assert (finding.status, finding.passed, finding.value, finding.measurement) == ("not_evaluated", False, None, None)
    assert words in finding.reason
    json.dumps(finding.to_dict())


@pytest.mark.parametrize("problem", [ValueError("marker-30"), KeyError("marker-30"), MemoryError(), RecursionError()])
def test_driver_messages_are_redacted(problem):
    finding = pp.require("k_anonymity", at_least=1).judge(Unreadable(problem), quasi_identifiers=["age"])
    assert finding.status == "not_evaluated"
    assert type(problem).__name__ in finding.reason
    assert "marker" not in str(finding.to_dict(reveal=True))


def test_metrics_of_one_value_per_person_raise_with_a_unit():
    visits = FRAME.assign(person=1)
    for metric, given in (("l_diversity", {"variant": "entropy", "at_least": 1}), ("t_closeness", {"at_most": 1})):
        finding = pp.require(metric, **given).judge(
            visits, quasi_identifiers=["age"], sensitive="disease", unit="person"
        )
        assert finding.status == "not_evaluated"
        assert "1 people have several values" in finding.reason
    finding = pp.require("k_anonymity", at_least=2).judge(visits, quasi_identifiers=["age"], unit="person")
    assert (finding.status, finding.value) == ("failed", 1)


def test_a_frequency_table_that_counts_rows_is_not_taken_for_people():
    table = FrequencyTable.from_rows(["age"], [(30,), (30,)])
    finding = pp.require("k_anonymity", at_least=1).judge(table, quasi_identifiers=["age"], unit="age")
    assert finding.status == "not_evaluated"


def test_a_requirement_names_its_own_sensitive_column():
    frame = FRAME.assign(income=[1, 1, 1, 2, 2])
    requirement = pp.require("l_diversity", at_least=2, sensitive="income")
    assert not requirement.judge(frame, quasi_identifiers=["age"], sensitive="disease").passed
    assert str(requirement) == "l_diversity(income) at least 2"


@pytest.mark.parametrize(
    ("metric", "given", "words"),
    [
        ("k_anonimity", {"at_least": 5}, "did you mean 'k_anonymity'"),
        ("", {"at_least": 5}, "unknown metric"),
        (None, {"at_least": 5}, "metric must be a string"),
        (["k_anonymity"], {"at_least": 5}, "metric must be a string"),
        ("k_anonymity", {}, "exactly one limit"),
        ("k_anonymity", {"at_lest": 5}, "unknown option of k_anonymity 'at_lest'"),
        ("k_anonymity", {"at_least": 5, "variant": "distinct"}, "variant"),
        ("k_anonymity", {"at_least": 5, "sensitive": "disease"}, "does not use a sensitive column"),
        ("k_anonymity", {"at_least": 5, "quasi_identifiers": ["age"]}, "quasi_identifiers"),
        ("k_anonymity", {"at_least": 5, "population": FRAME}, "population"),
        ("l_diversity", {"at_least": 5, "sensitive": ["disease"]}, "sensitive must be a string"),
        ("l_diversity", {"at_least": 5, "origin": 5}, "origin must be a string"),
        ("t_closeness", {"at_most": 0.2, "ground": "up"}, "ground must be"),
    ],
)
def test_invalid_requirements_raise_before_data_is_read(metric, given, words):
    with pytest.raises(ParameterError, match=words):
        pp.require(metric, **given)


def test_a_malformed_hierarchy_of_a_requirement_raises_an_error():
    with pytest.raises((ParameterError, HierarchyError)):
        pp.require("t_closeness", at_most=0.2, ground={"mask": {"length": -1}})


@pytest.mark.parametrize(
    ("metric", "given", "text"),
    [
        ("k_anonymity", {"at_least": 5}, "k_anonymity at least 5"),
        ("l_diversity", {"variant": "recursive", "c": Fraction(1, 3), "above": 2, "sensitive": "s"},
         "l_diversity(recursive, c=0.3333333333333333, s) above 2"),
        ("t_closeness", {"ground": {"mask": {"length": 3}}, "at_most": "1/3"},
         "t_closeness(ground=hierarchy) at most 1/3"),
        ("reidentification_risk", {"variant": "share_at_risk", "threshold": "1/11", "at_most": 0.09},
         "reidentification_risk(share_at_risk, threshold=1/11) at most 0.09"),
    ],
)  # fmt: skip
def test_a_requirement_round_trips_through_plain_data(metric, given, text):
    requirement = pp.require(metric, **given)
    assert str(requirement) == text
    ((name, entry),) = json.loads(json.dumps(requirement.to_dict())).items()
    again = pp.require(name, **entry)
    assert again.to_dict() == requirement.to_dict()
    assert (again.limit, again.sensitive) == (requirement.limit, requirement.sensitive)


def test_exact_options_round_trip_through_plain_data():
    """5 < 7 * 5/7 is false; with five sevenths rounded up to a float it would be true."""
    requirement = pp.require("l_diversity", variant="recursive", c=Fraction(5, 7), at_least=1)
    again = pp.require("l_diversity", **requirement.to_dict()["l_diversity"])
    table = FrequencyTable.from_rows(["q", "s"], [("a", 1), ("a", 2)], counts=[5, 2])
    findings = [r.judge(table, quasi_identifiers=["q"], sensitive="s") for r in (requirement, again)]
    assert [finding.value for finding in findings] == [0, 0]


def test_findings_contain_no_value_of_the_table():
    frame = pd.DataFrame({"q": ["marker-q1", "marker-q2"], "s": ["marker-s1", "marker-s1"]})
    for metric, given in (
        ("k_anonymity", {"at_least": 5}),
        ("l_diversity", {"at_least": 5}),
        ("l_diversity", {"at_least": 5, "variant": "entropy"}),
        ("t_closeness", {"below": 0.1, "ground": "ordered"}),
        ("reidentification_risk", {"at_most": 0.1}),
    ):
        finding = pp.require(metric, **given).judge(frame, quasi_identifiers=["q"], sensitive="s")
        assert "marker" not in json.dumps(finding.to_dict())
        assert "marker" not in repr(finding)
        assert "marker-q1" in json.dumps(finding.to_dict(reveal=True)) or metric == "t_closeness"


def test_people_in_several_classes_are_described_as_appearances():
    """Every person shares nine classes and is alone in one: all are exposed, not one in ten."""
    rows = [(person, number if number < 9 else 100 + person) for person in range(100) for number in range(10)]
    finding = pp.require("k_anonymity", at_least=5).judge(
        pd.DataFrame(rows, columns=["person", "place"]), quasi_identifiers=["place"], unit="person", count="people"
    )
    assert "100 of 1,000 appearances of people (10.0%) do not meet it" in finding.reason
    assert "1,000 people" not in finding.reason
