"""What is particular to SQLite: declared types, mixed types, few arguments and columns in a query."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from privacy_plugin.errors import ColumnError, SourceError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import sql_table
from tests.sources.databases import run
from tests.sources.reading import values


def test_collations_do_not_merge(sqlite: sa.Engine) -> None:
    run(
        sqlite,
        "CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT COLLATE RTRIM, u TEXT COLLATE NOCASE)",
        "INSERT INTO t VALUES ('x', 'y', 'p'), ('X', 'y ', 'P'), ('x', 'y', 'p')",
    )
    source = sql_table(sqlite, "t")
    assert values(source, "a") == ["X", "x"]
    assert values(source, "b") == ["y", "y "]
    run(sqlite, "CREATE TABLE one AS SELECT 1 AS k", "CREATE VIEW v AS SELECT t.*, 1 AS k FROM t")
    assert sql_table(sqlite, "v").frequencies(["k"], unit="u").counts.tolist() == [2]
    recoded = source.recode(Recoding(keep=("a",), mappings={"a": {"x": "low", "X": "high"}}), target="r")
    assert recoded.frequencies(["a"]).counts.tolist() == [1, 2]


def test_mixed_types_stay_apart(sqlite: sa.Engine) -> None:
    run(sqlite, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), ('1'), (1.0), (x'31'), (NULL), (1.5), ('1.5')")
    source = sql_table(sqlite, "t")
    table = source.frequencies(["a"])
    assert list(table.dictionaries[0]) == [None, 1, 1.5, "1", "1.5", b"1"]
    assert table.counts.tolist() == [1, 2, 1, 1, 1, 1]
    new: Any = {1: "number", "1": "text", b"1": "bytes", None: None, 1.5: "other number", "1.5": "other text"}
    recoded = source.recode(Recoding(keep=("a",), mappings={"a": new}), target="r")
    assert recoded.frequencies(["a"]).counts.tolist() == [1, 1, 2, 1, 1, 1]


def test_declared_types(sqlite: sa.Engine) -> None:
    run(
        sqlite,
        "CREATE TABLE t (b boolean, d Date, m DATETIME(6))",
        "INSERT INTO t VALUES (1, '2024-02-29', '2024-02-29 00:00:00.000000'), (0, '29.2.2024', 'soon')",
        "INSERT INTO t VALUES (2, '2024-02-30', '2024-02-29 12:30:00'), (NULL, NULL, NULL)",
        "CREATE VIEW v AS SELECT * FROM t",
    )
    for name in ("t", "v"):
        source = sql_table(sqlite, name)
        assert values(source, "b") == [None, False, True, 2]
        assert values(source, "d") == [None, date(2024, 2, 29), "2024-02-30", "29.2.2024"]
        assert values(source, "m") == [None, date(2024, 2, 29), datetime(2024, 2, 29, 12, 30), "soon"]


def test_declared_types_of_a_select(sqlite: sa.Engine) -> None:
    metadata = sa.MetaData()
    people = sa.Table("people", metadata, sa.Column("smoker", sa.Boolean), sa.Column("born", sa.Date))
    metadata.create_all(sqlite)
    with sqlite.begin() as connection:
        connection.execute(sa.insert(people), [{"smoker": True, "born": date(2024, 2, 29)}])
    for source in (sql_table(sqlite, people), sql_table(sqlite, sa.select(people))):
        assert values(source, "smoker") == [True]
        assert values(source, "born") == [date(2024, 2, 29)]


def test_a_copied_query_keeps_its_texts(sqlite: sa.Engine) -> None:
    """SQLite would turn '02138' into 2138 in a column declared STRING, DATE or any other word it does not know."""
    metadata = sa.MetaData()
    people = sa.Table("people", metadata, sa.Column("zip", sa.String), sa.Column("born", sa.Date))
    metadata.create_all(sqlite)
    run(sqlite, "INSERT INTO people VALUES ('02138', '2024-02-29'), ('2138', NULL)")
    source = sql_table(sqlite, sa.select(people))
    copy = source.publish("copy", columns=["zip", "born"], verify=lambda staging: None)
    assert values(copy, "zip") == ["02138", "2138"]
    assert values(copy, "born") == [None, date(2024, 2, 29)]
    assert copy.fingerprint() == source.fingerprint()
    odd = sql_table(sqlite, sa.select(sa.literal_column("'2024'", sa.Date).label("born")))
    with pytest.raises(SourceError, match="would change stored values"):
        odd.publish("copy", columns=["born"], verify=lambda staging: None)
    assert values(sql_table(sqlite, "copy"), "zip") == ["02138", "2138"]


def test_an_unknown_column_is_not_read_as_a_constant(sqlite: sa.Engine) -> None:
    """SQLite reads "agee" as the text 'agee'; a misspelt quasi-identifier would look perfectly private."""
    run(sqlite, "CREATE TABLE t (age INT)", "INSERT INTO t VALUES (1), (2)")
    with pytest.raises(ColumnError, match="did you mean 'age'"):
        sql_table(sqlite, "t").frequencies(["agee"])


def test_floats_keep_all_digits_in_the_fingerprint(sqlite: sa.Engine) -> None:
    run(sqlite, "CREATE TABLE a AS SELECT 0.1 + 0.2 AS x", "CREATE TABLE b AS SELECT 0.3 AS x")
    assert sql_table(sqlite, "a").fingerprint() != sql_table(sqlite, "b").fingerprint()


def test_text_that_is_not_unicode(sqlite: sa.Engine) -> None:
    run(sqlite, "CREATE TABLE t AS SELECT CAST(x'ff' AS TEXT) AS a")
    with pytest.raises(SourceError):
        sql_table(sqlite, "t").frequencies(["a"])
    with pytest.raises(SourceError):
        sql_table(sqlite, "t").fingerprint()


def test_a_person_in_two_forms_counts_once(sqlite: sa.Engine) -> None:
    run(
        sqlite,
        "CREATE TABLE t (city, born DATETIME)",
        "INSERT INTO t VALUES ('Bern', '1990-01-02 03:04:05'), ('Bern', '1990-01-02T03:04:05'), ('Basel', '1990')",
    )
    source = sql_table(sqlite, "t")
    assert source.frequencies(["city"], unit="born").counts.tolist() == [1, 1]
    assert source.frequencies(["city", "born"], unit="born").counts.tolist() == [1, 1]
    run(sqlite, "INSERT INTO t VALUES ('Bern', NULL)")
    with pytest.raises(SourceError, match="'born' is missing in 1 rows"):
        source.frequencies(["city"], unit="born")


@pytest.mark.parametrize("place", ["untyped", "blobs", "view"])
def test_a_number_and_its_text_are_not_two_people(sqlite: sa.Engine, place: str) -> None:
    people = "VALUES ('Bern', 1001), ('Bern', '1001')"
    run(
        sqlite,
        "CREATE TABLE untyped (city TEXT, person)",
        "CREATE TABLE blobs (city TEXT, person BLOB)",
        "CREATE TABLE numbers (city TEXT, person INTEGER)",
        "CREATE VIEW view AS SELECT * FROM numbers UNION ALL SELECT city, CAST(person AS TEXT) FROM numbers",
        *[f"INSERT INTO {name} {people}" for name in ("untyped", "blobs", "numbers")],
    )
    assert sql_table(sqlite, "numbers").frequencies(["city"], unit="person").counts.tolist() == [1]
    with pytest.raises(ColumnError, match="look like another value of another type"):
        sql_table(sqlite, place).frequencies(["city"], unit="person")


def test_generated_columns_have_their_type(sqlite: sa.Engine) -> None:
    run(
        sqlite,
        "CREATE TABLE t (age INTEGER, adult BOOLEAN GENERATED ALWAYS AS (age > 17) STORED)",
        "INSERT INTO t (age) VALUES (17), (18)",
    )
    assert values(sql_table(sqlite, "t"), "adult") == [False, True]
    copy = sql_table(sqlite, "t").publish("copy", columns=["adult"], verify=lambda copy: None)
    assert values(copy, "adult") == [False, True]


def test_wide_tables_are_fingerprinted(sqlite: sa.Engine) -> None:
    """No function takes as many arguments as a table has columns."""
    names = [f"c{number}" for number in range(350)]
    run(sqlite, f"CREATE TABLE t ({', '.join(names)})", "INSERT INTO t (c0, c349) VALUES (1, 'x'), (1, 'y')")
    seen = {sql_table(sqlite, "t").fingerprint().digest}
    for change in ("c349 = 'z' WHERE c349 = 'y'", "c120 = ''", "c120 = NULL, c121 = ''", "c0 = '1'"):
        run(sqlite, f"UPDATE t SET {change}")
        seen.add(sql_table(sqlite, "t").fingerprint().digest)
    assert len(seen) == 5


def test_wide_tables_are_published(sqlite: sa.Engine) -> None:
    """No query returns three counts of every column."""
    names = [f"c{number}" for number in range(700)]
    run(sqlite, f"CREATE TABLE t ({', '.join(names)})", "INSERT INTO t (c0, c699) VALUES (1, 'x'), (1, 'y')")
    source = sql_table(sqlite, "t")
    copy = source.publish("copy", columns=names, verify=lambda copy: None)
    assert copy.fingerprint() == source.fingerprint()


@pytest.mark.parametrize(("columns", "refused"), [(31, False), (32, True)])
def test_more_columns_than_sqlite_joins_are_refused(columns: int, refused: bool, tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/wide.sqlite")
    names = tuple(f"c{number}" for number in range(columns))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in names)})")
        connection.exec_driver_sql(f"INSERT INTO t VALUES ({', '.join(['1'] * columns)})")
    recoding = Recoding(
        keep=names,
        mappings={name: {"1": "*"} for name in names},
        suppressed_columns=names,
        suppressed=frozenset({("*",) * columns}),
        suppression="mask",
    )
    if refused:
        with pytest.raises(SourceError, match="at most 31 columns"):
            sql_table(engine, "t").recode(recoding, target="recoded")
    else:
        assert sql_table(engine, "t").recode(recoding, target="recoded").row_count() == 1
