"""Dispatch: supported and unsupported data, and the libraries that are imported."""

import subprocess
import sys
from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import ColumnError, ParameterError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import Source, frequency_table, open_source, sql_table
from tests.sources.loading import ENGINES, LOADERS, text_table


@pytest.mark.parametrize("engine", ENGINES)
def test_everything_is_a_source(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](text_table(a=["x"]), tmp_path))
    assert isinstance(source, Source)
    assert open_source(source) is source
    assert source.engine in ("pandas", "polars", "arrow", "duckdb", "sqlite", "postgresql", "mariadb", "spark")


def test_nothing_heavy_is_imported() -> None:
    heavy = ["pandas", "polars", "pyarrow", "duckdb", "sqlalchemy", "pyspark", "narwhals"]
    program = f"import sys, privacy_plugin.sources; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    program = (
        "import sys, pandas, privacy_plugin.sources as s; s.frequency_table(pandas.DataFrame({'a': [1]}), ['a']); "
        "print([m for m in ['polars', 'duckdb', 'sqlalchemy', 'pyspark'] if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Frame(pd.DataFrame):
    """A frame with habits of its own, as geopandas has."""


def test_subclasses_open_like_their_base() -> None:
    assert open_source(Frame({"a": [1]})).engine == "pandas"


@pytest.mark.parametrize("data", [None, 5, [1, 2], {"a": [1]}, np.zeros(3), pd.Series([1]), pl.Series([1]), object()])
def test_objects_that_are_not_tables(data: Any) -> None:
    with pytest.raises(SourceError, match="cannot read data of type"):
        open_source(data)


def test_sqlalchemy_needs_an_engine() -> None:
    people = sa.table("people", sa.column("age"))
    for data in (people, sa.select(people), sa.text("SELECT 1"), sa.create_engine("sqlite://")):
        with pytest.raises(SourceError, match="sql_table"):
            open_source(data)


def test_names_must_be_distinct_strings() -> None:
    with pytest.raises(ColumnError, match="column 2 of 2 is not a string"):
        open_source(pd.DataFrame({"a": [1], 5: [2]}))
    with pytest.raises(ColumnError, match="more than one column named 'a'"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ColumnError, match="more than one column named 'a'"):
        open_source(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(ColumnError, match="not a string"):
        open_source(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(ColumnError, match="has no name"):
        open_source(pd.DataFrame({"": [1]}))
    with pytest.raises(ColumnError, match="no columns"):
        open_source(pd.DataFrame(index=[0, 1]))


def test_a_frequency_table_is_a_source() -> None:
    table = FrequencyTable.from_rows(["a", "b"], [(1, "x"), (1, "y"), (1, "y")])
    source = open_source(table)
    assert source.frequencies(["a", "b"]) is table
    assert source.frequencies(["a"]).counts.tolist() == [3]
    assert source.row_count() == 3
    with source.snapshot() as held:
        assert held is source
    frame = pd.DataFrame({"a": [1, 1, 1], "b": ["y", "x", "y"]})
    assert source.fingerprint() == open_source(frame).fingerprint()
    with pytest.raises(SourceError, match="no rows to recode"):
        source.recode(Recoding(keep=("a",), mappings={}))
    with pytest.raises(SourceError, match="no rows to publish"):
        source.publish(None, columns=["a"], verify=lambda copy: None)
    with pytest.raises(ParameterError, match="counts rows, not distinct 'person'"):
        source.frequencies(["a"], unit="person")


def test_people_are_counted_by_a_column_of_a_frequency_table() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1, 2], "b": [2, 3, 3, 3], "p": ["x", "x", "y", "y"]})
    source = open_source(open_source(frame).frequencies(["a", "b", "p"]))
    for columns in (["a"], ["b"], ["a", "b"]):
        found, wanted = (each.frequencies(columns, unit="p") for each in (source, open_source(frame)))
        assert found.counts.tolist() == wanted.counts.tolist()
        assert (found.unit, found.dictionaries) == (wanted.unit, wanted.dictionaries)


