"""Values that are counted as one are released in one form, so that the form identifies nobody."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import open_source, sql_table
from tests.engines import postgresql_database, spark_session
from tests.sources.loading import ENGINES, LOADERS, Table, target_of

NAN = float("nan")
FLOATS = Table(
    kinds={"weight": "float", "rest": "text"},
    values={"weight": [0.0, -0.0, NAN, None, 1.5, 0.0], "rest": list("aaaaaa")},
)
TYPED = [engine for engine in ENGINES if engine.id != "csv"]  # to which all is text


def looks(data: Any, column: str) -> list[str]:
    """Return every value of a column as a recipient of the table reads it."""
    if hasattr(data, "bind"):
        with data.bind.connect() as connection:
            rows = connection.execute(sa.select(sa.text("*")).select_from(data.selectable))
            return [repr(row._mapping[column]) for row in rows]
    if isinstance(data, str | Path):
        data = pq.read_table(data)
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, duckdb.DuckDBPyRelation):
        return [repr(row[0]) for row in data.select(f'"{column}"').fetchall()]
    if isinstance(data, pa.Table):
        return [repr(value) for value in data.column(column).to_pylist()]
    if hasattr(data, "toArrow"):
        return [repr(row[column]) for row in data.select(column).collect()]
    return [repr(value) for value in data[column].to_list()]


def released(data: Any, target: str | None = None) -> Any:
    """Publish all columns; what is put in place must be what was judged."""
    source = open_source(data)
    seen: list[Any] = []
    published = source.publish(
        target, columns=source.columns, verify=lambda copy: seen.append((copy.fingerprint(), copy.row_count()))
    )
    assert seen == [(source.fingerprint(), source.row_count())]
    return published


def one_look_each(data: Any, published: Any, column: str, classes: int) -> None:
    """As many looks as there are values."""
    assert len(open_source(data).frequencies([column]).counts) == classes
    assert len(set(looks(published, column))) == classes


@pytest.mark.parametrize("engine", TYPED)
def test_floats(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](FLOATS, tmp_path)
    target = target_of(engine, tmp_path)
    published = released(data, target)
    one_look_each(data, target if engine == "parquet" else published, "weight", 3)


@pytest.mark.parametrize("engine", TYPED)
def test_floats_of_columns_without_a_mapping(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](FLOATS, tmp_path)
    recoding = Recoding(keep=("weight", "rest"), mappings={"rest": {"a": "*"}})
    target = target_of(engine, tmp_path, "recoded")
    recoded = open_source(data).recode(recoding, target=target)
    one_look_each(data, target if engine == "parquet" else recoded, "weight", 3)


OBJECTS: dict[str, tuple[list[Any], int]] = {
    "numbers": ([39, 39.0, Decimal("39.00"), Decimal("39.5"), 39.5, np.int64(39)], 2),
    "missing": ([None, NAN, pd.NaT, pd.NA, 1, 1], 2),
    "missing texts": ([None, NAN, pd.NA, "a", "a", "a"], 2),
    "days": ([date(2024, 1, 1), datetime(2024, 1, 1), pd.Timestamp("2024-01-01"), *[date(2024, 1, 2)] * 3], 2),
    "zones": ([datetime(2024, 1, 1, 5), datetime(2024, 1, 1, 5, tzinfo=UTC), *[datetime(2024, 1, 1, 6)] * 4], 2),
    "texts": ([UUID(int=5), str(UUID(int=5)), "b", "b", "b", "b"], 2),
    "dictionaries": ([{"a": 1, "b": 2}, {"b": 2, "a": 1}, *[{"a": 1}] * 4], 2),
    "sets": ([{1, 2}, {2, 1}, frozenset({1, 2}), *[{3}] * 3], 2),
    "kinds": ([True, 1, "1", 1.0, "true", False], 5),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_pandas(kind: str) -> None:
    values, classes = OBJECTS[kind]
    data = pd.DataFrame({"x": pd.Series(values, dtype=object), "row": range(len(values))})
    one_look_each(data, released(data), "x", classes)


def test_whole_columns_of_one_form_stay_as_they_are() -> None:
    columns: dict[str, Sequence[Any]] = {
        "text": ["a", None, "b"],
        "nan": pd.Series(["a", NAN, "b"], dtype=object),
        "decimals": [Decimal("1.10"), Decimal("2.50"), None],
        "lists": [[1], [2], None],
        "moments": pd.Series([datetime(2024, 1, 1), datetime(2024, 1, 1, 5), None], dtype=object),
    }
    data = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}, index=[7, 7, 7])
    recoded = open_source(data).recode(Recoding(keep=tuple(columns), mappings={}))
    pd.testing.assert_frame_equal(recoded, data)


def test_columns_of_pandas() -> None:
    data = pd.DataFrame(
        {
            "single": np.array([0.0, -0.0, NAN], dtype=np.float32),
            "complex": np.array([0j, complex(-0.0, -0.0), complex(0, -0.0)]),
            "nullable": pd.arrays.FloatingArray(np.array([0.0, -0.0, NAN]), np.zeros(3, dtype=bool)),
            "sparse": pd.arrays.SparseArray([0.0, -0.0, NAN]),
            "intervals": pd.arrays.IntervalArray.from_arrays([0.0, -0.0, 0.0], [1.0, 1.0, 1.0]),
            "categories": pd.Categorical.from_codes(
                [0, 1, -1], categories=pd.Index([date(2024, 1, 1), pd.Timestamp("2024-01-01")], dtype=object)
            ),
            "arrow": pd.array(pa.array([0.0, -0.0, NAN]), dtype=pd.ArrowDtype(pa.float64())),
        }
    )
    published = released(data)
    for name, classes in zip(data.columns, (2, 1, 2, 2, 1, 2, 2), strict=True):
        one_look_each(data, published, name, classes)
    kept = [name for name in data.columns if name != "categories"]  # those that no row has any more are left out
    assert published[kept].dtypes.equals(data[kept].dtypes)


def test_columns_of_arrow() -> None:
    numbers = pa.array([0.0, -0.0, NAN, None])
    half = pa.array(np.array([0.0, -0.0, NAN, 1.0], dtype=np.float16))
    data = pa.table({"single": numbers.cast(pa.float32()), "half": half, "coded": numbers.dictionary_encode()})
    published = released(data)
    for name, classes in zip(data.column_names, (2, 3, 2), strict=True):
        one_look_each(data, published, name, classes)
    assert published.schema.equals(data.schema)


def test_nested_floats_in_polars() -> None:
    """They differ when they are judged, as in all other frames: polars itself would call [0.0] and [-0.0] equal."""
    for value in (lambda x: [x], lambda x: {"a": x}, lambda x: [{"a": [x]}]):
        frame = pl.DataFrame({"x": [value(0.0), value(-0.0), value(NAN), value(None)]})
        for data in (frame, frame.lazy()):
            one_look_each(data, released(data), "x", 4)


def test_objects_of_polars() -> None:
    data = pl.DataFrame({"x": pl.Series([39, 39.0, None, "39"], dtype=pl.Object)})
    one_look_each(data, released(data), "x", 3)


@pytest.mark.parametrize("kind", ["", "BLOB", "ANYTHING", "INTEGER"])
def test_numbers_of_sqlite(kind: str, tmp_path: Path) -> None:
    """An object column may hold 1 and 1.0, which are equal."""
    engine = sa.create_engine(f"sqlite:///{tmp_path}/numbers.sqlite")
    values = [1, 1.0, 10**17, 1e17, 2**62, 2.0**62, 1.5, "1.0", -0.0, 0, 2.0**63, 1e300]
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t (x {kind})")
        connection.exec_driver_sql("INSERT INTO t VALUES (?)", [(value,) for value in values])
    data = sql_table(engine, "t")
    classes = len(data.frequencies(["x"]).counts)
    assert classes == (8 if kind in ("", "BLOB") else 7)
    one_look_each(data, released(data, "published"), "x", classes)
    query = sql_table(engine, sa.text("SELECT x FROM t"))
    one_look_each(query, released(query, "of_query"), "x", classes)


def test_moments_of_sqlite(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/moments.sqlite")
    morning = ["2024-01-01 05:00:00", "2024-01-01T05:00:00", "2024-01-01 05:00:00.000000"]
    others = ["2024-01-01 05:00:00.500000", "2024-01-01", "2024-13-01T05:00:00", "2024-13-01 05:00:00", None]
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x TIMESTAMP)")
        connection.exec_driver_sql("INSERT INTO t VALUES (?)", [(value,) for value in morning + others])
    data = sql_table(engine, "t")
    one_look_each(data, released(data, "published"), "x", 6)


@pytest.mark.postgres
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_numbers_and_blanks_of_postgresql(driver: str) -> None:
    url = postgresql_database().url
    engine = sa.create_engine(url.set(drivername=f"postgresql+{driver}"))
    names = ("free", "scaled", "price", "single", "blanks", "padded")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE DOMAIN price AS numeric(12, 3)")
        connection.exec_driver_sql(
            "CREATE TABLE t (free numeric, scaled numeric(10, 2), price price, single real, blanks bpchar, "
            "padded char(3))"
        )
        for row in (
            "1.10, 1.10, 1.10, 0, 'a', 'a'",
            "1.1, 1.1, 1.1, '-0', 'a ', 'a '",
            "'NaN', 'NaN', 'NaN', 'NaN', 'b', 'b'",
            "NULL, NULL, NULL, NULL, 'b', 'b'",
        ):
            connection.exec_driver_sql(f"INSERT INTO t VALUES ({row})")
    for number, data in enumerate((sql_table(engine, "t"), sql_table(engine, sa.text("SELECT * FROM t")))):
        published = released(data, f"published_{number}")
        for name in names:
            one_look_each(data, published, name, 2)
        with engine.connect() as connection:
            texts = connection.exec_driver_sql(f"SELECT DISTINCT scaled::text FROM published_{number}").scalars().all()
            kind = connection.exec_driver_sql(
                f"SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname = 'scaled' "
                f"AND attrelid = 'published_{number}'::regclass"
            ).scalar_one()
        assert set(texts) == {"1.10", None}
        assert kind == "numeric(10,2)"
    engine.dispose()


@pytest.mark.spark
def test_nested_values_of_spark() -> None:
    kinds = "a array<double>, s struct<x: double, `y.z`: string>, m map<string, double>, n array<map<string, float>>"
    rows = [
        ([NAN], (NAN, "q"), {"a": 0.0, "b": 1.0}, [{"a": 0.0, "b": 1.0}]),
        ([None], (None, "q"), {"b": 1.0, "a": -0.0}, [{"b": 1.0, "a": -0.0}]),
        (None, None, None, None),
    ]
    data = spark_session().createDataFrame(rows, kinds)
    published = released(data)
    for name in data.columns:
        one_look_each(data, published, name, 2)
    assert published.schema.simpleString() == data.schema.simpleString()


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "Float32", "boolean"])
def test_nullable_columns_store_nothing_under_missing_values(kind: str) -> None:
    """Pandas keeps the values of cells that are set to missing, and a pickled frame takes them along."""
    data = pd.DataFrame({"x": pd.array([1, 0, 1, 1], dtype=kind)})
    data.loc[[0, 3], "x"] = pd.NA
    stored: Any = released(data)["x"].array
    assert stored.isna().sum() == 2
    assert not stored._data[stored.isna()].any()
    assert stored.dtype == kind


def test_removed_rows_do_not_decide_the_form() -> None:
    data = pd.DataFrame({"x": pd.Series([39.0, 39, None, float("nan")], dtype=object), "kept": ["y", "n", "n", "y"]})
    suppressed = {"suppressed_columns": ("kept",), "suppressed": frozenset({("n",)}), "suppression": "drop"}
    recoded = open_source(data).recode(Recoding(keep=("x", "kept"), mappings={}, **suppressed))
    assert sorted(map(repr, recoded["x"])) == ["39.0", "nan"]


def test_date64_values_of_arrow_lose_their_hours() -> None:
    moments = pa.array([18_000_000, 80_000_000, -1], pa.int64()).view(pa.date64())
    published = released(pa.table({"x": moments}))
    assert set(published.column("x").cast(pa.int64()).to_pylist()) == {0, -86_400_000}


class Weight(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.weight")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> "Weight":
        return cls()


def test_floats_in_arrow_extension_types() -> None:
    stored = pa.array([0.0, -0.0, NAN, None])
    data = pa.table({"x": pa.ExtensionArray.from_storage(Weight(), stored)})
    published = released(data)
    one_look_each(data, published, "x", 2)
    assert published.schema.equals(data.schema)


def test_unions_of_arrow_are_not_released() -> None:
    """The number 1 and 1.0 are judged as one, and nothing could write one for the other."""
    kinds, places = pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32())
    union = pa.UnionArray.from_dense(kinds, places, [pa.array([1]), pa.array([1.0])])
    data = pa.table({"x": union})
    assert open_source(data).frequencies(["x"]).counts.tolist() == [2]
    with pytest.raises(SourceError, match="cast it to a plain type first"):
        released(data)
