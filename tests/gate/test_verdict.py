import json
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import PolicyError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.gate.verdict import Verdict, judge
from privacy_plugin.requirements.rules import Rules
from privacy_plugin.sources import open_source
from tests.oracles import class_metrics as oracle

COLUMNS = {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive", "note": "insensitive"}

NOT_CONSIDERED = "several releases of this dataset were not considered: the policy does not require differences"


def policy_of(columns=COLUMNS, requirements=({"k_anonymity": {"at_least": 2}},)):
    return pp.Policy.from_dict({"dataset": "visits", "columns": dict(columns), "requirements": list(requirements)})


def frame_of(rows=4):
    return pd.DataFrame({"age": 30, "zip": "8001", "disease": ["flu", "cold"] * (rows // 2), "note": "n"})


class Altered:
    """A pandas source with one wrong answer, like a broken driver."""

    def __init__(self, frame, **answers):
        self._source = open_source(frame)
        self._answers = answers

    def __getattr__(self, name):
        return getattr(self._source, name)

    columns = property(lambda self: self._source.columns)
    engine = "altered"

    def frequencies(self, columns, *, unit=None):
        return self._answers.get("frequencies", self._source.frequencies)(columns, unit=unit)

    def row_count(self):
        return self._answers.get("row_count", self._source.row_count)()

    def fingerprint(self, columns=None):
        return self._answers.get("fingerprint", self._source.fingerprint)(columns)

    @contextmanager
    def snapshot(self):
        yield self

    def recode(self, recoding, *, target=None):
        raise SourceError("not here")

    def publish(self, target, *, columns, verify):
        raise SourceError("not here")


def raising(problem):
    def answer(*given, **named):
        raise problem

    return answer


def assert_closed(verdict, words):
    assert verdict.passed is False
    assert verdict.evaluated is False
    assert any(words in reason for reason in verdict.reasons), verdict.reasons
    written = json.loads(json.dumps(verdict.to_dict()))
    assert written["passed"] is False


def test_an_open_gate_has_evaluated_every_requirement():
    verdict = policy_of(requirements=[{"k_anonymity": {"at_least": 4}}, {"l_diversity": {"at_least": 2}}]).judge(
        frame_of(), partition="2024-01", fingerprint=True
    )
    assert verdict.passed
    assert verdict.evaluated
    assert (verdict.rows, verdict.partition, verdict.reasons, verdict.dataset) == (4, "2024-01", (), "visits")
    assert verdict.fingerprint.columns == ("age", "disease", "note", "zip")
    assert [finding.requirement.metric for finding in verdict.findings] == ["k_anonymity", "l_diversity"]


def test_a_closed_gate_names_every_failed_requirement():
    requirements = [{"k_anonymity": {"at_least": 5}}, {"l_diversity": {"at_least": 2}}, {"t_closeness": {"at_most": 0}}]
    verdict = policy_of(requirements=requirements).judge(frame_of())
    assert not verdict.passed
    assert verdict.evaluated
    assert [finding.passed for finding in verdict.findings] == [False, True, True]
    assert len(verdict.reasons) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(phone="1"), "column 'phone' has no role"),
        (lambda f: f.drop(columns="zip"), "column 'zip' has the role quasi_identifier but is not in the table"),
        (lambda f: f.drop(columns="disease"), "column 'disease' has the role sensitive but is not in the table"),
        (lambda f: f.drop(columns="note"), "column 'note' has the role insensitive but is not in the table"),
        (lambda f: f.rename(columns={"zip": "Zip"}), "column 'Zip' has no role"),
        (lambda f: f.rename(columns={"zip": "age"}), "more than one column named 'age'"),
        (lambda f: f.rename(columns={"zip": 5}), "not a string"),
        (lambda f: f[:0], "no rows"),
        (lambda f: pd.DataFrame(), "no columns"),
        (lambda f: None, "NoneType"),
        (lambda f: "missing/visits.csv", "file"),
        (lambda f: f.to_dict("records"), "list"),
        (lambda f: pp.FrequencyTable.from_rows(list(COLUMNS), []), "no rows"),
    ],
)
def test_columns_that_differ_from_the_policy_close_the_gate(change, words):
    assert_closed(policy_of().judge(change(frame_of())), words)


def test_an_identifier_column_closes_the_gate():
    policy = policy_of({**COLUMNS, "name": "identifier"})
    assert policy.judge(frame_of()).passed
    assert_closed(policy.judge(frame_of().assign(name="x")), "the identifier column 'name' is still in the table")


@pytest.mark.parametrize(
    "labels",
    [
        pd.Index([1, 2, 3, 4], name="patient_id"),
        pd.Index(["Ada", "Bob", "Cy", "Di"]),
        pd.MultiIndex.from_product([[1, 2], [3, 4]]),
        pd.date_range("1950-01-01", periods=4),
    ],
)
def test_an_index_that_may_name_people_closes_the_gate(labels):
    """An index has no role and is released with the frame."""
    assert policy_of().judge(frame_of().set_index(pd.Index([9, 9, 7, 1]))).passed
    assert_closed(policy_of().judge(frame_of().set_index(labels)), "more than row numbers")
    assert policy_of().judge(frame_of().set_index(labels).reset_index(drop=True)).passed


def test_all_problems_are_named_at_once():
    verdict = policy_of().judge(frame_of().rename(columns={"zip": "a", "note": "b"}))
    assert len(verdict.problems) == 4
    assert verdict.findings == ()


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"row_count": raising(ValueError("marker"))}, "could not be read: ValueError"),
        ({"row_count": raising(SourceError("the connection is closed"))}, "the connection is closed"),
        ({"frequencies": raising(OSError("marker"))}, "measuring failed with OSError"),
        ({"fingerprint": raising(RuntimeError("marker"))}, "could not be read: RuntimeError"),
        ({"row_count": lambda: 0}, "no rows"),
        ({"row_count": lambda: 7}, "7 rows were judged, but the fingerprint covers 4"),
    ],
)
def test_a_failing_source_closes_the_gate_and_its_message_is_redacted(answers, words):
    verdict = policy_of().judge(Altered(frame_of(), **answers), fingerprint=True)
    assert_closed(verdict, words)
    assert "marker" not in str(verdict.to_dict())


