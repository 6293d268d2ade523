"""The same table in every engine: loaders that keep values and, as far as the engine has them, types."""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from privacy_plugin.sources import sql_table
from tests.engines import mariadb_database, postgresql_database, spark_session

ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "moment": pa.timestamp("us"),
    "decimal": pa.decimal128(38, 10),
    "bytes": pa.binary(),
}
_SQL = {
    "sqlite": {
        "text": "TEXT",
        "integer": "INTEGER",
        "float": "REAL",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "moment": "TIMESTAMP",
        "bytes": "BLOB",
    },
    "postgresql": {
        "text": "text",
        "integer": "bigint",
        "float": "double precision",
        "boolean": "boolean",
        "date": "date",
        "moment": "timestamp",
        "decimal": "numeric(38,10)",
        "bytes": "bytea",
    },
    "mariadb": {
        "text": "varchar(200) character set utf8mb4",
        "integer": "bigint",
        "float": "double",
        "boolean": "boolean",
        "date": "date",
        "moment": "datetime(6)",
        "decimal": "decimal(38,10)",
        "bytes": "varbinary(200)",
    },
}
_PANDAS = {"integer": "Int64", "float": "float64", "boolean": "boolean", "text": "str"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns by name, each with its kind and values."""

    kinds: Mapping[str, str]
    values: Mapping[str, Sequence[Any]]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.values.values(), strict=True))

    @property
    def names(self) -> list[str]:
        return list(self.kinds)

    def arrow(self) -> pa.Table:
        arrays = [pa.array(list(self.values[name]), type=ARROW[kind]) for name, kind in self.kinds.items()]
        return pa.table(arrays, names=self.names)


def text_table(**columns: Sequence[str | None]) -> Table:
    return Table(kinds=dict.fromkeys(columns, "text"), values=columns)


def written(value: Any) -> str | None:
    """A value as CSV writes it: text is all that the format has."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, date) else str(value)


def as_csv_reads(table: Table) -> Table:
    """The table that comes out of a CSV file: the same texts, and nothing but texts."""
    values = {name: [written(value) for value in column] for name, column in table.values.items()}
    return Table(kinds=dict.fromkeys(table.kinds, "text"), values=values)


def pandas_frame(table: Table, folder: Path) -> pd.DataFrame:
    columns = {
        name: pd.Series(list(table.values[name]), dtype=_PANDAS.get(kind, "object"))
        for name, kind in table.kinds.items()
    }
    return pd.DataFrame(columns)


def polars_frame(table: Table, folder: Path) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(table.arrow()))


def polars_lazy(table: Table, folder: Path) -> pl.LazyFrame:
    return polars_frame(table, folder).lazy()


def arrow_table(table: Table, folder: Path) -> pa.Table:
    return table.arrow()


