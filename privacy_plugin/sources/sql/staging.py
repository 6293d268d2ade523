"""Staging tables and temporary tables: a target is replaced only when everything was written and verified."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import ParameterError
from privacy_plugin.sources.sql.dialect import PRIVATE_PREFIX, Dialect, SqlColumn, create_table_as, run_statement
from privacy_plugin.sources.sql.origin import Origin, quote_name, split_name, table_origin


@dataclass(frozen=True, kw_only=True, eq=False)
class TableToWrite:
    """A table to write: the parts of its name, its columns, and the query that produces its rows."""

    parts: tuple[str, ...]
    columns: Sequence[SqlColumn]
    query: sa.Select[Any]


def parse_target(target: str | None) -> tuple[str, ...]:
    """Split the name of a target table into parts."""
    if target is None:
        raise ParameterError("a database table needs a target; pass its name, 'table' or 'schema.table'")
    return split_name(target)


def require_other_target(connection: Connection, dialect: Dialect, source: Origin, parts: tuple[str, ...]) -> None:
    """Raise if the target is the source, a table that the source reads, or shares rows with one of them."""
    named = {source.base_table} if source.base_table else set()
    stored = bool(source.base_table) and dialect.is_stored_table(connection, source.base_table)
    read = named if stored else named | dialect.find_tables_read(connection, source)
    targets = (parts, dialect.qualified_name(connection, parts))
    if any(dialect.is_same_table(connection, name, target) for name in read for target in targets):
        raise ParameterError(
            f"the target {'.'.join(parts)!r} is the source itself, or shares rows with it; name another table"
        )


def require_distinct_targets(connection: Connection, dialect: Dialect, targets: Sequence[tuple[str, ...]]) -> None:
    """Raise if two targets are one table."""
    for one, other in combinations(targets, 2):
        names = [dialect.qualified_name(connection, parts) for parts in (one, other)]
        if names[0] == names[1] or dialect.is_same_table(connection, *names):
            raise ParameterError(f"the targets {'.'.join(one)!r} and {'.'.join(other)!r} are one table; name two")


def write_tables(
    connection: Connection,
    dialect: Dialect,
    tables: Sequence[TableToWrite],
    check: Callable[[Sequence[Origin]], None],
) -> None:
    """Write all tables to staging tables in the targets' schemas, check them, then replace all targets."""
    targets = [dialect.qualified_name(connection, table.parts) for table in tables]
    staging = [(*target[:-1], _staging_name(target[-1])) for target in targets]
    names = [quote_name(parts, connection.dialect) for parts in staging]
    try:
        for table, name in zip(tables, names, strict=True):
            dialect.create_table(connection, name, table.columns, table.query)
        check([table_origin(parts, connection.dialect) for parts in staging])
        dialect.replace_tables(connection, staging, targets)
        # before the tables existed, two names of one table looked like two tables
        require_distinct_targets(connection, dialect, [table.parts for table in tables])
        for table, target in zip(tables, targets, strict=True):
            _require_visible(connection, dialect, table.parts, target)
    except BaseException:
        for name in names:
            _drop_table(connection, dialect, name)
        raise


def _staging_name(target: str) -> str:
    prefix = PRIVATE_PREFIX if target.startswith(PRIVATE_PREFIX) else "privacy_plugin_staging_"
    return f"{prefix}{secrets.token_hex(8)}"


def _require_visible(connection: Connection, dialect: Dialect, parts: tuple[str, ...], target: tuple[str, ...]) -> None:
    """Raise if a temporary table shadows the target."""
    if not dialect.is_same_table(connection, parts, target):
        raise ParameterError(
            f"a temporary table shadows the target {'.'.join(parts)!r} in this session; drop it, or name 'schema.table'"
        )


def _drop_table(connection: Connection, dialect: Dialect, name: str) -> None:
    """Drop a staging table if the caller's transaction continues; otherwise the rollback has removed it.

    Where nothing rolls it back, another connection drops it if this one is closed.
    """
    statement = f"DROP TABLE IF EXISTS {name}"
    try:
        run_statement(connection, statement)
    except SQLAlchemyError:
        if not dialect.transactional_ddl:
            with suppress(SQLAlchemyError), connection.engine.connect() as other:
                run_statement(other, statement)


class TemporaryTables:
    """Temporary tables with unique names, for use inside one transaction."""

    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect
        self._prefix = f"privacy_plugin_{secrets.token_hex(8)}"
        self._names: list[str] = []

    def full_name(self, name: str) -> str:
        """Return the name of a table in the database."""
        return f"{self._prefix}_{name}"

    def create_from_query(self, name: str, query: sa.Select[Any], columns: Sequence[str]) -> sa.FromClause:
        """Create a table from a query with these columns."""
        quoted = self._register(name)
        create_table_as(self._connection, self._dialect, quoted, query, temporary=True)
        return _table_clause(quoted, columns, name)

    def create_from_rows(self, name: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> sa.FromClause:
        """Create a table with columns v0, v1, ... of these types (see `COLUMN_TYPES`) and insert rows."""
        quoted = self._register(name)
        definitions = ", ".join(f"v{i} {self._dialect.column_type(kind)}" for i, kind in enumerate(types))
        run_statement(self._connection, f"CREATE TEMPORARY TABLE {quoted} ({definitions})")
        self._dialect.insert_rows(self._connection, quoted, rows, types)
        return _table_clause(quoted, [f"v{i}" for i in range(len(types))], name)

    def analyze(self) -> None:
        """Collect statistics of all tables for the planner."""
        for name in self._names:
            self._dialect.analyze_table(self._connection, name)

    def drop(self) -> None:
        """Drop the tables; a failed transaction has removed them already."""
        with suppress(SQLAlchemyError):
            for name in self._names:
                run_statement(self._connection, f"{self._dialect.drop_temporary} {name}")

    def _register(self, name: str) -> str:
        quoted = quote_name([self.full_name(name)], self._connection.dialect)
        self._names.append(quoted)
        return quoted


@contextmanager
def open_temporary_tables(connection: Connection, dialect: Dialect) -> Iterator[TemporaryTables]:
    """Yield a set of temporary tables and drop them at the end."""
    tables = TemporaryTables(connection, dialect)
    try:
        yield tables
    finally:
        tables.drop()


def _table_clause(quoted: str, columns: Sequence[str], alias: str) -> sa.FromClause:
    described: list[Any] = [sa.column(name) for name in columns]
    return sa.table(quoted_name(quoted, False), *described).alias(alias)
