"""Choose the source for any kind of data, without importing libraries that the caller did not use."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import Any

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.protocol import Source

# (root module, class name) of the data -> (module, class) of its source, which is imported when needed.
_HANDLERS = {
    ("pandas", "DataFrame"): ("frames.pandas_source", "PandasSource"),
    ("polars", "DataFrame"): ("frames.polars_source", "PolarsSource"),
    ("polars", "LazyFrame"): ("frames.polars_source", "PolarsLazySource"),
    ("pyarrow", "Table"): ("frames.arrow_source", "ArrowSource"),
    ("duckdb", "DuckDBPyRelation"): ("sql.duckdb_relation", "DuckDBRelation"),
    ("_duckdb", "DuckDBPyRelation"): ("sql.duckdb_relation", "DuckDBRelation"),
    ("pyspark", "DataFrame"): ("spark.source", "SparkSource"),
}

_ACCEPTED = (
    "a pandas, polars (eager or lazy), Arrow, DuckDB or Spark frame, a path to a .csv, .tsv, .parquet, .jsonl or .xlsx "
    "file, "
    "a FrequencyTable, sql_table(engine, 'schema.table'), or a mapping of these for a release of several tables"
)


def open_source(data: Any) -> Source:
    """Return the source that reads `data` in its own engine.

    >>> import pandas
    >>> open_source(pandas.DataFrame({"age": [30, 30, 41]})).frequencies(["age"]).counts.tolist()
    [2, 1]
    """
    if all(hasattr(type(data), name) for name in ("frequencies", "fingerprint", "snapshot", "recode", "publish")):
        return data  # type: ignore[no-any-return]  # isinstance would read the columns of a database table
    if isinstance(data, FrequencyTable):
        return _handler("frequency_source", "FrequencySource")(data)
    if isinstance(data, Mapping) and data and all(isinstance(name, str) for name in data):
        return _handler("bundle", "Bundle")(data)
    if isinstance(data, str | PathLike):
        return _handler("sql.files", "FileSource")(data)
    for kind in type(data).__mro__:
        if kind.__module__.startswith("pyspark.sql.connect"):
            raise SourceError("a Spark Connect frame is not supported; pass a frame of a classic Spark session")
        known = _HANDLERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if known:
            return _handler(*known)(data)
        if kind.__name__ in ("Engine", "Connection") and kind.__module__.startswith("sqlalchemy."):
            raise SourceError("a database has many tables; pass sql_table(engine, 'schema.table')")
        if kind.__module__.startswith("sqlalchemy."):
            raise SourceError(
                f"a SQLAlchemy {type(data).__name__} does not name its database; pass sql_table(engine, query) instead"
            )
    raise SourceError(f"cannot read data of type {type(data).__module__}.{type(data).__name__}; pass {_ACCEPTED}")


def frequency_table(data: Any, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
    """Group any data by columns, in its own engine.

    With `unit`, a group counts the distinct values of that column (people), not rows.

    >>> import pandas
    >>> visits = pandas.DataFrame({"city": ["Bern", "Bern", "Basel"], "person": [1, 1, 2]})
    >>> frequency_table(visits, ["city"], unit="person").counts.tolist()
    [1, 1]
    """
    return open_source(data).frequencies(columns, unit=unit)


def _handler(module: str, name: str) -> Callable[[Any], Source]:
    handler: Callable[[Any], Source] = getattr(import_module(f"privacy_plugin.sources.{module}"), name)
    return handler
