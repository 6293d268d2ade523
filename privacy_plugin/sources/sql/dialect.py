"""The `Dialect` of a database: everything in which databases differ, one file for each of them.

To add a database, write one module with a `DIALECT` and register its SQLAlchemy name in `MODULES`. Grouping must never
merge values that differ: how a database compares text (case, accents, trailing blanks) decides what counts as equal.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine import Dialect as SqlAlchemyDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.sql.origin import Expression, Origin, quote_name
from privacy_plugin.sources.sql.profiles import count_histograms, count_sizes

# SQLAlchemy's name of every supported database, and the module with its dialect.
MODULES = {
    "duckdb": "privacy_plugin.sources.sql.duckdb",
    "mariadb": "privacy_plugin.sources.sql.mariadb",
    "postgresql": "privacy_plugin.sources.sql.postgresql",
    "sqlite": "privacy_plugin.sources.sql.sqlite",
}

# The column types of tables that we create, in names that all dialects accept.
COLUMN_TYPES = ("TEXT", "BIGINT", "FLOAT8", "BOOLEAN", "DATE", "TIMESTAMP")

# The beginning of the names of tables that other sessions must not see. A database without a schema for such tables
# creates them as temporary ones.
PRIVATE_PREFIX = "privacy_plugin_judged_"

FILE_IN_USE = "; another process has the file open, so try again when it is done"

_FETCH_ROWS = 50_000

Groups = tuple[list[CodedColumn], list[Integers]]


@dataclass(frozen=True, kw_only=True, eq=False)
class SqlColumn:
    """A column and its type, as the database names it."""

    name: str
    type: str
    released_as: str | None = None  # the type of the released column, if its own type could list values
    bytewise: bool = False  # the column's own equality compares bytes
    read_as_text: bool = False  # the driver would return different values as one
    limited: bool = False  # declared with a length or a precision, so that equal values are written alike


class NamedType(sa.types.UserDefinedType[Any]):
    """A type by its name."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **options: Any) -> str:
        """Return the name as it is."""
        return self.name


