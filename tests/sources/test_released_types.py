"""Released types list no values: an enumeration would list those of removed rows."""

from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.sources import open_source, sql_table
from privacy_plugin.sources.fingerprint import content_fingerprint
from privacy_plugin.sources.numbered_rows import NumberedRows
from tests.engines import postgresql_database

SECRET = "of one who was left out"

_DUCKDB_COLUMNS = {
    "plain": "'flu'::diseases",
    "list": "['flu'::diseases]",
    "array": "['flu'::diseases, NULL]::diseases[2]",
    "record": """{'ENUM(''x'')': 1, 'a "name"': {'inner': ['flu'::diseases]}}""",
    "unnamed": "row('flu'::diseases, TIMESTAMPTZ '2024-01-01 00:00:00+00')",
    "map": "MAP {'flu'::diseases: 1.5}",
}
_POSTGRESQL_COLUMNS = {
    "plain": "'flu'::diseases",
    "list": "ARRAY['flu', NULL]::diseases[]",
    "record": "ROW(1, 'flu')::finding",
    "checked": "'flu'::checked",
    "checked_again": "'flu'::checked_again",
    "checked_list": "ARRAY['flu']::checked[]",
    "checked_number": "7::weekday",
    "checked_character": "'f'::letter",
    "span": "'[flu,flu]'::span",
}


def _with_enumerations(database: str) -> sa.Engine:
    """Every way in which the type of a column may list values of rows that are not there."""
    if database == "duckdb":
        engine = sa.create_engine("duckdb:///:memory:", poolclass=sa.StaticPool)
        types = [f"CREATE TYPE diseases AS ENUM ('flu', '{SECRET}')"]
        columns = _DUCKDB_COLUMNS
    else:
        engine = postgresql_database()
        types = [
            f"CREATE TYPE diseases AS ENUM ('flu', '{SECRET}')",
            f"CREATE DOMAIN checked AS varchar(40) CHECK (VALUE IN ('flu', '{SECRET}'))",
            "CREATE DOMAIN checked_again AS checked",
            f"CREATE DOMAIN letter AS char(3) CHECK (VALUE IN ('f', '{SECRET[:3]}'))",
            "CREATE DOMAIN weekday AS int CHECK (VALUE IN (1, 7))",
            "CREATE TYPE finding AS (day weekday, disease diseases)",
            "CREATE TYPE span AS RANGE (subtype = diseases)",
        ]
        columns = _POSTGRESQL_COLUMNS
    selected = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    with engine.begin() as connection:
        for statement in (*types, f"CREATE TABLE judged AS SELECT {selected}, 'x' AS zip"):
            connection.exec_driver_sql(statement)
    return engine


def _told_by_types(engine: sa.Engine, table: str) -> str:
    """All that the database tells of a table's types."""
    with engine.connect() as connection:
        if engine.dialect.name == "duckdb":
            raw: Any = connection.connection.driver_connection
            return str(raw.table(table).types)
        own = "SELECT typname FROM pg_attribute JOIN pg_type t ON t.oid = atttypid WHERE attrelid = %s::regclass "
        own += "AND attnum > 0 AND typnamespace <> 'pg_catalog'::regnamespace"
        return SECRET if connection.exec_driver_sql(own, (table,)).all() else ""


@pytest.mark.parametrize("database", ["duckdb", "postgresql"])
def test_released_types_list_no_values_of_removed_rows(database: str) -> None:
    """Made of all values of a column, an enumeration goes on naming those that a generalization dropped."""
    engine = _with_enumerations(database)
    source = sql_table(engine, "judged")
    staged: list[Any] = []
    released = source.publish(
        "released", columns=source.columns, verify=lambda copy: staged.append((copy.fingerprint(), copy.row_count()))
    )
    assert staged == [(source.fingerprint(), 1)]
    recoding = Recoding(keep=source.columns, mappings={"zip": {"x": "*"}})
    recoded = source.recode(recoding, target="recoded")
    parts = source.distribute(
        ["plain", "list"],
        lambda table: [
            NumberedRows(
                table=table, lines=np.zeros(2, int), number="b", numbers=np.arange(2), columns=("b", *table.columns)
            )
        ],
        targets=["dealt"],
        verify=lambda copies: None,
    )
    assert parts[0].row_count() == 2
    assert SECRET in _told_by_types(engine, "judged")
    for table in ("released", "recoded", "dealt"):
        assert SECRET not in _told_by_types(engine, table)
    unchanged = [name for name in source.columns if name != "zip"]
    assert content_fingerprint(released) == content_fingerprint(source)
    assert recoded.fingerprint(unchanged) == source.fingerprint(unchanged)


def test_released_types_of_relations_list_no_values_of_removed_rows() -> None:
    with _with_enumerations("duckdb").connect() as connection:
        raw: Any = connection.connection.driver_connection
        source = open_source(raw.table("judged"))
        staged: list[Any] = []
        released = source.publish(None, columns=source.columns, verify=lambda copy: staged.append(copy.fingerprint()))
        assert staged == [source.fingerprint()]
        recoded = source.recode(Recoding(keep=source.columns, mappings={"zip": {"x": "*"}}))
        assert SECRET in str(raw.table("judged").types)
        assert SECRET not in f"{released.types} {recoded.types}"
        assert released.fetchall() == raw.table("judged").fetchall()


def test_an_enumeration_and_its_released_text_have_one_fingerprint() -> None:
    engine = _with_enumerations("postgresql")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE texts AS SELECT 'flu'::text AS plain")
        connection.exec_driver_sql("CREATE TABLE others AS SELECT 'Flu'::text AS plain")
    judged = sql_table(engine, "judged").fingerprint(["plain"])
    assert judged == sql_table(engine, "texts").fingerprint()
    assert judged != sql_table(engine, "others").fingerprint()
