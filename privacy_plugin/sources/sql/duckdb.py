"""DuckDB behind SQLAlchemy; results are read as Arrow before the connection closes, when they would be lost."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.sources.arrow_coding import code_array, whole_numbers
from privacy_plugin.sources.fingerprint import check_buckets
from privacy_plugin.sources.interrupts import interruptible
from privacy_plugin.sources.sql import duckdb_sql
from privacy_plugin.sources.sql.dialect import (
    FILE_IN_USE,
    Dialect,
    Groups,
    SqlColumn,
    explain_origin,
    iterate_plan_nodes,
    run_statement,
)
from privacy_plugin.sources.sql.duckdb_profiles import fetch_profiles
from privacy_plugin.sources.sql.origin import ALIAS, Expression, Origin, split_name

_LOCKED = "Could not set lock on file"


class DuckDBDialect(Dialect):
    """DuckDB; text is compared by code points, whatever the collation of the column or session."""

    name = "duckdb"
    scheme = duckdb_sql.SCHEME
    savepoints = False
    text_type = "VARCHAR"
    functions = sa.func.system.main
    opens_file = True
    ignores_case = True

    def configure_engine(self, engine: Engine) -> None:
        """Disable the progress bar, which DuckDB also writes to the logs of background processes."""
        sa.event.listen(engine, "connect", _disable_progress_bar)

    def file_path(self, database: str) -> Path:
        """Expand ~, as DuckDB does."""
        return Path(database).expanduser()

    def explain_error(self, error: BaseException) -> str:
        """Explain that another process has locked the file."""
        return FILE_IN_USE if _LOCKED in str(error) else ""

    def handle_signals(self, connection: Connection) -> AbstractContextManager[None]:
        """Interrupt the query."""
        return interruptible(getattr(_raw(connection), "interrupt", None))

    def describe_columns(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Describe the query natively: duckdb_engine's reflection fails with SQLAlchemy 2.1."""
        if origin.from_text is None:
            relation = _prepare(connection, origin.select_no_rows())
        else:  # WHERE: describing a view without it would advance the sequences that it reads
            relation = _raw(connection).sql(f"SELECT * FROM {origin.from_text} WHERE 1=0")
        kinds = [str(kind) for kind in relation.types]
        return tuple(SqlColumn(name=n, type=k) for n, k in zip(relation.columns, kinds, strict=True))

    def is_stored_table(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Find the one table in DuckDB's own format that the name can mean; a generated column may be random()."""
        database, schema = _current(connection)
        meant = {*_meanings(parts, database, schema), *(() if len(parts) > 1 else _meanings(parts, "temp", "main"))}
        found = [
            definition
            for *name, definition in _rows(connection, _RELATIONS)
            if tuple(str(part).lower() for part in name) in meant
        ]
        return len(found) == 1 and found[0] is not None and "generated" not in str(found[0]).lower()

    def find_tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Collect the table scans of the plan."""
        plan = json.loads(explain_origin(connection, origin, "EXPLAIN (FORMAT json)")[-1][-1])
        return {split_name(str(node["Table"])) for node in iterate_plan_nodes(plan) if "Table" in node}

    def equality_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Undo collations, compare types without exact equality as text, and treat NaN as missing."""
        return sa.literal_column(_term(column))

    def release_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Cast enumerations, which list values of other rows, to text; write values that mean the same in one form."""
        return sa.literal_column(duckdb_sql.release_term(_quoted(column), column.type))

    def value_decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Parse huge integers, which are read as text."""
        return duckdb_sql.value_decoder(column.type)

    def fetch_coded(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Read the result as Arrow on the same raw connection."""
        return _code_result(_prepare(connection, query), names)

    def fetch_counts(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn], unit: SqlColumn | None
    ) -> Groups:
        """Use textual SQL for named tables: SQLAlchemy would add 5% to the time of the query."""
        if origin.from_text is None:
            return super().fetch_counts(connection, origin, columns, unit)
        terms, person = [_term(column) for column in columns], None if unit is None else _term(unit)
        query = duckdb_sql.count_groups(origin.from_text, terms, person)
        return _code_result(_raw(connection).sql(query), [column.name for column in columns])

    def count_profiles(
        self,
        connection: Connection,
        origin: Origin,
        columns: Sequence[SqlColumn],
        *,
        sensitive: bool,
        first_rows: int | None = None,
    ) -> ClassProfiles | None:
        """Count with DuckDB's lists, which take less time than texts."""
        source, parameters = origin.from_text, None
        if source is None:
            everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(origin.clause)
            compiled, parameters = _compile(connection, everything)
            source = f"({compiled}) AS {ALIAS}"
            if parameters is not None:  # the query would be repeated in one statement, and its parameters not
                return super().count_profiles(connection, origin, columns, sensitive=sensitive, first_rows=first_rows)
        if first_rows is not None:
            source = f"(SELECT * FROM {source} LIMIT {int(first_rows)}) AS {ALIAS}"
        names, terms = [column.name for column in columns], [_term(column) for column in columns]
        return fetch_profiles(_raw(connection).sql, source, names, terms, sensitive=sensitive)

    def join_codes(self) -> Expression:
        """Order inside of the aggregate."""
        return sa.literal_column(f"{duckdb_sql.OWN}.string_agg(concat(code, ':', n), ',' ORDER BY code)")

    def order_codes(self, rows: sa.Select[Any], terms: Sequence[Expression]) -> sa.Select[Any]:
        """Return the rows as they are: the aggregate orders them."""
        return rows

    def begin_snapshot(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Begin a transaction: in DuckDB each of them sees one state."""
        if not connection.in_transaction():
            connection.begin()

    def hash_buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Hash in DuckDB."""
        cells = [duckdb_sql.cell_text(_quoted(column), column.type) for column in columns]
        if origin.from_text is not None:
            return check_buckets(_raw(connection).sql(duckdb_sql.hash_buckets(origin.from_text, cells)).fetchall())
        everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(origin.clause)
        compiled, parameters = _compile(connection, everything)
        query = duckdb_sql.hash_buckets(f"({compiled}) AS {ALIAS}", cells)
        return check_buckets(_raw(connection).sql(query, params=parameters).fetchall())

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Return the released type, which tells apart equal texts of different types."""
        return duckdb_sql.released_type(column.type)

    def insert_rows(
        self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], types: Sequence[str]
    ) -> None:
        """Insert through Arrow: DuckDB inserts single rows slowly."""
        arrays = [pa.array([row[i] for row in rows], type=_ARROW[kind]) for i, kind in enumerate(types)]
        table = pa.table(arrays, names=[f"v{i}" for i in range(len(types))])
        raw = _raw(connection)
        raw.register("privacy_plugin_rows", table)
        try:
            run_statement(connection, f"INSERT INTO {name} SELECT * FROM privacy_plugin_rows")
        finally:
            raw.unregister("privacy_plugin_rows")

    def is_same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Compare the full names of what both mean, without case."""
        return _resolve_name(connection, one) == _resolve_name(connection, other)

    def qualified_name(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Add the database and schema in which the session creates tables."""
        return parts if len(parts) > 1 else (*_current(connection), *parts)


DIALECT = DuckDBDialect()

# Every table with its definition, and every view; a table of another system counts as a view.
_RELATIONS = """
    SELECT t.database_name, t.schema_name, t.table_name, CASE WHEN d.type = 'duckdb' THEN t.sql END
    FROM system.main.duckdb_tables() t JOIN system.main.duckdb_databases() d ON d.database_oid = t.database_oid
    UNION ALL SELECT database_name, schema_name, view_name, NULL FROM system.main.duckdb_views() WHERE NOT internal
"""

_ARROW = {
    "BIGINT": pa.int64(),
    "TEXT": pa.string(),
    "FLOAT8": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}


def _disable_progress_bar(connection: Any, _: Any) -> None:
    connection.execute("SET enable_progress_bar = false")


def _resolve_name(connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the full name that a name means; the first of two parts is a schema or a database."""
    database, schema = _current(connection)
    path = _rows(connection, "SELECT system.main.current_schemas(false)")[0][0]
    bare = [("temp", "main"), *((database, each) for each in (*path, schema))]
    places = {1: bare, 2: [(parts[0], "main"), (database, parts[0])]}.get(len(parts), [parts[:2]])
    names = [tuple(part.lower() for part in (*place, parts[-1])) for place in places]
    known = {tuple(str(part).lower() for part in name) for *name, _ in _rows(connection, _RELATIONS)}
    return next((name for name in names if name in known), names[-1])


def _meanings(parts: tuple[str, ...], database: str, schema: str) -> set[tuple[str, ...]]:
    full = {(database, schema)[: 3 - len(parts)] + parts}
    if len(parts) == 2:
        full.add((parts[0], "main", parts[1]))
    return {tuple(part.lower() for part in name) for name in full}


def _current(connection: Connection) -> tuple[str, str]:
    database, schema = _rows(connection, "SELECT system.main.current_database(), system.main.current_schema()")[0]
    return str(database), str(schema)


def _rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = _raw(connection).sql(query).fetchall()
    return rows


def _raw(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _code_result(relation: Any, names: Sequence[str]) -> Groups:
    """Code the columns of a result; errors mention their names in the table, not those in the query."""
    columns = relation.to_arrow_table().columns
    return (
        [code_array(column, name) for column, name in zip(columns, names, strict=False)],
        [whole_numbers(column).astype(np.int64, copy=False) for column in columns[len(names) :]],
    )


def _prepare(connection: Connection, query: sa.Select[Any]) -> Any:
    """Prepare a query on the raw connection, inside its transaction if there is one."""
    compiled, parameters = _compile(connection, query)
    return _raw(connection).sql(compiled, params=parameters)


def _compile(connection: Connection, query: sa.Select[Any]) -> tuple[str, Any]:
    """Return a query as text, and its parameters or None."""
    compiled = query.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    parameters = compiled.params
    if not parameters:
        return str(compiled), None
    order = getattr(compiled, "positiontup", None)
    return str(compiled), [parameters[name] for name in order] if order is not None else parameters


def _term(column: SqlColumn) -> str:
    return duckdb_sql.equality_term(_quoted(column), column.type)


def _quoted(column: SqlColumn) -> str:
    return f"{ALIAS}.{duckdb_sql.quote(column.name)}"
