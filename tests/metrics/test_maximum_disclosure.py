import json
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.maximum_disclosure.metric import maximum_disclosure
from tests.oracles import disclosure as oracle
from tests.sources.loading import ENGINES, LOADERS, Table

# Martin et al. 2007, figure 3: five men and five women.
MEN = ["flu", "flu", "lung cancer", "lung cancer", "heart disease"]
WOMEN = ["flu", "flu", "breast cancer", "ovarian cancer", "heart disease"]
WARD = [("m", disease) for disease in MEN] + [("f", disease) for disease in WOMEN]


def disclosure_of(given_rows, columns=("sex", "disease"), **options):
    table = FrequencyTable.from_rows(columns, given_rows)
    return maximum_disclosure(table, quasi_identifiers=columns[:-1], sensitive=columns[-1], **options)


def of_counts(*classes, **options):
    """Classes whose sensitive values occur so often."""
    entries = [(number, value, n) for number, counts in enumerate(classes) for value, n in enumerate(counts)]
    table = FrequencyTable.from_rows(["q", "s"], [entry[:2] for entry in entries], counts=[e[2] for e in entries])
    return maximum_disclosure(table, quasi_identifiers=["q"], sensitive="s", **options)


def test_the_worked_example_of_the_paper():
    for knowledge, expected in enumerate([Fraction(2, 5), Fraction(2, 3), Fraction(1)]):
        for attacker in ("implications", "negations"):
            found = disclosure_of(WARD, knowledge=knowledge, attacker=attacker)
            assert (found.value, found.exact, found.error) == (expected, True, 0)
            assert (found.rows, found.classes, len(found.curve)) == (10, 2, knowledge + 1)
    assert found.details["curves"]["negations"] == (Fraction(2, 5), Fraction(2, 3), 1)


def test_every_class_has_its_own_maximum():
    found = disclosure_of(WARD, knowledge=1)
    women, men = found.spread.values
    assert men == pytest.approx(2 / 3, abs=1e-14)
    assert women == pytest.approx(4 / 7, abs=1e-14)
    assert found.spread.people.tolist() == [5, 5]
    assert [item.value for item in found.worst] == [pytest.approx(2 / 3), pytest.approx(4 / 7)]
    assert pp.require("maximum_disclosure", knowledge=1, below="2/3").limit.failing(found.spread.values).tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize("attacker", ["implications", "negations"])
def test_below_is_strict_and_exact(attacker):
    frame = pd.DataFrame(WARD, columns=["sex", "disease"])
    asked = {"quasi_identifiers": ["sex"], "sensitive": "disease"}
    for knowledge, limit in ((0, 0.4), (1, "2/3"), (2, 1)):
        options = {"knowledge": knowledge, "attacker": attacker}
        assert not pp.require("maximum_disclosure", below=limit, **options).judge(frame, **asked).passed
        assert pp.require("maximum_disclosure", at_most=limit, **options).judge(frame, **asked).passed
    above = Fraction(2, 3) + Fraction(1, 10**30)
    assert pp.require("maximum_disclosure", knowledge=1, below=above).judge(frame, **asked).passed


def test_a_class_at_the_limit_fails_even_where_floating_point_rounds_down():
    """A class that reaches a limit exactly must not pass `below`, for any floating-point value."""
    for counts in ([3, 1, 1], [7, 2, 2, 1], [5, 4, 3, 2, 1], [11, 7, 3]):
        found = of_counts(counts, knowledge=1)
        limit = pp.require("maximum_disclosure", knowledge=1, below=found.value).limit
        assert limit.failing(found.spread.values).all()
        assert not limit.holds(found)


def test_a_class_of_one_person_or_one_value_is_disclosed_without_knowledge():
    for classes in ([[1], [3, 3, 3]], [[7], [3, 3, 3]]):
        for attacker in ("implications", "negations"):
            found = of_counts(*classes, knowledge=0, attacker=attacker)
            assert (found.value, found.curve) == (1, (1,))
            assert found.witness.words() == (
                f"An attacker who knows nothing more names s of person 1 of class 1, a class of "
                f"{'1 person' if classes[0] == [1] else '7 people'}, with probability 1: the most frequent value of "
                "the class."
            )


def test_more_knowledge_than_people_and_values_discloses_everybody():
    for attacker in ("implications", "negations"):
        found = of_counts([1, 1], [2, 2, 2], knowledge=1000, attacker=attacker)
        assert found.curve == (Fraction(1, 2), *[Fraction(1)] * 1000)
        assert len(found.witness.facts) == 1
        assert found.spread.values.tolist() == [1, 1]


