"""PostgreSQL: text is compared in the "C" collation, everything unusual as text, rows are hashed in binary form."""

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import OID
from sqlalchemy.engine import Connection, default
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.sources.fingerprint import checked_buckets
from privacy_plugin.sources.protocol import checked_names
from privacy_plugin.sources.sql.dialect import (
    Groups,
    SqlColumn,
    described,
    fetch_rows,
    grouped_by_sqlalchemy,
    insert_rows,
    run,
)
from privacy_plugin.sources.sql.errors import state_of
from privacy_plugin.sources.sql.origin import Expression, Origin, quote_name
from privacy_plugin.sources.sql.plans import nodes, plan_of

# PostgreSQL's own types whose equality is exact; a type of another schema is named with it. All others (text of any
# kind, citext, enumerations, json, arrays, types of extensions; interval, which calls a month and thirty days equal)
# are compared as text, byte by byte.
_EXACT = frozenset({"bool", "int2", "int4", "int8", "oid", "date", "timestamp", "timestamptz", "time", "uuid", "bytea"})
_TIMES: dict[str, type[date | datetime | time]] = {
    "date": date,
    "timestamp": datetime,
    "timestamptz": datetime,
    "time": time,
}
_EXACT_DRIVER = "psycopg"  # others write times that Python has not like those it has: infinity like the end of 9999
_NUMERIC = frozenset({"float4", "float8", "numeric"})
_NO_TIME = (
    "a column has a date or time that Python has not: its years are 1 to 9999, none is infinite, no day has a 24:00; "
    "replace such values, or select the column as text: sql_table(engine, text('SELECT d::text, ...'))"
)
_NO_TRANSACTION = "25P01"
_NO_LOCK = ("42", "3F", "0A")  # not a table, not allowed; no such schema; another database
_ENTRIES = 1664  # of one query: what it returns, and what it orders by
_DIGITS = 1000  # of a numeric that was declared with a precision, at most
_PLAIN_TEXT = frozenset({"text", "varchar", "bpchar", "name", "char"})


_PLAIN = default.DefaultDialect()  # quotes names that are sent as values, where a percent sign is no mark