def test_counts_of_people_cannot_be_regrouped() -> None:
    frame = pd.DataFrame({"a": [1, 1], "b": [2, 3], "p": ["x", "x"]})
    table = frequency_table(frame, ["a", "b"], unit="p")
    assert frequency_table(table, ["a", "b"], unit="p") is table
    with pytest.raises(ParameterError, match="cannot be added"):
        frequency_table(table, ["a"], unit="p")
    with pytest.raises(ParameterError, match="counts distinct 'p', not"):
        frequency_table(table, ["a", "b"])


def test_arrow_dictionaries_views_and_extensions() -> None:
    words = pa.array(["x", None, "x", "y"])
    table = pa.table(
        {
            "dictionary": words.dictionary_encode(),
            "null_inside": pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["x", None, "x"])),
            "view": words.cast(pa.string_view()),
            "large": words.cast(pa.large_string()),
            "binary_view": pa.array([b"x", None, b"x", b"y"]).cast(pa.binary_view()),
            "null": pa.nulls(4),
            "list": pa.array([[1], None, [1], [2]]),
            "struct": pa.array([{"a": 1}, None, {"a": 1}, {"a": 2}]),
            "duration": pa.array([1, None, 1, 2], type=pa.duration("s")),
            "time": pa.array([1, None, 1, 2], type=pa.time64("ns")),
            "uuid": pa.array([b"x" * 16, None, b"x" * 16, b"y" * 16], type=pa.uuid()),
            "half": pa.array([np.float16(1), None, np.float16(1), np.float16(2)]),
        }
    )
    source = open_source(table)
    for name in table.column_names:
        counts = source.frequencies([name]).counts.tolist()
        assert counts == {"null": [4], "null_inside": [2, 2]}.get(name, [1, 2, 1]), name
    assert source.fingerprint().rows == 4
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1, 3)])
    assert open_source(chunked).fingerprint() == source.fingerprint()
    recoding = Recoding(keep=("null", "dictionary"), mappings={"dictionary": {"x": "1", "y": "2", None: None}})
    assert source.recode(recoding).column("dictionary").to_pylist() == ["1", None, "1", "2"]


def test_times_of_day_are_the_same_everywhere(tmp_path: Path) -> None:
    """24:00 differs from 00:00; a time without nanoseconds has one form in every engine."""
    second = 3723
    table = pa.table(
        {
            "s": pa.array([second, 86400, 0, None], type=pa.time32("s")),
            "ms": pa.array([second * 10**3, 86400 * 10**3, 0, None], type=pa.time32("ms")),
            "us": pa.array([second * 10**6, 86400 * 10**6, 0, None], type=pa.time64("us")),
            "ns": pa.array([second * 10**9, 86400 * 10**9, 0, None], type=pa.time64("ns")),
        }
    )
    pq.write_table(table, tmp_path / "times.parquet")
    arrow_frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    for data in (table, tmp_path / "times.parquet", arrow_frame):
        for name in table.column_names:
            found = frequency_table(data, [name]).dictionaries[0]
            assert found == (None, "00:00:00", "01:02:03", "24:00:00"), name
    parts = [time(1, 2, 3, 4), time(1, 2, 3)]
    expected = ("01:02:03", "01:02:03.000004")
    for data in (pl.DataFrame({"t": parts}), pd.DataFrame({"t": parts}), pa.table({"t": parts})):
        assert frequency_table(data, ["t"]).dictionaries[0] == expected
    fine = pa.table({"t": pa.array([1, 1000], type=pa.time64("ns"))})
    assert frequency_table(fine, ["t"]).dictionaries[0] == ("00:00:00.000000001", "00:00:00.000001")


