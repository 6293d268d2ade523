"""An Anatomy pair whose people are generalized: recognized by nobody, and the values as safe as before."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacy_plugin as pp
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.errors import InfeasibleError, ParameterError, PolicyError
from privacy_plugin.expectations.checkpoint import validate
from privacy_plugin.expectations.suite import build_suite, runner_parameters
from privacy_plugin.sources import open_source
from privacy_plugin.sources.bundle import Bundle
from tests.expectations.two_tables import Placed, everywhere
from tests.oracles import population as oracle
from tests.sources.loading import ENGINES, LOADERS, Table, target_of

AGES = {"intervals": {"start": 0, "stop": 100, "widths": [5, 20]}}
CITY_PATHS = {"Bern": ("west", "*"), "Genf": ("west", "*"), "Chur": ("east", "*"), "Davos": ("east", "*")}
CITIES = {"tree": {"*": {"west": ["Bern", "Genf"], "east": ["Chur", "Davos"]}}}
QI = ["age", "city"]
PEOPLE = [(20 + n // 2, list(CITY_PATHS)[n * n % 4], "abcde"[n % 5]) for n in range(60)]
KINDS = {"age": "integer", "city": "text", "disease": "text"}
TABLE = Table(kinds=KINDS, values=dict(zip(KINDS, zip(*PEOPLE, strict=True), strict=True)))
HIERARCHIES = {"age": pp.interval_hierarchy(**AGES["intervals"]), "city": pp.tree_hierarchy(CITIES["tree"])}
FIVE = pp.require("k_anonymity", at_least=5)
ASKED: dict[str, Any] = {
    "quasi_identifiers": QI,
    "sensitive": "disease",
    "knowledge": 1,
    "below": 0.6,
    "generalize": True,
    "hierarchies": HIERARCHIES,
}


def policy_dict(**changes: Any) -> dict[str, Any]:
    return {
        "dataset": "visits",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": AGES},
            "city": {"role": "quasi_identifier", "hierarchy": CITIES},
            "disease": "sensitive",
        },
        "requirements": [{"maximum_disclosure": {"knowledge": 1, "below": 0.6}}, {"k_anonymity": {"at_least": 5}}],
        "anonymize": {"method": "bucketize", "knowledge": 1, "below": 0.6, "generalize": True},
        **changes,
    }


def labels_of(data: Any) -> Counter[tuple[Any, ...]]:
    table = open_source(data).frequencies(QI)
    return Counter({table.values(row): int(count) for row, count in enumerate(table.counts)})


def covers(label: Any, value: Any, hierarchy: pp.Hierarchy) -> bool:
    return str(label) in {str(value), *map(str, hierarchy.path_of(value) or ())}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_policy_makes_a_pair_that_passes_both_kinds_of_requirements(engine: str, tmp_path: Path) -> None:
    policy = pp.Policy.from_dict(policy_dict())
    result = anonymize(LOADERS[engine](TABLE, tmp_path), policy=policy, target=target_of(engine, tmp_path))
    verdict = policy.judge(result.made, fingerprint=True)
    assert verdict.passed, verdict.reasons
    by_metric = {finding.requirement.metric: finding for finding in verdict.findings}
    people = open_source(result.made["people"])
    shown = labels_of(people)
    assert by_metric["k_anonymity"].value == min(shown.values()) >= 5
    assert sum(shown.values()) == 60
    assert set(people.columns) == {"age", "city", "bucket"}
    values = open_source(result.made["values"])
    assert values.frequencies(["bucket"]).has_rows_of(people.frequencies(["bucket"]))
    disclosed = pp.maximum_disclosure(values, quasi_identifiers=["bucket"], sensitive="disease", knowledge=1)
    assert by_metric["maximum_disclosure"].value == disclosed.value
    assert not any("can be recognized" in note for note in verdict.notes)
    assert 0 < result.to_dict()["buckets"]["loss"] < 1


def test_every_person_is_in_a_row_that_covers_them() -> None:
    """The labels are those of a plan by the quasi-identifiers alone, and a class covers its people."""
    made = pp.bucketize(pd.DataFrame(TABLE.values), **ASKED, requirements=[FIVE])
    plan = pp.generalize_locally(pd.DataFrame(TABLE.values)[QI], hierarchies=HIERARCHIES, requirements=[FIVE])
    applied = plan.apply(pd.DataFrame(TABLE.values)[QI])
    assert labels_of(made.individuals) == labels_of(applied.astype(str))
    for (_, shown), (age, city, _) in zip(applied.iterrows(), PEOPLE, strict=True):
        assert covers(shown["age"], age, HIERARCHIES["age"])
        assert covers(shown["city"], city, HIERARCHIES["city"])
    assert made.loss == pytest.approx(plan.loss)


rows = st.lists(
    st.tuples(st.integers(20, 40), st.sampled_from(list(CITY_PATHS)), st.sampled_from("abc")), min_size=6, max_size=14
)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(table=rows, k=st.integers(2, 4), data=st.data())
def test_labels_follow_from_the_quasi_identifiers_alone(table: list[Any], k: int, data: st.DataObject) -> None:
    """Whatever values people have, and in whatever order they come, the same labels; so no world is ruled out."""
    asked = {**ASKED, "knowledge": 0, "below": 1, "requirements": [pp.require("k_anonymity", at_least=k)]}
    frame = pd.DataFrame(table, columns=list(KINDS))
    if frame["disease"].nunique() < 2:
        return
    made = pp.bucketize(frame, **asked, generator=np.random.default_rng(1))
    shown = labels_of(made.individuals)
    assert min(shown.values()) >= k
    exchanged = data.draw(st.permutations(frame["disease"].tolist()))
    assert labels_of(pp.bucketize(frame.assign(disease=exchanged), **asked).individuals) == shown
    order = data.draw(st.permutations(range(len(frame))))
    again = pp.bucketize(frame.iloc[order].reset_index(drop=True), **asked)
    assert labels_of(again.individuals) == shown
    for people in (made.individuals, again.individuals):
        texts = [tuple(map(str, row)) for row in people[QI].itertuples(index=False)]
        assert texts == sorted(texts)  # by what they show: nothing is left of an order


def test_presence_and_recognition_against_a_population() -> None:
    """With a register, labels have one level for each column, so that they alone tell whom they stand for."""
    register = pd.DataFrame([row for row in PEOPLE for _ in range(4)], columns=list(KINDS))[QI]
    visits = pd.DataFrame(TABLE.values)
    asked = [{"delta_presence": {"between": [0, 0.3]}}, {"k_map": {"at_least": 20}}]
    policy = pp.Policy.from_dict(
        policy_dict(requirements=[{"maximum_disclosure": {"knowledge": 1, "below": 0.6}}, *asked])
    )
    result = anonymize(visits, policy=policy, population=register)
    verdict = policy.judge(result.made, population=register)
    assert verdict.passed, verdict.reasons
    people = result.made["people"]
    everybody = [tuple(row) for row in register.itertuples(index=False)]
    paths = [{v: tuple(map(str, h.path_of(v) or ())) for v in register[name]} for name, h in HIERARCHIES.items()]
    text = [tuple(map(str, row)) for row in everybody]
    text_paths = [{str(v): path for v, path in each.items()} for each in paths]
    found = oracle.presence([tuple(row) for row in people[QI].itertuples(index=False)], text, text_paths)
    assert max(found) <= Fraction(3, 10)
    assert max(found) == next(f for f in verdict.findings if f.requirement.metric == "delta_presence").value
    with pytest.raises(ParameterError, match="give it as population"):
        anonymize(visits, policy=policy)


@everywhere
@pytest.mark.great_expectations
def test_great_expectations_judges_both_tables(engine: Placed, tmp_path: Path) -> None:
    policy = pp.Policy.from_dict(policy_dict())
    made = anonymize(pd.DataFrame(TABLE.values), policy=policy).made
    raw = made["people"].assign(age=[str(age) for age in TABLE.values["age"]])
    for number, (table, frame, metric, passes) in enumerate(
        [
            ("people", made["people"], "k_anonymity", True),
            ("people", raw, "k_anonymity", False),
            ("values", made["values"], "maximum_disclosure", True),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        batch, _ = engine(frame, frame, folder)
        suite = build_suite(policy, name=table, table=table)
        result = batch.validate(suite, expectation_parameters=runner_parameters(suite))
        outcome = {one.expectation_config.type: one.success for one in result.results}
        assert {name for name in outcome if metric in name}
        assert all(success is (passes or metric not in name) for name, success in outcome.items()), outcome


@pytest.mark.great_expectations
def test_a_suite_for_each_table() -> None:
    policy = pp.Policy.from_dict(policy_dict())
    made = anonymize(pd.DataFrame(TABLE.values), policy=policy).made
    outcome = validate(policy, Bundle(made))
    assert (outcome.success, outcome.evaluated) == (True, 4)  # the columns of both tables, and both requirements


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"requirements": [{"maximum_disclosure": {"knowledge": 1, "below": 0.6}}]},
            "needs a requirement on the table",
        ),
        ({"requirements": [{"k_anonymity": {"at_least": 5}}]}, "protects sensitive values; add a requirement"),
        (
            {"columns": {"age": "quasi_identifier", "city": "quasi_identifier", "disease": "sensitive"}},
            "needs a hierarchy of 'age', 'city'",
        ),
        (
            {
                "columns": {**policy_dict()["columns"], "who": "unit"},
                "requirements": [*policy_dict()["requirements"], {"across_releases": {}}],
                "anonymize": {**policy_dict()["anonymize"], "releases": "together"},
            },
            "does not go with releases: together",
        ),
        ({"anonymize": {**policy_dict()["anonymize"], "generalize": "yes"}}, "generalize must be true or false"),
        ({"anonymize": {**policy_dict()["anonymize"], "generalize": False}}, "or generalize: true"),
    ],
)
def test_a_policy_that_cannot_work_raises_when_loaded(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        pp.Policy.from_dict(policy_dict(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"requirements": []}, "needs requirements on identity"),
        ({"requirements": [pp.require("l_diversity", at_least=2)]}, "needs requirements on identity"),
        ({"requirements": [FIVE], "hierarchies": {"age": HIERARCHIES["age"]}}, "one of every quasi-identifier"),
        ({"requirements": [FIVE], "generalize": False}, "need generalize=True"),
        ({"requirements": [pp.require("delta_presence", between=(0, 0.5))]}, "give it as population"),
    ],
)
def test_arguments_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pp.bucketize(pd.DataFrame(TABLE.values), **{**ASKED, **changes})


def test_nothing_is_written_where_no_labels_suffice(tmp_path: Path) -> None:
    pd.DataFrame(TABLE.values).to_csv(tmp_path / "raw.csv", index=False)
    targets = [str(tmp_path / "people.csv"), str(tmp_path / "values.csv")]
    with pytest.raises(InfeasibleError):
        pp.bucketize(
            tmp_path / "raw.csv", **ASKED, requirements=[pp.require("k_anonymity", at_least=61)], targets=targets
        )
    assert [path.name for path in tmp_path.iterdir()] == ["raw.csv"]
