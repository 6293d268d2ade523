"""A small table in every engine of Great Expectations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import great_expectations as gx
import pandas as pd
import pytest
import sqlalchemy as sa

from privacy_plugin.policy.policy import Policy
from tests.engines import postgresql_database, spark_session

ENGINES = [
    "pandas",
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.postgres),
    pytest.param("spark", marks=pytest.mark.spark),
]
COLUMNS = ["age", "zip", "disease"]
ROWS = [
    (30, "8001", "flu"),
    (30, "8001", "asthma"),
    (30, "8001", "flu"),
    (41, "8002", "flu"),
    (41, "8002", "gout"),
    (None, "8002", "flu"),
    (None, "8002", "asthma"),
]
QUASI_IDENTIFIERS = ["age", "zip"]

POLICY = Policy.from_dict(
    {
        "dataset": "visits",
        "columns": {"age": "quasi_identifier", "zip": "quasi_identifier", "disease": "sensitive"},
        "requirements": [
            {"k_anonymity": {"at_least": 2}},
            {"l_diversity": {"variant": "entropy", "at_least": 2}},
            {"t_closeness": {"at_most": 0.4}},
            {"reidentification_risk": {"at_most": "1/3"}},
        ],
    }
)


def frame(rows: list[tuple[Any, ...]] | None = None, columns: list[str] | None = None) -> pd.DataFrame:
    return pd.DataFrame(ROWS if rows is None else rows, columns=columns or COLUMNS)


def loaded(engine: sa.Engine, rows: list[tuple[Any, ...]] | None = None, *, table: str = "visits") -> sa.Engine:
    """Write rows into a table of a database."""
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {table} (age INTEGER, zip TEXT, disease TEXT)")
        if filled := ROWS if rows is None else rows:
            statement = sa.text(f"INSERT INTO {table} VALUES (:age, :zip, :disease)")
            connection.execute(statement, [dict(zip(COLUMNS, row, strict=True)) for row in filled])
    return engine


@contextmanager
def batch_definition(engine: str, folder: Any, rows: list[tuple[Any, ...]] | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield a batch definition of the rows in a GX project, and its parameters."""
    sources = gx.get_context(mode="ephemeral").data_sources
    if engine == "pandas":
        asset = sources.add_pandas("hospital").add_dataframe_asset("visits")
        yield asset.add_batch_definition_whole_dataframe("all"), {"dataframe": frame(rows)}
        return
    if engine == "spark":
        schema = "age int, zip string, disease string"
        data = spark_session().createDataFrame(ROWS if rows is None else rows, schema=schema)
        asset = sources.add_spark("hospital").add_dataframe_asset("visits")
        yield asset.add_batch_definition_whole_dataframe("all"), {"dataframe": data}
        return
    database = postgresql_database() if engine == "postgresql" else sa.create_engine(f"{engine}:///{folder}/house.db")
    loaded(database, rows)
    url = database.url.render_as_string(hide_password=False)
    add = {"sqlite": sources.add_sqlite, "postgresql": sources.add_postgres, "duckdb": sources.add_sql}[engine]
    yield (
        add("hospital", connection_string=url).add_table_asset("visits").add_batch_definition_whole_table("all"),
        {},
    )
    database.dispose()
