"""The runner: closed unless every declared expectation was evaluated and passed; the host is unchanged."""

import gc
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
import polars as pl
import pytest
import sqlalchemy as sa
from great_expectations.data_context.data_context.context_factory import project_manager
from great_expectations.exceptions.exceptions import DataContextRequiredError

from privacy_plugin.expectations import ExpectTableKAnonymityToBeAtLeast
from privacy_plugin.expectations.checkpoint import GxOutcome, run_suite, validate
from privacy_plugin.expectations.suite import declare_expectations
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import sql_table
from tests.engines import postgresql_database, spark_session
from tests.expectations.examples import ENGINES, POLICY, ROWS, frame, loaded

EASY = Policy.from_dict(
    {
        "dataset": "visits",
        "columns": {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive"},
        "requirements": [{"k_anonymity": {"at_least": 2}}, {"l_diversity": {"at_least": 2}}],
    }
)


def data_of(kind: str, rows: list[tuple[Any, ...]] | None = None) -> Any:
    if kind == "pandas":
        return frame(rows)
    if kind == "spark":
        return spark_session().createDataFrame(ROWS if rows is None else rows, "age int, zip string, disease string")
    engine = postgresql_database() if kind == "postgresql" else sa.create_engine(f"{kind}://")
    return sql_table(loaded(engine, rows), "visits")


@pytest.mark.parametrize("kind", ENGINES)
def test_passed_failed_and_empty_tables(kind: str) -> None:
    green = validate(EASY, data_of(kind))
    assert (green.success, green.evaluated, green.declared, green.reasons) == (True, 3, 3, ())
    red = validate(POLICY, data_of(kind))
    assert (red.success, red.evaluated, red.declared) == (False, 5, 5)
    assert red.reasons == POLICY.judge(frame()).reasons
    nothing = validate(EASY, data_of(kind, []))
    assert (nothing.success, nothing.evaluated, nothing.declared) == (False, 1, 3)


def test_a_failed_expectation_of_any_severity_closes_the_gate() -> None:
    suite = gx.ExpectationSuite(name="mild")
    suite.expectations = [
        ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age", "zip"], at_least=3, severity="warning")
    ]
    assert run_suite(frame(), declare_expectations(suite)).success is False


def test_an_expectation_that_is_not_evaluated_closes_the_gate() -> None:
    """GX counts an exception as a failed result; here it also lowers the number of evaluated expectations."""
    suite = EASY.to_expectation_suite()
    suite.expectations.append(gx.expectations.ExpectColumnMaxToBeBetween(column="no such column", max_value=3))
    outcome = run_suite(frame(), declare_expectations(suite))
    assert (outcome.success, outcome.evaluated, outcome.declared) == (False, 3, 4)
    assert outcome.reasons == ("expect_column_max_to_be_between could not be evaluated",)


def test_runtime_parameters_reach_the_suite() -> None:
    limit = {"$PARAMETER": "k"}
    suite = gx.ExpectationSuite(
        name="given later",
        expectations=[ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age", "zip"], at_least=limit)],
    )
    declare_expectations(suite)
    answers = [run_suite(frame(), suite, expectation_parameters={"k": k}).success for k in (2, 3, 2.7, "2", True)]
    assert answers == [True, False, False, False, False]
    assert "could not run: SuiteParameterError" in run_suite(frame(), suite).reasons[0]


@pytest.mark.parametrize("data", [pl.DataFrame({"age": [1]}), "visits.csv", None, [1, 2]])
def test_data_that_gx_cannot_read_closes_the_gate(data: Any) -> None:
    outcome = validate(EASY, data)
    assert (outcome.success, outcome.evaluated) == (False, 0)
    assert "judge it without GX" in outcome.reasons[0]


def test_a_missing_table_closes_the_gate() -> None:
    outcome = validate(EASY, sql_table(sa.create_engine("sqlite://"), "visits"))
    assert (outcome.success, outcome.evaluated, outcome.declared) == (False, 0, 3)


def test_a_connection_raises_an_error() -> None:
    engine = loaded(sa.create_engine("sqlite://"))
    with engine.connect() as connection:
        outcome = validate(EASY, sql_table(connection, "visits"))
    assert "not a connection" in outcome.reasons[0]


def test_an_outcome_without_declared_expectations_fails() -> None:
    assert GxOutcome(declared=0).success is False
    assert GxOutcome(declared=1).success is False


def test_queries_and_names_that_look_like_parameters_survive() -> None:
    """GX passes queries on as text, where :b and % have another meaning."""
    engine = sa.create_engine("sqlite://")
    frame().to_sql('we"ird :b %t', engine, index=False)
    table = sa.table('we"ird :b %t', *map(sa.column, ["age", "zip", "disease"]))
    query = sa.select(table).where(table.c.zip != ":x%", table.c.zip == "8001")
    outcome = validate(EASY, sql_table(engine, query))
    assert (outcome.success, outcome.findings[1]["measurement"]["rows"]) == (True, 3)


def test_the_engine_of_the_host_is_not_disposed() -> None:
    """GX disposes of engines it no longer uses: a database in memory would be lost."""
    engine = loaded(sa.create_engine("sqlite://"))
    pool = engine.pool
    for _ in range(2):
        assert validate(EASY, sql_table(engine, "visits")).success is True
        gc.collect()
    assert engine.pool is pool
    assert sa.inspect(engine).get_table_names() == ["visits"]


def test_the_project_of_the_host_is_restored() -> None:
    validate(EASY, frame())
    with pytest.raises(DataContextRequiredError):
        project_manager.get_current_project()
    host = gx.get_context(mode="ephemeral")
    validate(EASY, frame())
    validate(EASY, "unreadable")
    assert project_manager.get_current_project() is host
    assert list(host.suites.all()) == []


def test_a_project_keeps_results_but_no_data_source(tmp_path: Path) -> None:
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    settings = (tmp_path / "gx" / "great_expectations.yml").read_text()
    engine = loaded(sa.create_engine("sqlite://"))
    for data in (frame(), sql_table(engine, "visits")):
        assert validate(EASY, data, context=context).success is True
    assert (tmp_path / "gx" / "great_expectations.yml").read_text() == settings
    assert context.data_sources.all() == {}
    assert list(context.checkpoints.all()) == list(context.validation_definitions.all()) == []
    assert [suite.name for suite in context.suites.all()] == ["privacy of visits"]
    assert len(list(tmp_path.rglob("validations/**/*.json"))) == 2
    assert len(list(tmp_path.rglob("data_docs/local_site/validations/**/*.html"))) == 2


def test_a_batch_definition_is_judged_in_its_own_project(tmp_path: Path) -> None:
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    asset = context.data_sources.add_pandas("hospital").add_dataframe_asset("visits")
    definition = asset.add_batch_definition_whole_dataframe("all")
    other = gx.get_context(mode="ephemeral")
    outcome = validate(EASY, definition, batch_parameters={"dataframe": frame()})
    assert outcome.success is True
    assert project_manager.get_current_project() is other
    assert len(list(tmp_path.rglob("validations/**/*.json"))) == 1
    assert validate(EASY, definition).success is False


def test_an_outcome_is_plain_data() -> None:
    content = validate(POLICY, frame()).to_dict()
    assert (content["success"], content["declared"], content["evaluated"], len(content["findings"])) == (False, 5, 5, 5)
    assert content["reasons"] == list(POLICY.judge(frame()).reasons)


def test_a_requirement_that_counts_people_is_evaluated() -> None:
    columns = {"person": "unit", "age": "quasi_identifier", "disease": "sensitive"}
    theory_of_rows = {"dataset": "v", "columns": columns, "requirements": [{"l_diversity": {"at_least": 2}}]}
    outcome = validate(Policy.from_dict(theory_of_rows), pd.DataFrame({name: [1, 1] for name in columns}))
    assert (outcome.success, outcome.declared, outcome.evaluated) == (False, 2, 2)
    assert "diversity" in outcome.reasons[0]


def test_several_batches_raise_until_one_is_selected(tmp_path: Path) -> None:
    """GX would evaluate the last day, which passes, and ignore the first, which fails."""
    database = loaded(sa.create_engine(f"sqlite:///{tmp_path}/house.db"), [(30, "8001", "flu")] + [ROWS[-1]] * 2)
    with database.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE dated AS SELECT *, '2024-01-0' || substr(zip, 4) AS day FROM visits")
    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_sqlite("hospital", connection_string=str(database.url))
    daily = source.add_table_asset("dated").add_batch_definition_daily("daily", column="day")
    expectation = ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age", "zip"], at_least=2)
    suite = declare_expectations(gx.ExpectationSuite(name="daily", expectations=[expectation]))
    for parameters in ({}, {"year": 2024}):
        outcome = run_suite(daily, suite, batch_parameters=parameters)
        assert outcome.success is False
        assert "found 2 batches" in outcome.reasons[0]
    days = [run_suite(daily, suite, batch_parameters={"year": 2024, "month": 1, "day": day}) for day in (1, 2)]
    assert [(day.success, day.evaluated) for day in days] == [(False, 1), (True, 1)]