class PostgresqlRules:
    """Collations, also nondeterministic ones, never decide what is equal."""

    scheme = "postgresql-sha256-2"
    isolation = "REPEATABLE READ"
    savepoints = True
    joins = None
    text_type = "text"
    functions = sa.func.pg_catalog  # else another's count(text) would fit text better than PostgreSQL's count("any")

    def describe(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Look up the types; a domain counts as its base type, and an enumeration as text."""
        _require_own_names(connection)
        found = described(connection, origin)
        names = checked_names([column[0] for column in found])
        types = connection.execute(_TYPES, {"declared": _declared_types(connection, origin, names)})
        plain = _bytewise_columns(connection, origin)
        columns = tuple(
            SqlColumn(
                name=name,
                type=str(kind),
                shown_as=shown_as,
                bytewise=name in plain,
                read_as_text=kind in _TIMES and connection.dialect.driver != _EXACT_DRIVER,
                limited=_is_limited(*sizes),
            )
            for (name, _, *sizes), (kind, shown_as) in zip(found, types, strict=True)
        )
        _require_exact_floats(connection, columns)
        return columns

    def is_stored(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Ask for the table with all its partitions: none foreign, no view, no policy that picks rows at each read."""
        return bool(connection.execute(_STORED, {"name": quote_name(parts, _PLAIN)}).scalar_one())

    def tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Look for relations."""
        plan = plan_of(connection, origin, "EXPLAIN (VERBOSE, FORMAT JSON)")[0][0]
        found = nodes(json.loads(plan) if isinstance(plan, str) else plan)
        return {(str(node["Schema"]), str(node["Relation Name"])) for node in found if "Relation Name" in node}

    def term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Compare exact types as they are (NaN as missing), and all others as text in the "C" collation."""
        expression: Expression = origin.column(column.name)
        if column.type == "timestamptz":  # in a zone of its own Python calls two hours equal that a clock shows twice
            expression = self.functions.timezone(sa.literal_column("'UTC'"), expression)
        if (column.type in _EXACT and not column.read_as_text) or column.bytewise:
            return expression
        if column.type in _NUMERIC:
            present: Expression = sa.func.nullif(expression, sa.literal_column("'NaN'"))
            # PostgreSQL writes a float4 with the digits that a float4 needs; other engines hand over what it is
            return sa.cast(present, sa.Double) if column.type == "float4" else present
        return sa.collate(sa.cast(expression, _Named("pg_catalog.text")), "C")

    def by_content(self, origin: Origin, columns: Sequence[SqlColumn]) -> list[Expression]:
        """Compare column by column, or of very many columns the record: slower, but one entry of the query."""
        terms = [self.term(origin, column) for column in columns]
        return terms if 2 * len(terms) <= _ENTRIES else [sa.func.row(*terms)]

    def kept(self, expression: Expression) -> Expression:
        """Change nothing: all values of a column are of its type."""
        return expression

    def shown(self, origin: Origin, column: SqlColumn) -> Expression:
        """Cast away the types that list values, or may hold one that does, and write in one form what means the same.

        NaN is missing, -0.0 is 0.0, and without a declared scale 1.10 is 1.1; nullif keeps a declared one.
        """
        expression = origin.column(column.name)
        if column.shown_as is not None:
            expression = sa.cast(expression, _Named(column.shown_as))
        if column.type in _NUMERIC:
            expression = sa.func.nullif(expression, sa.literal_column("'NaN'"))
        if column.type in ("float4", "float8"):
            return expression + sa.literal_column(f"0::pg_catalog.{column.type}")
        if column.type == "numeric" and not column.limited:
            return self.functions.trim_scale(expression)
        if column.type == "bpchar" and not column.limited:  # the blanks at the end of which count for nothing
            return sa.cast(sa.cast(expression, _Named("pg_catalog.text")), _Named("pg_catalog.bpchar"))
        return expression

    def decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Take the values as the driver reads them, unless it would write some alike: those come as text."""
        return partial(_read_time, _TIMES[column.type]) if column.read_as_text else None

    def stored_as_meant(self, column: SqlColumn) -> bool:
        """Rely on the type."""
        return True

    grouped = grouped_by_sqlalchemy

    def fetch(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Read the rows of a query; what the driver cannot hand over it quotes."""
        dbapi: Any = connection.dialect.dbapi
        try:
            return fetch_rows(connection, query, len(names))
        except dbapi.DataError as error:
            if state_of(error):
                raise
        raise SourceError(_NO_TIME)

    def hold(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Ask for REPEATABLE READ, which only a transaction without queries can still become.

        The first query settles on a state. Whoever empties a table and fills it anew has to end before: to an earlier
        state the table is empty. So the transaction waits for the table first.
        """
        if not connection.in_transaction():
            run(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        level = str(connection.exec_driver_sql("SHOW transaction_isolation").scalar_one())
        if level not in ("repeatable read", "serializable"):
            raise SourceError(
                f"the connection's transaction is {level}, where two queries can see different data; give the "
                "engine instead, or a connection with isolation_level='REPEATABLE READ'"
            )
        _require_transaction(connection)
        if reads:
            _wait_for(connection, quote_name(reads, connection.dialect))

    def buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Hash the binary form of rows: type, length and bytes of every cell, whatever the session's settings."""
        cells = [self._cell(origin, column) for column in columns]
        own = self.functions
        hashed = own.sha256(own.record_send(sa.func.row(*cells))).label("h")
        rows = sa.select(hashed).select_from(origin.clause).subquery("hashes")
        bucket: Expression = sa.literal_column("pg_catalog.substr(pg_catalog.encode(h, 'hex'), 1, 3)")
        digest: Expression = sa.literal_column(
            "pg_catalog.encode(pg_catalog.sha256(pg_catalog.string_agg(h, ''::pg_catalog.bytea ORDER BY h)), 'hex')"
        )
        counts = [own.count(sa.literal_column("*")), own.count(rows.c.h)]
        query = sa.select(bucket, *counts, digest).select_from(rows).group_by(bucket)
        return checked_buckets(connection.execute(query).all())

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Name the column's type."""
        return column.type

    def definition(self, column: SqlColumn) -> None:
        """Leave the type to the query."""

    def load(self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Insert rows into a table of ours."""
        insert_rows(connection, name, rows)

    def settle(self, connection: Connection, name: str) -> None:
        """Collect statistics: without them the planner expects thousands of rows, and sorts where it could hash."""
        run(connection, f"ANALYZE {name}")

    def same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Let PostgreSQL resolve both names along its search path; a table that is not there is no other's twin.

        To drop a partition, or a table with all its partitions, would take rows of the other away.
        """
        names = {"one": quote_name(one, _PLAIN), "other": quote_name(other, _PLAIN)}
        return bool(connection.execute(_SHARED, names).scalar_one())

    def placed(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Name the schema in which the session creates tables; without one it creates none.

        PostgreSQL cuts long names off without an error: tables that differ in the end of their names would be one. A
        partition that is replaced takes its rows out of the table that it is a part of.
        """
        query = (
            "SELECT pg_catalog.current_schema(), pg_catalog.current_setting('max_identifier_length')::pg_catalog.int4"
        )
        schema, longest = connection.exec_driver_sql(query).one()
        if any(len(part.encode()) > longest for part in parts):
            raise ParameterError(
                f"the target {'.'.join(parts)!r} has a name of more than {longest} bytes, which PostgreSQL cuts off; "
                "give a shorter one"
            )
        full = parts if len(parts) > 1 or schema is None else (str(schema), *parts)
        if connection.execute(_PART, {"name": quote_name(full, _PLAIN)}).scalar_one():
            raise ParameterError(
                f"the target {'.'.join(parts)!r} is a partition, or inherits: to replace it would take rows out of "
                "another table; name another, and attach it yourself"
            )
        return full

    def rename(self, staging: str, target: str, name: str) -> list[str]:
        """Swap inside the transaction."""
        return [f"DROP TABLE IF EXISTS {target}", f"ALTER TABLE {staging} RENAME TO {name}"]

    def _cell(self, origin: Origin, column: SqlColumn) -> Expression:
        """Take what would be released, without the scale or length that a copy may have lost."""
        expression = self.shown(origin, column)
        if column.type == "bpchar":
            return sa.cast(expression, _Named("pg_catalog.text"))
        return self.functions.trim_scale(expression) if column.type == "numeric" else expression


class _Named(sa.types.UserDefinedType[Any]):
    """A type by its full name, or by the one that PostgreSQL gave it: a temporary type may hide its own."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **options: Any) -> str:
        return self.name


RULES = PostgresqlRules()

# An enumeration lists its values, and so may what a domain checks; composites and ranges are made of either. What is
# left are PostgreSQL's own types and the base types of extensions. (-1, unlike NULL, names types of any length.)
_TYPES = sa.text(
    "WITH RECURSIVE based AS ("
    "SELECT place, oid AS declared, oid FROM pg_catalog.unnest(CAST(:declared AS oid[])) WITH ORDINALITY g(oid, place) "
    "UNION ALL SELECT place, declared, typbasetype FROM based JOIN pg_catalog.pg_type USING (oid) WHERE typtype = 'd'"
    "), described AS (SELECT *, typcategory = 'A' AND typelem <> 0 AS listed "
    "FROM based JOIN pg_catalog.pg_type USING (oid) WHERE typtype <> 'd'"
    "), judged AS (SELECT d.*, e.typtype = 'b' OR e.typnamespace = 'pg_catalog'::regnamespace AS harmless "
    "FROM described d JOIN pg_catalog.pg_type e ON e.oid = CASE WHEN listed THEN d.typelem ELSE d.oid END) "
    "SELECT CASE WHEN harmless AND typnamespace = 'pg_catalog'::regnamespace THEN typname::pg_catalog.text "
    "WHEN harmless THEN typnamespace::regnamespace || '.' || typname WHEN listed THEN '_text' ELSE 'text' END, "
    "CASE WHEN harmless AND declared = oid THEN NULL WHEN harmless THEN pg_catalog.format_type(oid, -1) "
    "WHEN listed THEN 'pg_catalog.text[]' ELSE 'pg_catalog.text' END FROM judged ORDER BY place"
)

_STORED = sa.text(
    "WITH RECURSIVE parts(oid) AS (SELECT pg_catalog.to_regclass(:name)::oid "
    "UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN parts ON inhparent = parts.oid) "
    "SELECT coalesce(pg_catalog.bool_and(relkind IN ('r', 'p', 'm') "
    "AND NOT pg_catalog.row_security_active(c.oid)), false) FROM parts JOIN pg_catalog.pg_class c ON c.oid = parts.oid"
)

_PART = sa.text("SELECT pg_catalog.count(*) FROM pg_catalog.pg_inherits WHERE inhrelid = pg_catalog.to_regclass(:name)")

_SHARED = sa.text(
    "WITH RECURSIVE parts(number, oid) AS ("
    "SELECT number, pg_catalog.to_regclass(name)::oid FROM (VALUES (1, :one), (2, :other)) g(number, name) "
    "UNION SELECT number, inhrelid FROM pg_catalog.pg_inherits JOIN parts ON inhparent = parts.oid) "
    "SELECT pg_catalog.count(oid) > pg_catalog.count(DISTINCT oid) FROM parts"
)


def _declared_types(connection: Connection, origin: Origin, names: Sequence[str]) -> list[int]:
    """Ask for the types that a copy would get, without reading rows: of a result, domains report their base types."""
    nothing = origin.everything().subquery("nothing")
    columns: list[Expression] = [sa.column(quoted_name(name, True), _selectable=nothing) for name in names]
    types = [sa.cast(sa.func.pg_catalog.pg_typeof(column), OID) for column in columns]
    always = sa.select(sa.literal_column("1")).subquery("always")
    joined = always.outerjoin(nothing, sa.true())
    return [int(oid) for oid in connection.execute(sa.select(*types).select_from(joined)).one()]


def _is_limited(display: int | None, internal: int | None, precision: int | None, *others: Any) -> bool:
    """Read a driver's description: psycopg2 says -1 and 65535 where psycopg says nothing."""
    return max(display or 0, internal or 0) > 0 or (precision is not None and precision <= _DIGITS)


def _bytewise_columns(connection: Connection, origin: Origin) -> set[str]:
    """Find a table's text columns with a deterministic collation, which compares bytes when asked for equality.

    To name the "C" collation for them is harmless, but hides the columns' statistics from the planner.
    """
    if not origin.parts:
        return set()
    query = sa.text(
        "SELECT attname::pg_catalog.text "
        "FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_collation c ON c.oid = attcollation "
        "WHERE attrelid = pg_catalog.to_regclass(:name) AND attnum > 0 AND c.collisdeterministic "
        "AND atttypid IN ('text'::regtype, 'varchar'::regtype)"
    )
    return {str(name) for name in connection.execute(query, {"name": quote_name(origin.parts, _PLAIN)}).scalars()}


def _require_own_names(connection: Connection) -> None:
    """Refuse a session that looks for functions, types and collations elsewhere before PostgreSQL's own."""
    schemas = connection.exec_driver_sql("SELECT pg_catalog.current_schemas(true)").scalar_one()
    if next((name for name in schemas if not str(name).startswith("pg_temp_")), None) != "pg_catalog":
        raise SourceError(
            "the session's search_path puts another schema before pg_catalog, so that others' functions could answer "
            "in place of PostgreSQL's; leave pg_catalog out of search_path, or put it first"
        )


def _require_transaction(connection: Connection) -> None:
    """Refuse a connection that commits after every statement: it shows the level of a transaction that it never has.

    PostgreSQL sets a savepoint nowhere but in a transaction.
    """
    try:
        run(connection, "SAVEPOINT privacy_plugin_begun")
    except DBAPIError as error:
        if state_of(error.orig) != _NO_TRANSACTION:
            raise
        raise SourceError(
            "the connection commits every statement by itself (AUTOCOMMIT), and two queries can see different data; "
            "give the engine instead, or a connection with isolation_level='REPEATABLE READ'"
        ) from None
    run(connection, "RELEASE SAVEPOINT privacy_plugin_begun")


def _wait_for(connection: Connection, name: str) -> None:
    """Lock a (quoted) table or view against nothing but being replaced; what cannot be locked is told when it is read.

    That is a foreign table, a materialized view, what is not there, and a table of which only some columns may be read.
    """
    run(connection, "SAVEPOINT privacy_plugin_waiting")
    try:
        run(connection, f"LOCK TABLE {name} IN ACCESS SHARE MODE")
    except DBAPIError as error:
        if not (state_of(error.orig) or "").startswith(_NO_LOCK):
            raise
        run(connection, "ROLLBACK TO SAVEPOINT privacy_plugin_waiting")
    run(connection, "RELEASE SAVEPOINT privacy_plugin_waiting")


def _require_exact_floats(connection: Connection, columns: Sequence[SqlColumn]) -> None:
    """Refuse a session that rounds floats when it writes them: different values would look equal."""
    if all(column.type in _EXACT | _PLAIN_TEXT | {"numeric"} for column in columns):
        return
    digits = int(str(connection.exec_driver_sql("SHOW extra_float_digits").scalar_one()))
    if digits < 1:
        raise SourceError(
            f"the session has extra_float_digits = {digits}, which rounds floating-point values; set it to 1 or more"
        )


def _read_time(kind: type[date | datetime | time], text: str | None) -> date | datetime | time | None:
    try:
        return None if text is None else kind.fromisoformat(text)
    except ValueError:
        raise SourceError(_NO_TIME) from None
