"""The gate counts a population by the regions of a local plan, and takes nothing that the plan claims for granted."""

import json
from collections import Counter
from dataclasses import replace
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
from privacy_plugin.errors import InfeasibleError
from privacy_plugin.generalization.local_plan import LocalPlan, read_local_plan
from privacy_plugin.generalization.plan import load_plan
from privacy_plugin.policy.policy import Policy
from tests.sources.loading import ENGINES, LOADERS, text_table

SEX = {"tree": ["F", "M"]}
CITIES = {"Bern": "BE", "Thun": "BE", "Basel": "BS", "Riehen": "BS", "Zug": "ZG"}
CITY = {"tree": {"BE": ["Bern", "Thun"], "BS": ["Basel", "Riehen"], "ZG": ["Zug"]}}


def policy(*requirements: Any, columns: dict[str, Any] | None = None, **anonymize: Any) -> Policy:
    listed = columns or {"sex": {"role": "quasi_identifier", "hierarchy": SEX}}
    return Policy.from_dict(
        {"dataset": "d", "columns": listed, "requirements": list(requirements), "anonymize": anonymize}
    )


def plan_with(released: pd.DataFrame, members: dict[str, list[str]], rules: Policy) -> LocalPlan:
    """Return a plan of one column whose regions are given by label, made from a plan for other data."""
    values = [value for listed in members.values() for value in listed]
    frame = pd.DataFrame({"sex": [*values, *values]})
    made = pp.generalize_locally(
        frame, hierarchies=rules.hierarchies, requirements=[pp.require("k_anonymity", at_least=1)]
    )
    content = json.loads(json.dumps(made.to_dict()))
    labels = list(members)
    content["found"] = {
        "labels": {
            "sex": [{"text": text, "loss": float(text == "*"), "levels": [int(text == "*")]} for text in labels]
        },
        "regions": [[n, int((released["sex"] == text).sum())] for n, text in enumerate(labels)],
        "values": content["found"]["values"],
        "combinations": [
            [number, next(n for n, listed in enumerate(members.values()) if key[1] in listed)]
            for number, key in enumerate(content["found"]["values"]["sex"])
        ],
    }
    return read_local_plan(content)


def test_overlapping_labels_are_counted_by_membership() -> None:
    """Classes "F" with 2 rows and pooled "*" with both M: by label 2 of 6, in truth 2 of 2."""
    everybody = pd.DataFrame({"sex": ["F"] * 4 + ["M"] * 2})
    released = pd.DataFrame({"sex": ["F", "F", "*", "*"]})
    rules = policy({"delta_presence": {"between": [0, 0.6]}}, {"k_map": {"at_least": 3}})
    plan = plan_with(released, {"F": ["F"], "*": ["M"]}, rules)
    verdict = rules.judge(released, population=everybody, plan=plan)
    assert [finding.status for finding in verdict.findings] == ["failed", "failed"]
    assert verdict.findings[0].measurement is not None
    assert verdict.findings[0].measurement.highest == 1  # both M are in the table
    assert verdict.findings[1].value == 2
    assert any("regions of the plan" in note for note in verdict.notes)


def test_without_the_plan_generalized_values_close_the_gate() -> None:
    everybody = pd.DataFrame({"sex": ["F"] * 4 + ["M"] * 2})
    rules = policy({"k_map": {"at_least": 1}})
    assert rules.judge(pd.DataFrame({"sex": ["F", "M"]}), population=everybody).passed  # values of the population
    for rows in (["F", "F", "*", "*"], ["*", "*"]):  # only M, but by the label alone it could be anybody
        verdict = rules.judge(pd.DataFrame({"sex": rows}), population=everybody)
        assert not verdict.evaluated
        assert "Pass the plan" in verdict.reasons[0]


def test_a_table_made_elsewhere_is_judged_by_labels_of_one_level() -> None:
    """A policy without `anonymize:` does not say how the table was made: labels of one level are classes."""
    everybody = pd.DataFrame({"sex": ["F"] * 4 + ["M"] * 2})
    column = {"role": "quasi_identifier", "hierarchy": {"tree": {"*": ["F", "M"]}}}
    rules = pp.Policy.from_dict(
        {"dataset": "d", "columns": {"sex": column}, "requirements": [{"k_map": {"at_least": 6}}]}
    )
    assert rules.judge(pd.DataFrame({"sex": ["*", "*"]}), population=everybody).passed
    assert not rules.judge(pd.DataFrame({"sex": ["F", "F"]}), population=everybody).passed
    mixed = rules.judge(pd.DataFrame({"sex": ["F", "F", "*", "*"]}), population=everybody)
    assert not mixed.evaluated
    assert "several levels" in mixed.reasons[0]


