"""Regions of c-confident delta-presence: every region by every world, judged again by labels alone, and by the gate."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.anonymizers.multidimensional_presence import ConfidentGeneralization
from privacy_plugin.errors import InfeasibleError, ParameterError, PolicyError
from privacy_plugin.report import render_report
from privacy_plugin.sources import open_source
from tests.metrics.populations import COLUMNS, HIERARCHIES, PATHS, drawn
from tests.oracles import population as oracle
from tests.sources.loading import ENGINES, Table, pair, target_of

shares = st.fractions(0, 1, max_denominator=8)


def frame_of(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype(object)


def shows(column: int, value: Any, label: Any) -> bool:
    return label in (value, None if value is None else str(value), *PATHS[column][value])


def released_rows(plan: Any, table: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    made = open_source(plan.apply(frame_of(table))).frequencies(COLUMNS)
    return [made.values(row) for row in range(made.distinct) for _ in range(int(made.counts[row]))]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    both=drawn(),
    delta=st.tuples(shares, shares).map(sorted),
    wanted=st.sampled_from(["1/2", "9/10", "1/1"]),
    together=st.booleans(),
)
def test_every_region_is_confident_in_every_world(both: Any, delta: Any, wanted: str, together: bool) -> None:
    """The true confidence, known the table itself, is never below what was asked; levels for all rows lose no less."""
    table, population = both
    assume(len(population) - len(table) <= 5)
    known: dict[str, Any] = {"population_size": len(population), "delta": delta}
    if together:
        known |= {"marginals": {}, "joint": [pp.frequency_table(frame_of(population), COLUMNS)]}
    else:
        known["marginals"] = pp.population_marginals(frame_of(population), columns=COLUMNS)
    requirement = pp.require("presence_confidence", at_least=wanted, **known)
    try:
        levels = pp.generalize(frame_of(table), hierarchies=HIERARCHIES, requirements=[requirement], loss="loss_metric")
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            pp.multidimensional_presence(frame_of(table), hierarchies=HIERARCHIES, confidence=wanted, **known)
        return
    found = pp.multidimensional_presence(frame_of(table), hierarchies=HIERARCHIES, confidence=wanted, **known)
    published = released_rows(found, table)
    blocks = [(0, 1)] if together else [(0,), (1,)]
    exact = oracle.confidence_with_joint(table, population, blocks, *delta, published, shows)
    assert Fraction(wanted) <= found.confidence <= exact
    assert found.exact_loss <= loss_of(population, released_rows(levels, table))
    assert found.exact_loss == loss_of(population, published)
    assert found.classes == len(set(published))
    assert found.discernibility == sum(count**2 for count in Counter(published).values())
    with_labels = pp.require("presence_confidence", at_least=wanted, hierarchies=HIERARCHIES, **known)
    assert with_labels.judge(found.apply(frame_of(table)), quasi_identifiers=COLUMNS).passed


def loss_of(population: list[tuple[Any, ...]], published: list[tuple[Any, ...]]) -> Fraction:
    leaves = [{person[i] for person in population} for i in (0, 1)]
    total = Fraction(0)
    for row in published:
        for i, value in enumerate(row):
            covered = sum(shows(i, leaf, value) for leaf in leaves[i])
            total += Fraction(covered - 1, max(len(leaves[i]) - 1, 1))
    return total / (2 * len(published))


AGES = {"tree": {"*": {"young": ["30"], "old": ["41", "55"]}}}
CITIES = {"tree": {"*": {"west": ["Bern", "Genf"], "east": ["Chur"]}}}
KINDS = {"name": "text", "age": "text", "city": "text", "ward": "text"}
PEOPLE = [("30", "Bern")] * 40 + [("41", "Genf")] * 30 + [("55", "Chur")] * 20 + [("30", "Chur")] * 30
VISITS = [PEOPLE[n] for n in (0, 1, 2, 45, 75, 95)]
ASKED = {
    "marginals": {"age": {"30": 70, "41": 30, "55": 20}, "city": {"Bern": 40, "Genf": 30, "Chur": 50}},
    "population_size": 120,
    "delta": [0, 0.1],
    "at_least": 0.9,
}


def policy_of(**changes: Any) -> pp.Policy:
    return pp.Policy.from_dict(
        {
            "dataset": "visits",
            "columns": {
                "name": "identifier",
                "age": {"role": "quasi_identifier", "hierarchy": AGES},
                "city": {"role": "quasi_identifier", "hierarchy": CITIES},
                "ward": "insensitive",
            },
            "requirements": [{"presence_confidence": ASKED}],
            "anonymize": {"method": "multidimensional_presence"},
            **changes,
        }
    )


def table_of(rows: list[tuple[str, str]]) -> Table:
    ages, cities = zip(*rows, strict=True)
    names = [f"MARKER person {n}" for n in range(len(rows))]
    return Table(kinds=KINDS, values={"name": names, "age": ages, "city": cities, "ward": ["a"] * len(rows)})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_policy_without_a_register_passes_the_gate_on_every_source(engine: str, tmp_path: Any) -> None:
    policy = policy_of()
    visits, _ = pair(engine, table_of(VISITS), table_of(PEOPLE), tmp_path)
    raw = policy.judge(pd.DataFrame(table_of(VISITS).values).drop(columns="name"))
    assert [finding.status for finding in raw.findings] == ["failed"]
    result = anonymize(visits, policy=policy, target=target_of(engine, tmp_path))
    assert isinstance(result.result, ConfidentGeneralization)
    verdict = policy.judge(result.made, fingerprint=True)
    assert verdict.passed, verdict.reasons
    made = open_source(result.made).frequencies(["age", "city"])
    assert len({made.values(row)[0] for row in range(made.distinct)} & {"young", "old", "*"}) > 0
    regions = result.to_dict()["regions"]
    assert regions["confidence"] == float(verdict.findings[0].value or 0)
    assert regions["confidence"] >= 0.9
    assert "MARKER" not in str(result.to_dict())
    assert "confidence of at least" in str(result.describe())


def test_a_report_and_a_missing_requirement() -> None:
    policy, visits = policy_of(), pd.DataFrame(table_of(VISITS).values)
    result = anonymize(visits, policy=policy)
    page = render_report(policy=policy, verdicts=[("anonymized", policy.judge(result.made))], plan=result.result)
    assert "with a confidence of at least" in page
    for requirements in ([{"k_anonymity": {"at_least": 2}}], [{"presence_confidence": ASKED}] * 2):
        with pytest.raises(PolicyError, match="or one presence_confidence"):
            policy_of(requirements=requirements)


def test_another_table_in_these_regions_is_measured_again() -> None:
    options = {name: ASKED[name] for name in ("marginals", "population_size", "delta")}
    hierarchies = {"age": pp.tree_hierarchy(AGES["tree"]), "city": pp.tree_hierarchy(CITIES["tree"])}
    visits = pd.DataFrame(VISITS, columns=["age", "city"])
    plan = pp.multidimensional_presence(visits, hierarchies=hierarchies, confidence=0.9, **options)
    with pytest.raises(InfeasibleError, match="made for another table"):
        plan.apply(pd.concat([visits] * 5))
    with pytest.raises(ParameterError, match="do not occur in the table that the regions were made for"):
        plan.apply(pd.DataFrame([("30", "Genf")], columns=["age", "city"]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give the population, or a confidence"),
        ({"population": True, "confidence": 0.9}, "give the population, or a confidence"),
        ({"population": True, "population_size": 9}, "stand in for the population"),
        ({"confidence": 0.9}, "population_size must be"),
        ({"confidence": 0.9, "population_size": 120}, "marginals must be"),
        ({"confidence": 2, **{n: ASKED[n] for n in ("marginals", "population_size")}}, "at most 1"),
        ({"confidence": 0.9, "population_size": 130, "marginals": ASKED["marginals"]}, "do(es)? not list everybody"),
    ],
)
def test_what_is_known_is_checked(given: dict[str, Any], words: str) -> None:
    visits = pd.DataFrame(VISITS, columns=["age", "city"])
    given = {**given, "population": visits} if given.get("population") else given
    hierarchies = {"age": pp.tree_hierarchy(AGES["tree"]), "city": pp.tree_hierarchy(CITIES["tree"])}
    with pytest.raises(ParameterError, match=words):
        pp.multidimensional_presence(visits, hierarchies=hierarchies, delta=(0, 0.2), **given)


def test_required_coverage_leaves_nobody_uncovered() -> None:
    """With a lower bound, a split that would leave possible people in no region is not made."""
    hierarchies = {"age": pp.tree_hierarchy(AGES["tree"]), "city": pp.tree_hierarchy(CITIES["tree"])}
    visits = pd.DataFrame(VISITS, columns=["age", "city"])
    known: dict[str, Any] = {n: ASKED[n] for n in ("marginals", "population_size")}
    found = pp.multidimensional_presence(
        visits, hierarchies=hierarchies, delta=(0.001, 0.5), confidence=0.5, coverage="required", **known
    )
    assert isinstance(found, ConfidentGeneralization)
    assert found.presence.details["uncovered_possible_tuples"] == 0
    assert found.confidence >= Fraction(1, 2)
