"""Every engine of Great Expectations gives the same results, computed in the engine."""

import json
import re
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
import pytest
import sqlalchemy as sa
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import ExecutionEngine, PandasExecutionEngine
from great_expectations.expectations.row_conditions import Column
from great_expectations.validator.validator import Validator

from privacy_plugin.expectations import (
    ExpectTableColumnsToMatchPolicy,
    ExpectTableKAnonymityToBeAtLeast,
    ExpectTableLDiversityToBeAtLeast,
    ExpectTableReidentificationRiskToBeAtMost,
    ExpectTableTClosenessToBeAtMost,
)
from privacy_plugin.expectations.batches import _READERS, register_engine
from privacy_plugin.expectations.suite import is_result_of_guard, runner_parameters
from tests.engines import spark_session
from tests.expectations.examples import POLICY, QUASI_IDENTIFIERS, ROWS, frame, loaded


def k(limit: Any = 2, **arguments: Any) -> Any:
    return ExpectTableKAnonymityToBeAtLeast(**{"quasi_identifiers": QUASI_IDENTIFIERS, "at_least": limit, **arguments})


def test_every_engine_finds_what_the_gate_finds(anywhere: Any) -> None:
    expected = [finding.to_dict() for finding in POLICY.judge(frame()).findings]
    with anywhere() as (definition, parameters):
        batch = definition.get_batch(parameters)
        suite = POLICY.to_expectation_suite()
        result = batch.validate(suite, expectation_parameters=runner_parameters(suite))
    assert is_result_of_guard(result.results[0])
    assert result.results[0].success is True
    found = [each.result["details"] for each in result.results[2:]]
    assert [entry["value"] for entry in found] == pytest.approx([2, 3 / 2 ** (2 / 3), 5 / 14, 1 / 2])
    assert found == expected


def test_the_other_direction_of_each_limit(anywhere: Any) -> None:
    sensitive = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": "disease"}
    expectations = [
        k(3),
        ExpectTableLDiversityToBeAtLeast(**sensitive, at_least=3),
        ExpectTableTClosenessToBeAtMost(**sensitive, below="5/14"),
        ExpectTableReidentificationRiskToBeAtMost(quasi_identifiers=QUASI_IDENTIFIERS, at_most=0.49),
    ]
    with anywhere() as (definition, parameters):
        batch = definition.get_batch(parameters)
        results = [batch.validate(expectation) for expectation in expectations]
    assert [result.success for result in results] == [False] * 4
    assert [result.exception_info["raised_exception"] for result in results] == [False] * 4
    assert [result.result["details"]["people_affected"] for result in results] == [4, 7, 2, 4]


def test_an_empty_table_never_passes(anywhere: Any) -> None:
    with anywhere([]) as (definition, parameters):
        result = definition.get_batch(parameters).validate(k(1))
    assert result.success is False
    assert result.exception_info["raised_exception"] is True
    assert "has no rows" in result.exception_info["exception_message"]


def test_an_unknown_column_is_not_evaluated(anywhere: Any) -> None:
    """SQLite reads "agee" as a text constant: one class of all people, with a perfect value."""
    with anywhere() as (definition, parameters):
        result = definition.get_batch(parameters).validate(k(7, quasi_identifiers=["agee"]))
    assert result.success is False
    assert result.result["details"]["status"] == "not_evaluated"
    assert "did you mean 'age'?" in result.exception_info["exception_message"]


def test_row_conditions_are_respected(anywhere: Any) -> None:
    with anywhere() as (definition, parameters):
        batch = definition.get_batch(parameters)
        some = batch.validate(k(3, row_condition=Column("zip") == "8001"))
        none_left = batch.validate(k(1, row_condition=Column("zip") == "9999"))
    assert (some.success, some.result["details"]["measurement"]["rows"]) == (True, 3)
    assert "Only the rows that meet the row condition were evaluated." in some.result["details"]["reason"]
    assert none_left.success is False


def test_a_row_condition_on_an_unknown_column_is_not_evaluated(anywhere: Any) -> None:
    """SQLite would compare the column's own name, and judge the whole table instead of a part."""
    condition = (Column("zap") != "8001") & (Column("age") > 1)
    with anywhere() as (definition, parameters):
        result = definition.get_batch(parameters).validate(k(2, row_condition=condition))
    assert result.success is False
    assert "unknown column in row_condition 'zap'" in result.exception_info["exception_message"]


@pytest.mark.parametrize("condition", ["agee == 30", "", "age =="])
def test_an_invalid_row_condition_is_named_as_the_cause(condition: str) -> None:
    batch = gx.get_context(mode="ephemeral").data_sources.pandas_default.read_dataframe(pd.DataFrame({"age": [30]}))
    judged = k(1, quasi_identifiers=["age"], row_condition=condition, condition_parser="pandas")
    result = batch.validate(judged)
    assert result.success is False
    assert "cannot apply the row condition" in result.exception_info["exception_message"]


