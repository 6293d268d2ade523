"""What is published keeps nothing of rows that were left out: no stored text, no dictionary, no label."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.numbered_rows import NumberedRows
from tests.engines import spark_session

SECRET = "of one who was left out"


def _stored_frames() -> dict[str, Any]:
    """Frames whose columns may still store a text of a row that was taken out."""
    shown = [f"long enough to be stored apart {row}" for row in range(60)]
    texts = [*shown, SECRET]
    in_list = pl.List(pl.Enum(texts))
    polars = pl.DataFrame(
        {
            "text": texts,
            "bytes": [text.encode() for text in texts],
            "list": [[text] for text in texts],
            "record": [{"field": text} for text in texts],
            "category": pl.Series(texts, dtype=pl.Categorical),
            "enumeration": pl.Series(texts, dtype=pl.Enum(texts)),
            "list of it": pl.Series([[text] for text in texts], dtype=in_list),
            "pairs of it": pl.Series([[[text, text]] for text in texts], dtype=pl.Array(pl.Enum(texts), (1, 2))),
            "record of it": pl.Series([{"field": [text]} for text in texts], dtype=pl.Struct({"field": in_list})),
        }
    )
    dictionary = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    pandas = pd.DataFrame({"category": texts, "dictionary": texts}).astype(
        {"category": "category", "dictionary": dictionary}
    )
    encoded = pa.dictionary(pa.int32(), pa.string())
    annotated = pa.field("field", pa.string(), metadata={"seen": SECRET})
    arrow = pa.table(
        {
            "text": texts,
            "list": [[text] for text in texts],
            "list of a dictionary": pa.array([[text] for text in texts], pa.list_(encoded)),
            "record of a dictionary": pa.array([{"field": text} for text in texts], pa.struct([("field", encoded)])),
            "pair of a dictionary": pa.array([[text, text] for text in texts], pa.list_(encoded, 2)),
            "map of a dictionary": pa.array([[(text, text)] for text in texts], pa.map_(pa.string(), encoded)),
            "list of a view": pa.array([[text] for text in texts], pa.list_(pa.string_view())),
            "runs": pc.run_end_encode(pa.array(texts)),
            "dictionary of lists": pa.DictionaryArray.from_arrays(range(61), pa.array([[text] for text in texts])),
            "dictionary of records": pa.DictionaryArray.from_arrays(
                range(61), pa.array([{"a": text} for text in texts])
            ),
            "dictionary of runs": pa.DictionaryArray.from_arrays(range(61), pc.run_end_encode(pa.array(texts))),
            "view of a list": pa.array([None, [], *([text] for text in texts[2:])], pa.list_view(pa.string())),
            "view of a dictionary": pa.array([[text] for text in texts], pa.large_list_view(encoded)),
            "metadata of a field": pa.StructArray.from_arrays([pa.array(texts)], fields=[annotated]),
            "metadata of an item": pa.array([[text] for text in texts], pa.list_(annotated)),
        }
    )
    return {
        "polars, filtered": polars.filter(pl.col("text") != SECRET),
        "polars, sliced": polars.slice(0, 60),
        "pandas, sliced": pandas.iloc[:60],
        "pandas, filtered": pandas[[True] * 60 + [False]],
        "arrow, sliced": arrow.slice(0, 60),
        "pandas of Arrow, sliced": arrow.to_pandas(types_mapper=pd.ArrowDtype).iloc[:60],
    }


@pytest.mark.parametrize("case", _stored_frames())
def test_nothing_is_stored_of_rows_that_were_left_out(case: str) -> None:
    """Dagster's IO manager pickles what is released; a text that no row shows could still be in it."""
    frame = _stored_frames()[case]
    source = open_source(frame)
    published = source.publish(None, columns=source.columns, verify=lambda copy: None)
    assert open_source(published).fingerprint() == source.fingerprint()
    assert SECRET.encode() not in pickle.dumps(published)


_UNDER = pa.array(["a", SECRET, "b", "c"])
_MISSING = pa.array([False, True, False])
_PLACES = pa.array([0, 1, 2, 4], pa.int32())
_RECORD = pa.StructArray.from_arrays([_UNDER[:3]], names=["field"], mask=_MISSING)
HIDDEN = {
    "a record": _RECORD,
    "a record in a record": pa.StructArray.from_arrays([_RECORD, pa.array([1, 2, 3])], names=["record", "number"]),
    "a record in a list": pa.ListArray.from_arrays(pa.array([0, 1, 1, 3], pa.int32()), _RECORD),
    "a list": pa.ListArray.from_arrays(_PLACES, _UNDER, mask=_MISSING),
    "a large list": pa.LargeListArray.from_arrays(_PLACES.cast(pa.int64()), _UNDER, mask=_MISSING),
    "a pair": pa.FixedSizeListArray.from_arrays(pa.array(["a", "b", SECRET, "c", "d", "e"]), 2, mask=_MISSING),
    "a map": pa.MapArray.from_arrays(_PLACES, _UNDER, pa.array([1, 2, 3, 4]), mask=_MISSING),
}


class Place(pa.ExtensionType):
    """An extension type that is stored as a record."""

    def __init__(self) -> None:
        super().__init__(_RECORD.type, "tests.place")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> "Place":
        return cls()


