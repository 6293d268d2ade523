"""pandas in all its forms: mixed objects, extension types, categories, indexes."""

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_plugin.errors import ColumnError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import frequency_table, open_source
from tests.oracles.frequencies import count_rows, meaning

NAN = float("nan")


class Colour(Enum):
    RED = "red"


def counted(data: pd.DataFrame, columns: list[str]) -> dict[Any, int]:
    table = frequency_table(data, columns)
    return {tuple(map(meaning, table.values(row))): int(table.counts[row]) for row in range(table.distinct)}


def values(series: Any) -> list[Any]:
    return list(frequency_table(pd.DataFrame({"a": series}), ["a"]).dictionaries[0])


MIXED: list[Any] = [True, 1, 1.0, "1", None, NAN, pd.NaT, pd.NA, Decimal(1), date(2024, 1, 1), datetime(2024, 1, 1)]
MIXED += [False, 0, -0.0, "0", "", "True", b"1", np.int64(1), np.float32(1.0), np.bool_(True), np.str_("1"), Colour.RED]


def test_mixed_objects_stay_apart() -> None:
    frame = pd.DataFrame({"a": pd.Series(MIXED, dtype=object)})
    table = frequency_table(frame, ["a"])
    found = dict(zip([(type(v), v) for v in table.dictionaries[0]], table.counts.tolist(), strict=True))
    assert found == {
        (type(None), None): 4,
        (bool, False): 1,
        (bool, True): 2,
        (int, 0): 2,
        (int, 1): 5,
        (date, date(2024, 1, 1)): 2,
        (str, ""): 1,
        (str, "0"): 1,
        (str, "1"): 2,
        (str, "True"): 1,
        (str, "red"): 1,
        (bytes, b"1"): 1,
    }
    new: Any = {
        True: "yes",
        False: "no",
        "1": "text",
        "0": "text",
        "": "text",
        "True": "text",
        "red": "text",
        b"1": "bytes",
    }
    numbers: Any = {None: "?", date(2024, 1, 1): "day"}
    recoding = Recoding(keep=("a",), mappings={"a": {**new, **numbers}})
    with pytest.raises(Exception, match="does not cover 2 of its 12 values"):  # 1 and 0 are not True and False
        open_source(frame).recode(recoding)


def test_a_number_and_its_text_are_not_two_people() -> None:
    frame = pd.DataFrame({"city": "Bern", "person": pd.Series([1001, "1001"], dtype=object)})
    with pytest.raises(ColumnError, match="look like another value of another type"):
        frequency_table(frame, ["city"], unit="person")
    assert frequency_table(frame.astype({"person": str}), ["city"], unit="person").counts.tolist() == [1]


@pytest.mark.parametrize("written", ["37.0", "37.50", "True", "007", "1e3"])
def test_a_file_read_in_chunks_does_not_make_secrets_diverse(written: str) -> None:
    """Where a later piece has other text in it, pandas keeps all of that piece as text: the same value, twice."""
    lines = ["ward,value", *[f"a,{written}"] * 300_000, "b,low", "b,high", f"a,{written}"]
    with pytest.warns(pd.errors.DtypeWarning):
        frame = pd.read_csv(StringIO("\n".join(lines)))
    assert frame["value"][frame["ward"] == "a"].nunique() == 2
    with pytest.raises(ColumnError, match=r"has 1 value.* look like another value of another type"):
        frequency_table(frame, ["ward", "value"]).histograms(["ward"], "value")


@pytest.mark.parametrize(
    ("typed", "text"),
    [(1.5, " 1.50"), (True, "TRUE"), (1200, "1.2e3"), (datetime(2024, 1, 1), "2024-01-01 00:00:00"), (-0.0, "0")],
)
def test_a_value_and_its_text_are_not_two_secrets(typed: Any, text: str) -> None:
    frame = pd.DataFrame({"a": "x", "b": pd.Series([typed, text, "other", "1 h"], dtype=object)})
    with pytest.raises(ColumnError, match=r"has 1 value.* look like another value of another type"):
        frequency_table(frame, ["a", "b"]).histograms(["a"], "b")


def test_numbers_and_texts_that_are_other_values() -> None:
    listed = [3, 2.5, True, "1 h", "2,5", "1.0.0", "1e999999999", "yes", "1e1"]
    frame = pd.DataFrame({"a": "x", "b": pd.Series(listed, dtype=object)})
    assert frequency_table(frame, ["a", "b"]).histograms(["a"], "b").totals.sum() == len(listed)


