"""A batch and its population, in each of the engines of Great Expectations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
import pytest
import sqlalchemy as sa

from tests.engines import spark_session

Placed = Callable[[pd.DataFrame, pd.DataFrame, Path], tuple[Any, Any]]


def on_sqlite(first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    """Return the batch, and the name of the second table for an expectation."""
    database = sa.create_engine(f"sqlite:///{folder}/house.db")
    first.to_sql("visits", database, index=False)
    second.to_sql("register", database, index=False)
    source = gx.get_context(mode="ephemeral").data_sources.add_sqlite("hospital", connection_string=str(database.url))
    return source.add_table_asset("visits").add_batch_definition_whole_table("all").get_batch(), "register"


def on_pandas(first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    """Return the batch, and the file of the second table."""
    second.to_parquet(folder / "register.parquet")
    asset = gx.get_context(mode="ephemeral").data_sources.add_pandas("frames").add_dataframe_asset("visits")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": first})
    return batch, str(folder / "register.parquet")


def on_spark(first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    """Return the batch, and the view that is the second table."""
    session = spark_session()
    session.createDataFrame(second).createOrReplaceTempView("register")
    asset = gx.get_context(mode="ephemeral").data_sources.add_spark("frames").add_dataframe_asset("visits")
    frame = session.createDataFrame(first)
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame}), {"table": "register"}


everywhere = pytest.mark.parametrize("engine", [on_pandas, on_sqlite, pytest.param(on_spark, marks=pytest.mark.spark)])
