"""Temporary tables of ours in a database: named so that they meet nobody else's, and dropped in the end."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.sources.sql.dialect import Rules, run
from privacy_plugin.sources.sql.origin import quote_name
from privacy_plugin.sources.sql.writing import create_as


class TemporaryTables:
    """Tables that one piece of work needs, inside its transaction."""

    def __init__(self, connection: Connection, rules: Rules) -> None:
        self._connection = connection
        self._rules = rules
        self._prefix = f"privacy_plugin_{secrets.token_hex(8)}"
        self._names: list[str] = []

    def full_name(self, name: str) -> str:
        """Return the name by which the database knows a table."""
        return f"{self._prefix}_{name}"

    def created(self, name: str, query: sa.Select[Any], columns: Sequence[str]) -> sa.FromClause:
        """Create a table from a query with these columns."""
        quoted = self._quoted(name)
        create_as(self._connection, quoted, query, temporary=True)
        return _clause(quoted, columns, name)

    def filled(self, name: str, kinds: Sequence[str], rows: Sequence[Sequence[Any]]) -> sa.FromClause:
        """Create and fill a table with columns v0, v1, ... of these kinds: see `KINDS` of the rules."""
        quoted = self._quoted(name)
        definitions = ", ".join(f"v{i} {kind}" for i, kind in enumerate(kinds))
        run(self._connection, f"CREATE TEMPORARY TABLE {quoted} ({definitions})")
        self._rules.load(self._connection, quoted, rows, kinds)
        return _clause(quoted, [f"v{i}" for i in range(len(kinds))], name)

    def settle(self) -> None:
        """Tell the planner about the tables."""
        for name in self._names:
            self._rules.settle(self._connection, name)

    def drop(self) -> None:
        """Drop the tables; in a transaction that has failed they are gone already."""
        with suppress(SQLAlchemyError):
            for name in self._names:
                run(self._connection, f"DROP TABLE IF EXISTS {name}")

    def _quoted(self, name: str) -> str:
        quoted = quote_name([self.full_name(name)], self._connection.dialect)
        self._names.append(quoted)
        return quoted


@contextmanager
def temporary_tables(connection: Connection, rules: Rules) -> Iterator[TemporaryTables]:
    """Give a set of temporary tables that is dropped afterwards, whatever happens."""
    tables = TemporaryTables(connection, rules)
    try:
        yield tables
    finally:
        tables.drop()


def _clause(quoted: str, columns: Sequence[str], alias: str) -> sa.FromClause:
    described: list[Any] = [sa.column(name) for name in columns]
    return sa.table(quoted_name(quoted, False), *described).alias(alias)