class Dialect(ABC):
    """What one database does in its own way."""

    name: str
    """SQLAlchemy's name of the database."""

    scheme: str
    """The name of the fingerprint's scheme."""

    isolation: str | None = None
    """The isolation level of a snapshot, if it must be set on the engine."""

    savepoints: bool = True
    """Whether part of a transaction can be rolled back."""

    transactional_ddl: bool = True
    """Whether a transaction covers the creation of tables.

    Otherwise each of them commits, and a table that a query fills need not see the transaction's snapshot: a writer
    copies its source first, nothing is rolled back, and the targets are replaced by `replace_tables` as a whole.
    """

    drop_temporary: str = "DROP TABLE IF EXISTS"
    """The command that drops a temporary table without ending the transaction."""

    max_joined_tables: int | None = None
    """How many tables one query can join, if there is a limit."""

    text_type: str
    """The type of text columns, as `describe_columns` names it."""

    byte_collation: str = "C"
    """The collation that compares text byte by byte."""

    functions: Any = sa.func
    """The namespace of the database's own functions, which a user's function of the same name cannot replace."""

    preferred_driver: str | None = None
    """The driver to use for a URL without one, if it is installed."""

    temporary_schema: str | None = None
    """The schema of temporary tables, if tables can be created and renamed there by name."""

    opens_file: bool = False
    """Whether the database is a file that this process opens; otherwise it is a server."""

    ignores_case: bool = False
    """Whether table names that differ only in case are one name."""

    def configure_engine(self, engine: Engine) -> None:  # noqa: B027
        """Set options of an engine for unattended work; most databases need none."""

    def file_path(self, database: str) -> Path:
        """Return the path of the file that a URL names."""
        return Path(database)

    def explain_error(self, error: BaseException) -> str:
        """Return what may be added to the class name of a driver's error; never its message."""
        return ""

    def number_term(self, text: Any, column: SqlColumn) -> Any:
        """Return the text of a number as a number of the column's type; text stays text."""
        return text if column.type == self.text_type else sa.cast(text, NamedType(column.type))

    @abstractmethod
    def handle_signals(self, connection: Connection) -> AbstractContextManager[None]:
        """Stop the running query when a signal handler raises."""

    @abstractmethod
    def describe_columns(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Return the columns with their types, without reading rows."""

    @abstractmethod
    def is_stored_table(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Return whether a name means stored rows: no view, no foreign table, nothing computed when it is read."""

    def describe_table(self, connection: Connection, origin: Origin) -> tuple[tuple[SqlColumn, ...], bool]:
        """Return the columns, and whether the origin is one stored table."""
        columns = self.describe_columns(connection, origin)  # a database fixes its snapshot at the first query
        return columns, bool(origin.base_table) and self.is_stored_table(connection, origin.base_table)

    @abstractmethod
    def find_tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Return the qualified names of all tables that a view or query reads."""

    @abstractmethod
    def equality_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return the expression whose equality is the equality of values; all missing values become NULL."""

    def content_order(self, origin: Origin, columns: Sequence[SqlColumn]) -> list[Expression]:
        """Return the ORDER BY terms of rows by their content: different rows differ in them."""
        return [self.equality_term(origin, column) for column in columns]

    def copied_value(self, expression: Expression) -> Expression:
        """Return the expression so that a table made from it stores every value unchanged."""
        return expression

    @abstractmethod
    def release_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return the column for a released table.

        Its type must not reveal values of other rows, and values that mean the same must have one form.
        """

    def value_decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Return the function that turns values of the equality term back into the column's values."""
        return None

    def has_unique_forms(self, column: SqlColumn) -> bool:
        """Return whether no two different stored values of a column mean the same."""
        return self.value_decoder(column) is None

    def fetch_coded(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Run a query; return its first columns, which hold values of the named ones, as codes, the rest as numbers."""
        return fetch_rows(connection, query, len(names))

    def fetch_counts(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn], unit: SqlColumn | None
    ) -> Groups:
        """Count the rows of every group, or with a unit the rows without it and the distinct units."""
        terms = [self.equality_term(origin, column) for column in columns]
        count = self.functions.count
        measures = [count(sa.literal_column("*")).label("n")]
        if unit is not None:
            person = self.equality_term(origin, unit)
            absent = count(sa.case((person.is_(None), 1))).label("absent")
            measures = [absent, count(sa.distinct(person)).label("n")]
        labelled = [term.label(f"c{number}") for number, term in enumerate(terms)]
        query = sa.select(*labelled, *measures).select_from(origin.clause).group_by(*terms)
        return self.fetch_coded(connection, query, [column.name for column in columns])

    def count_profiles(
        self,
        connection: Connection,
        origin: Origin,
        columns: Sequence[SqlColumn],
        *,
        sensitive: bool,
        first_rows: int | None = None,
    ) -> ClassProfiles | None:
        """Count classes by their size, or with `sensitive` by the histogram of the last column."""
        if sensitive:
            return count_histograms(connection, self, origin, columns)
        return count_sizes(connection, self, origin, columns, first_rows)

    def join_codes(self) -> Expression:
        """Return the aggregate that lists `code:n` of the rows of a group, separated by commas."""
        return sa.literal_column("group_concat(code || ':' || n, ',')")

    def order_codes(self, rows: sa.Select[Any], terms: Sequence[Expression]) -> sa.Select[Any]:
        """Order the rows that `join_codes` lists, if it does not order them itself."""
        return rows.order_by(*terms)

    def text_key(self, text: Expression) -> Expression:
        """Return what to group long texts by: some databases compare only their beginnings."""
        return text

    def count_rows(self, connection: Connection, origin: Origin) -> int:
        """Count the rows."""
        query = sa.select(self.functions.count(sa.literal_column("*"))).select_from(origin.clause)
        return int(connection.execute(query).scalar_one())

    def is_in_transaction(self, connection: Connection) -> bool:
        """Return whether the caller's transaction is open, and must be ended by the caller alone."""
        return connection.in_transaction()

    @abstractmethod
    def begin_snapshot(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Begin a transaction, unless one is open, in which all queries see one state of the table `reads`."""

    @abstractmethod
    def hash_buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Return the number of rows and the buckets of the fingerprint."""

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Return the type name that tells apart equal bytes of different types in the fingerprint."""
        return column.type

    def create_table(
        self, connection: Connection, name: str, columns: Sequence[SqlColumn], query: sa.Select[Any]
    ) -> None:
        """Create a (quoted) table with the rows of a query."""
        create_table_as(connection, self, name, query)

    def create_command(self, name: str, *, temporary: bool) -> str:
        """Return the text before the query that fills a new (quoted) table."""
        return f"CREATE {'TEMPORARY TABLE' if temporary else 'TABLE'} {name} AS"

    def column_type(self, kind: str) -> str:
        """Return the database's name of one of `COLUMN_TYPES`."""
        return kind

    def insert_rows(
        self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], types: Sequence[str]
    ) -> None:
        """Insert rows into a (quoted) table of ours with columns v0, v1, ... of these `COLUMN_TYPES`."""
        insert_through_driver(connection, name, rows)

    def analyze_table(self, connection: Connection, name: str) -> None:  # noqa: B027
        """Collect statistics of a (quoted) table that was just filled, if the planner does not do so itself."""

    @abstractmethod
    def is_same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Return whether two names mean one table, or two that share rows because one is a partition of the other."""

    @abstractmethod
    def qualified_name(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the full name of a new table: a bare name may mean an existing table in another schema."""

    def swap_statements(self, staging: str, target: str, name: str) -> list[str]:
        """Return the statements that replace a target by a staging table; `name` is the target without its schema."""
        return [f"DROP TABLE IF EXISTS {target}", f"ALTER TABLE {staging} RENAME TO {name}"]

    def replace_tables(
        self, connection: Connection, staging: Sequence[tuple[str, ...]], targets: Sequence[tuple[str, ...]]
    ) -> None:
        """Replace all targets by their staging tables, inside the transaction or in one atomic statement."""
        for new, target in zip(staging, targets, strict=True):
            names = [quote_name(parts, connection.dialect) for parts in (new, target, target[-1:])]
            for statement in self.swap_statements(*names):
                run_statement(connection, statement)


def dialect_of(dialect: SqlAlchemyDialect) -> Dialect:
    """Return our dialect for SQLAlchemy's; raise if the database is not supported."""
    return dialect_named(dialect.name)


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a database; raise if it is not supported."""
    if name not in MODULES:
        hint = "; for a MariaDB server use a mariadb+pymysql:// URL" if name == "mysql" else ""
        raise SourceError(
            f"{name} is not supported{hint}; valid are {', '.join(MODULES)}. How a database compares text "
            "(case, accents, trailing blanks) decides what counts as equal, and was verified for these only"
        )
    dialect: Dialect = import_module(MODULES[name]).DIALECT
    return dialect


def run_statement(connection: Connection, statement: str | sa.Executable) -> None:
    """Run a statement and read its whole result: DuckDB refuses further statements before that."""
    if isinstance(statement, str):
        result: Any = connection.exec_driver_sql(statement)
    else:
        result = connection.execute(statement)
    if result.returns_rows:
        result.all()


class _CreateTableAs(sa.Executable, sa.ClauseElement):
    inherit_cache = False

    def __init__(self, command: str, query: sa.Select[Any]) -> None:
        self.command, self.query = command, query


@compiles(_CreateTableAs)
def _compile_create_table_as(element: _CreateTableAs, compiler: Any, **options: Any) -> str:
    return f"{element.command} {compiler.process(element.query, **options)}"


def create_table_as(
    connection: Connection, dialect: Dialect, name: str, query: sa.Select[Any], *, temporary: bool = False
) -> None:
    """Create a (quoted) table from a query, with the query's types."""
    run_statement(connection, _CreateTableAs(dialect.create_command(name, temporary=temporary), query))


def insert_through_driver(connection: Connection, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows into a (quoted) table with columns v0, v1, ... through the driver."""
    if rows:
        names = [f"v{position}" for position in range(len(rows[0]))]
        table = sa.table(quoted_name(name, False), *[sa.column(n) for n in names])
        connection.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in rows])


def fetch_rows(connection: Connection, query: sa.Select[Any], coded_columns: int) -> Groups:
    """Run a query and code its first columns while rows arrive, so that each distinct value is stored once.

    The driver's own cursor returns tuples of plain values; SQLAlchemy's rows are objects that slow down the garbage
    collector.
    """
    result = connection.execute(query)
    cursor: Any = result.cursor
    width = len(result.keys())
    known = [_Numbering() for _ in range(coded_columns)]
    codes: list[list[Integers]] = [[np.zeros(0, dtype=np.int64)] for _ in range(width)]
    while rows := cursor.fetchmany(_FETCH_ROWS):
        for position in range(width):
            values = map(itemgetter(position), rows)  # zip(*rows) would create one object for each row
            numbers = map(known[position].__getitem__, values) if position < len(known) else values
            codes[position].append(np.fromiter(numbers, dtype=np.int64, count=len(rows)))
    joined = [np.concatenate(parts) for parts in codes]
    _require_all_rows(len(joined[-1]), cursor.rowcount)
    result.close()
    coded = [CodedColumn(codes=c, values=list(values)) for c, values in zip(joined, known, strict=False)]
    return coded, joined[len(known) :]


def _require_all_rows(read: int, announced: int) -> None:
    """Raise if part of the result was read elsewhere; SQLite announces no number of rows (-1)."""
    if announced not in (-1, read):
        raise SourceError(
            f"the database returned {announced} groups, but only {read} were left to read; "
            "remove the listener or driver that reads results before the caller does"
        )


class _Numbering(dict[Any, int]):
    """Numbers values in the order of their first lookup."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


def read_cursor_description(connection: Connection, origin: Origin) -> list[tuple[Any, ...]]:
    """Return the driver's description of the columns, names first, from a query that returns no rows."""
    result = connection.execute(origin.select_no_rows())
    description: Any = result.cursor.description if result.cursor is not None else []
    columns = [tuple(column) for column in description]
    result.all()
    return columns


class _Explain(sa.Executable, sa.ClauseElement):
    inherit_cache = False

    def __init__(self, command: str, query: sa.Select[Any]) -> None:
        self.command, self.query = command, query


@compiles(_Explain)
def _compile_explain(element: _Explain, compiler: Any, **options: Any) -> str:
    return f"{element.command} {compiler.process(element.query, **options)}"


def explain_origin(connection: Connection, origin: Origin, command: str) -> list[tuple[Any, ...]]:
    """Return the plan that reads all rows of an origin; in it, views are replaced by their tables.

    `command` is EXPLAIN with its options.
    """
    everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(origin.clause)
    return [tuple(row) for row in connection.execute(_Explain(command, everything)).all()]


def iterate_plan_nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a plan in JSON."""
    if isinstance(plan, dict):
        yield plan
    for part in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from iterate_plan_nodes(part)
