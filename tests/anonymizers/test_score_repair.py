"""Repairs as users call them: measured again, the repaired table shows the very scores that the repair promised."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, ParameterError, SourceError, TooLargeError

steady = settings(deadline=None, derandomize=True, max_examples=50)
ROLES = {"city": "quasi_identifier", "age": "quasi_identifier", "disease": "sensitive"}
NAMES = ["smoker", "city", "age", "disease"]

tables = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from(["Bern", "Basel", None]),
        st.sampled_from([30, 41]),
        st.sampled_from(["flu", "gout", "cold"]),
    ),
    min_size=1,
    max_size=8,
)
options = st.sampled_from(
    [
        {"danger": {("city", None): 0}},
        {"danger": {"smoker": 0.5, "city": 0}, "likelihood": {"age": 0.5}},
        {"roles": ROLES, "danger": {"smoker": 1}},
        {"roles": ROLES, "saturation": 0.25},
    ]
)


def test_a_gate_without_marks_counts_false_rows_as_people():
    """So records are marked where a policy repairs: a class of one person and one false row is not two people."""
    columns = {"zip": "quasi_identifier", "disease": "sensitive"}
    asked = [{"k_anonymity": {"at_least": 2}}, {"l_diversity": {"variant": "distinct", "at_least": 2}}]
    policy = pp.Policy.from_dict({"dataset": "visits", "columns": columns, "requirements": asked})
    visits = pd.DataFrame({"zip": ["8001", "8002", "8002"], "disease": ["flu", "flu", "gout"]})
    repair = pp.greedy_repair(visits, attributes=list(columns), roles=columns)
    assert [finding.status for finding in policy.judge(visits).findings] == ["failed", "failed"]
    assert [finding.status for finding in policy.judge(repair.apply(visits)).findings] == ["passed", "passed"]


def without_unknown_city(frame, weights):
    """A weight for a value that does not occur would be refused."""
    if frame["city"].isna().any() or ("city", None) not in weights.get("danger", {}):
        return weights
    return {name: given for name, given in weights.items() if name != "danger"}


@steady
@given(
    tables,
    options,
    st.sampled_from([pp.greedy_repair, pp.fill_holes]),
    st.sampled_from(["maximum", "average"]),
    st.sampled_from([0.0, 0.3]),
)
def test_a_repair_reports_the_measured_scores(rows, weights, repairing, measure, wanted):
    frame = pd.DataFrame(rows, columns=NAMES)
    weights = without_unknown_city(frame, weights)
    repair = repairing(frame, attributes=NAMES, wanted=wanted, measure=measure, max_false_share=0.9, **weights)
    released = repair.apply(frame)
    before, after = repair.change_of(frame)
    first = pp.privacy_score(frame, attributes=NAMES, **weights)
    # Missing values of added records are a new value, which may have its own weight; no other record has it.
    again = pp.privacy_score(released, attributes=NAMES, **weights)
    assert before.tolist() == pytest.approx(first.of(frame).tolist(), abs=1e-12)
    assert after.tolist() == pytest.approx(again.of(released)[: len(frame)].tolist(), abs=1e-12)
    assert (after <= before + 1e-12).all()
    assert len(released) == len(frame) + repair.false_rows
    assert repair.false_share == pytest.approx(repair.false_rows / len(released))
    value = after.max() if measure == "maximum" else after.mean()
    assert repair.reached == (value <= wanted + 1e-12)
    if repairing is pp.greedy_repair:
        assert repair.reached or repair.false_share > 0.8
    pd.testing.assert_frame_equal(released[: len(frame)], frame, check_dtype=False)


@steady
@given(st.lists(st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=7))
def test_theorem_6_5_a_filled_hole_scores_zero_and_raises_no_score(people):
    frame = pd.DataFrame([{name: name in person for name in "abcd"} for person in people])
    repair = pp.fill_holes(frame, attributes=list("abcd"), max_size=4, max_false_share=0.9)
    released = repair.apply(frame)
    scores = pp.privacy_score(released, attributes=list("abcd")).of(released)
    assert scores[len(frame) :].tolist() == [0.0] * repair.false_rows
    assert (scores[: len(frame)] <= pp.privacy_score(frame, attributes=list("abcd")).of(frame) + 1e-12).all()


def ring():
    """Example 6.3: three people around the hole ABC, each with an attribute that no attacker knows."""
    people = ["ABD", "BCF", "ACE", "A", "B", "C"]
    return pd.DataFrame([{name: name in person for name in "ABCDEF"} for person in people])


def test_example_6_3_the_hole_in_the_middle_is_filled():
    weights = {"likelihood": dict.fromkeys("DEF", 0), "danger": dict.fromkeys("ABC", 0)}
    repair = pp.fill_holes(ring(), attributes=list("ABCDEF"), **weights)
    assert (repair.maximum_before, repair.maximum_after, repair.reached) == (0.5, 0.0, True)
    assert [{name for name, held in record.items() if held} for record in repair.records] == [{"A", "B", "C"}]
    assert (repair.false_rows, repair.false_share) == (1, pytest.approx(1 / 7))


def test_a_witness_needs_fewer_assumptions_than_a_hole():
    frame = pd.DataFrame({"city": ["Bern", "Bern", "Basel", "Basel"], "disease": ["flu", "flu", "flu", "gout"]})
    roles = {"city": "quasi_identifier", "disease": "sensitive"}
    holes = pp.fill_holes(frame, attributes=["city", "disease"], roles=roles)
    greedy = pp.greedy_repair(frame, attributes=["city", "disease"], roles=roles)
    assert (holes.maximum_after, greedy.maximum_after) == (0.0, 0.0)  # adds Bern with gout, which does not occur
    assert holes.records[0] == {"city": "Bern", "disease": "gout"}
    assert greedy.records[0] == {"city": "Bern", "disease": None}
    assert (greedy.average_before, greedy.average_after) == (0.25, 0.0)


def test_it_stops_before_too_many_rows_are_false():
    frame = pd.DataFrame({"city": [f"town {number}" for number in range(20)], "disease": ["flu", "gout"] * 10})
    repair = pp.greedy_repair(frame, attributes=["city", "disease"], max_false_share=0.1)
    assert (repair.false_rows, repair.reached) == (2, False)
    assert repair.average_after < repair.average_before


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "categories", "nullable"])
def test_records_join_frames_of_every_kind_in_their_own_types(kind):
    plain = pd.DataFrame(
        {
            "city": ["Bern", "Bern", "Basel", "Basel"],
            "age": [30, 30, 41, 41],
            "smoker": [True, True, True, False],
            "day": pd.to_datetime(["2024-01-01"] * 4),
            "note": ["w", "x", "y", "z"],
        }
    )
    made = {
        "pandas": lambda: plain,
        "polars": lambda: pl.from_pandas(plain),
        "arrow": lambda: pa.Table.from_pandas(plain, preserve_index=False),
        "categories": lambda: plain.astype({"city": "category"}),
        "nullable": lambda: plain.astype({"age": "Int64", "smoker": "boolean"}),
    }[kind]()
    names = ["city", "age", "smoker", "day"]
    weights = {"danger": {"city": 0, "age": 0, "day": 0}, "likelihood": {"smoker": 0}}
    repair = pp.greedy_repair(made, attributes=names, max_false_share=0.9, **weights)
    released = repair.apply(made)
    assert type(released) is type(made)
    again = pp.privacy_score(released, attributes=names, **weights)
    assert again.of(released)[:4].tolist() == repair.change_of(made)[1].tolist() == [0.0] * 4
    if kind == "categories":
        assert released["city"].dtype == made["city"].dtype
    if kind == "nullable":
        assert released.dtypes.to_dict() == made.dtypes.to_dict()
    if kind == "pandas":
        assert released["smoker"].dtype == bool
        assert released["day"].dtype == plain["day"].dtype
        assert released["note"].isna().tolist() == [False] * 4 + [True] * repair.false_rows
    if kind in ("polars", "arrow"):
        assert released.schema == made.schema


def test_the_index_of_the_frame_is_ignored():
    frame = ring().set_axis([5, 5, 1, 0, 2, 2])
    repair = pp.greedy_repair(frame, attributes=list("ABCDEF"))
    assert repair.change_of(frame)[0].tolist() == pytest.approx(
        pp.privacy_score(frame, attributes=list("ABCDEF")).of(frame).tolist()
    )
    assert repair.apply(frame).index.tolist() == list(range(6 + repair.false_rows))


def test_missing_values_that_are_dangerous_are_refused_by_column():
    frame = pd.DataFrame({"city": ["Bern", None, "Basel"], "disease": ["flu", "gout", "gout"]})
    with pytest.raises(ParameterError, match="column 'city' has missing values"):
        pp.greedy_repair(frame, attributes=["city", "disease"])
    repair = pp.greedy_repair(frame, attributes=["city", "disease"], danger={("city", None): 0}, max_false_share=0.9)
    assert repair.reached


def test_the_result_contains_numbers_and_no_values():
    frame = pd.DataFrame({"city": ["marker-a", "marker-b"], "disease": ["marker-c", "marker-d"]})
    repair = pp.greedy_repair(frame, attributes=["city", "disease"], max_false_share=0.9)
    plain = json.dumps(repair.to_dict())
    assert "marker" not in plain + repr(repair)
    assert "marker" in json.dumps(repair.to_dict(reveal=True))
    assert repair.to_dict()["people_improved"] == 2
    assert repair.to_dict()["average"] == [repair.average_before, 0.0]


def test_invalid_repairs_are_refused():
    frame = ring()
    for given_options, error in (
        ({"attributes": []}, ColumnError),
        ({"attributes": ["A", "Z"]}, ColumnError),
        ({"attributes": ["A"], "wanted": 2}, ParameterError),
        ({"attributes": ["A"], "wished": 0}, ParameterError),
        ({"attributes": ["A"], "measure": "median"}, ParameterError),
        ({"attributes": ["A"], "max_false_share": 1}, ParameterError),
        ({"attributes": ["A"], "saturation": 0}, ParameterError),
        ({"attributes": list("ABCDEF"), "budget": 1}, TooLargeError),
    ):
        with pytest.raises(error):
            pp.greedy_repair(frame, **given_options)
    repair = pp.greedy_repair(frame, attributes=["A", "D"])
    with pytest.raises(SourceError):
        repair.apply({"A": [True]})
    with pytest.raises(ColumnError):
        repair.apply(frame[["B"]])
    assert np.isfinite(repair.after).all()
