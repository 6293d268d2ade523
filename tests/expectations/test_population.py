"""The population of an expectation: a table of the same database, an asset of the project, or a file."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import great_expectations as gx
import pandas as pd
import pytest
import sqlalchemy as sa
from great_expectations.compatibility.pydantic import ValidationError

from privacy_plugin.expectations import base
from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Pair, Population
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics import registry
from privacy_plugin.metrics.measurement import Measurement
from tests.engines import spark_session

VISITS = pd.DataFrame({"age": [30, 30, 41], "zip": ["01", "01", "02"]})
REGISTER = pd.DataFrame({"age": [30, 30, 30, 30, 41, 55], "zip": ["01", "01", "01", "01", "02", "03"], "who": range(6)})


def sampled_share(
    table: FrequencyTable, *, population: FrequencyTable, quasi_identifiers: Sequence[str]
) -> Measurement:
    """Return the people of the table as a share of the population."""
    share = Fraction(table.rows, population.rows)
    return Measurement(metric="sampled_share", value=share, parameters={}, rows=table.rows, classes=1)


@pytest.fixture
def expectation(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Add a metric and its expectation for one test."""
    declared = dict(registry.metrics())
    metric = registry.Metric(
        name="sampled_share",
        title="sampled share",
        safer="between",
        measure=sampled_share,
        attacker="who knows {quasi_identifiers} is sure that a person is in the table",
        remedy="sample",
        paper="none",
        axis="share",
        shows="",
        hides="",
        smallest=0,
        largest=1,
    )
    for home in (registry, base):
        monkeypatch.setattr(home, "find_metric", lambda name: {**declared, "sampled_share": metric}[name])
    monkeypatch.setattr("privacy_plugin.requirements.requirement.find_metric", registry.find_metric)

    class ExpectTableSampledShareToBeBetween(PrivacyExpectation):
        metric: ClassVar[str] = "sampled_share"

        quasi_identifiers: Columns
        population: Population
        between: Pair = None

    assert base.metric_name(metric) in ExpectTableSampledShareToBeBetween.metric_dependencies
    return lambda population, between=(0.1, 0.5): ExpectTableSampledShareToBeBetween(
        quasi_identifiers=["age", "zip"], population=population, between=between
    )


def batch_of(data: pd.DataFrame) -> Any:
    asset = gx.get_context(mode="ephemeral").data_sources.add_pandas("frames").add_dataframe_asset("visits")
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": data})


def test_limits_are_a_pair_and_a_population_is_needed(expectation: Any) -> None:
    assert expectation("register", (0, "1/3")).between == [0, "1/3"]
    for wrong in (None, "", {}, {"tabel": "x"}, {"data_source": "x"}, {"file": 3}, 3):
        with pytest.raises(ValidationError, match="population"):
            expectation(wrong)
    for wrong in ((0.5, 0.1), (0.1,), 0.1, (True, 1), ("0", "1"), None):
        with pytest.raises(ValidationError):
            expectation("register", wrong)


def test_a_table_of_the_same_database(expectation: Any, tmp_path: Path) -> None:
    database = sa.create_engine(f"sqlite:///{tmp_path}/house.db")
    VISITS.to_sql("visits", database, index=False)
    REGISTER.to_sql("register", database, index=False)
    sources = gx.get_context(mode="ephemeral").data_sources
    source = sources.add_sqlite("hospital", connection_string=str(database.url))
    batch = source.add_table_asset("visits").add_batch_definition_whole_table("all").get_batch()
    source.add_table_asset("everybody", table_name="register")
    for population in (
        "register",
        "main.register",
        {"table": "register"},
        {"data_source": "hospital", "asset": "everybody"},
    ):
        result = batch.validate(expectation(population))
        assert (result.success, result.result["observed_value"]) == (True, 0.5), population
        assert result.expectation.population == population
    assert batch.validate(expectation("register", (0, 0.4))).success is False
    missing = batch.validate(expectation("registry"))
    assert (missing.success, missing.exception_info["raised_exception"]) == (False, True)


def test_a_file_and_an_asset_of_another_source(expectation: Any, tmp_path: Path) -> None:
    REGISTER.to_csv(tmp_path / "register.csv", index=False)
    database = sa.create_engine(f"sqlite:///{tmp_path}/house.db")
    REGISTER.to_sql("register", database, index=False)
    batch = batch_of(VISITS)
    from great_expectations.data_context.data_context.context_factory import project_manager

    sources = project_manager.get_current_project().data_sources
    sources.add_sqlite("hospital", connection_string=str(database.url)).add_table_asset("register")
    places = (str(tmp_path / "register.csv"), {"data_source": "hospital", "asset": "register"})
    assert [batch.validate(expectation(place)).success for place in places] == [True, True]
    for place in ("register", {"data_source": "hospital", "asset": "none"}, {"data_source": "no", "asset": "register"}):
        result = batch.validate(expectation(place))
        assert result.success is False
        assert "not evaluated" in result.exception_info["exception_message"]


def test_an_asset_of_several_batches_raises_an_error(expectation: Any, tmp_path: Path) -> None:
    """GX would read only the last file."""
    for number in (1, 2):
        REGISTER.to_csv(tmp_path / f"register_{number}.csv", index=False)
    batch = batch_of(VISITS)
    from great_expectations.data_context.data_context.context_factory import project_manager

    files = project_manager.get_current_project().data_sources.add_pandas_filesystem("files", base_directory=tmp_path)
    files.add_csv_asset("register")
    result = batch.validate(expectation({"data_source": "files", "asset": "register"}))
    assert result.success is False
    assert "found 2 batches" in result.exception_info["exception_message"]


@pytest.mark.spark
def test_a_table_of_the_same_spark_session(expectation: Any) -> None:
    session = spark_session()
    session.createDataFrame(REGISTER).createOrReplaceTempView("register")
    asset = gx.get_context(mode="ephemeral").data_sources.add_spark("frames").add_dataframe_asset("visits")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": session.createDataFrame(VISITS)})
    result = batch.validate(expectation({"table": "register"}))
    assert (result.success, result.result["observed_value"]) == (True, 0.5)