def test_a_plan_that_does_not_fit_closes_the_gate() -> None:
    everybody = pd.DataFrame({"sex": ["F"] * 4 + ["M"] * 2})
    released = pd.DataFrame({"sex": ["F", "F", "*", "*"]})
    rules = policy({"k_map": {"at_least": 1}})
    plan = plan_with(released, {"F": ["F"], "*": ["M"]}, rules)
    assert rules.judge(released, population=everybody, plan=plan).passed
    apart = {"role": "quasi_identifier", "hierarchy": {"tree": {"all": ["F", "M"]}}}
    other = policy({"k_map": {"at_least": 1}}, columns={"sex": apart})
    lies = {
        "are no region of the plan": (rules, plan_with(released, {"*": ["F", "M"]}, rules)),
        "labels do not cover": (rules, plan_with(released, {"F": ["F", "M"], "*": []}, rules)),
        "another hierarchy": (other, plan),
        "more rows than people": (rules, plan_with(released, {"F": [], "*": ["F", "M"]}, rules)),
        "not made by": (rules, pp.generalize(
            everybody, hierarchies=rules.hierarchies, requirements=[pp.require("k_anonymity", at_least=2)]
        )),
    }  # fmt: skip
    for words, (judging, false) in lies.items():
        verdict = judging.judge(released, population=everybody, plan=false)
        assert not verdict.passed, words
        assert any(words in reason for reason in verdict.reasons), verdict.reasons


def test_an_observed_label_that_hides_what_it_covers_closes_the_gate() -> None:
    ages = {"age": {"role": "quasi_identifier", "hierarchy": {"tree": {"low": [1, 2], "high": [3, 4]}}}}
    rules = policy({"k_map": {"at_least": 2}}, columns=ages, labels="observed")
    table, everybody = pd.DataFrame({"age": [1, 2, 3, 4]}), pd.DataFrame({"age": [1, 2, 3, 4] * 2})
    plan = pp.generalize_locally(
        table,
        hierarchies=rules.hierarchies,
        requirements=[pp.require("k_anonymity", at_least=2)],
        labels="observed",
    )
    released = plan.apply(table)
    assert rules.judge(released, population=everybody, plan=plan).passed
    first = plan.found.labels[0][0]
    assert first.observed is not None
    wide = replace(first, observed=replace(first.observed, ends=("1", "4")))
    forged = replace(plan, found=replace(plan.found, labels=((wide, *plan.found.labels[0][1:]),)))
    verdict = rules.judge(released, population=everybody, plan=forged)
    assert "not written as what it covers" in verdict.reasons[0]


@settings(max_examples=60, deadline=None)
@given(
    people=st.lists(st.tuples(st.sampled_from(list(CITIES)), st.sampled_from("FM")), min_size=4, max_size=40),
    chosen=st.sets(st.integers(0, 39), min_size=2),
    bound=st.sampled_from([0.5, 0.75, 1]),
)
def test_the_gate_counts_as_the_definition_says(people: list[tuple[str, str]], chosen: set[int], bound: float) -> None:
    """Presence of everybody from the definition: rows of the released class / people whom the plan puts into it."""
    columns = {
        "city": {"role": "quasi_identifier", "hierarchy": CITY},
        "sex": {"role": "quasi_identifier", "hierarchy": SEX},
    }
    everybody = pd.DataFrame(people, columns=["city", "sex"])
    table = everybody.iloc[[n for n in sorted(chosen) if n < len(people)]].reset_index(drop=True)
    if table.empty:
        return
    limit = {"delta_presence": {"between": [0, bound]}}
    rules = policy(limit, columns=columns, max_suppression=0.5)
    try:
        made = anonymize(table, policy=rules, population=everybody)
    except InfeasibleError:
        return
    plan: Any = made.plan
    verdict = rules.judge(made.made, population=everybody, plan=plan)
    assert verdict.passed, verdict.reasons
    # every combination of the register becomes what the plan writes for it; apply the plan to the register to see it
    ungated = replace(plan, requirements=(pp.require("k_anonymity", at_least=1),), uncovered="suppress")
    try:
        written = replace(ungated, max_suppression=1.0).apply(everybody)
    except InfeasibleError:
        return
    there, here = Counter(written.itertuples(index=False)), Counter(made.made.itertuples(index=False))
    presence = [Fraction(rows, there[labels]) for labels, rows in here.items()]
    measured = verdict.findings[0].measurement
    assert measured is not None
    assert measured.highest == max(presence)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_and_a_saved_plan(engine: str, tmp_path: Path) -> None:
    rows = [(city, sex) for city in CITIES for sex in "FM" for _ in range(1 + (city > "C"))]
    columns = {
        "city": {"role": "quasi_identifier", "hierarchy": CITY},
        "sex": {"role": "quasi_identifier", "hierarchy": SEX},
    }
    rules = policy({"k_map": {"at_least": 5}}, columns=columns)
    assert rules.method == "generalize_locally"
    table = pd.DataFrame(rows, columns=["city", "sex"])
    everybody = pd.concat([table] * 2, ignore_index=True)
    made = anonymize(table, policy=rules, population=everybody)
    assert made.plan is not None
    made.plan.save(tmp_path / "plan.json")
    saved = load_plan(tmp_path / "plan.json")
    data = LOADERS[engine](text_table(**{name: made.made[name].tolist() for name in columns}), tmp_path)
    verdict = rules.judge(data, population=everybody, plan=saved, fingerprint=True)
    assert verdict.passed, verdict.reasons
    assert verdict.population_fingerprint is not None
    assert verdict.population_fingerprint.scheme.endswith("+regions")
    assert isinstance(saved, LocalPlan)
    assert isinstance(made.plan, LocalPlan)
    assert saved.digest == made.plan.digest
    assert np.unique(saved.found.members, axis=0).shape[0] == len(saved.found)
