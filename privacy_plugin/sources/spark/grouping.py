"""Group a Spark frame, whatever the session says of results."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, functions


def grouped(frame: DataFrame, by: Sequence[str], measures: Mapping[str, Column]) -> DataFrame:
    """Return the columns grouped by, and the measures after them.

    With `spark.sql.retainGroupColumns` off, Spark returns the measures alone: counts would be taken for values.
    """
    asked = {f"by {name}": functions.col(name) for name in by} | dict(measures)
    found = frame.groupBy(*by).agg(*[column.alias(name) for name, column in asked.items()])
    return found.select(*[functions.col(f"by {name}").alias(name) for name in by], *measures)