def test_nested_values() -> None:
    listed = [[1], [1], [1.5], ["1"], [True], None, {"a": 1}, {"a": 2}, np.arange(2), np.arange(2), np.arange(3)]
    assert frequency_table(pd.DataFrame({"a": pd.Series(listed, dtype=object)}), ["a"]).counts.sum() == len(listed)
    assert len(values(pd.Series(listed, dtype=object))) == 9
    long = np.zeros(3000)
    other = long.copy()
    other[1500] = 1  # the middle of a long array is not shown when it is printed
    assert len(values(pd.Series([long, other], dtype=object))) == 2


def test_sets_and_dictionaries_are_equal_in_any_order() -> None:
    """Two ways to write one sensitive value were two values that an attacker could not tell apart."""
    pairs: list[list[Any]] = [
        [{"a": 1, "b": [2]}, {"b": [2], "a": 1}],
        [[{"a": 1, "b": 2}], [{"b": 2, "a": 1}]],
        [{0, 8}, {8, 0}],
        [frozenset({0, 8}), frozenset({8, 0})],
    ]
    for pair in pairs:
        assert pair[0] == pair[1]
        assert len(values(pd.Series(pair, dtype=object))) == 1
    assert len(values(pd.Series([{"a": 1, "b": 2}, {"a": 2, "b": 1}, {1, 2}, {1, 3}, [1, 2]], dtype=object))) == 5


def test_categories() -> None:
    series = pd.Series(pd.Categorical(["b", None, "b"], categories=["a", "b", "c"], ordered=True))
    assert values(series) == [None, "b"]
    recoding = Recoding(keep=("a",), mappings={"a": {"b": "B", None: "?"}})
    assert open_source(pd.DataFrame({"a": series})).recode(recoding)["a"].tolist() == ["B", "?", "B"]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.array([1, None, 2], dtype="Int64"), [None, 1, 2]),
        (pd.array([True, None, False], dtype="boolean"), [None, False, True]),
        (pd.array([0.5, None, 1.0], dtype="Float64"), [None, 0.5, 1]),
        (pd.array(["x", None, "X"], dtype="string"), [None, "X", "x"]),
        (pd.array([2**53 + 1, 2**53, None], dtype="Int64"), [None, 2**53, 2**53 + 1]),
        (pd.array([1, 2], dtype="uint64"), [1, 2]),
        (pd.array([2**64 - 1, 2**64 - 2], dtype="uint64"), [2**64 - 2, 2**64 - 1]),
        (pd.array([0.1], dtype="float32"), [float(np.float32(0.1))]),
        (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int32())), [None, 1]),
        (pd.Series([[1], [1, 2], [1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), None),
        (pd.Series([b"a", None], dtype=pd.ArrowDtype(pa.binary())), [None, b"a"]),
        (pd.Series([Decimal("1.10"), None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), [None, Decimal("1.1")]),
        (pd.Series(pd.arrays.SparseArray([0.0, 1.0, NAN])), [None, 0, 1]),
        (pd.Series(pd.period_range("2024-01", periods=2, freq="M")), ["2024-01", "2024-02"]),
        (pd.Series(pd.interval_range(0, 2)), ["(0, 1]", "(1, 2]"]),
        (pd.Series(pd.to_timedelta(["1 day", "1s"])), ["0:00:01", "1 day, 0:00:00"]),
        (pd.Series([1 + 2j, 1 + 3j]), ["(1+2j)", "(1+3j)"]),
    ],
)
def test_types(series: Any, expected: list[Any] | None) -> None:
    found = values(series)
    assert len(found) == 2 if expected is None else found == expected


def test_moments() -> None:
    fine = pd.Series(pd.to_datetime(pd.Series(["2024-01-01", "2024-01-01 00:00:00.000000001", None]), format="ISO8601"))
    assert values(fine) == [None, date(2024, 1, 1), "2024-01-01T00:00:00.000000001"]
    zoned = pd.Series(pd.to_datetime(["2024-01-01 01:00", "2024-01-01 02:00"])).dt.tz_localize("Europe/Zurich")
    assert values(zoned) == [date(2024, 1, 1), datetime(2024, 1, 1, 1)]
    mixed = pd.Series([datetime(2024, 1, 1, 1, tzinfo=UTC), pd.Timestamp("2024-01-01 01:00")], dtype=object)
    assert values(mixed) == [datetime(2024, 1, 1, 1)]
    seconds = pd.Series(np.array(["2024-01-01", "9999-01-01"], dtype="datetime64[s]"))
    assert values(seconds) == [date(2024, 1, 1), date(9999, 1, 1)]
    far = pd.Series(np.array(["20000-01-01", "20000-01-02", "-0044-03-15", "2024-01-01"], dtype="datetime64[s]"))
    assert values(far)[0] == date(2024, 1, 1)
    assert len(values(far)) == 4
    assert values(far.dt.tz_localize("UTC")) == values(far)


@pytest.mark.skipif(np.dtype(np.longdouble) == np.dtype(float), reason="long doubles are doubles here")
def test_types_that_pandas_rounds_are_refused() -> None:
    """Both differ in the last bit of a long double, and pandas treats them as equal."""
    one = np.longdouble(1)
    for numbers in (np.array([one, np.nextafter(one, 2)]), np.array([one, np.nextafter(one, 2)]) * 1j):
        assert len(set(numbers.tolist())) == 2
        with pytest.raises(SourceError, match="pandas rounds numbers of type"):
            frequency_table(pd.DataFrame({"a": numbers}), ["a"])


@pytest.mark.parametrize("kind", ["object", "datetime64[us, Europe/Zurich]", "category"])
def test_an_hour_that_a_clock_shows_twice(kind: Any) -> None:
    """Python calls two moments of one zone equal if its clocks show the same."""
    zone = ZoneInfo("Europe/Zurich")
    hours = [datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1)]
    moments: Any = pd.Series(hours) if kind == "category" else hours
    frame = pd.DataFrame({"a": pd.Series(moments, dtype=kind)})
    assert values(frame["a"]) == [datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27, 1, 30)]
    assert open_source(frame).fingerprint() != open_source(frame.iloc[[0, 0]]).fingerprint()