def test_one_fact_too_few_for_the_other_class_leaves_it_undisclosed():
    """Two facts exhaust the class of two values; only then does a fact about it disclose a person of another class."""
    assert of_counts([1, 1], [9] * 9, knowledge=1).spread.values[1] < 0.5
    assert of_counts([1, 1], [9] * 9, knowledge=2).spread.values.tolist() == [1, 1]
    assert oracle.partition_classes([[1, 1], [9] * 9], 2) == [1, 1]


def test_no_knowledge_is_the_plain_posterior():
    found = of_counts([3, 2], [5, 4, 3], knowledge=0)
    assert (found.value, found.witness.facts) == (Fraction(3, 5), ())
    assert found.spread.values.tolist() == pytest.approx([3 / 5, 5 / 12])


def test_a_missing_sensitive_value_is_a_value():
    frame = pd.DataFrame({"q": [1, 1, 1, 1], "s": ["a", None, float("nan"), "b"]}, dtype=object)
    found = pp.maximum_disclosure(frame, quasi_identifiers=["q"], sensitive="s", knowledge=0)
    assert found.value == Fraction(1, 2)
    assert found.witness.words(reveal=True).endswith("(q 1), a class of 4 people, with probability 0.5 (1/2): missing.")


def test_the_sentence_of_a_witness_contains_no_value_unless_revealed():
    found = disclosure_of(WARD, knowledge=1)
    assert str(found.witness) == (
        "An attacker who knows this implication names disease of person 1 of class 1, a class of 5 people, with "
        "probability 0.6667 (2/3): the most frequent value of the class. Known: person 1 of class 1 does not have the "
        "2nd most frequent value of the class."
    )
    assert found.witness.words(reveal=True) == (
        "An attacker who knows this implication names disease of person 1 of class 1 (sex m), a class of 5 people, "
        "with probability 0.6667 (2/3): flu. Known: person 1 of class 1 (sex m) does not have lung cancer."
    )
    hidden = [repr(found), str(found.witness), json.dumps(found.to_dict()), repr(found.witness)]
    for value in (*MEN, *WOMEN):
        assert not any(value in text for text in hidden)
    shown = found.to_dict(reveal=True)["witness"]
    assert shown["target"] == {
        "class": 1, "people": 5, "person": 1, "value_rank": 1, "value": "flu", "members": {"sex": "m"}
    }  # fmt: skip
    assert shown["exact_probability"] == "2/3"


def test_facts_about_other_people_are_implications():
    found = of_counts([203, *[1] * 797], [1] * 8, knowledge=6)  # worst: target in the first class, facts in the other
    assert found.witness.sentences() == [
        f"if person {number} of class 2 has the most frequent value of the class, then person 1 of class 1 has the "
        "most frequent value of the class"
        for number in range(1, 7)
    ]
    assert [item.people for item in found.worst] == [1000, 8]
    assert len(found.witness.facts) == 6


def test_values_that_differ_only_in_exact_fractions():
    many = 2**50
    first = Fraction(many + 1, 2 * many + 1)
    for attacker in ("implications", "negations"):
        found = of_counts([many, many + 1], [many + 1, many + 2], knowledge=0, attacker=attacker)
        assert found.value == first
        assert found.witness.probability == first


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"knowledge": -1},
        {"knowledge": 1.0},
        {"knowledge": True},
        {"knowledge": "3"},
        {"knowledge": None},
        {"knowledge": 1001},
        {"knowledge": 1, "attacker": "implication"},
        {"knowledge": 1, "attacker": ["negations"]},
        {"knowledge": 1, "attacker": None},
        {"knowledge": 1, "k": 2},
    ],
)
def test_invalid_options_raise_before_data_is_read(options):
    with pytest.raises(ParameterError):
        pp.maximum_disclosure(object(), quasi_identifiers=["q"], sensitive="s", **options)
    with pytest.raises(ParameterError):
        pp.require("maximum_disclosure", below=0.5, **options)


@pytest.mark.parametrize(
    "limit", [{"below": 1.5}, {"below": -0.1}, {"at_least": 0.5}, {}, {"below": 0.5, "at_most": 1}]
)
def test_invalid_limits_raise(limit):
    with pytest.raises(ParameterError):
        pp.require("maximum_disclosure", knowledge=1, **limit)