def test_identifiers_are_text_everywhere() -> None:
    identifiers = [UUID(int=1), UUID(int=2), UUID(int=1), None]
    stored = pa.array([None if each is None else each.bytes for each in identifiers], type=pa.uuid())
    for data in (pa.table({"u": stored}), pd.DataFrame({"u": identifiers}, dtype=object)):
        table = frequency_table(data, ["u"])
        assert table.dictionaries[0] == (None, str(UUID(int=1)), str(UUID(int=2)))
        assert table.counts.tolist() == [1, 2, 1]


def test_polars_objects_categories_and_wide_integers() -> None:
    frame = pl.DataFrame(
        {
            "object": pl.Series([True, 1, "1", None], dtype=pl.Object),
            "enum": pl.Series(["a", "b", "a", None], dtype=pl.Enum(["b", "a", "c"])),
            "category": pl.Series(["a", "A", "a", None], dtype=pl.Categorical),
            "wide": pl.Series([2**100, 2**100 + 1, 2**100, None], dtype=pl.Int128),
            "list": pl.Series([[1], [2], [1], None]),
        }
    )
    source = open_source(frame)
    assert source.frequencies(["object"]).dictionaries[0] == (None, True, 1, "1")
    for name in ("enum", "category", "wide", "list"):
        for data in (frame, frame.lazy()):
            assert sorted(frequency_table(data, [name]).counts.tolist()) == [1, 1, 2], name
    assert source.frequencies(["wide"]).dictionaries[0] == (None, 2**100, 2**100 + 1)
    with pytest.raises(SourceError, match="'object' is missing in 1 rows"):
        source.frequencies(["enum"], unit="object")
    assert open_source(frame.lazy()).fingerprint() == source.fingerprint()


def test_a_plan_that_fails() -> None:
    broken = pl.DataFrame({"a": ["marker-4711"]}).lazy().with_columns(pl.col("a").cast(pl.Int64))
    with pytest.raises(SourceError) as caught:
        frequency_table(broken, ["a"])
    assert "marker" not in str(caught.value)
    with pytest.raises(SourceError):
        open_source(pl.scan_parquet("/nowhere/at/all.parquet"))


