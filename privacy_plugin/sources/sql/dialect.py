"""What each database needs so that grouping never merges values that differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.sql.origin import Expression, Origin

_FETCH_ROWS = 50_000


@dataclass(frozen=True, kw_only=True, eq=False)
class SqlColumn:
    """A column and its type, in the words of its database."""

    name: str
    type: str
    shown_as: str | None = None  # the type of the column where it is written, if its own could list values
    bytewise: bool = False  # its own equality is known to be that of the bytes
    read_as_text: bool = False  # the driver would write values alike that differ
    limited: bool = False  # declared with a length or a precision, so that all its values are written alike


# The types of tables of ours, in words that all databases understand.
KINDS = ("TEXT", "BIGINT", "FLOAT8", "BOOLEAN", "DATE", "TIMESTAMP")

Groups = tuple[list[CodedColumn], list[Integers]]


class Rules(Protocol):
    """The few things databases do differently."""

    @property
    def scheme(self) -> str:
        """The name of the fingerprint's scheme."""

    @property
    def isolation(self) -> str | None:
        """The isolation level that makes all queries of a transaction see one state, if it must be asked for."""

    @property
    def savepoints(self) -> bool:
        """Whether part of a transaction can be rolled back."""

    @property
    def joins(self) -> int | None:
        """How many tables a query can join, where there is an end to it."""

    @property
    def text_type(self) -> str:
        """The type of text columns, as `describe` names it."""

    @property
    def functions(self) -> Any:
        """The namespace of the database's own functions: one that a user gave the same name must not answer."""

    def describe(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Return the columns with their types, without reading rows."""

    def is_stored(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Say whether a name means rows that lie there: no view, nothing foreign, nothing computed when it is read."""

    def tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Return the tables that a view or query reads, however deep inside, by their full names."""

    def term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return the expression whose equality is the equality of values, with one form for missing."""

    def by_content(self, origin: Origin, columns: Sequence[SqlColumn]) -> list[Expression]:
        """Return what puts rows in the order of their content: rows that are not equal differ in it."""

    def kept(self, expression: Expression) -> Expression:
        """Return the expression so that a table made from it keeps every value as it is."""

    def shown(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return the column for a table that is written.

        Its type tells nothing of rows that are not in it, and values that are judged as one have one form.
        """

    def decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Return what turns the term's values back into the column's values."""

    def stored_as_meant(self, column: SqlColumn) -> bool:
        """Say whether no two stored values of a column can mean the same."""

    def fetch(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Run a query; return its first columns, which hold values of the named ones, as codes, the rest as numbers."""

    def grouped(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn], unit: SqlColumn | None
    ) -> Groups:
        """Count the rows of every group, or with a unit its rows of nobody and its people."""

    def hold(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Begin a transaction, unless there is one, in which all queries see one state of the table that it reads."""

    def buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Return the number of rows and the buckets of the fingerprint."""

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Name the type that the bytes of a cell leave open, for the fingerprint."""

    def definition(self, column: SqlColumn) -> str | None:
        """Return how a table of ours declares such a column, or nothing if the type comes with the query."""

    def load(self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Insert rows into a (quoted) table of ours whose columns are of these kinds: see `KINDS`."""

    def settle(self, connection: Connection, name: str) -> None:
        """Tell the planner about a (quoted) table of ours that was just filled."""

    def same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Say whether two names mean one table, or two that share rows: one is a partition of the other."""

    def placed(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the full name of a new table: a bare one may mean a table elsewhere, which is not ours to replace."""

    def rename(self, staging: str, target: str, name: str) -> list[str]:
        """Return the statements that put a staging table (quoted) in a target's (quoted, and its bare name) place."""


def rules_of(dialect: Dialect) -> Rules:
    """Return the rules of a database, or refuse one whose collations were never verified."""
    supported = ("duckdb", "postgresql", "sqlite")
    if dialect.name not in supported:
        raise SourceError(
            f"{dialect.name} is not supported; valid are {', '.join(supported)}. How a database compares text "
            "(case, accents, trailing blanks) decides what counts as equal, and was verified for these only"
        )
    rules: Rules = import_module(f"privacy_plugin.sources.sql.{dialect.name}").RULES
    return rules


def run(connection: Connection, statement: str | sa.Executable) -> None:
    """Run a statement to its end: DuckDB refuses further work while a result waits to be fetched."""
    if isinstance(statement, str):
        result: Any = connection.exec_driver_sql(statement)
    else:
        result = connection.execute(statement)
    if result.returns_rows:
        result.all()


def grouped_by_sqlalchemy(
    rules: Rules, connection: Connection, origin: Origin, columns: Sequence[SqlColumn], unit: SqlColumn | None
) -> Groups:
    """Do what `Rules.grouped` says with SQLAlchemy's words."""
    terms = [rules.term(origin, column) for column in columns]
    count = rules.functions.count
    measures = [count(sa.literal_column("*")).label("n")]
    if unit is not None:
        person = rules.term(origin, unit)
        absent = count(sa.case((person.is_(None), 1))).label("absent")
        measures = [absent, count(sa.distinct(person)).label("n")]
    labelled = [term.label(f"c{number}") for number, term in enumerate(terms)]
    query = sa.select(*labelled, *measures).select_from(origin.clause).group_by(*terms)
    return rules.fetch(connection, query, [column.name for column in columns])


def fetch_rows(connection: Connection, query: sa.Select[Any], coded_columns: int) -> Groups:
    """Run a query and code its first columns as they arrive, so that each distinct value is kept once.

    The driver's own cursor has tuples of plain values: SQLAlchemy's rows are objects that the collector keeps visiting.
    """
    result = connection.execute(query)
    cursor: Any = result.cursor
    width = len(result.keys())
    known = [_Numbers() for _ in range(coded_columns)]
    codes: list[list[Integers]] = [[np.zeros(0, dtype=np.int64)] for _ in range(width)]
    while rows := cursor.fetchmany(_FETCH_ROWS):
        for position in range(width):
            values = map(itemgetter(position), rows)  # zip(*rows) would make an object a row
            numbers = map(known[position].__getitem__, values) if position < len(known) else values
            codes[position].append(np.fromiter(numbers, dtype=np.int64, count=len(rows)))
    joined = [np.concatenate(parts) for parts in codes]
    _require_all(len(joined[-1]), cursor.rowcount)
    result.close()
    coded = [CodedColumn(codes=c, values=list(values)) for c, values in zip(joined, known, strict=False)]
    return coded, joined[len(known) :]


def _require_all(read: int, announced: int) -> None:
    """Refuse a result of which somebody else read a part; SQLite announces nothing (-1)."""
    if announced not in (-1, read):
        raise SourceError(
            f"the database returned {announced} groups, but only {read} were left to read; "
            "remove the listener or the driver that reads results before the caller does"
        )


class _Numbers(dict[Any, int]):
    """Numbers values in the order in which they are first asked for."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


def insert_rows(connection: Connection, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows into a (quoted) table through the driver."""
    if rows:
        names = [f"v{position}" for position in range(len(rows[0]))]
        table = sa.table(quoted_name(name, False), *[sa.column(n) for n in names])
        connection.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in rows])


def described(connection: Connection, origin: Origin) -> list[tuple[Any, ...]]:
    """Return what the driver says of the columns, their names first, from a query that returns no rows."""
    result = connection.execute(origin.everything())
    description: Any = result.cursor.description if result.cursor is not None else []
    columns = [tuple(column) for column in description]
    result.all()
    return columns