def test_query_assets_and_partitions_are_respected(tmp_path: Path) -> None:
    database = loaded(sa.create_engine(f"sqlite:///{tmp_path}/house.db"))
    source = gx.get_context(mode="ephemeral").data_sources.add_sqlite("hospital", connection_string=str(database.url))
    query = source.add_query_asset("some", query="SELECT age, zip FROM visits WHERE zip = '8001';")
    assert query.add_batch_definition_whole_table("all").get_batch().validate(k(3)).success is True
    with database.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE dated AS SELECT *, '2024-01-0' || substr(zip, 4) AS day FROM visits")
    daily = source.add_table_asset("dated").add_batch_definition_daily("daily", column="day")
    sizes = {
        day: daily.get_batch({"year": 2024, "month": 1, "day": day})
        .validate(k(1))
        .result["details"]["measurement"]["rows"]
        for day in (1, 2)
    }
    assert sizes == {1: 3, 2: 4}


def test_the_result_states_that_gx_evaluated_one_of_several_batches(tmp_path: Path) -> None:
    """The first day fails; a checkpoint of GX evaluates only the second."""
    database = sa.create_engine(f"sqlite:///{tmp_path}/house.db")
    days = pd.DataFrame(
        {"age": [30, 41, 41], "zip": ["1", "2", "2"], "day": ["2024-01-01", "2024-01-02", "2024-01-02"]}
    )
    days.to_sql("dated", database, index=False)
    folder = tmp_path / "days"
    folder.mkdir()
    for day, rows in days.groupby("day"):
        rows.to_csv(folder / f"visits-{day}.csv", index=False)
    context = gx.get_context(mode="ephemeral")
    table = context.data_sources.add_sqlite("hospital", connection_string=str(database.url)).add_table_asset("dated")
    files = context.data_sources.add_pandas_filesystem("files", base_directory=folder).add_csv_asset("visits")
    names = re.compile(r"visits-(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\.csv")
    roles = ExpectTableColumnsToMatchPolicy(
        columns={"age": "quasi_identifier", "zip": "quasi_identifier", "day": "quasi_identifier"}
    )
    suite = context.suites.add(gx.ExpectationSuite(name="daily", expectations=[k(2), roles]))
    for data in (
        table.add_batch_definition_daily("daily", column="day"),
        files.add_batch_definition_daily("daily", regex=names),
        files.add_batch_definition("all of a folder"),
    ):
        name = f"{data.data_asset.name} {data.name}"
        results = gx.ValidationDefinition(name=name, data=data, suite=suite).run().results
        (judged,) = [result for result in results if "k_anonymity" in result.expectation_config.type]
        assert judged.success is True
        for result in results:
            assert "Only one of 2 batches was evaluated." in result.result["details"]["reason"]
    whole = table.add_batch_definition_whole_table("whole").get_batch().validate(k(2))
    assert whole.success is False
    assert "batches" not in whole.result["details"]["reason"]


@pytest.mark.spark
def test_the_result_states_that_batch_parameters_select_rows(tmp_path: Path) -> None:
    spark_session()
    for day, ages in (("2024-01-01", [30]), ("2024-01-02", [41, 41])):
        pd.DataFrame({"age": ages, "zip": "1", "day": day}).to_csv(tmp_path / f"{day}.csv", index=False)
    source = gx.get_context(mode="ephemeral").data_sources.add_spark_filesystem("files", base_directory=tmp_path)
    asset = source.add_directory_csv_asset("visits", data_directory=".", header=True, infer_schema=True)
    daily = asset.add_batch_definition_daily("daily", column="day")
    picked = daily.get_batch({"year": 2024, "month": 1, "day": 2}).validate(k(2))
    assert picked.success is True
    assert "Only the rows that the batch parameters select were evaluated." in picked.result["details"]["reason"]
    whole = daily.get_batch().validate(k(2))
    assert (whole.success, whole.result["details"]["measurement"]["rows"]) == (False, 3)
    assert "Only" not in whole.result["details"]["reason"]


def test_more_than_two_hundred_groups_are_read(tmp_path: Path) -> None:
    """The only small class is the last of a thousand."""
    rows = [(number, "8000", "flu") for number in range(1000) for _ in range(2)][:-1]
    database = loaded(sa.create_engine(f"sqlite:///{tmp_path}/house.db"), rows)
    source = gx.get_context(mode="ephemeral").data_sources.add_sqlite("hospital", connection_string=str(database.url))
    result = source.add_table_asset("visits").add_batch_definition_whole_table("all").get_batch().validate(k(2))
    assert (result.success, result.result["observed_value"]) == (False, 1)
    assert result.result["details"]["measurement"]["classes"] == 1000


