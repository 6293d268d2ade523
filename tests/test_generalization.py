from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.errors import ColumnError, EmptyTableError, HierarchyError, InfeasibleError, ParameterError
from privacy_plugin.frequency.hierarchy import TableHierarchy
from tests.oracles import class_metrics as oracle

AGES = {
    21: (21, "20s", "young", "*"),
    25: (25, "20s", "young", "*"),
    34: (34, "30s", "young", "*"),
    51: (51, "50s", "old", "*"),
    None: (None, None, None, "*"),
}
CITIES = {"Bern": ("Bern", "BE", "*"), "Biel": ("Biel", "BE", "*"), "Basel": ("Basel", "BS", "*")}
HIERARCHIES = {
    "age": TableHierarchy({value: levels[1:] for value, levels in AGES.items() if value is not None}),
    "city": TableHierarchy({value: levels[1:] for value, levels in CITIES.items()}),
}
COLUMNS = ["age", "city", "disease"]

_rows = st.lists(
    st.tuples(st.sampled_from(list(AGES)), st.sampled_from(list(CITIES)), st.sampled_from("abc")),
    min_size=1,
    max_size=14,
)


def frame_of(rows):
    return pd.DataFrame(rows, columns=COLUMNS).astype(object)


def good_by(k=1, l=1, t=None):  # noqa: E741
    """What a class must be, by the definitions, inside the table it is in."""

    def is_good(members, table):
        if len(members) < k or len({row[2] for row in members}) < l:
            return False
        shares = [
            {v: Fraction([row[2] for row in some].count(v), len(some)) for v in {row[2] for row in some}}
            for some in (members, table)
        ]
        return t is None or oracle.earth_mover(*shares, oracle.equal_distance) <= t

    return is_good


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    _rows,
    st.sampled_from([{"k": 2}, {"k": 3}, {"k": 2, "l": 2}, {"l": 2}, {"k": 2, "t": Fraction(1, 4)}, {"k": 50}]),
    st.sampled_from([0.0, 0.1, 0.29, 0.5, 1.0]),
)
def test_the_loss_is_the_least_of_all_nodes_and_the_result_meets_every_requirement(rows, wanted, share):
    requirements = [pp.require("k_anonymity", at_least=wanted.get("k", 1))]
    requirements += [pp.require("l_diversity", at_least=wanted["l"])] if "l" in wanted else []
    requirements += [pp.require("t_closeness", at_most=wanted["t"])] if "t" in wanted else []
    expected = oracle.least_loss(rows, [AGES, CITIES], good_by(**wanted), Fraction(str(share)))
    frame = frame_of(rows)
    given_parts = {"hierarchies": HIERARCHIES, "requirements": requirements, "max_suppression": share}
    if expected is None:
        with pytest.raises(InfeasibleError):
            pp.generalize(frame, **given_parts, sensitive="disease")
        return
    plan = pp.generalize(frame, **given_parts, sensitive="disease")
    assert plan.loss == pytest.approx(float(expected), abs=1e-12)
    released = plan.apply(frame)
    assert len(released) == len(rows) - plan.suppressed
    for requirement in requirements:
        finding = requirement.judge(released, quasi_identifiers=["age", "city"], sensitive="disease")
        assert finding.passed, finding.reason
    left = [tuple(row) for row in released.astype(object).where(released.notna(), None).itertuples(index=False)]
    assert all(good_by(**wanted)(members, left) for members in oracle.equivalence_classes(left, [0, 1]))


def test_the_losses_count_suppressed_people_as_lost_completely():
    rows = [(21, "Bern", "a"), (25, "Bern", "b"), (34, "Bern", "a"), (51, "Basel", "b")]
    plan = pp.generalize(
        frame_of(rows),
        hierarchies=HIERARCHIES,
        requirements=[pp.require("k_anonymity", at_least=2)],
        max_suppression=0.25,
    )
    assert plan.levels == {"age": 2, "city": 0}
    assert (plan.suppressed, plan.rows, plan.suppressed_share) == (1, 4, 0.25)
    assert plan.loss == pytest.approx(0.75 * (2 / 3 + 0) / 2 + 0.25)