def duckdb_relation(table: Table, folder: Path) -> Any:
    connection = duckdb.connect()
    connection.register("loaded", table.arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM loaded")
    return connection.table("t")


def duckdb_sql(table: Table, folder: Path) -> Any:
    engine = sa.create_engine(f"duckdb:///{folder}/{secrets.token_hex(6)}.duckdb")
    return sql_table(engine, _in_duckdb(engine, table, "t"))


def _in_duckdb(engine: sa.Engine, table: Table, name: str) -> str:
    with engine.begin() as connection:
        raw: Any = connection.connection.driver_connection
        raw.register("loaded", table.arrow())
        connection.exec_driver_sql(f"CREATE TABLE {name} AS SELECT * FROM loaded").all()
        raw.unregister("loaded")
    return name


def sqlite(table: Table, folder: Path) -> Any:
    engine = sa.create_engine(f"sqlite:///{folder}/{secrets.token_hex(6)}.sqlite")
    _create(engine, table, [tuple(map(_for_sqlite, row)) for row in table.rows])
    return sql_table(engine, "t")


@cache
def shared_postgresql() -> sa.Engine:
    """One database for all tables of the session: making a database takes far longer than making a table."""
    return postgresql_database()


def postgresql(table: Table, folder: Path) -> Any:
    name = f"t_{secrets.token_hex(6)}"
    _create(shared_postgresql(), table, table.rows, name)
    return sql_table(shared_postgresql(), name)


@cache
def shared_mariadb() -> sa.Engine:
    """One database for all tables of the session."""
    return mariadb_database()


def mariadb(table: Table, folder: Path) -> Any:
    name = f"t_{secrets.token_hex(6)}"
    _create(shared_mariadb(), table, [tuple(map(_for_mariadb, row)) for row in table.rows], name)
    return sql_table(shared_mariadb(), name)


def spark_frame(table: Table, folder: Path) -> Any:
    return spark_session().createDataFrame(table.arrow())


def csv_file(table: Table, folder: Path) -> Path:
    path = folder / f"{secrets.token_hex(6)}.csv"
    lines = [",".join(map(_quoted, table.names))]
    lines += [",".join("" if (text := written(v)) is None else _quoted(text) for v in row) for row in table.rows]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def parquet_file(table: Table, folder: Path) -> Path:
    path = folder / f"{secrets.token_hex(6)}.parquet"
    pq.write_table(table.arrow(), path)
    return path


def pair(engine: str, one: Table, other: Table, folder: Path) -> tuple[Any, Any]:
    """Two tables in one place: a database, a connection, a session, a folder."""
    if engine == "duckdb_relation":
        connection = duckdb.connect()
        for name, table in (("one", one), ("other", other)):
            connection.register("loaded", table.arrow())
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")
        return connection.table("one"), connection.table("other")
    if engine == "duckdb":
        first = duckdb_sql(one, folder)
        return first, sql_table(first.bind, _in_duckdb(first.bind, other, "other"))
    first = LOADERS[engine](one, folder)
    if engine == "sqlite":
        _create(first.bind, other, [tuple(map(_for_sqlite, row)) for row in other.rows], "other")
        return first, sql_table(first.bind, "other")
    return first, LOADERS[engine](other, folder)


Loader = Callable[[Table, Path], Any]

LOADERS: dict[str, Loader] = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "polars_lazy": polars_lazy,
    "arrow": arrow_table,
    "duckdb_relation": duckdb_relation,
    "duckdb": duckdb_sql,
    "sqlite": sqlite,
    "postgresql": postgresql,
    "mariadb": mariadb,
    "spark": spark_frame,
    "csv": csv_file,
    "parquet": parquet_file,
}
_MARKS = {"postgresql": [pytest.mark.postgres], "mariadb": [pytest.mark.mariadb], "spark": [pytest.mark.spark]}

ENGINES = [pytest.param(name, id=name, marks=_MARKS.get(name, [])) for name in LOADERS]
QUICK_ENGINES = [name for name in LOADERS if name not in ("postgresql", "mariadb", "spark")]
DATABASE_NAMES = ("sqlite", "duckdb", "postgresql", "mariadb")
DATABASES = [pytest.param(name, id=name, marks=_MARKS.get(name, [])) for name in DATABASE_NAMES]
FRAMES = [
    pytest.param(name, id=name, marks=_MARKS.get(name, []))
    for name in ("pandas", "polars", "polars_lazy", "arrow", "duckdb_relation", "spark")
]


def target_of(engine: str, folder: Path, name: str = "published") -> str | None:
    """Where an engine puts a new table of that name; frames are returned and have no place."""
    if engine in ("csv", "parquet"):
        return str(folder / f"{name}.{engine}")
    return name if engine in DATABASE_NAMES else None


def _create(engine: sa.Engine, table: Table, rows: Sequence[Sequence[Any]], name: str = "t") -> None:
    quote = engine.dialect.identifier_preparer.quote_identifier
    types = _SQL[engine.dialect.name]
    definitions = ", ".join(f"{quote(column)} {types[kind]}" for column, kind in table.kinds.items())
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {name} ({definitions})")
        mark = "?" if engine.dialect.name == "sqlite" else "%s"
        marks = ", ".join([mark] * len(table.kinds))
        if rows:
            connection.exec_driver_sql(f"INSERT INTO {name} VALUES ({marks})", [tuple(row) for row in rows])


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="microseconds")
    return value.isoformat() if isinstance(value, date) else value


def _for_mariadb(value: Any) -> Any:
    """MariaDB has no NaN and no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
