"""PostgreSQL: text is compared in the "C" collation, unusual types as text, rows are hashed in binary form."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime, time
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import OID
from sqlalchemy.engine import Connection, default
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.sources.fingerprint import check_buckets
from privacy_plugin.sources.interrupts import interruptible
from privacy_plugin.sources.protocol import require_column_names
from privacy_plugin.sources.sql.dialect import (
    Dialect,
    Groups,
    SqlColumn,
    explain_origin,
    fetch_rows,
    iterate_plan_nodes,
    read_cursor_description,
    run_statement,
)
from privacy_plugin.sources.sql.origin import Expression, Origin, quote_name

# PostgreSQL's own types whose equality is exact; types of other schemas have qualified names. All other types (text,
# citext, enumerations, json, arrays, types of extensions; interval, for which a month equals thirty days) are compared
# as text, byte by byte.
_EXACT = frozenset({"bool", "int2", "int4", "int8", "oid", "date", "timestamp", "timestamptz", "time", "uuid", "bytea"})
_TIMES: dict[str, type[date | datetime | time]] = {
    "date": date,
    "timestamp": datetime,
    "timestamptz": datetime,
    "time": time,
}
_EXACT_DRIVER = "psycopg"  # other drivers return times that Python lacks as others: infinity as the end of 9999
_NUMERIC = frozenset({"float4", "float8", "numeric"})
_NO_TIME = (
    "a column has a date or time that Python cannot represent (years must be 1 to 9999, not infinite, and not 24:00); "
    "replace such values, or select the column as text: sql_table(engine, text('SELECT d::text, ...'))"
)
_NO_TRANSACTION = "25P01"
_REPEATABLE_READ = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
_NO_LOCK = ("42", "3F", "0A")  # SQLSTATE classes: not a table or not allowed; no such schema; another database
_MAX_ENTRIES = 1664  # of one query: columns that it returns and terms that it orders by
_MAX_DIGITS = 1000  # of a numeric with a declared precision
_PLAIN_TEXT = frozenset({"text", "varchar", "bpchar", "name", "char"})


_PLAIN = default.DefaultDialect()  # quotes names sent as values: there a percent sign must not be doubled


class PostgresqlDialect(Dialect):
    """PostgreSQL; collations, also nondeterministic ones, never decide what is equal."""

    name = "postgresql"
    scheme = "postgresql-sha256-2"
    isolation = "REPEATABLE READ"
    text_type = "text"

    def number_term(self, text: Any, column: SqlColumn) -> Any:
        """Return a number of the column's type, by its qualified name."""
        return (
            text if column.type in ("text", "varchar", "bpchar") else sa.cast(text, _Named(f"pg_catalog.{column.type}"))
        )

    functions = sa.func.pg_catalog  # a user's count(text) would match text better than PostgreSQL's count("any")
    preferred_driver = "psycopg"
    temporary_schema = "pg_temp"

    def explain_error(self, error: BaseException) -> str:
        """Add the SQLSTATE code, which only errors of the server have."""
        state = _sqlstate(error)
        return f", SQLSTATE {state}" if state else ""

    def handle_signals(self, connection: Connection) -> AbstractContextManager[None]:
        """Cancel the query on the server: psycopg itself does so for KeyboardInterrupt only."""
        return interruptible(getattr(connection.connection.driver_connection, "cancel_safe", None))

    def describe_columns(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Look up the types; a domain is treated as its base type, and an enumeration as text."""
        if origin.parts:
            columns, _ = self._look_up_table(connection, origin.parts)
            if columns:
                return columns
        found = read_cursor_description(connection, origin)
        names = require_column_names([column[0] for column in found])
        types = connection.execute(_TYPES, {"declared": _declared_types(connection, origin, names)}).all()
        columns = tuple(
            SqlColumn(
                name=name,
                type=str(kind),
                released_as=released_as,
                read_as_text=_is_read_as_text(connection, str(kind)),
                limited=_is_limited(*sizes),
            )
            for (name, _, *sizes), (kind, released_as, _) in zip(found, types, strict=True)
        )
        _require_exact_floats(columns, lambda: str(connection.exec_driver_sql("SHOW extra_float_digits").scalar_one()))
        return columns

    def describe_table(self, connection: Connection, origin: Origin) -> tuple[tuple[SqlColumn, ...], bool]:
        """Ask the catalog once for the columns of a named table and for what it is."""
        if origin.parts:
            columns, stored = self._look_up_table(connection, origin.parts)
            if columns:
                return columns, stored
        return super().describe_table(connection, origin)

    def _look_up_table(self, connection: Connection, parts: tuple[str, ...]) -> tuple[tuple[SqlColumn, ...], bool]:
        """Return the columns in the catalog and whether rows are stored; no columns if the name means no table."""
        found = connection.execute(_TABLE, {"name": quote_name(parts, _PLAIN)}).all()
        columns = tuple(
            SqlColumn(
                name=str(name),
                type=str(kind),
                released_as=released_as,
                bytewise=bool(bytewise),
                read_as_text=_is_read_as_text(connection, str(kind)),
                limited=int(modifier) >= 0,
            )
            for kind, released_as, modifier, name, bytewise, _, _ in found
        )
        if columns:
            _require_exact_floats(columns, lambda: str(found[0][-1]))
        return columns, bool(found) and bool(found[0][-2])

    def is_stored_table(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Check the table and all its partitions: none foreign, no view, no row security policy."""
        return bool(connection.execute(_STORED, {"name": quote_name(parts, _PLAIN)}).scalar_one())

    def find_tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Collect the relations of the plan."""
        plan = explain_origin(connection, origin, "EXPLAIN (VERBOSE, FORMAT JSON)")[0][0]
        found = iterate_plan_nodes(json.loads(plan) if isinstance(plan, str) else plan)
        return {(str(node["Schema"]), str(node["Relation Name"])) for node in found if "Relation Name" in node}

    def equality_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Compare exact types as they are (NaN as missing), and all others as text in the "C" collation."""
        expression: Expression = origin.column(column.name)
        if column.type == "timestamptz":  # in a local zone Python merges the two hours that a clock shows twice
            expression = self.functions.timezone(sa.literal_column("'UTC'"), expression)
        if (column.type in _EXACT and not column.read_as_text) or column.bytewise:
            return expression
        if column.type in _NUMERIC:
            present: Expression = sa.func.nullif(expression, sa.literal_column("'NaN'"))
            # PostgreSQL writes a float4 with few digits; other engines return its exact value
            return sa.cast(present, sa.Double) if column.type == "float4" else present
        return sa.collate(sa.cast(expression, _Named("pg_catalog.text")), "C")

    def content_order(self, origin: Origin, columns: Sequence[SqlColumn]) -> list[Expression]:
        """Order by columns, or by one record if there are very many columns: slower, but one entry of the query."""
        terms = [self.equality_term(origin, column) for column in columns]
        return terms if 2 * len(terms) <= _MAX_ENTRIES else [sa.func.row(*terms)]

    def release_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Cast types that list values to text, and write values that mean the same in one form.

        NaN is missing, -0.0 is 0.0, and without a declared scale 1.10 is 1.1; nullif keeps a declared scale.
        """
        expression = origin.column(column.name)
        if column.released_as is not None:
            expression = sa.cast(expression, _Named(column.released_as))
        if column.type in _NUMERIC:
            expression = sa.func.nullif(expression, sa.literal_column("'NaN'"))
        if column.type in ("float4", "float8"):
            return expression + sa.literal_column(f"0::pg_catalog.{column.type}")
        if column.type == "numeric" and not column.limited:
            return self.functions.trim_scale(expression)
        if column.type == "bpchar" and not column.limited:  # trailing blanks are not part of its value
            return sa.cast(sa.cast(expression, _Named("pg_catalog.text")), _Named("pg_catalog.bpchar"))
        return expression

    def value_decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Parse times that were read as text because the driver would return some of them as equal."""
        return partial(_read_time, _TIMES[column.type]) if column.read_as_text else None

    def has_unique_forms(self, column: SqlColumn) -> bool:
        """Return True: in every type that `equality_term` compares, equal values have one form."""
        return True

    def fetch_coded(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Read the rows of a query; raise without the value that a driver cannot represent."""
        dbapi: Any = connection.dialect.dbapi
        try:
            return fetch_rows(connection, query, len(names))
        except dbapi.DataError as error:
            if _sqlstate(error):
                raise
        raise SourceError(_NO_TIME)

    def join_codes(self) -> Expression:
        """Order inside of the aggregate."""
        pair = "pg_catalog.concat(code, ':', n)"
        return sa.literal_column(f"pg_catalog.string_agg({pair}, ',' ORDER BY code)")

    def order_codes(self, rows: sa.Select[Any], terms: Sequence[Expression]) -> sa.Select[Any]:
        """Return the rows as they are: the aggregate orders them."""
        return rows

    def begin_snapshot(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Set REPEATABLE READ, which is possible only before the first query of a transaction.

        The first query fixes the snapshot. A transaction that truncates and refills the table must end before that: in
        an earlier snapshot the table is empty. So this waits for a lock of the table first.
        """
        if not connection.in_transaction():
            _begin_repeatable_read(connection, quote_name(reads, connection.dialect) if reads else None)
            return
        level = str(connection.exec_driver_sql("SHOW transaction_isolation").scalar_one())
        if level not in ("repeatable read", "serializable"):
            raise SourceError(
                f"the connection's transaction is {level}, where two queries can see different data; pass the "
                "engine instead, or a connection with isolation_level='REPEATABLE READ'"
            )
        with _refuse_autocommit():
            run_statement(connection, "SAVEPOINT privacy_plugin_begun")
        if reads:
            _lock_table(connection, quote_name(reads, connection.dialect), "privacy_plugin_begun")
        run_statement(connection, "RELEASE SAVEPOINT privacy_plugin_begun")

    def hash_buckets(
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
        return check_buckets(connection.execute(query).all())

    def analyze_table(self, connection: Connection, name: str) -> None:
        """Collect statistics: without them the planner expects thousands of rows, and sorts where it could hash."""
        run_statement(connection, f"ANALYZE {name}")

    def is_same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Let PostgreSQL resolve both names along its search path; a missing table is the same as no other.

        Dropping a partition would remove rows of its parent, and dropping a parent removes its partitions.
        """
        names = {"one": quote_name(one, _PLAIN), "other": quote_name(other, _PLAIN)}
        return bool(connection.execute(_SHARED, names).scalar_one())

    def qualified_name(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Add the schema in which the session creates tables.

        Raise for names that PostgreSQL would truncate (two tables could become one), and for partitions: replacing one
        would remove rows of its parent.
        """
        query = (
            "SELECT pg_catalog.current_schema(), pg_catalog.current_setting('max_identifier_length')::pg_catalog.int4"
        )
        schema, longest = connection.exec_driver_sql(query).one()
        if any(len(part.encode()) > longest for part in parts):
            raise ParameterError(
                f"the target {'.'.join(parts)!r} has a name of more than {longest} bytes, which PostgreSQL truncates; "
                "pass a shorter one"
            )
        full = parts if len(parts) > 1 or schema is None else (str(schema), *parts)
        if connection.execute(_PART, {"name": quote_name(full, _PLAIN)}).scalar_one():
            raise ParameterError(
                f"the target {'.'.join(parts)!r} is a partition or inherits: replacing it would remove rows of "
                "another table; name another target, and attach it yourself"
            )
        return full

    def _cell(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return the released form, without the scale or length that a copy may have lost."""
        expression = self.release_term(origin, column)
        if column.type == "bpchar":
            return sa.cast(expression, _Named("pg_catalog.text"))
        return self.functions.trim_scale(expression) if column.type == "numeric" else expression


class _Named(sa.types.UserDefinedType[Any]):
    """A type by its qualified name: a temporary type may shadow a bare name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **options: Any) -> str:
        return self.name


DIALECT = PostgresqlDialect()

# An enumeration lists its values, and so may the check of a domain; composites and ranges may contain either. Only
# PostgreSQL's own types and the base types of extensions are harmless. (-1, unlike NULL, names types of any length.)
_BASED = (
    "UNION ALL SELECT place, declared, typbasetype, CASE WHEN modifier < 0 THEN typtypmod ELSE modifier END "
    "FROM based JOIN pg_catalog.pg_type USING (oid) WHERE typtype = 'd'"
    "), described AS (SELECT *, typcategory = 'A' AND typelem <> 0 AS listed "
    "FROM based JOIN pg_catalog.pg_type USING (oid) WHERE typtype <> 'd'"
    "), judged AS (SELECT d.*, e.typtype = 'b' OR e.typnamespace = 'pg_catalog'::regnamespace AS harmless "
    "FROM described d JOIN pg_catalog.pg_type e ON e.oid = CASE WHEN listed THEN d.typelem ELSE d.oid END) "
    "SELECT CASE WHEN harmless AND typnamespace = 'pg_catalog'::regnamespace THEN typname::pg_catalog.text "
    "WHEN harmless THEN typnamespace::regnamespace || '.' || typname WHEN listed THEN '_text' ELSE 'text' END, "
    "CASE WHEN harmless AND declared = oid THEN NULL WHEN harmless THEN pg_catalog.format_type(oid, -1) "
    "WHEN listed THEN 'pg_catalog.text[]' ELSE 'pg_catalog.text' END, modifier"
)

_TYPES = sa.text(
    "WITH RECURSIVE based AS (SELECT place, oid AS declared, oid, -1 AS modifier "
    "FROM pg_catalog.unnest(CAST(:declared AS oid[])) WITH ORDINALITY g(oid, place) "
    f"{_BASED} FROM judged ORDER BY place"
)

_STORED_ROWS = (
    "WITH RECURSIVE parts(oid) AS (SELECT pg_catalog.to_regclass(:name)::oid "
    "UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN parts ON inhparent = parts.oid) "
    "SELECT coalesce(pg_catalog.bool_and(relkind IN ('r', 'p', 'm') "
    "AND NOT pg_catalog.row_security_active(c.oid)), false) FROM parts JOIN pg_catalog.pg_class c ON c.oid = parts.oid"
)

_STORED = sa.text(_STORED_ROWS)

# The columns of a table or view. A text column with a deterministic collation compares bytes; it needs no "C"
# collation, which would hide its statistics from the planner.
_TABLE = sa.text(
    "WITH RECURSIVE found AS (SELECT attnum AS place, attname::pg_catalog.text AS name, atttypid, atttypmod, "
    "atttypid IN ('text'::regtype, 'varchar'::regtype) AND coalesce(l.collisdeterministic, false) AS bytewise "
    "FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class r ON r.oid = attrelid "
    "LEFT JOIN pg_catalog.pg_collation l ON l.oid = attcollation "
    "WHERE attrelid = pg_catalog.to_regclass(:name) AND relkind IN ('r', 'p', 'v', 'm', 'f') "
    "AND attnum > 0 AND NOT attisdropped"
    "), based AS (SELECT place, atttypid AS declared, atttypid AS oid, atttypmod AS modifier FROM found "
    f"{_BASED}, name, bytewise, ({_STORED_ROWS}), pg_catalog.current_setting('extra_float_digits') "
    "FROM judged JOIN found USING (place) ORDER BY place"
)

_PART = sa.text("SELECT pg_catalog.count(*) FROM pg_catalog.pg_inherits WHERE inhrelid = pg_catalog.to_regclass(:name)")

_SHARED = sa.text(
    "WITH RECURSIVE parts(number, oid) AS ("
    "SELECT number, pg_catalog.to_regclass(name)::oid FROM (VALUES (1, :one), (2, :other)) g(number, name) "
    "UNION SELECT number, inhrelid FROM pg_catalog.pg_inherits JOIN parts ON inhparent = parts.oid) "
    "SELECT pg_catalog.count(oid) > pg_catalog.count(DISTINCT oid) FROM parts"
)


def _declared_types(connection: Connection, origin: Origin, names: Sequence[str]) -> list[int]:
    """Return the types that a copy would get, without reading rows; a result reports base types for domains."""
    nothing = origin.select_no_rows().subquery("nothing")
    columns: list[Expression] = [sa.column(quoted_name(name, True), _selectable=nothing) for name in names]
    types = [sa.cast(sa.func.pg_catalog.pg_typeof(column), OID) for column in columns]
    always = sa.select(sa.literal_column("1")).subquery("always")
    joined = always.outerjoin(nothing, sa.true())
    return [int(oid) for oid in connection.execute(sa.select(*types).select_from(joined)).one()]


def _is_limited(display: int | None, internal: int | None, precision: int | None, *others: Any) -> bool:
    """Read a driver's description; without a limit psycopg2 returns -1 or 65535, and psycopg None."""
    return max(display or 0, internal or 0) > 0 or (precision is not None and precision <= _MAX_DIGITS)


@contextmanager
def _refuse_autocommit() -> Iterator[None]:
    """Raise if the connection commits after every statement: its isolation level then has no effect.

    PostgreSQL accepts savepoints and locks only inside a transaction.
    """
    try:
        yield
    except DBAPIError as error:
        if _sqlstate(error.orig) != _NO_TRANSACTION:
            raise
        raise SourceError(
            "the connection commits every statement (AUTOCOMMIT), so two queries can see different data; "
            "pass the engine instead, or a connection with isolation_level='REPEATABLE READ'"
        ) from None


def _begin_repeatable_read(connection: Connection, name: str | None) -> None:
    """Begin a transaction, and lock a (quoted) table if it can be locked; begin again if it cannot."""
    run_statement(connection, _REPEATABLE_READ)
    with _refuse_autocommit():
        if name is not None:
            try:
                run_statement(connection, f"LOCK TABLE {name} IN ACCESS SHARE MODE")
            except DBAPIError as error:
                if not _cannot_be_locked(error):
                    raise
                connection.rollback()
                run_statement(connection, _REPEATABLE_READ)
            else:
                return
        run_statement(connection, "SAVEPOINT privacy_plugin_begun")
        run_statement(connection, "RELEASE SAVEPOINT privacy_plugin_begun")


def _lock_table(connection: Connection, name: str, savepoint: str) -> None:
    """Lock a (quoted) table or view so that it cannot be dropped or truncated; ignore what cannot be locked."""
    try:
        run_statement(connection, f"LOCK TABLE {name} IN ACCESS SHARE MODE")
    except DBAPIError as error:
        if not _cannot_be_locked(error):
            raise
        run_statement(connection, f"ROLLBACK TO SAVEPOINT {savepoint}")


def _cannot_be_locked(error: DBAPIError) -> bool:
    """Tell whether this is a foreign table, a materialized view, a missing table, or one that may be read in part.

    Reading it raises the proper error later.
    """
    state = _sqlstate(error.orig) or ""
    return state.startswith(_NO_LOCK)


def _require_exact_floats(columns: Sequence[SqlColumn], read_setting: Callable[[], str]) -> None:
    """Raise if the session rounds floats when it writes them: different values would become equal."""
    if all(column.type in _EXACT | _PLAIN_TEXT | {"numeric"} for column in columns):
        return
    digits = int(read_setting())
    if digits < 1:
        raise SourceError(
            f"the session has extra_float_digits = {digits}, which rounds floating-point values; set it to 1 or more"
        )


def _is_read_as_text(connection: Connection, kind: str) -> bool:
    return kind in _TIMES and connection.dialect.driver != _EXACT_DRIVER


def _sqlstate(error: Any) -> str | None:
    """Return the code of a server's error from psycopg or psycopg2; errors of the driver itself have none."""
    state: str | None = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state


def _read_time(kind: type[date | datetime | time], text: str | None) -> date | datetime | time | None:
    try:
        return None if text is None else kind.fromisoformat(text)
    except ValueError:
        raise SourceError(_NO_TIME) from None
