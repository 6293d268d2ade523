"""A repair by policy: decoys that undo nothing, a gate that counts people, and policies that no repair meets."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.repair.decoys import draw_rows
from privacy_plugin.anonymizers.repair.score_repair import repair_score
from privacy_plugin.errors import InfeasibleError, PolicyError
from privacy_plugin.frequency import FrequencyTable
from tests.oracles import score as oracle

steady = settings(deadline=None, derandomize=True, max_examples=60)

POLICY: dict[str, Any] = {
    "dataset": "visits",
    "columns": {"zip": "quasi_identifier", "disease": "sensitive", "cost": "insensitive"},
    "requirements": [{"privacy_score": {"statistic": "maximum", "at_most": 0}}],
    "anonymize": {"method": "greedy_repair"},
}
VISITS = pd.DataFrame({"zip": ["8001", "8002", "8002"], "disease": ["flu", "flu", "gout"], "cost": [1, 2, 3]})


def policy(*requirements: dict[str, Any], **changes: Any) -> pp.Policy:
    return pp.Policy.from_dict({**POLICY, "requirements": [*POLICY["requirements"], *requirements], **changes})


@st.composite
def tables(draw: Any) -> list[tuple[Any, ...]]:
    width = draw(st.integers(2, 4))
    columns = [draw(st.sampled_from([[True, False], ["x", "y"], ["p", "q", "r"]])) for _ in range(width)]
    found: list[tuple[Any, ...]] = draw(st.lists(st.tuples(*map(st.sampled_from, columns)), min_size=2, max_size=7))
    return found


def oracle_scores(rows: list[tuple[Any, ...]], columns: list[list[Any]]) -> list[Any]:
    """Scores by definition: a boolean column is one attribute, any other has one a value; all weights are 1."""
    listed = [(c, v) for c, values in enumerate(columns) for v in values if v is not False]
    people = [frozenset(n for n, (c, v) in enumerate(listed) if row[c] == v) for row in rows]
    return oracle.scores(people, likelihood=[1] * len(listed), danger=[1] * len(listed))


@pytest.mark.parametrize("method", ["witnesses", "holes"])
@given(rows=tables(), seed=st.integers(0, 5))
@steady
def test_drawn_values_undo_nothing_of_the_repair(method: Any, rows: list[tuple[Any, ...]], seed: int) -> None:
    names = [f"c{number}" for number in range(len(rows[0]))]
    table = FrequencyTable.from_rows(names, rows)
    repair = repair_score(table, method=method, attributes=names, max_false_share=0.9)
    drawn, _ = draw_rows(table, repair.records, attributes=names, generator=np.random.default_rng(seed))
    distinct = [table.values(row) for row in range(table.distinct)]
    everything = [*distinct, *drawn]
    columns = [sorted({row[c] for row in everything if row[c] is not None}, key=str) for c in range(len(names))]
    booleans = {c for c, values in enumerate(columns) if set(values) <= {True, False}}
    columns = [[True] if c in booleans else values for c, values in enumerate(columns)]
    after = oracle_scores(everything, columns)[: len(distinct)]
    for found, bare, before in zip(after, repair.after, repair.before, strict=True):
        assert float(found) <= bare + 1e-9 <= before + 1e-8


def test_the_gate_counts_people_and_not_added_rows() -> None:
    """One person and one added row in a class are not two people."""
    strict = policy({"k_anonymity": {"at_least": 2}}, {"l_diversity": {"variant": "distinct", "at_least": 2}})
    made = anonymize(VISITS, policy=strict).made
    assert made.groupby("zip").size().min() == 2
    assert made.groupby("zip")["disease"].nunique().min() == 2
    verdict = strict.judge(made, population=VISITS)
    values = {finding.requirement.metric: (finding.status, finding.value) for finding in verdict.findings}
    assert values == {"privacy_score": ("passed", 0), "k_anonymity": ("failed", 1), "l_diversity": ("failed", 1)}


def test_the_score_is_that_of_people_while_added_rows_take_inferences_away() -> None:
    average = pp.Policy.from_dict({**POLICY, "requirements": [{"privacy_score": {"at_most": 0.2}}]})
    marked = VISITS.assign(added="person")
    decoy = pd.DataFrame([{"zip": "8009", "disease": "acne", "cost": 1, "added": "added"}])
    useless = pd.concat([marked, decoy], ignore_index=True)
    found = average.judge(useless, population=VISITS).findings[0].measurement
    assert found is not None
    assert found.value == pytest.approx(1 / 6)  # one of three people scores 1/2; the decoy's 1/2 counts for nobody
    assert found.rows == 3


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda made: made.assign(added="added"), "not the rows of the source"),
        (lambda made: made.assign(added="person"), "not the rows of the source"),
        (lambda made: made.assign(added=made["added"].replace("person", "yes")), "must have 'person' or 'added'"),
        (lambda made: made.assign(zip=made["zip"].replace("8001", "8002")), "not the rows of the source"),
        (lambda made: made.drop(columns="added"), "judge the table that its method makes"),
    ],
)
def test_real_people_cannot_be_marked_as_added(change: Any, problem: str) -> None:
    made = anonymize(VISITS, policy=policy()).made
    assert policy().judge(made, population=VISITS).passed
    verdict = policy().judge(change(made), population=VISITS)
    assert not verdict.passed
    assert problem in verdict.reasons[0]


def test_a_repaired_table_is_not_judged_without_its_source() -> None:
    made = anonymize(VISITS, policy=policy()).made
    assert "judged together with its source" in policy().judge(made).reasons[0]


@pytest.mark.parametrize("role", ["added", "decoy"])
def test_no_policy_names_the_role(role: str) -> None:
    with pytest.raises(PolicyError, match="unknown role"):
        policy(columns={**POLICY["columns"], "mark": role})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"requirements": [{"k_anonymity": {"at_least": 2}}]}, "needs one requirement privacy_score, not 0"),
        ({"requirements": [{"privacy_score": {"at_most": 0.1, "confidence": 0.9}}]}, "without confidence"),
        (
            {"requirements": [*POLICY["requirements"], {"delta_presence": {"between": [0, 1]}}]},
            "compares a repaired table with its source",
        ),
        ({"columns": {**POLICY["columns"], "added": "insensitive"}}, "adds a column 'added'"),
        ({"columns": {**POLICY["columns"], "name": "unit"}}, "one row per person"),
        ({"anonymize": {"method": "greedy_repair", "max_false_share": 2}}, "between 0 and 1"),
        ({"anonymize": {"method": "greedy_repair", "wanted": 0.1}}, "unknown option of greedy_repair"),
    ],
)
def test_policies_that_no_repair_meets_are_refused_when_loaded(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError, match=problem):
        pp.Policy.from_dict({**POLICY, **changes})


def test_too_few_false_rows_are_an_error_and_no_table() -> None:
    with pytest.raises(InfeasibleError, match="raise max_false_share"):
        anonymize(VISITS, policy=policy(anonymize={"method": "greedy_repair", "max_false_share": 0.1}))