def test_nothing_is_stored_inside_a_missing_extension_value() -> None:
    data = pa.table({"x": pa.ExtensionArray.from_storage(Place(), _RECORD)})
    published = _published(open_source(data), ("x",))
    stored = pa.chunked_array([chunk.storage for chunk in published.column("x").chunks])
    assert published.schema.equals(data.schema)
    assert all(SECRET.encode() not in bytes(part) for chunk in stored.chunks for part in chunk.buffers() if part)


def test_fixed_size_lists_of_size_zero_are_copied() -> None:
    """Arrow divides by the width of what it is given, which ends the process."""
    lists = pa.array([[], None, []], type=pa.list_(pa.int32(), 0))
    published = _published(open_source(pa.table({"x": lists})), ("x",))
    assert sorted(published.column("x").to_pylist(), key=repr) == [None, [], []]


def test_a_slice_that_arrow_casts_wrongly_is_refused() -> None:
    inner = pa.StructArray.from_arrays([pa.nulls(4)], names=["nothing"])
    record = pa.StructArray.from_arrays([pa.array(list("abcd")).dictionary_encode(), inner], names=["text", "inner"])
    with pytest.raises(SourceError, match="cast it to a plain type first"):
        _published(open_source(pa.table({"x": record}).slice(2, 1)), ("x",))


@pytest.mark.parametrize("case", HIDDEN)
@pytest.mark.parametrize("frame", ["arrow", "arrow, sliced", "pandas", "polars"])
def test_nothing_is_stored_inside_missing_values(case: str, frame: str) -> None:
    """A record, list or map that is missing may still have values, which no row shows."""
    stored = HIDDEN[case]
    data: Any = pa.table({"x": pa.concat_arrays([stored, stored])})
    assert SECRET.encode() in pickle.dumps(data)
    if frame == "arrow, sliced":
        data = data.slice(1, 3)
    elif frame == "pandas":
        data = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(data.column("x"))})
    elif frame == "polars":
        data = pl.from_arrow(data)
    source = open_source(data)
    published = source.publish(None, columns=["x"], verify=lambda copy: None)
    assert open_source(published).fingerprint() == source.fingerprint()
    assert SECRET.encode() not in pickle.dumps(published)


_TEXTS = pa.array(["a", "b"])
_RUNS = pc.run_end_encode(_TEXTS)
UNCOPIED = {
    "runs inside of a list": pa.ListArray.from_arrays([0, 1, 2], _RUNS),
    "runs of a dictionary": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), _TEXTS.dictionary_encode()),
    "a view inside of a list": pa.array([[["a"]], [["b"]]], pa.list_(pa.list_view(pa.string()))),
    "a union in a record": pa.StructArray.from_arrays(
        [pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [_TEXTS, pa.array([1, 2])])], names=["field"]
    ),
    "a union of a dictionary": pa.UnionArray.from_dense(
        pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [_TEXTS.dictionary_encode()]
    ),
}


@pytest.mark.parametrize("case", UNCOPIED)
@pytest.mark.parametrize("frame", ["arrow", "pandas"])
def test_types_that_arrow_cannot_copy_are_counted_but_not_published(case: str, frame: str) -> None:
    data = pa.table({"x": UNCOPIED[case]})
    if frame == "pandas":
        data = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(data.column("x"))})
    source = open_source(data)
    assert source.frequencies(["x"]).counts.tolist() == [1, 1]
    with pytest.raises(SourceError, match=r"rows of column 'x' of type .* cast it to a plain type first"):
        source.publish(None, columns=["x"], verify=lambda copy: None)


def _published(source: Source, columns: tuple[str, ...]) -> Any:
    return source.publish(None, columns=columns, verify=lambda copy: None)


def _distributed(source: Source, columns: tuple[str, ...]) -> Any:
    def numbered(table: FrequencyTable) -> list[NumberedRows]:
        lines = np.repeat(np.arange(table.distinct), table.counts)
        return [NumberedRows(table=table, lines=lines, number="n", numbers=lines, columns=(*columns, "n"))]

    return source.distribute(columns, numbered, targets=None, verify=lambda copies: None)[0].drop("n")


WRITINGS: dict[str, Callable[[Source, tuple[str, ...]], Any]] = {
    "publish": _published,
    "recode": lambda source, columns: source.recode(Recoding(keep=columns, mappings={})),
    "distribute": _distributed,
}


@pytest.mark.spark
@pytest.mark.parametrize("writing", WRITINGS)
def test_metadata_of_spark_columns_is_not_released(writing: str) -> None:
    """An indexer of Spark's writes all labels of a column into its metadata."""
    from pyspark.sql import functions

    labels = {"ml_attr": {"vals": ["flu", SECRET]}}
    frame = spark_session().createDataFrame([("flu",)] * 3, ["a `disease`"])
    marked = frame.select(functions.col("`a ``disease```").alias("a `disease`", metadata=labels))
    assert SECRET in marked.schema.json()
    written = WRITINGS[writing](open_source(marked), ("a `disease`",))
    assert SECRET not in written.schema.json()
    assert written.columns == ["a `disease`"]
    assert written.count() == 3
