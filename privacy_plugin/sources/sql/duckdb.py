"""DuckDB behind SQLAlchemy: results cross as Arrow, read before the connection closes (afterwards they are gone)."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.fingerprint import checked_buckets
from privacy_plugin.sources.sql import duckdb_terms
from privacy_plugin.sources.sql.dialect import Groups, SqlColumn, grouped_by_sqlalchemy, run
from privacy_plugin.sources.sql.origin import ALIAS, Expression, Origin, split_name
from privacy_plugin.sources.sql.plans import nodes, plan_of


class DuckDBRules:
    """Text is compared code point by code point, whatever the column's or the session's collation."""

    scheme = duckdb_terms.SCHEME
    isolation = None
    savepoints = False
    joins = None
    text_type = "VARCHAR"
    functions = sa.func.system.main

    def describe(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Describe the query natively: reflection is broken between duckdb_engine and SQLAlchemy 2.1."""
        nothing = f"SELECT * FROM {origin.text} WHERE 1=0"  # a view's sequence moves on when a query is only described
        relation = _relation(connection, origin.everything()) if origin.text is None else _raw(connection).sql(nothing)
        kinds = [str(kind) for kind in relation.types]
        return tuple(SqlColumn(name=n, type=k) for n, k in zip(relation.columns, kinds, strict=True))

    def is_stored(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Look for the one table of DuckDB's own format that the name can mean; a generated column may be random()."""
        database, schema = _current(connection)
        meant = {*_meanings(parts, database, schema), *(() if len(parts) > 1 else _meanings(parts, "temp", "main"))}
        found = [
            definition
            for *name, definition in _rows(connection, _RELATIONS)
            if tuple(str(part).lower() for part in name) in meant
        ]
        return len(found) == 1 and found[0] is not None and "generated" not in str(found[0]).lower()

    def tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Look for scans of tables."""
        plan = json.loads(plan_of(connection, origin, "EXPLAIN (FORMAT json)")[-1][-1])
        return {split_name(str(node["Table"])) for node in nodes(plan) if "Table" in node}

    def term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Undo collations, compare what is not exactly comparable as text, and make NaN missing."""
        return sa.literal_column(_term(column))

    def by_content(self, origin: Origin, columns: Sequence[SqlColumn]) -> list[Expression]:
        """Compare column by column."""
        return [self.term(origin, column) for column in columns]

    def kept(self, expression: Expression) -> Expression:
        """Change nothing: all values of a column are of its type."""
        return expression

    def shown(self, origin: Origin, column: SqlColumn) -> Expression:
        """Make text of enumerations, which list values that no row may have, and one form of what means the same."""
        return sa.literal_column(duckdb_terms.shown(_quoted(column), column.type))

    def decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Read huge numbers, which travel as text."""
        return duckdb_terms.group_decoder(column.type)

    def stored_as_meant(self, column: SqlColumn) -> bool:
        """Rely on the type, unless its values have to be read."""
        return self.decoder(column) is None

    def fetch(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Read the result as Arrow on the same raw connection."""
        return _coded(_relation(connection, query), names)

    def grouped(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn], unit: SqlColumn | None
    ) -> Groups:
        """Ask in text where that can be: SQLAlchemy needs 5% of the time that DuckDB takes to answer."""
        if origin.text is None:
            return grouped_by_sqlalchemy(self, connection, origin, columns, unit)
        terms, person = [_term(column) for column in columns], None if unit is None else _term(unit)
        query = duckdb_terms.counting_query(origin.text, terms, person)
        return _coded(_raw(connection).sql(query), [column.name for column in columns])

    def hold(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Begin by the first query: DuckDB's transactions see one state."""
        if not connection.in_transaction():
            connection.begin()

    def buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Hash in DuckDB."""
        cells = [duckdb_terms.cell_text(_quoted(column), column.type) for column in columns]
        hashes: sa.Select[Any] = sa.select(sa.literal_column(duckdb_terms.row_hash(cells)).label("h")).select_from(
            origin.clause
        )
        bucket: Expression = sa.literal_column(duckdb_terms.BUCKET)
        measured: list[Expression] = [sa.literal_column(text) for text in duckdb_terms.BUCKET_MEASURES]
        query = sa.select(bucket, *measured).select_from(hashes.subquery("hashes")).group_by(bucket)
        return checked_buckets(_relation(connection, query).fetchall())

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Name the type that the text of a cell leaves open."""
        return duckdb_terms.shown_type(column.type)

    def definition(self, column: SqlColumn) -> None:
        """Leave the type to the query."""

    def load(self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Insert through Arrow: DuckDB takes single rows slowly."""
        arrays = [pa.array([row[i] for row in rows], type=_ARROW[kind]) for i, kind in enumerate(kinds)]
        table = pa.table(arrays, names=[f"v{i}" for i in range(len(kinds))])
        raw = _raw(connection)
        raw.register("privacy_plugin_rows", table)
        try:
            run(connection, f"INSERT INTO {name} SELECT * FROM privacy_plugin_rows")
        finally:
            raw.unregister("privacy_plugin_rows")

    def settle(self, connection: Connection, name: str) -> None:
        """Do nothing: the planner counts by itself."""

    def same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Compare without case, where the names are found."""
        return _found(connection, one) == _found(connection, other)

    def placed(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Name the database and the schema in which the session creates tables."""
        return parts if len(parts) > 1 else (*_current(connection), *parts)

    def rename(self, staging: str, target: str, name: str) -> list[str]:
        """Swap inside the transaction."""
        return [f"DROP TABLE IF EXISTS {target}", f"ALTER TABLE {staging} RENAME TO {name}"]


RULES = DuckDBRules()

# Every table with its definition, and every view; a table of another system is as good as a view.
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


def _found(connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the full name of what a name means; the first of two parts is a schema or a database."""
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


def _coded(relation: Any, names: Sequence[str]) -> Groups:
    """Code the columns by their names in the table: an error must not speak of those that the query gives them."""
    columns = relation.to_arrow_table().columns
    return (
        [code_array(column, name) for column, name in zip(columns, names, strict=False)],
        [column.to_numpy().astype(np.int64, copy=False) for column in columns[len(names) :]],
    )


def _relation(connection: Connection, query: sa.Select[Any]) -> Any:
    """Prepare a query on the raw connection: inside the transaction, if `hold` has begun one there."""
    compiled = query.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    parameters = compiled.params
    if not parameters:
        return _raw(connection).sql(str(compiled))
    order = getattr(compiled, "positiontup", None)
    given: Any = [parameters[name] for name in order] if order is not None else parameters
    return _raw(connection).sql(str(compiled), params=given)


def _term(column: SqlColumn) -> str:
    return duckdb_terms.group_term(_quoted(column), column.type)


def _quoted(column: SqlColumn) -> str:
    return f"{ALIAS}.{duckdb_terms.quote(column.name)}"