@pytest.mark.spark
class TestSpark:
    def test_collations_do_not_merge(self, spark: Any) -> None:
        frame = spark.createDataFrame([("x",), ("X",), ("x",)], "a string collate utf8_lcase")
        assert frame.groupBy("a").count().count() == 1  # what Spark itself would say
        source = open_source(frame)
        assert source.frequencies(["a"]).counts.tolist() == [1, 2]
        recoding = Recoding(keep=("a",), mappings={"a": {"x": "low", "X": "high"}})
        assert frequency_table(source.recode(recoding), ["a"]).counts.tolist() == [1, 2]
        assert source.fingerprint().rows == 3

    def test_nested_values_and_zones(self, spark: Any) -> None:
        query = """
            SELECT array('a, b') AS l, named_struct('x', '1, 2', 'y', CAST(NULL AS string)) AS s, map('a', 1) AS m,
                   TIMESTAMP '2024-10-27 02:30:00.000001+02:00' AS t,
                   array(TIMESTAMP '2024-01-01 00:00:00.000001') AS n,
                   INTERVAL 1 MONTH AS i, X'00' AS b, CAST(0.1 AS float) AS f
            UNION ALL
            SELECT array('a', 'b'), named_struct('x', '1', 'y', '2'), map('b', 1),
                   TIMESTAMP '2024-10-27 02:30:00.000001+01:00', array(TIMESTAMP '2024-01-01 00:00:00.000002'),
                   INTERVAL 2 MONTH, X'01', CAST(0.2 AS float)
        """
        source = open_source(spark.sql(query))
        once = open_source(spark.sql(query).limit(1).union(spark.sql(query).limit(1)))
        for name in source.columns:
            assert source.frequencies([name]).counts.tolist() == [1, 1], name
            assert source.fingerprint([name]) != once.fingerprint([name]), name
        before = source.fingerprint()
        spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
        try:
            assert open_source(spark.sql(query)).fingerprint(["t"]) == source.fingerprint(["t"])
            assert source.frequencies(["t"]).distinct == 2
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
        assert source.fingerprint() == before

    @pytest.mark.parametrize(
        "values",
        [
            """(CAST(DATE '2024-01-01' AS variant)), (CAST('2024-01-01' AS variant))""",
            """(array(struct(CAST(X'31' AS variant)))), (array(struct(CAST('MQ==' AS variant))))""",
            """(map('k', CAST(1 AS variant))), (map('k', CAST('1' AS variant)))""",
        ],
    )
    def test_types_whose_text_is_ambiguous_are_refused(self, spark: Any, values: str) -> None:
        source = open_source(spark.sql(f"SELECT 1 AS k, * FROM VALUES {values} AS t(x)"))
        asked: list[Callable[[], Any]] = [
            lambda: source.frequencies(["x"]),
            lambda: source.frequencies(["k"], unit="x"),
            lambda: source.fingerprint(),
            lambda: source.recode(Recoding(keep=("x",), mappings={"x": {}})),
        ]
        for ask in asked:
            with pytest.raises(SourceError, match="look alike"):
                ask()

    @pytest.mark.parametrize(
        "values",
        [
            """(map(named_struct('a', '1', 'b', '2,'), 1)), (map(named_struct('a', '1,2', 'b', ''), 1))""",
            """(array(map(X'31', 1))), (array(map(X'32', 1)))""",
            """(array('a","b')), (array('a', 'b'))""",
            """(array('a\\\\', 'b')), (array('a\\\\","b'))""",
            """(array(CAST(NULL AS string))), (array('null'))""",
            """(named_struct('a', CAST(NULL AS int))), (CAST(NULL AS struct<a: int>))""",
            """(array('a' COLLATE utf8_lcase)), (array('A' COLLATE utf8_lcase))""",
            """(array(1.0D)), (array(1.0000000000000002D))""",
            """(array(DATE '0005-01-01')), (array(CAST('-0004-01-01' AS DATE)))""",
            """(array(DATE '1582-10-15')), (array(DATE '1582-10-05'))""",
            """(DATE '1582-10-15'), (DATE '1582-10-05')""",
            """(array(TIMESTAMP_NTZ '1582-10-15')), (array(TIMESTAMP_NTZ '1582-10-05'))""",
            """(TIMESTAMP_NTZ '1582-10-15'), (TIMESTAMP_NTZ '1582-10-05')""",
            """(array(TIMESTAMP '2024-10-27 02:30:00+02:00')), (array(TIMESTAMP '2024-10-27 02:30:00+01:00'))""",
        ],
    )
    def test_values_stay_distinct_in_every_session(self, spark: Any, values: str) -> None:
        frame = spark.sql(f"SELECT * FROM VALUES {values} AS t(x)")
        source, before = open_source(frame), open_source(frame).fingerprint()
        found = source.frequencies(["x"])
        assert found.counts.tolist() == [1, 1]
        spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
        spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
        try:
            assert source.frequencies(["x"]).dictionaries == found.dictionaries
            assert source.fingerprint() == before
            new: Any = {value: str(number) for number, value in enumerate(found.dictionaries[0])}
            recoded = source.recode(Recoding(keep=("x",), mappings={"x": new}))
            assert frequency_table(recoded, ["x"]).counts.tolist() == [1, 1]
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
            spark.conf.unset("spark.sql.legacy.timeParserPolicy")

    @pytest.mark.parametrize("value", ["x", "array(x)", "named_struct('a', x)", "map(x, x)"])
    def test_bytes_that_are_not_utf8_are_not_merged(self, spark: Any, value: str) -> None:
        """Spark's own JSON writes all of them as one and the same character."""
        frame = spark.sql(f"SELECT {value} AS x FROM (SELECT CAST(x AS string) AS x FROM VALUES (X'FF'), (X'FE') t(x))")
        source = open_source(frame)
        with pytest.raises(SourceError, match="text must be UTF-8"):
            source.frequencies(["x"])
        twice = open_source(frame.limit(1).union(frame.limit(1)))
        assert source.fingerprint() != twice.fingerprint()

    def test_cells_of_broken_text_stay_apart(self, spark: Any) -> None:
        """The first byte of a longer character must not take what follows the cell for its second one."""
        rows = [("C3", "aaaaaaaa10:1234567", "x"), ("C331", "aaaaaaaa", "12345671:x")]
        frames = [spark.sql(f"SELECT CAST(X'{a}' AS string) AS a, '{b}' AS b, '{c}' AS c") for a, b, c in rows]
        assert open_source(frames[0]).fingerprint() != open_source(frames[1]).fingerprint()

    def test_a_map_is_one_value_in_any_order(self, spark: Any) -> None:
        """A person whose key is written in two ways would be counted twice."""
        values = "(map('a', 1, 'b', 2)), (map('b', 2, 'a', 1)), (map('a', 2, 'b', 1))"
        frame = spark.sql(f"SELECT 1 AS k, * FROM VALUES {values} AS t(m)")
        source = open_source(frame)
        assert source.frequencies(["m"]).counts.tolist() == [2, 1]
        assert source.frequencies(["k"], unit="m").counts.tolist() == [2]
        new: Any = dict.fromkeys(source.frequencies(["m"]).dictionary("m"), "same")
        assert frequency_table(source.recode(Recoding(keep=("m",), mappings={"m": new})), ["m"]).counts.tolist() == [3]

    def test_a_session_whose_groups_come_without_their_columns(self, spark: Any) -> None:
        """The counts, one of each, were taken for the values: three different people were a class of three."""
        frame = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "age int, zip string")
        recoding = Recoding(keep=("age",), mappings={"age": {1: "low", 2: "high", 3: "high"}})
        before = open_source(frame).fingerprint()
        spark.conf.set("spark.sql.retainGroupColumns", "false")
        try:
            source = open_source(frame)
            assert source.frequencies(["age"]).counts.tolist() == [1, 1, 1]
            assert source.frequencies(["age", "zip"]).distinct == 3
            assert source.frequencies(["age"], unit="zip").counts.tolist() == [1, 1, 1]
            joined = source.joined_groups(source, ["age"])
            assert joined is not None
            assert joined.population.groups.counts.tolist() == [1, 1, 1]
            assert source.fingerprint() == before
            assert frequency_table(source.recode(recoding), ["age"]).counts.tolist() == [2, 1]
        finally:
            spark.conf.unset("spark.sql.retainGroupColumns")

    def test_names_that_differ_only_in_case(self, spark: Any) -> None:
        with pytest.raises(ColumnError, match="differ only in case"):
            open_source(spark.createDataFrame([(1, 2)], ["a", "A"]))

    def test_errors_keep_values_to_themselves(self, spark: Any) -> None:
        frame = spark.sql("SELECT CAST(a AS int) AS a FROM VALUES ('marker-4711') AS t(a)")
        with pytest.raises(SourceError) as caught:
            frequency_table(frame, ["a"])
        assert "marker" not in str(caught.value)


def test_duckdb_values_that_appear_later_stop_the_query() -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'a' AS a")
    recoded = open_source(connection.table("t")).recode(Recoding(keep=("a",), mappings={"a": {"a": "1"}}))
    assert recoded.fetchall() == [("1",)]
    connection.execute("INSERT INTO t VALUES ('b')")
    with pytest.raises(duckdb.Error, match="did not exist when the recoding was prepared"):
        recoded.fetchall()


def test_sql_tables_need_a_connection_that_works() -> None:
    with pytest.raises(SourceError):
        sql_table(sa.create_engine("sqlite:////nowhere/at/all.db"), "t").row_count()
