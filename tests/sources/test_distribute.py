"""Tables of numbered rows keep values, types and order in every engine."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from privacy_plugin.errors import ColumnError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.sources import Source, SqlTable, open_source, sql_table
from privacy_plugin.sources.numbered_rows import NumberedRows, match_row_numbers
from tests.oracles.frequencies import count_rows, meaning
from tests.sources.awkward import names_of
from tests.sources.databases import tables
from tests.sources.loading import DATABASES, ENGINES, LOADERS, as_csv_reads, target_of, text_table
from tests.sources.people import AWKWARD_PEOPLE
from tests.sources.reading import counted

COLUMNS = ("born", "name", "score", "smoker", "age")
LINES = [5, 0, 0, 3, 1, 1, 1, 4, 2, 6, 5]


def wanted_of(table: FrequencyTable, columns: tuple[str, ...], number: str = "number") -> NumberedRows:
    return NumberedRows(
        table=table.project(columns),
        lines=np.array(LINES) % table.project(columns).distinct,
        number=number,
        numbers=np.arange(len(LINES))[::-1] * 7,
        columns=(*columns[:1], number, *columns[1:]),
    )


def distributed(engine: str, data: Any, folder: Path, columns: tuple[str, ...], number: str = "number") -> Source:
    target = target_of(engine, folder, "distributed")
    looked: list[int] = []
    (made,) = open_source(data).distribute(
        columns,
        lambda table: [wanted_of(table, columns, number)],
        targets=None if target is None else [target],
        verify=lambda pair: looked.append(pair[0].row_count()),
    )
    assert looked == [len(LINES)]
    return open_source(made)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_repeated_with_their_number(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](AWKWARD_PEOPLE, tmp_path)
    source = distributed(engine, data, tmp_path, COLUMNS)
    assert source.columns == ("born", "number", "name", "score", "smoker", "age")
    read = as_csv_reads(AWKWARD_PEOPLE) if engine == "csv" else AWKWARD_PEOPLE
    distinct = FrequencyTable.from_rows(COLUMNS, zip(*(read.values[name] for name in COLUMNS), strict=True))
    expected = wanted_of(distinct, COLUMNS).frequencies()
    rows = [expected.values(row) for row in range(expected.distinct)]
    numbers = expected.columns.index("number")
    if engine == "csv":
        rows = [(*row[:numbers], str(row[numbers]), *row[numbers + 1 :]) for row in rows]
    assert counted(source) == count_rows(rows)
    if engine not in ("csv", "parquet"):  # the types are those of the source
        assert source.fingerprint(["name"]).scheme == open_source(data).fingerprint(["name"]).scheme


@pytest.mark.parametrize("engine", DATABASES)
def test_a_database_keeps_types_and_order(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](AWKWARD_PEOPLE, tmp_path)
    source = distributed(engine, data, tmp_path, COLUMNS)
    assert isinstance(source, SqlTable)
    with source.bind.connect() as connection:
        kinds = [{c.name: c.type for c in s._describe(connection)} for s in (data, source)]
        query = sa.select(sa.literal_column("number")).select_from(source.selectable)
        assert connection.execute(query).scalars().all() == [number * 7 for number in range(len(LINES))][::-1]
    assert {name: kinds[1][name] for name in COLUMNS} == {name: kinds[0][name] for name in COLUMNS}
    assert not [name for name in tables(source) if "privacy_plugin" in name]


@pytest.mark.parametrize("engine", ENGINES)
def test_awkward_names(engine: str, tmp_path: Path) -> None:
    names = names_of(engine)
    texts = {name: [f"{letter}{place}" for letter in "abcdefg"] for place, name in enumerate(names)}
    data = LOADERS[engine](text_table(**texts), tmp_path)
    source = distributed(engine, data, tmp_path, tuple(names), 'the number\'s "name"')
    assert source.row_count() == len(LINES)
    assert source.columns == (names[0], 'the number\'s "name"', *names[1:])
    for name in names:
        assert source.frequencies([name]).dictionaries == (tuple(texts[name]),), name


@pytest.mark.parametrize("engine", ["sqlite", "duckdb_relation", "pandas", "csv"])
def test_unknown_columns_and_refusals_write_nothing(engine: str, tmp_path: Path) -> None:
    data = LOADERS[engine](AWKWARD_PEOPLE, tmp_path)
    with pytest.raises(ColumnError):
        distributed(engine, data, tmp_path, ("born", "nme"))
    files = sorted(tmp_path.iterdir())

    def refuse(pair: Any) -> None:
        raise SourceError("not like this")

    target = {"sqlite": ["refused"], "csv": [str(tmp_path / "refused.csv")]}.get(engine)
    with pytest.raises(SourceError, match="not like this"):
        open_source(data).distribute(["age"], lambda t: [wanted_of(t, ("age",))], targets=target, verify=refuse)
    assert sorted(tmp_path.iterdir()) == files
    if engine == "sqlite":
        with pytest.raises(SourceError):
            _ = sql_table(data.bind, "refused").columns


def test_equal_values_of_two_forms_get_one_form(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/forms.sqlite")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (q, s)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 'a'), (1.0, 'b'), (1, 'c'), (1.0, 'd')")
    pick = [0, 0, 0]
    sql_table(engine, "t").distribute(
        ["q"],
        lambda t: [NumberedRows(table=t, lines=np.array(pick), number="n", numbers=np.array(pick), columns=("q", "n"))],
        targets=["made"],
        verify=lambda pair: None,
    )
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT DISTINCT typeof(q) FROM made").scalars().all() in (
            ["integer"],
            ["real"],
        )


def test_examples_that_are_not_those_of_the_table_are_refused() -> None:
    table = FrequencyTable.from_rows(["q"], [(1,), (2,)])
    assert match_row_numbers(FrequencyTable.from_rows(["q", "n"], [(2, 10), (1, 20)]), table).tolist() == [20, 10]
    for rows in ([(2, 10)], [(2, 10), (3, 20)], [(1, 1), (2, 2), (3, 3)], [(1, 1), (2, 2), (2, 3)]):
        with pytest.raises(SourceError, match="changed"):
            match_row_numbers(FrequencyTable.from_rows(["q", "n"], rows), table)


def test_expected_frequencies_merge_equal_rows() -> None:
    table = FrequencyTable.from_rows(["q"], [("b",), ("a",), (None,)])
    rows = NumberedRows(
        table=table, lines=np.array([2, 1, 2]), number="n", numbers=np.array([5, 4, 5]), columns=("n", "q")
    )
    found = rows.frequencies()
    listed = {found.values(row): int(found.counts[row]) for row in range(found.distinct)}
    assert Counter(listed) == Counter({(5, "b"): 2, (4, "a"): 1})
    assert meaning(found.values(0)[1]) == meaning("a")
