"""One body for all engines: the same table gives the same frequency table, array by array."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privacy_plugin.errors import ColumnError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import key
from privacy_plugin.sources import frequency_table, open_source
from tests.oracles.frequencies import count_rows, count_units, meaning
from tests.sources.awkward import NAN, awkward_table, names_of
from tests.sources.loading import ENGINES, LOADERS, Table, as_csv_reads, text_table


def expected_of(table: Table, engine: str) -> Table:
    """In CSV all values are text; the comparison is with the texts that were written."""
    return as_csv_reads(table) if engine == "csv" else table


def counted(table: FrequencyTable) -> Counter[Any]:
    return Counter({tuple(map(meaning, table.values(row))): int(table.counts[row]) for row in range(table.distinct)})


def assert_same(found: FrequencyTable, expected: FrequencyTable) -> None:
    """Equal array by array; dictionaries by key, which is what identifies a value."""
    assert found.columns == expected.columns
    for mine, theirs in zip(found.dictionaries, expected.dictionaries, strict=True):
        assert list(map(key, mine)) == list(map(key, theirs))
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert found.codes.dtype == np.int32
    assert found.counts.dtype == np.int64


@pytest.mark.parametrize("engine", ENGINES)
def test_awkward_values(engine: str, tmp_path: Path) -> None:
    table = awkward_table(engine)
    source = open_source(LOADERS[engine](table, tmp_path))
    expected = expected_of(table, engine)
    assert source.columns == tuple(table.names)
    assert source.row_count() == len(table.rows)
    for name in table.names:
        found = source.frequencies([name])
        assert counted(found) == count_rows((value,) for value in expected.values[name]), name
        assert_same(found, FrequencyTable.from_rows([name], [(value,) for value in expected.values[name]]))
    together = source.frequencies(table.names)
    assert counted(together) == count_rows(expected.rows)
    assert_same(together, FrequencyTable.from_rows(table.names, expected.rows))
    backwards = source.frequencies(table.names[::-1])
    assert_same(backwards, together.project(table.names[::-1]))


@pytest.mark.parametrize("engine", ENGINES)
def test_awkward_names(engine: str, tmp_path: Path) -> None:
    names = names_of(engine)
    table = text_table(**{name: [f"v{i}", f"v{i}", f"w{i}"] for i, name in enumerate(names)})
    source = open_source(LOADERS[engine](table, tmp_path))
    assert source.columns == tuple(names)
    for i, name in enumerate(names):
        assert counted(source.frequencies([name])) == count_rows([(f"v{i}",), (f"v{i}",), (f"w{i}",)]), name
    assert_same(source.frequencies(names), FrequencyTable.from_rows(names, table.rows))
    for unit in ("unit", "absent", "*", "%s", 'a"b'):
        assert source.frequencies(["n", "c0", "h"], unit=unit).counts.tolist() == [1, 1]
    assert source.fingerprint().columns == tuple(sorted(names))


@pytest.mark.parametrize("engine", ENGINES)
def test_people_are_counted_once(engine: str, tmp_path: Path) -> None:
    table = Table(
        kinds={"city": "text", "absent": "integer", "unit": "text", "score": "float"},
        values={
            "city": ["Bern", "Bern", "Bern", "bern", None, None, "Basel"],
            "absent": [1, 1, 1, 1, 1, 1, None],
            "unit": ["p", "p", "P", "p", "q", "r", "p"],
            "score": [1.5, 1.5, 2.5, 1.5, 0.0, -0.0, 7.0],
        },
    )
    data = LOADERS[engine](table, tmp_path)
    rows = [(city, absent) for city, absent, *_ in expected_of(table, engine).rows]
    found = frequency_table(data, ["city", "absent"], unit="unit")
    assert found.unit == "unit"
    assert counted(found) == Counter(count_units(rows, table.values["unit"]))
    if engine != "csv":  # there 0.0 and -0.0 are texts
        by_score = frequency_table(data, ["city"], unit="score")
        assert counted(by_score) == Counter(count_units([(row[0],) for row in rows], table.values["score"]))
    same = frequency_table(data, ["unit"], unit="unit")
    assert same.counts.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_a_unit_are_refused(engine: str, tmp_path: Path) -> None:
    table = Table(
        kinds={"city": "text", "person": "text", "number": "float"},
        values={"city": ["a", "a", "b"], "person": ["p", None, None], "number": [NAN, None, 1.0]},
    )
    data = LOADERS[engine](table, tmp_path)
    with pytest.raises(SourceError, match="'person' is missing in 2 rows"):
        frequency_table(data, ["city"], unit="person")
    with pytest.raises(SourceError, match="'number' is missing in 2 rows"):
        frequency_table(data, ["city"], unit="number")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_without_rows(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](text_table(a=[], b=[]), tmp_path))
    found = source.frequencies(["b", "a"])
    assert (found.rows, found.distinct, found.dictionaries) == (0, 0, ((), ()))
    assert source.frequencies(["a"], unit="b").rows == 0
    assert source.row_count() == 0
    assert source.fingerprint().rows == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_names_are_checked_before_the_query(engine: str, tmp_path: Path) -> None:
    source = open_source(LOADERS[engine](text_table(age=["30", "41"], sex=["f", "m"]), tmp_path))
    with pytest.raises(ColumnError, match="did you mean 'age'"):
        source.frequencies(["agee"])
    with pytest.raises(ColumnError, match="unit"):
        source.frequencies(["age"], unit="persn")
    with pytest.raises(ColumnError, match="more than once"):
        source.frequencies(["age", "age"])
    with pytest.raises(ColumnError, match="empty"):
        source.frequencies([])
    with pytest.raises(ColumnError, match="did you mean 'sex'"):
        source.fingerprint(["sexx"])