def test_truncated_groups_close_the_gate():
    """Two hundred of three hundred groups are returned, and the unique people are among the missing ones."""
    frame = frame_of(600)
    frame["zip"] = np.repeat(np.arange(300), 2)
    frame.loc[599, "zip"] = 999

    def first_groups(columns, *, unit=None):
        whole = open_source(frame).frequencies(columns)
        rows = [whole.values(row) for row in range(200)]
        return FrequencyTable.from_rows(whole.columns, rows, counts=whole.counts[:200].tolist())

    assert not policy_of().judge(frame).passed
    assert_closed(policy_of().judge(Altered(frame, frequencies=first_groups)), "but the table has 600")


def test_a_fingerprint_of_other_rows_closes_the_gate():
    def of_half(columns):
        return open_source(frame_of(2)).fingerprint(columns)

    verdict = policy_of().judge(Altered(frame_of(4), fingerprint=of_half), fingerprint=True)
    assert_closed(verdict, "the fingerprint covers 2")
    assert verdict.fingerprint is None


def test_a_failing_snapshot_closes_the_gate():
    class Locked(Altered):
        def snapshot(self):
            raise SourceError("the table is locked")

    assert_closed(policy_of().judge(Locked(frame_of())), "the table is locked")


def test_an_unreadable_population_closes_the_gate():
    assert_closed(policy_of().judge(frame_of(), population="missing.csv"), "file")