def test_the_index_is_not_measured() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x", None], "b": [1, 2, 1, 2]})
    expected = counted(frame, ["a", "b"])
    assert counted(frame.iloc[[2, 0, 3, 1]], ["a", "b"]) == expected
    assert counted(frame.set_axis([7, 7, 7, 7]), ["a", "b"]) == expected
    assert counted(frame.set_axis(pd.MultiIndex.from_product([[0, 1], ["a", "b"]])), ["a", "b"]) == expected
    recoding = Recoding(
        keep=("b", "a"), mappings={"a": {"x": "X", "y": "Y", None: None}}, suppressed_columns=("a",),
        suppressed=frozenset({("Y",)}),
    )  # fmt: skip
    recoded = open_source(frame.set_axis([5, 5, 6, 6])).recode(recoding)
    assert recoded.index.tolist() == [5, 6, 6]
    assert recoded["b"].tolist() == [1, 1, 2]
    assert recoded["a"].isna().tolist() == [False, False, True]
    assert frame["a"].tolist()[:3] == ["x", "y", "x"]


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.5, 1.0, -0.0, NAN]),
    st.sampled_from(["", "1", "a"]),
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(rows=st.lists(st.tuples(cells, cells, st.sampled_from("ab")), max_size=12), chunk=st.integers(1, 5))
def test_any_mixture(rows: list[Any], chunk: int) -> None:
    frame = pd.DataFrame(
        {name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(["p", "q", "r"])}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacy_plugin.sources.frames.local_source.CHUNK_ROWS", chunk)
        found = frequency_table(frame, ["p", "q", "r"])
    expected = FrequencyTable.from_rows(["p", "q", "r"], rows)
    assert found.dictionaries == expected.dictionaries
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert {tuple(map(meaning, found.values(i))): int(found.counts[i]) for i in range(found.distinct)} == count_rows(
        rows
    )


def test_many_columns_of_many_values() -> None:
    """More combinations than 62 bits can number."""
    generator = np.random.default_rng(5)
    frame = pd.DataFrame({f"c{i}": generator.integers(0, 500, 700) for i in range(9)})
    frame = pd.concat([frame, frame.iloc[:50]])
    table = frequency_table(frame, list(frame.columns))
    assert (table.distinct, table.rows) == (700, 750)
    assert counted(frame, list(frame.columns)) == count_rows(frame.itertuples(index=False))
