"""Audits of generated tables at the gate: one slot for the second table, and a pass that is not a proof."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import privacy_plugin as pp
from privacy_plugin.cli.app import app
from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.metrics.registry import CAVEATS, metrics

REAL = pd.DataFrame(
    {"age": ["zq1", "zq2", "zq3", "zq4"] * 5, "ill": ["yes", "no"] * 10, "city": ["a", "b", "c", "d"] * 5}
)
MADE = pd.DataFrame(
    {"age": ["zq1", "zq2", "zq3", "zq1"] * 5, "ill": ["yes", "no"] * 10, "city": ["a", "b", "d", "c"] * 5}
)
COLUMNS = {"age": "quasi_identifier", "ill": "sensitive", "city": "insensitive"}
CHANNEL = [["3/4", "1/4"], ["1/4", "3/4"]]


def policy(*requirements: dict[str, Any], columns: dict[str, Any] | None = None) -> pp.Policy:
    return pp.Policy.from_dict({"dataset": "visits", "columns": columns or COLUMNS, "requirements": list(requirements)})


def test_which_metrics_protect_and_which_do_not() -> None:
    kinds = {name: metric.kind for name, metric in metrics().items() if metric.kind != "privacy"}
    assert kinds == {
        "compression_difference": "utility",
        "epsilon_dependence": "audit",
        "itemset_difference": "utility",
        "learned_accuracy": "utility",
        "query_error": "utility",
        "repeated_records": "audit",
        "unique_itemsets": "audit",
        "usability": "utility",
    }
    assert all(metric.kind == "privacy" or metric.second_table != "population" for metric in metrics().values())


def test_a_policy_of_audits_passes_without_calling_the_table_private() -> None:
    rules = policy(
        {"repeated_records": {"at_most": 1}},
        {"unique_itemsets": {"largest": 2, "at_most": 1}},
        {"itemset_difference": {"at_most": 1, "attributes": ["age", "ill", "city"]}},
        {"compression_difference": {"support": "1/10", "at_most": 5}},
        {"learned_accuracy": {"target": "ill", "at_least": 0.5}},
    )
    verdict = rules.judge(MADE, population=REAL, fingerprint=True)
    assert verdict.passed, verdict.reasons
    reasons = [finding.reason for finding in verdict.findings]
    assert [CAVEATS["audit"] in reason for reason in reasons] == [True, True, False, False, False]
    assert [CAVEATS["utility"] in reason for reason in reasons] == [False, False, True, True, True]
    assert not any("people" in reason for reason in reasons)
    assert any("not that the table is private" in note for note in verdict.notes)
    assert verdict.population_fingerprint.columns == ("age", "city", "ill")
    shown = json.dumps(verdict.to_dict(), allow_nan=False)
    assert "zq" not in shown


def test_a_failure_names_the_people_it_concerns() -> None:
    rules = policy({"repeated_records": {"at_most": 0}}, {"learned_accuracy": {"target": "ill", "above": 1}})
    copied, useless = rules.judge(MADE, population=REAL).reasons
    assert "An attacker who takes a generated record of age, ill for a real one" in copied
    assert "An analyst who learns from age, ill" in useless


def test_usefulness_alone_opens_no_gate() -> None:
    with pytest.raises(PolicyError, match="about utility"):
        policy({"learned_accuracy": {"target": "ill", "at_least": 0}}, {"itemset_difference": {"at_most": 9}})
    both = policy({"k_anonymity": {"at_least": 2}}, {"learned_accuracy": {"target": "ill", "at_least": 0.1}})
    assert both.notes == ()


def test_one_policy_compares_with_one_table() -> None:
    """Otherwise the register of a k-map would be taken for the original, or the original for everybody."""
    with pytest.raises(PolicyError, match="one policy compares with one second table"):
        policy({"repeated_records": {"at_most": 1}}, {"k_map": {"at_least": 2}})
    mixed = (pp.require("repeated_records", at_most=1), pp.require("k_map", at_least=2))
    with pytest.raises(PolicyError, match="one policy compares with one second table"):
        pp.Policy(dataset="visits", roles=COLUMNS, requirements=mixed).judge(MADE, population=REAL)


def test_without_the_original_the_gate_is_closed() -> None:
    verdict = policy({"repeated_records": {"at_most": 1}}).judge(MADE)
    assert not verdict.passed
    assert not verdict.evaluated
    assert "needs the original table that this one was made from" in verdict.reasons[0]


def test_generalizing_cannot_aim_at_an_audit() -> None:
    ages = pp.tree_hierarchy({"*": ["zq1", "zq2", "zq3", "zq4"]})
    for requirement in (pp.require("repeated_records", at_most=1), pp.require("itemset_difference", at_most=1)):
        with pytest.raises(ParameterError, match="judges a finished table"):
            pp.generalize(MADE, hierarchies={"age": ages}, requirements=[requirement], population=REAL)


def test_an_audit_may_name_its_columns_and_a_privacy_metric_may_not() -> None:
    named = policy({"repeated_records": {"attributes": ["city", "age"], "at_most": 1}})
    assert str(named.requirements[0]) == "repeated_records(city, age) at most 1"
    assert pp.Policy.from_dict({**_written(named)}).digest == named.digest
    measured = named.judge(MADE, population=REAL).findings[0].measurement
    assert measured is not None
    assert measured.parameters["attributes"] == ["city", "age"]
    for attributes in ([], ["age", "age"], ["agee"], "age", [3], ["person"]):
        with pytest.raises(PolicyError):
            policy(
                {"repeated_records": {"attributes": attributes, "at_most": 1}},
                columns={**COLUMNS, "person": "identifier"},
            )
    for metric in ("k_anonymity", "privacy_score"):
        with pytest.raises(ParameterError, match="remove attributes"):
            pp.require(metric, attributes=["age"], **({"at_least": 2} if metric == "k_anonymity" else {"below": 1}))


def _written(rules: pp.Policy) -> dict[str, Any]:
    asked = [requirement.to_dict() for requirement in rules.requirements]
    return {"dataset": rules.dataset, "columns": dict(rules.roles), "requirements": asked}


def pairs(kept: int, moved: int) -> pd.DataFrame:
    rows = [("zqa", "zqa")] * kept + [("zqa", "zqb")] * moved + [("zqb", "zqb")] * kept + [("zqb", "zqa")] * moved
    return pd.DataFrame(rows, columns=["truth", "shown"])


PAIRED = {"shown": "quasi_identifier", "truth": "sensitive"}


def test_a_policy_names_the_original_and_the_released_column_in_order() -> None:
    """The roles have no order: without it the channel would be audited backwards."""
    line = {"channel": CHANNEL, "at_most": 1.2}
    with pytest.raises(PolicyError, match="in order"):
        policy({"epsilon_dependence": line}, columns=PAIRED)
    rules = policy({"epsilon_dependence": {**line, "attributes": ["truth", "shown"]}}, columns=PAIRED)
    honest = rules.judge(pairs(75, 25))
    assert honest.passed
    assert "never" not in honest.reasons
    assert CAVEATS["audit"] in honest.findings[0].reason
    assert any("not that the table is private" in note for note in honest.notes)
    copied = rules.judge(pairs(400, 0))
    assert not copied.passed
    assert copied.findings[0].measurement.details["refuted"] is True
    unheard_of = rules.judge(pd.concat([pairs(75, 25), pd.DataFrame({"truth": ["zqc"], "shown": ["zqa"]})]))
    assert unheard_of.findings[0].to_dict()["value"] == "infinite"
    for verdict in (honest, copied, unheard_of):
        assert "zq" not in json.dumps(verdict.to_dict(), allow_nan=False)


def test_a_prior_narrows_the_claim_and_is_noted() -> None:
    line = {"channel": CHANNEL, "prior": ["1/2", "1/2"], "attributes": ["truth", "shown"], "at_most": 0.7}
    (finding,) = policy({"epsilon_dependence": line}, columns=PAIRED).judge(pairs(75, 25)).findings
    assert finding.passed  # ln 2; without the prior it is ln 3
    assert finding.value == pytest.approx(0.6931, abs=1e-4)
    details = finding.measurement.details
    assert details["declared_prior_free"] == pytest.approx(1.0986, abs=1e-4)
    assert details["mutual_information"] <= details["information_bound"]
    assert any("believe the stated prior" in note for note in finding.measurement.notes)
    free = {name: value for name, value in line.items() if name != "prior"}
    assert not policy({"epsilon_dependence": free}, columns=PAIRED).judge(pairs(75, 25)).passed
    with pytest.raises(PolicyError, match="2 inputs"):
        policy({"epsilon_dependence": {**line, "prior": [1]}}, columns=PAIRED)


def test_the_command_line(tmp_path: Path) -> None:
    MADE.to_csv(tmp_path / "made.csv", index=False)
    REAL.to_csv(tmp_path / "real.csv", index=False)
    rules = {
        "dataset": "visits",
        "columns": COLUMNS,
        "population": "real.csv",
        "requirements": [
            {"repeated_records": {"at_most": 0.8}},
            {"learned_accuracy": {"target": "ill", "at_least": 0.5}},
        ],
    }
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(rules))
    ask = ["check", str(tmp_path / "made.csv"), "-p", str(tmp_path / "policy.yaml")]
    passed = CliRunner().invoke(app, ask)
    assert passed.exit_code == 0, passed.output
    assert "not that the table is private" in " ".join(passed.output.replace("│", " ").split())
    found = json.loads(CliRunner().invoke(app, [*ask, "--json"]).stdout)
    assert [finding["passed"] for finding in found["findings"]] == [True, True]
    copied = CliRunner().invoke(app, ["check", str(tmp_path / "real.csv"), *ask[2:]])
    assert copied.exit_code == 1
    assert "repeated records (repeated) is 1" in " ".join(copied.output.replace("│", " ").split())
