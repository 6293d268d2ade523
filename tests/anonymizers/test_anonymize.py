"""`anonymize` with every method and engine: what it writes, what it spends, what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.anonymizers import registry
from privacy_plugin.anonymizers.anonymize import anonymize
from privacy_plugin.cli.anonymize import anonymize as anonymize_command
from privacy_plugin.cli.results import show_anonymized
from privacy_plugin.cli.terminal import Terminal
from privacy_plugin.errors import (
    BudgetError,
    ColumnError,
    HierarchyError,
    ParameterError,
    PolicyError,
    PrivacyPluginError,
    SourceError,
)
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.orchestration.anonymized_asset import anonymized_metadata
from privacy_plugin.sources import open_source, sql_table
from tests.randomized_policies import (
    BUDGET,
    EPSILON_SAFE,
    MONTHS,
    RESPONSE,
    SYNTHESIZE,
    monthly_policy_dict,
    open_ledger,
    people,
    policy_dict,
)
from tests.sources.loading import ENGINES, LOADERS, target_of, text_table

ROOT = Path(__file__).parent.parent.parent
METHODS = {"synthesize": SYNTHESIZE, "epsilon_safe_lattice": EPSILON_SAFE, "randomized_response": RESPONSE}


def policy_of(**changes: Any) -> pp.Policy:
    return pp.Policy.from_dict(policy_dict(**changes))


@pytest.mark.parametrize(
    ("method", "engine"),
    [("epsilon_safe_lattice", "pandas"), ("epsilon_safe_lattice", "duckdb"), ("epsilon_safe_lattice", "csv")]
    + [("randomized_response", engine) for engine in ("pandas", "sqlite", "duckdb", "csv")]
    + [pytest.param("randomized_response", "postgresql", marks=pytest.mark.postgres)]
    + [pytest.param("synthesize", *engine.values, id=engine.id, marks=engine.marks) for engine in ENGINES],
)
def test_a_drawn_table_is_written_to_its_source_and_passes_the_gate(method: str, engine: str, tmp_path: Path) -> None:
    policy = policy_of(anonymize=METHODS[method])
    data = LOADERS[engine](text_table(**people()), tmp_path)
    with pp.using_ledger(open_ledger()) as ledger:
        assert not policy.judge(open_source(data)).passed
        result = anonymize(data, policy=policy, target=target_of(engine, tmp_path))
        verdict = policy.judge(result.made)
    assert verdict.passed, verdict.reasons
    assert open_source(result.made).columns == ("sex", "zip")
    assert result.left_out == ("name",)
    (spend,) = ledger.entries()
    assert (spend.status, spend.private, spend.budget) == ("committed", True, result.cost.budget)
    assert result.remaining == ledger.remaining(dataset="visits", unit="row")
    assert "MARKER" not in str(result.to_dict())


def test_randomized_response_draws_every_released_cell_and_reports_its_channel() -> None:
    policy = policy_of(anonymize={**RESPONSE, "domains": {"sex": ["f", "m", "x"], "zip": "occurring"}})
    frame = pd.DataFrame(people())
    result = anonymize(frame, policy=policy, ledger=open_ledger(), generator=np.random.default_rng(1))
    assert (result.cost.mechanism, str(result.cost)) == ("randomized response", "epsilon 1, delta 0 a row")
    drawn = result.to_dict()["drawn"]
    grown = np.exp(0.5)
    assert drawn["values"] == {"sex": 3, "zip": 3}
    assert drawn["keep"] == pytest.approx(dict.fromkeys(("sex", "zip"), grown / (grown + 2)))
    assert (drawn["ledger"]["unit"], drawn["ledger"]["private"]) == ("cell", False)
    assert any("no domain was declared for zip" in text for text in drawn["ledger"]["assumptions"])
    assert len(result.made) == len(frame)
    for column in ("sex", "zip"):
        true = frame[column].value_counts().reindex(sorted({*frame[column], *result.made[column]}), fill_value=0)
        expected = (true * grown + (len(frame) - true)) / (grown + 2)  # a cell is its own value e^0.5 times as likely
        assert len(true) == 3
        assert ((result.made[column].value_counts() - expected).abs() < 85).all()  # about five deviations


@pytest.mark.parametrize("engine", ["pandas", "duckdb", "csv"])
@pytest.mark.parametrize("method", METHODS)
def test_a_constant_column_is_written_and_not_drawn(method: str, engine: str, tmp_path: Path) -> None:
    """Its declared domain holds the keys of other partitions, with which no row may be labelled."""
    policy = pp.Policy.from_dict(monthly_policy_dict(METHODS[method]))
    rows = people()
    data = LOADERS[engine](text_table(**rows, month=[MONTHS[0]] * len(rows["sex"])), tmp_path)
    with pp.using_ledger(open_ledger()) as ledger:
        result = anonymize(data, policy=policy, target=target_of(engine, tmp_path), constant="month")
        assert policy.judge(result.made).passed
    made = open_source(result.made)
    assert made.columns == ("sex", "month", "zip")
    assert made.frequencies(["month"]).dictionary("month") == (MONTHS[0],)
    assert result.left_out == ("name",)
    (spend,) = ledger.entries()
    assert spend.budget == result.cost.budget
    if method == "randomized_response":
        assert spend.budget.epsilon == 1  # two cells of 0.5: no budget is spent on the constant
        assert set(result.to_dict()["drawn"]["keep"]) == {"sex", "zip"}
    assert "the value of 'month' is public: it names the partition, and is not drawn" in spend.account["assumptions"]


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_column_with_several_values_costs_nothing(method: str) -> None:
    rows = people()
    frame = pd.DataFrame({**rows, "month": [MONTHS[0], *[MONTHS[1]] * (len(rows["sex"]) - 1)]})
    ledger = open_ledger()
    with pytest.raises(ColumnError, match="more than one value in this partition") as refused:
        anonymize(
            frame, policy=pp.Policy.from_dict(monthly_policy_dict(METHODS[method])), constant="month", ledger=ledger
        )
    assert ledger.entries() == ()
    assert not any(month in str(refused.value) for month in MONTHS)


@pytest.mark.parametrize(
    ("option", "method"),
    [("given", {**SYNTHESIZE, "given": "month"}), ("interpolation", {**EPSILON_SAFE, "interpolation": ["month", 0]})],
)
def test_an_option_cannot_name_the_constant_column(option: str, method: dict[str, Any]) -> None:
    policy = pp.Policy.from_dict(monthly_policy_dict(method))
    policy.anonymizer.require_usable("zip")
    with pytest.raises(PolicyError, match=f"name another {option}"):
        policy.anonymizer.require_usable("month")


def test_a_constant_column_alone_is_no_draw() -> None:
    given = policy_dict(columns={"name": "identifier", "zip": policy_dict()["columns"]["zip"]})
    with pytest.raises(PolicyError, match="the only released column"):
        pp.Policy.from_dict(given).anonymizer.require_usable("zip")


def test_generalizing_needs_no_ledger() -> None:
    policy = policy_of(
        requirements=[{"k_anonymity": {"at_least": 5}}], anonymize={"method": "generalize", "max_suppression": 0.1}
    )
    result = anonymize(pd.DataFrame(people()), policy=policy)
    assert (result.method, result.left_out, result.cost) == ("generalize", ("name",), None)
    assert policy.judge(result.made).passed
    assert result.to_dict()["plan"]["levels"] == result.plan.levels


def test_a_table_of_a_test_generator_passes_no_gate() -> None:
    policy = policy_of()
    with pp.using_ledger(open_ledger()) as ledger:
        result = anonymize(pd.DataFrame(people()), policy=policy, generator=np.random.default_rng(1))
        verdict = policy.judge(result.made)
    assert not verdict.passed
    assert "test generator" in " ".join(verdict.reasons)
    assert [entry.private for entry in ledger.entries()] == [False]


FRAME = pd.DataFrame(people())
PLAIN = {"columns": {"name": "identifier", "sex": "quasi_identifier", "zip": "insensitive"}}
MIXED = {
    "role": "quasi_identifier",
    "hierarchy": {"table": [[100, 100, "*"], [101, "101-102", "*"], [102, "101-102", "*"]]},
}
REFUSED = {
    "a hierarchy that does not cover": ({"anonymize": EPSILON_SAFE}, FRAME.replace({"f": "x"}), HierarchyError),
    "fewer rows than k": ({"anonymize": EPSILON_SAFE}, FRAME.head(20), ParameterError),
    "a value outside its domain": (
        {"anonymize": {**SYNTHESIZE, "domains": {"sex": ["f"], "zip": "occurring"}}},
        FRAME,
        ColumnError,
    ),
    "a cell outside its domain": (
        {"anonymize": {**RESPONSE, "domains": {"sex": ["f"], "zip": "occurring"}}},
        FRAME,
        ColumnError,
    ),
    "values that no column holds": (
        {"anonymize": SYNTHESIZE, **PLAIN},
        FRAME.assign(zip=[1, "1"] * (len(FRAME) // 2)),
        SourceError,
    ),
    "cells that no column holds": (
        {"anonymize": RESPONSE, **PLAIN},
        FRAME.assign(zip=[2**70 + 1, 1] * (len(FRAME) // 2)),
        SourceError,
    ),
    "a level that no column holds": (
        {"anonymize": EPSILON_SAFE, "columns": {"name": "identifier", "sex": "identifier", "zip": MIXED}},
        FRAME.astype({"zip": int}),
        SourceError,
    ),
    "no cell at all": ({"anonymize": RESPONSE}, FRAME.head(0), PrivacyPluginError),
    "an empty table": ({}, FRAME.head(0), PrivacyPluginError),
    "a column that is missing": ({}, FRAME.drop(columns="zip"), PolicyError),
    "a column without a role": ({}, FRAME.assign(note="x"), PolicyError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_comes_before_anything_is_spent(case: str) -> None:
    changes, frame, kind = REFUSED[case]
    ledger = open_ledger()
    with pytest.raises(kind):
        anonymize(frame, policy=policy_of(**changes), ledger=ledger)
    assert ledger.entries() == ()


@pytest.mark.parametrize("target", [None, "made.docx", "nowhere/made.csv", "raw.csv", "folder.csv"])
def test_a_file_that_cannot_be_written_costs_nothing(
    target: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("raw.csv", index=False)
    Path("folder.csv").mkdir()
    before = sorted(tmp_path.iterdir())
    ledger = open_ledger()
    with pytest.raises(PrivacyPluginError):
        anonymize(Path("raw.csv"), policy=policy_of(), target=target, ledger=ledger)
    assert ledger.entries() == ()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("target", [None, "", "raw", "nowhere.made"])
def test_a_table_that_cannot_be_written_costs_nothing(target: str | None, tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'house.db'}")
    FRAME.to_sql("raw", engine, index=False)
    ledger = open_ledger()
    with pytest.raises(PrivacyPluginError):
        anonymize(sql_table(engine, "raw"), policy=policy_of(), target=target, ledger=ledger)
    assert ledger.entries() == ()
    assert sa.inspect(engine).get_table_names() == ["raw"]


def test_a_target_for_a_frame_is_refused_before_anything_is_spent() -> None:
    ledger = open_ledger()
    with pytest.raises(ParameterError, match="remove the target"):
        anonymize(FRAME, policy=policy_of(), target="made", ledger=ledger)
    assert ledger.entries() == ()


def test_notes_of_a_synthesis_are_shown_by_dagster_and_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    whole = anonymize(FRAME, policy=policy_of(), ledger=open_ledger())
    assert "notes" not in anonymized_metadata(whole)
    lacking = replace(whole, result=replace(whole.result, notes=("long itemsets are left out",)))
    assert anonymized_metadata(lacking)["notes"] == "long itemsets are left out"
    show_anonymized(Terminal(), lacking, again=False)
    assert "note: long itemsets are left out" in capsys.readouterr().out


def test_a_draw_that_could_not_pass_is_refused_before_anything_is_spent() -> None:
    ledger = open_ledger(epsilon=100)
    ledger.commit(ledger.reserve(dataset="visits", unit="row", epsilon=1.5, mechanism="earlier"))
    with pytest.raises(BudgetError, match=r"could not pass privacy_budget.*at most 2"):
        anonymize(FRAME, policy=policy_of(), ledger=ledger)
    assert len(ledger.entries()) == 1


def test_without_a_ledger_or_a_cap_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVACY_PLUGIN_LEDGER", raising=False)
    with pytest.raises(BudgetError, match="PRIVACY_PLUGIN_LEDGER"):
        anonymize(FRAME, policy=policy_of())
    with pytest.raises(BudgetError, match="no budget was set"):
        anonymize(FRAME, policy=policy_of(), ledger=BudgetLedger("sqlite://"))


def test_a_ledger_that_fails_at_the_end_leaves_the_old_table(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'house.db'}")
    FRAME.to_sql("raw", engine, index=False)
    pd.DataFrame({"old": [1]}).to_sql("made", engine, index=False)
    ledger = open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")

    @sa.event.listens_for(ledger._engine, "before_cursor_execute")
    def _fail(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE privacy_budget_spends"):
            raise sa.exc.OperationalError(statement, {}, Exception("disk full"))

    with pytest.raises(BudgetError, match="cannot be written"):
        anonymize(sql_table(engine, "raw"), policy=policy_of(), target="made", ledger=ledger)
    assert sql_table(engine, "made").columns == ("old",)
    assert [entry.status for entry in ledger.entries()] == ["reserved"]


def test_a_ledger_in_the_file_of_the_release_is_refused(tmp_path: Path) -> None:
    """A release holds the lock of its SQLite file until it is recorded: the ledger could not record it there."""
    address = f"sqlite:///{tmp_path / 'house.db'}"
    engine = sa.create_engine(address)
    FRAME.to_sql("raw", engine, index=False)
    ledger = open_ledger(address)
    with pytest.raises(BudgetError, match="a file of its own"):
        anonymize(sql_table(engine, "raw"), policy=policy_of(), target="made", ledger=ledger)
    assert ledger.entries() == ()


def test_a_randomized_method_refuses_a_saved_plan() -> None:
    plan = anonymize(FRAME, policy=policy_of(requirements=[{"k_anonymity": {"at_least": 5}}], anonymize={})).plan
    with pytest.raises(ParameterError, match="saved plan"):
        anonymize(FRAME, policy=policy_of(), plan=plan, ledger=open_ledger())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"anonymize": {"method": "synthesise"}}, "did you mean 'synthesize'"),
        ({"anonymize": {"method": 3}}, "unknown method '3'"),
        (
            {"anonymize": {**EPSILON_SAFE, "method": "epsilon_safe"}},
            "is now named 'epsilon_safe_lattice'",
        ),
        ({"anonymize": {**SYNTHESIZE, "epsilom": 1}}, "did you mean 'epsilon'"),
        ({"anonymize": {"method": "synthesize"}}, "synthesize needs epsilon"),
        ({"anonymize": {**SYNTHESIZE, "epsilon": "1"}}, "epsilon must be a number"),
        ({"anonymize": {**SYNTHESIZE, "epsilon": 0}}, "epsilon must be positive"),
        ({"anonymize": {**SYNTHESIZE, "delta": 0}}, "delta must lie between"),
        ({"anonymize": {**SYNTHESIZE, "unit": "rows"}}, "did you mean 'row'"),
        ({"anonymize": {**SYNTHESIZE, "model": "pears"}}, "did you mean 'pairs'"),
        ({"anonymize": {**SYNTHESIZE, "model": "code tree", "given": "sex"}}, "takes no given column"),
        ({"anonymize": {**SYNTHESIZE, "given": "name"}}, "unknown column in given 'name'"),
        ({"anonymize": {**SYNTHESIZE, "domains": ["f"]}}, "domains must list"),
        ({"anonymize": {**SYNTHESIZE, "domains": {"sex": "fm"}}}, "must be a list"),
        ({"anonymize": {**SYNTHESIZE, "domains": {"sex": ["f", "m"]}}}, "must also state for 'zip' which values"),
        ({"anonymize": {**SYNTHESIZE, "domains": None}}, "synthesize needs domains: which values the column may have"),
        ({"anonymize": {"method": "synthesize", "epsilon": 1}}, "synthesize needs domains"),
        ({"anonymize": {"method": "randomized_response", "epsilon": 0.5}}, "randomized_response needs domains"),
        ({"anonymize": {**SYNTHESIZE, "dataset": "others"}}, "unknown option of synthesize 'dataset'"),
        ({"anonymize": {**EPSILON_SAFE, "k": 30.0}}, "k must be a whole number"),
        ({"anonymize": {**EPSILON_SAFE, "beta": 1}}, "beta must lie between"),
        ({"anonymize": {**EPSILON_SAFE, "penalty": -1}}, "penalty must be positive"),
        ({"anonymize": {**EPSILON_SAFE, "interpolation": ["age", 1]}}, "unknown column in interpolation"),
        ({"anonymize": {"method": "randomized_response"}}, "randomized_response needs epsilon"),
        ({"anonymize": {**RESPONSE, "epsilon": 41}}, "epsilon of a cell must be above 0 and at most 40"),
        ({"anonymize": {**RESPONSE, "epsilon": 1.5}}, "spends epsilon 3, delta 0 a row, which alone does not meet"),
        ({"anonymize": {**RESPONSE, "columns": ["sex"]}}, "unknown option of randomized_response 'columns'"),
        ({"anonymize": {**RESPONSE, "delta": 1e-6}}, "unknown option of randomized_response 'delta'"),
        ({"anonymize": {**RESPONSE, "domains": {"name": ["a"]}}}, "unknown column in domains 'name'"),
        ({"anonymize": {"method": "generalize", "loss": "entropi"}}, "did you mean 'entropy'"),
        ({"anonymize": {"loss": "entropy"}}, "add method: generalize"),
        ({"anonymize": {"max_suppression": 2}}, "max_suppression must lie between"),
        ({"anonymize": "synthesize"}, "anonymize must be a mapping"),
        ({"requirements": [{"k_anonymity": {"at_least": 2}}]}, "synthesize spends privacy budget"),
        ({"requirements": [{"privacy_budget": {"at_most": 2, "privacy_unit": "cell"}}]}, "spends privacy budget"),
        ({"requirements": [{"privacy_budget": {"at_most": 0.5, "privacy_unit": "row", "delta": 0.1}}]}, "alone does"),
        ({"requirements": [{"privacy_budget": {"at_most": 2, "privacy_unit": "row"}}]}, "alone does not meet"),
        ({"requirements": [{"privacy_budget": {"below": 1, "privacy_unit": "row", "delta": 0.1}}]}, "alone does not"),
        ({"anonymize": {"max_suppression": 0.1}}, "no generalization meets it"),
        ({"columns": {"sex": "quasi_identifier", "patient": "unit"}}, "add rows_a_person"),
        (
            {"columns": {"sex": "quasi_identifier", "ill": "sensitive"}, "anonymize": EPSILON_SAFE},
            "publishes generalized columns only; 'sex', 'ill' must be",
        ),
    ],
)
def test_a_policy_that_cannot_work_is_refused_when_it_is_loaded(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        policy_of(**changes)


@pytest.mark.parametrize("name", registry.ANONYMIZERS)
def test_every_method_is_documented(name: str) -> None:
    for place in ("docs/policy.md", "docs/randomized-releases.md"):
        assert f"`{name}`" in (ROOT / place).read_text(encoding="utf-8").replace("`method: ", "`")
    assert f"`{name}`" in " ".join(anonymize_command.__doc__.split())


def test_the_method_is_part_of_the_policy_digest() -> None:
    policies = [
        policy_of(),
        policy_of(anonymize={**SYNTHESIZE, "epsilon": 0.5}),
        policy_of(anonymize={**SYNTHESIZE, "domains": {"sex": ["f", "m"], "zip": "occurring"}}),
        policy_of(anonymize=EPSILON_SAFE),
        policy_of(anonymize={**RESPONSE, "epsilon": 1}),
        policy_of(anonymize=RESPONSE),
    ]
    assert len({policy.digest for policy in policies}) == len(policies)
    budget_only = policy_dict(requirements=[BUDGET])
    del budget_only["anonymize"]
    assert pp.Policy.from_dict(budget_only).method == "generalize_locally"  # judges what was drawn elsewhere


@pytest.mark.parametrize(
    ("engine", "in_the_way"),
    [
        ("sqlite", "CREATE VIEW drawn AS SELECT 1 AS a"),
        ("duckdb", "CREATE VIEW drawn AS SELECT 1 AS a"),
        pytest.param("postgresql", "CREATE VIEW drawn AS SELECT 1 AS a", marks=pytest.mark.postgres),
    ],
)
@pytest.mark.parametrize("held", [False, True])
def test_nothing_is_spent_on_a_target_that_cannot_be_replaced(
    engine: str, in_the_way: str, held: bool, tmp_path: Path
) -> None:
    """Staging succeeds for such a target; only replacing it fails."""
    source = LOADERS[engine](text_table(**people()), tmp_path)
    with source.bind.begin() as connection:
        connection.exec_driver_sql("DROP VIEW IF EXISTS drawn")
        connection.exec_driver_sql(in_the_way)
    ledger, policy = open_ledger(), policy_of()
    level = {"isolation_level": "REPEATABLE READ"} if engine == "postgresql" else {}
    with source.bind.execution_options(**level).connect() as connection, connection.begin():
        data = sql_table(connection, source.name) if held else source
        with pytest.raises(SourceError):
            anonymize(data, policy=policy, target="drawn", ledger=ledger)
        if held:
            with pytest.raises(SourceError):
                anonymize(data, policy=policy, target="waiting", final="drawn", ledger=ledger)
    assert ledger.entries() == ()
    anonymize(source, policy=policy, target="taken", ledger=ledger)
    anonymize(source, policy=policy_of(), target="taken", ledger=open_ledger())  # what is a table is replaced


def test_a_draw_that_was_not_written_is_not_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster tries again what failed in writing, and every try would spend."""
    source = LOADERS["sqlite"](text_table(**people()), tmp_path)
    ledger = open_ledger()

    def fails(*_: Any, **__: Any) -> Any:
        raise SourceError("the disk is full")

    monkeypatch.setattr(type(source), "write_rows", fails)
    with pytest.raises(BudgetError, match=r"the disk is full; .* stays spent"):
        anonymize(source, policy=policy_of(), target="drawn", ledger=ledger)
    assert len(ledger.entries()) == 1