@pytest.mark.parametrize(
    "requirement",
    [
        {"l_diversity": {"at_least": 2}},
        {"t_closeness": {"at_most": 0.1}},
        {"maximum_disclosure": {"knowledge": 0, "at_most": 0.5}},
        {"privacy_score": {"statistic": "maximum", "below": 0.1}},
    ],
)
def test_sensitive_values_of_mixed_types_are_one_value(requirement):
    """All people have the value 250; as number and text it would look like two values."""
    frame = frame_of().assign(disease=pd.Series([250, "250"] * 2, dtype=object))
    assert_closed(policy_of(requirements=[requirement]).judge(frame), "look like another value of another type")


def test_a_gate_without_requirements_is_closed():
    rules = Rules(dataset="visits", roles=COLUMNS, requirements=(), digest="")
    verdict = judge(rules, frame_of())
    assert not verdict.passed
    assert not Verdict(dataset="visits", policy_digest="").passed


def test_one_requirement_not_evaluated_closes_the_gate():
    verdict = policy_of().judge(frame_of())
    finding = replace(verdict.findings[0], status="not_evaluated")
    assert not replace(verdict, findings=(*verdict.findings, finding)).passed
    assert not replace(verdict, problems=("anything",)).passed


def test_a_misspelled_role_raises_an_error():
    with pytest.raises(PolicyError, match="did you mean 'quasi_identifier'"):
        Rules(dataset="visits", roles={**COLUMNS, "zip": "quasi_identifer"}, requirements=(), digest="")
    policy = replace(policy_of(), roles={**COLUMNS, "zip": "quasi"})
    with pytest.raises(PolicyError):
        policy.judge(frame_of())


UNIT = {**COLUMNS, "person": "unit"}


def test_with_a_unit_people_are_counted_and_the_unit_is_not_released():
    policy = policy_of(UNIT, [{"k_anonymity": {"at_least": 2}}, {"reidentification_risk": {"at_most": 0.5}}])
    assert policy.rules.released == ("age", "zip", "disease", "note")
    two, one = frame_of().assign(person=[1, 1, 2, 2]), frame_of().assign(person=1)
    assert policy.judge(two, fingerprint=True).passed
    verdict = policy.judge(one)
    assert [finding.value for finding in verdict.findings] == [1, 1]
    assert not verdict.passed
    assert_closed(policy.judge(frame_of()), "role unit but is not in the table; people are counted by this column")


@pytest.mark.parametrize(
    "requirement",
    [
        {"l_diversity": {"variant": "entropy", "at_least": 1}},
        {"t_closeness": {"at_most": 1}},
        {"maximum_disclosure": {"knowledge": 0, "below": 1}},
    ],
)
def test_metrics_of_one_value_per_person_close_the_gate_where_people_have_several(requirement):
    verdict = policy_of(UNIT, [requirement]).judge(frame_of().assign(age=30, zip="8001", person=1))
    assert_closed(verdict, "1 people have several values")


def test_what_cannot_count_people_is_refused_when_the_policy_is_loaded():
    with pytest.raises(PolicyError, match=r"unique_itemsets.* cannot count people .* people: in the policy"):
        policy_of(UNIT, [{"unique_itemsets": {"at_most": 0}}, {"k_anonymity": {"at_least": 2}}])


def test_the_verdict_repeats_that_the_attacker_knows_one_row():
    moved = frame_of().assign(person=[1, 2, 1, 2])
    given = {"dataset": "d", "columns": UNIT, "requirements": [{"k_anonymity": {"at_least": 2}}]}
    by_sequence, by_people = pp.Policy.from_dict(given), pp.Policy.from_dict({**given, "count": "people"})
    assert by_people.digest != by_sequence.digest
    verdict = by_people.judge(moved)
    assert "know one row of a person only" in verdict.findings[0].reason
    with pytest.raises(PolicyError, match="count must be"):
        pp.Policy.from_dict({**given, "count": "rows"})
    with pytest.raises(PolicyError, match="role unit"):
        pp.Policy.from_dict({**given, "columns": COLUMNS, "count": "people"})