def test_a_table_that_is_good_as_it_is_stays_as_it_is():
    frame = frame_of([(21, "Bern", "a"), (21, "Bern", "b")])
    plan = pp.generalize(frame, hierarchies=HIERARCHIES, requirements=[pp.require("k_anonymity", at_least=2)])
    assert (plan.levels, plan.loss, plan.suppressed) == ({"age": 0, "city": 0}, 0, 0)
    pd.testing.assert_frame_equal(plan.apply(frame), frame, check_dtype=False)


def test_a_share_is_read_as_it_is_written():
    """0.29 * 100 is 28.999999999999996 in floating point; twenty-nine of a hundred are twenty-nine hundredths."""
    frame = pd.DataFrame({"age": [*range(29), *[50] * 71]})
    plan = pp.generalize(
        frame,
        hierarchies={"age": TableHierarchy(dict.fromkeys([*range(29), 50], ()))},
        requirements=[pp.require("k_anonymity", at_least=2)],
        max_suppression=0.29,
    )
    assert plan.suppressed == 29


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (
            pp.require("k_anonymity", at_least=5),
            r"4 of 4 rows are in classes that fail k_anonymity at least 5 \(4 rows\)",
        ),
        (pp.require("l_diversity", at_least=3), r"fail l_diversity at least 3"),
        (pp.require("reidentification_risk", variant="average", at_most=0.2), "re-identification risk is 0.25"),
    ],
)
def test_what_is_infeasible_says_what_fails_even_at_the_top(requirement, words):
    rows = [(21, "Bern", "a"), (25, "Bern", "b"), (34, "Bern", "a"), (51, "Basel", "b")]
    with pytest.raises(InfeasibleError, match=words) as caught:
        pp.generalize(
            frame_of(rows),
            hierarchies=HIERARCHIES,
            requirements=[pp.require("k_anonymity", at_least=2), requirement],
            sensitive="disease",
        )
    assert "not even the most general one" in str(caught.value)
    assert "k_anonymity at least 2" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"hierarchies": {}}, ParameterError, "hierarchies is empty"),
        ({"requirements": []}, ParameterError, "requirements is empty"),
        ({"max_suppression": -0.1}, ParameterError, "between 0 and 1"),
        ({"max_suppression": 5}, ParameterError, "between 0 and 1"),
        ({"max_suppression": float("nan")}, ParameterError, "between 0 and 1"),
        ({"max_suppression": True}, ParameterError, "max_suppression"),
        ({"max_suppression": "0.1"}, ParameterError, "max_suppression"),
        ({"loss": "precission"}, ParameterError, "loss"),
        ({"requirements": [pp.require("l_diversity", at_least=2)]}, ParameterError, "sensitive="),
        ({"sensitive": "deseases", "requirements": [pp.require("l_diversity", at_least=2)]}, ColumnError, "deseases"),
        ({"hierarchies": {**HIERARCHIES, "zip": pp.mask_hierarchy(length=2)}}, ColumnError, "zip"),
        ({"hierarchies": {"age": HIERARCHIES["city"]}}, HierarchyError, "does not cover 1 value"),
    ],
)
def test_what_makes_no_sense_is_refused(change, error, words):
    given_parts = {"hierarchies": HIERARCHIES, "requirements": [pp.require("k_anonymity", at_least=2)], **change}
    with pytest.raises(error, match=words):
        pp.generalize(frame_of([(21, "Bern", "a")] * 2), **given_parts)


def test_the_sensitive_column_is_no_quasi_identifier():
    with pytest.raises((ColumnError, ParameterError)):
        pp.generalize(
            frame_of([(21, "Bern", "a")] * 2),
            hierarchies=HIERARCHIES,
            requirements=[pp.require("l_diversity", at_least=1)],
            sensitive="city",
        )


def test_an_empty_table_has_no_plan():
    with pytest.raises(EmptyTableError):
        pp.generalize(frame_of([]), hierarchies=HIERARCHIES, requirements=[pp.require("k_anonymity", at_least=1)])