def test_columns_are_checked():
    frame = pd.DataFrame({"q": [1, 1], "s": ["a", "b"]})
    for sensitive in ("q", ["s"], None, "t"):
        with pytest.raises(ColumnError):
            pp.maximum_disclosure(frame, quasi_identifiers=["q"], sensitive=sensitive, knowledge=1)
    with pytest.raises(ColumnError, match="unit"):
        pp.maximum_disclosure(frame, quasi_identifiers=["q"], sensitive="s", knowledge=1, unit="s")
    with pytest.raises(EmptyTableError):
        pp.maximum_disclosure(frame[:0], quasi_identifiers=["q"], sensitive="s", knowledge=1)


def test_too_many_facts_raise_only_where_they_matter():
    wide = FrequencyTable.from_rows(["q", "s"], [(0, number) for number in range(300)])
    asked = {"quasi_identifiers": ["q"], "sensitive": "s"}
    with pytest.raises(TooLargeError, match="100 facts"):
        maximum_disclosure(wide, knowledge=101, **asked)
    assert maximum_disclosure(wide, knowledge=101, attacker="negations", **asked).value == Fraction(1, 199)
    assert maximum_disclosure(wide, knowledge=40, **asked).value == Fraction(1, 260)
    narrow = FrequencyTable.from_rows(["q", "s"], [(0, 0), (0, 1)])
    assert maximum_disclosure(narrow, knowledge=101, **asked).value == 1


def test_ties_beyond_the_limit_leave_an_error_bound_that_the_gate_uses(monkeypatch):
    monkeypatch.setattr("privacy_plugin.metrics.maximum_disclosure.exact_disclosure.solve.__kwdefaults__", {"limit": 0})
    found = of_counts([3, 3, 1], [3, 2, 2], knowledge=1)
    assert (found.exact, found.notes) == (
        False,
        ("too many classes tie for an exact comparison; the value has an error bound",),
    )
    assert found.lowest <= Fraction(3, 4) <= found.highest
    assert not pp.require("maximum_disclosure", knowledge=1, below=0.75).limit.holds(found)
    assert found.error < 1e-14


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_answer(engine, tmp_path: Path):
    values = [*[row[1] for row in WARD], None, None, "flu"]
    table = Table(
        kinds={"sex": "text", "disease": "text"},
        values={"sex": [*[row[0] for row in WARD], None, None, None], "disease": values},
    )
    data = LOADERS[engine](table, tmp_path)
    for attacker in ("implications", "negations"):
        found = pp.maximum_disclosure(
            data, quasi_identifiers=["sex"], sensitive="disease", knowledge=1, attacker=attacker
        )
        expected = disclosure_of(table.rows, knowledge=1, attacker=attacker)
        assert found.to_dict(reveal=True) == expected.to_dict(reveal=True)
        assert (found.value, found.curve) == (1, (Fraction(2, 3), 1))


def test_a_policy_line_from_end_to_end(tmp_path: Path):
    (tmp_path / "policy.yaml").write_text(
        "dataset: ward\n"
        "columns: {sex: quasi_identifier, disease: sensitive}\n"
        "requirements:\n"
        "  - maximum_disclosure: {knowledge: 3, below: 0.6}\n"
        "  - maximum_disclosure: {knowledge: 1, attacker: negations, at_most: 2/3}\n"
    )
    policy = pp.Policy.load(tmp_path / "policy.yaml")
    assert [str(requirement) for requirement in policy.requirements] == [
        "maximum_disclosure(knowledge=3, disease) below 0.6",
        "maximum_disclosure(knowledge=1, attacker=negations, disease) at most 2/3",
    ]
    frame = pd.DataFrame(WARD, columns=["sex", "disease"])
    verdict = policy.judge(frame)
    first, second = verdict.findings
    assert (verdict.passed, first.status, first.value, first.people_affected) == (False, "failed", 1, 10)
    assert (second.status, second.value) == ("passed", Fraction(2, 3))
    assert first.reason == (
        "maximum disclosure (knowledge=3, disease) is 1, below 0.6 is required. 10 of 10 people (100.0%) do not meet "
        "it. An attacker who knows sex of everybody, and as many further facts as the requirement assumes, names "
        "disease of such a person with a probability that reaches 0.6. To fix it: merge classes by generalizing a "
        "quasi-identifier further, suppress the most exposed classes, or publish the table in buckets."
    )
    assert json.loads(json.dumps(verdict.to_dict())) == verdict.to_dict()
    flat = pd.DataFrame({"sex": ["m"] * 8, "disease": list("abcdefgh")})
    assert policy.judge(flat).passed