def test_rows_without_a_unit_close_the_gate():
    frame = frame_of().assign(person=[1, 2, 3, None])
    assert_closed(policy_of(UNIT).judge(frame), "missing in 1 row")


def test_the_order_of_columns_rows_and_index_does_not_matter():
    policy, frame = policy_of(), frame_of(8)
    other = frame.sample(frac=1, random_state=1)[list(COLUMNS)[::-1]]
    first, second = (policy.judge(some, fingerprint=True) for some in (frame, other))
    assert first.fingerprint == second.fingerprint
    assert first.findings[0].value == second.findings[0].value


def test_a_verdict_contains_no_value_of_the_table():
    frame = pd.DataFrame(
        {"age": ["marker-1", "marker-2"], "zip": "marker-3", "disease": "marker-4", "note": "marker-5"}
    )
    policy = policy_of(requirements=[{"k_anonymity": {"at_least": 5}}, {"l_diversity": {"at_least": 2}}])
    verdict = policy.judge(frame, fingerprint=True)
    assert "marker" not in json.dumps(verdict.to_dict())
    assert "marker" not in repr(verdict)
    assert "marker-1" in json.dumps(verdict.to_dict(reveal=True))
    assert "marker-5" not in json.dumps(verdict.to_dict(reveal=True))


_rows = st.lists(
    st.tuples(st.sampled_from([30, None]), st.sampled_from(["1", "*"]), st.sampled_from("abc"), st.just("n")),
    min_size=1,
    max_size=16,
)


@settings(deadline=None, derandomize=True)
@given(_rows, st.integers(1, 4), st.integers(1, 3))
def test_the_gate_opens_exactly_when_the_definitions_hold(rows, k, l):  # noqa: E741
    requirements = [{"k_anonymity": {"at_least": k}}, {"l_diversity": {"at_least": l}}]
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(object)
    expected = oracle.k(rows, [0, 1]) >= k and oracle.distinct_l(rows, [0, 1], 2) >= l
    assert policy_of(requirements=requirements).judge(frame).passed is expected


ROOTED = {"tree": {"anywhere": {"south": ["8001"], "north": ["3001"]}}}


@pytest.mark.parametrize("unit", [False, True])
def test_a_column_that_holds_nothing_but_its_root_is_noted_without_another_query(unit, monkeypatch):
    columns = {"age": "quasi_identifier", "zip": {"role": "quasi_identifier", "hierarchy": ROOTED}}
    frame = pd.DataFrame({"age": ["*"] * 4, "zip": ["anywhere"] * 4})
    if unit:
        columns, frame = {**columns, "who": "unit"}, frame.assign(who=[1, 2, 3, 4])
    asked = []
    source = open_source(frame)
    frequencies = type(source).frequencies

    def counted(self, names, **others):
        asked.append(tuple(names))
        return frequencies(self, names, **others)

    monkeypatch.setattr(type(source), "frequencies", counted)
    verdict = policy_of(columns).judge(source)
    assert verdict.passed
    assert verdict.notes == (
        "column 'age' was generalized to `*` in every row: it carries no information",
        "column 'zip' was generalized to the root of its hierarchy in every row: it carries no information",
        verdict.notes[-1],
    )
    assert "several releases of this dataset were not considered" in verdict.notes[-1]
    assert len(asked) == 1 + unit  # with a unit also the number of people


def test_a_constant_column_is_not_taken_for_a_generalized_one():
    assert policy_of().judge(frame_of()).notes == (NOT_CONSIDERED,)
    some = frame_of().assign(age=["*", 30, 30, 30])
    assert policy_of(requirements=[{"k_anonymity": {"at_least": 1}}]).judge(some).notes == (
        NOT_CONSIDERED,
        "k_anonymity at least 1 is the weakest limit: every table meets it",
    )