def test_only_groups_are_fetched_from_the_database(tmp_path: Path) -> None:
    database = loaded(sa.create_engine(f"sqlite:///{tmp_path}/house.db"), ROWS * 50)
    asset = (
        gx.get_context(mode="ephemeral")
        .data_sources.add_sqlite("s", connection_string=str(database.url))
        .add_table_asset("visits")
    )
    batch = asset.add_batch_definition_whole_table("all").get_batch()
    asked: list[str] = []
    sa.event.listen(batch.data.execution_engine.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert batch.validate(k(100)).success is True
    reading = [text for text in asked if "visits" in text]
    assert reading
    assert all("GROUP BY" in text or "count(*)" in text or "1=0" in text for text in reading)


def test_duckdb_reads_everything_before_the_connection_closes(tmp_path: Path) -> None:
    """GX's own fetch returns no rows here, which would look like a table without small classes."""
    rows = [(number, "8000", "flu") for number in range(5000) for _ in range(3)] + [(5001, "8000", "flu")]
    database = loaded(sa.create_engine(f"duckdb:///{tmp_path}/house.db"), rows)
    source = gx.get_context(mode="ephemeral").data_sources.add_sql("hospital", connection_string=str(database.url))
    result = source.add_table_asset("visits").add_batch_definition_whole_table("all").get_batch().validate(k(2))
    assert (result.success, result.result["observed_value"]) == (False, 1)
    assert result.result["details"]["measurement"]["rows"] == 15_001
    database.dispose()


def test_people_are_counted_by_their_unit(tmp_path: Path) -> None:
    visits = pd.DataFrame({"person": [1, 1, 1, 2], "age": [30, 30, 30, 41]})
    database = sa.create_engine(f"sqlite:///{tmp_path}/house.db")
    visits.to_sql("visits", database, index=False)
    sources = gx.get_context(mode="ephemeral").data_sources
    asset = sources.add_sqlite("hospital", connection_string=str(database.url)).add_table_asset("visits")
    batch = asset.add_batch_definition_whole_table("all").get_batch()
    arguments = {"quasi_identifiers": ["age"], "at_least": 2, "row_condition": Column("age") == 30}
    assert batch.validate(ExpectTableKAnonymityToBeAtLeast(**arguments)).success is True
    assert batch.validate(ExpectTableKAnonymityToBeAtLeast(**arguments, unit="person")).success is False


def test_results_are_plain_data_in_every_format() -> None:
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("hospital").add_dataframe_asset("visits")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame()})
    for form in ("BASIC", "SUMMARY", "COMPLETE"):
        result = batch.validate(k(3), result_format=form)
        assert json.loads(json.dumps(result.result["details"])) == result.result["details"]
        assert result.result["details"]["people_affected"] == 4
    assert "explanation" not in batch.validate(k(3), result_format="BASIC").result
    summary, complete = (
        batch.validate(k(3), result_format=form).result["explanation"] for form in ("SUMMARY", "COMPLETE")
    )
    assert set(summary) == {"shows", "hides"}
    assert set(complete) == {*summary, "attacker", "remedy", "paper"}
    nothing = batch.validate(k(3), result_format="BOOLEAN_ONLY")
    assert (nothing.success, nothing.result) == (False, {})


class FourthEngine(ExecutionEngine):
    """An engine that GX does not have: it reads only pandas frames."""

    def __init__(self, table: pd.DataFrame) -> None:
        super().__init__()
        self.table = table

    def get_batch_data_and_markers(self, batch_spec: Any) -> Any:
        raise AssertionError("no batch is loaded in this test")

    def get_compute_domain(self, domain_kwargs: Any, domain_type: Any, accessor_keys: Any = None) -> Any:
        assert domain_type == MetricDomainTypes.TABLE
        return self.table, domain_kwargs, {}

    def resolve_metric_bundle(self, metric_fn_bundle: Any) -> Any:
        return {}

    def _comparison_condition_to_filter_clause(self, condition: Any) -> Any:
        raise AssertionError("no condition is given in this test")

    _nullity_condition_to_filter_clause = _comparison_condition_to_filter_clause
    _and_condition_to_filter_clause = _comparison_condition_to_filter_clause
    _or_condition_to_filter_clause = _comparison_condition_to_filter_clause


def test_a_fourth_engine_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    validator = Validator(execution_engine=FourthEngine(frame()))
    (unknown,) = validator.graph_validate([k(2).configuration])
    assert unknown.success is False
    monkeypatch.setitem(_READERS, FourthEngine, None)  # so that it is forgotten after the test
    register_engine(FourthEngine, _READERS[PandasExecutionEngine])
    (known,) = validator.graph_validate([k(2).configuration])
    assert (known.success, known.result["observed_value"]) == (True, 2)


@pytest.mark.spark
def test_a_condition_that_spark_rejects_is_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    """PySpark writes a failed plan to standard error, including the values of the condition."""
    frame = spark_session().createDataFrame([("a", 30)] * 3, "zip string, age int")
    source = gx.get_context(mode="ephemeral").data_sources.add_spark("frames")
    batch = (
        source.add_dataframe_asset("a").add_batch_definition_whole_dataframe("whole").get_batch({"dataframe": frame})
    )
    expectation = ExpectTableKAnonymityToBeAtLeast(
        quasi_identifiers=["age"], at_least=1, row_condition='zipp = "marker-4711"', condition_parser="spark"
    )
    assert not batch.validate(expectation).success
    written = capfd.readouterr()
    assert "marker-4711" not in written.out + written.err
