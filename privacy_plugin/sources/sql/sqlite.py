"""SQLite: values have their own types, collations are undone, rows are hashed by a registered function."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.sql.operators import custom_op

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.fingerprint import RowHashes
from privacy_plugin.sources.interrupts import interruptible
from privacy_plugin.sources.sql.dialect import (
    FILE_IN_USE,
    Dialect,
    SqlColumn,
    explain_origin,
    insert_through_driver,
    read_cursor_description,
    run_statement,
)
from privacy_plugin.sources.sql.origin import Expression, Origin, quote_name

_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)  # a virtual table may compare in any way
# The words that SQLite looks for in a declared type, in this order; without a type values are stored unchanged.
_AFFINITIES = (
    ("INTEGER", ("INT",)),
    ("TEXT", ("CHAR", "CLOB", "TEXT")),
    ("BLOB", ("BLOB",)),
    ("REAL", ("REAL", "FLOA", "DOUB")),
)
_MAX_ARGUMENTS = 100  # of a function, in every build of SQLite
_MAX_COUNTS = 1_500  # in one query: SQLite returns at most 2,000 columns
_LOCKED = "database is locked"
_LISTENING = "privacy_plugin_listening"
_INSTRUCTIONS = 1_000_000  # between two calls of the progress handler: some hundredths of a second
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6})?")


class SqliteDialect(Dialect):
    """SQLite; text is grouped byte by byte, whatever collation the column was declared with."""

    name = "sqlite"
    scheme = "sqlite-sha256-2"
    max_joined_tables = 64
    text_type = "TEXT"

    def number_term(self, text: Any, column: SqlColumn) -> Any:
        """Return a number for a column that is declared for numbers; others keep text, as a column of text does."""
        numeric = any(word in column.type.upper() for word in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"))
        return sa.cast(text, sa.Numeric()) if numeric else text

    byte_collation = "BINARY"
    temporary_schema = "temp"
    opens_file = True
    ignores_case = True

    def explain_error(self, error: BaseException) -> str:
        """Explain that another process has locked the file."""
        return FILE_IN_USE if _LOCKED in str(error) else ""

    @contextmanager
    def handle_signals(self, connection: Connection) -> Iterator[None]:
        """Interrupt the query, and let SQLite call Python regularly: Python handles signals only while it runs.

        A progress handler that the caller had set is lost: SQLite cannot return it.
        """
        raw, known = connection.connection.driver_connection, connection.info
        listen = getattr(raw, "set_progress_handler", None)
        with interruptible(getattr(raw, "interrupt", None)):
            if listen is None or _LISTENING in known or threading.current_thread() is not threading.main_thread():
                yield
                return
            listen(lambda: 0, _INSTRUCTIONS)
            known[_LISTENING] = True
            try:
                yield
            finally:
                known.pop(_LISTENING, None)
                with suppress(Exception):  # an interrupt may have closed the connection
                    listen(None, 0)

    def describe_columns(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Return names with the declared types, which only tables and views have."""
        names = [column[0] for column in read_cursor_description(connection, origin)]
        declared = _declared_types(connection, origin)
        plain = bool(origin.parts) and "collate" not in (_stored_definition(connection, origin.parts) or "collate")
        return tuple(SqlColumn(name=name, type=declared.get(name, ""), bytewise=plain) for name in names)

    def is_stored_table(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Look up the name; a virtual table may compute anything, a generated column is deterministic."""
        return _stored_definition(connection, parts) is not None

    def find_tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Collect what the plan opens: the root page of a table or index, and its database."""
        opened = {(row[4], row[3]) for row in explain_origin(connection, origin, "EXPLAIN") if row[1] == "OpenRead"}
        databases = {row[0]: row[1] for row in connection.exec_driver_sql("PRAGMA database_list")}
        return {
            (databases[number], name)
            for number, page in opened
            for name in _tables_at_page(connection, databases[number], page)
        }

    def equality_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Undo collations such as NOCASE and RTRIM; the numbers 1 and 1.0 are equal, 1 and '1' are not."""
        expression = origin.column(column.name)
        return expression if column.bytewise else sa.collate(expression, "BINARY")

    def copied_value(self, expression: Expression) -> Expression:
        """Remove the affinity, which could turn the text '01' of a view into the number 1 of its copy."""
        return sa.UnaryExpression(expression, operator=custom_op("+"))

    def release_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Write 1.0 as its equal 1, and moments in one form; a column of floats stores both as floats."""
        return origin.column(column.name) if _affinity(column) == "REAL" else self._canonical_term(origin, column)

    def value_decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Read booleans and dates, which SQLite stores as numbers and text, if the column is declared so."""
        return {
            "BOOLEAN": _boolean,
            "BOOL": _boolean,
            "DATE": _date,
            "DATETIME": _moment,
            "TIMESTAMP": _moment,
        }.get(column.type.upper().partition("(")[0].strip())

    def has_unique_forms(self, column: SqlColumn) -> bool:
        """Rely on the declared type of a stored table: without one a column may hold a number and its text."""
        untyped = not column.type or "BLOB" in column.type.upper()
        return column.bytewise and not untyped and self.value_decoder(column) is None

    def begin_snapshot(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Begin explicitly: Python's driver begins a transaction only before it writes."""
        driver = _driver(connection)
        _register_functions(driver)
        if not driver.in_transaction:
            run_statement(connection, "BEGIN IMMEDIATE" if write else "BEGIN")
        run_statement(connection, "SELECT count(*) FROM sqlite_master")

    def hash_buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Hash each row in an aggregate function; Python's literals tell types apart."""
        collected = RowHashes()

        class Collect:
            def step(self, *cells: Any) -> None:
                collected.add(ascii(cells).encode())

            def finalize(self) -> int:
                return len(collected)

        driver, chosen = _driver(connection), [self._canonical_term(origin, column) for column in columns]
        _register_functions(driver)
        if len(chosen) > _MAX_ARGUMENTS:
            driver.create_function("privacy_plugin_cells", -1, lambda *cells: ascii(cells), deterministic=True)
            parts = [chosen[start : start + _MAX_ARGUMENTS] for start in range(0, len(chosen), _MAX_ARGUMENTS)]
            chosen = [sa.func.privacy_plugin_cells(*part) for part in parts]
        driver.create_aggregate("privacy_plugin_collect", len(chosen), Collect)
        query = sa.select(sa.func.privacy_plugin_collect(*chosen)).select_from(origin.clause)
        run_statement(connection, query)
        return len(collected), collected.buckets()

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Return nothing: every value has its own type."""
        return ""

    def create_table(
        self, connection: Connection, name: str, columns: Sequence[SqlColumn], query: sa.Select[Any]
    ) -> None:
        """Declare the types again: a table made from a query would only keep their affinity."""
        names = [column.name for column in columns]
        definitions = ", ".join(f"{quote_name([column.name], connection.dialect)} {column.type}" for column in columns)
        run_statement(connection, f"CREATE TABLE {name} ({definitions})")
        table = sa.table(quoted_name(name, False), *[sa.column(quoted_name(n, True)) for n in names])
        run_statement(connection, sa.insert(table).from_select(names, query))
        if _count_storage(connection, table) != _count_storage(connection, query.subquery("source")):
            raise SourceError("a declared column type would change stored values; cast the columns in the query")

    def insert_rows(
        self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], types: Sequence[str]
    ) -> None:
        """Insert rows; dates and moments are stored as text."""
        insert_through_driver(connection, name, [[_stored_form(value) for value in row] for row in rows])

    def is_same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Compare names without case, with the databases in which SQLite finds them."""
        names = [(_find_definitions(connection, parts)[0], parts[-1]) for parts in (one, other)]
        return len({(schema.lower(), name.lower()) for schema, name in names}) == 1

    def qualified_name(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Add the main database."""
        return ("main", *parts)[-2:]

    def swap_statements(self, staging: str, target: str, name: str) -> list[str]:
        """Rename in legacy mode, which accepts views of the table that was just dropped."""
        return [
            f"DROP TABLE IF EXISTS {target}",
            "PRAGMA legacy_alter_table = ON",
            f"ALTER TABLE {staging} RENAME TO {name}",
            "PRAGMA legacy_alter_table = OFF",
        ]

    def _canonical_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return one form of values that mean the same, whatever type the column declares."""
        stored = origin.column(column.name)
        if self.value_decoder(column) is _moment:
            return sa.func.privacy_plugin_moment(stored)
        if _affinity(column) == "TEXT":
            return stored
        whole = sa.cast(stored, sa.Integer)
        is_whole = sa.and_(sa.func.typeof(stored) == sa.literal_column("'real'"), stored == whole)
        return sa.case((is_whole, whole), else_=stored)


DIALECT = SqliteDialect()


def _register_functions(driver: Any) -> None:
    driver.create_function("privacy_plugin_moment", 1, _moment_text, deterministic=True)


def _count_storage(connection: Connection, table: sa.FromClause) -> list[Any]:
    """Count text and numbers in each column: a declared type could turn the text '02138' into the number 2138."""
    kinds = [sa.func.typeof(column) == kind for column in table.columns for kind in ("text", "integer", "real")]
    counts = [sa.func.count(sa.case((kind, 1))).label(f"n{number}") for number, kind in enumerate(kinds)]
    queries = [sa.select(*counts[start : start + _MAX_COUNTS]) for start in range(0, len(counts), _MAX_COUNTS)]
    return [count for query in queries for count in connection.execute(query.select_from(table)).all()[0]]


def _affinity(column: SqlColumn) -> str:
    declared = column.type.upper()
    return next((kind for kind, words in _AFFINITIES if any(word in declared for word in words)), "NUMERIC")


def _driver(connection: Connection) -> Any:
    driver = connection.connection.driver_connection
    if not hasattr(driver, "create_aggregate"):
        raise SourceError("SQLite is supported through Python's sqlite3 driver only; use sqlite:/// URLs")
    return driver


def _declared_types(connection: Connection, origin: Origin) -> dict[str, str]:
    if not origin.parts:
        return {str(column.name): _declared(column.type) for column in origin.clause.columns}
    preparer = connection.dialect.identifier_preparer
    schema = f"{preparer.quote_identifier(origin.parts[-2])}." if len(origin.parts) > 1 else ""
    name = preparer.quote_identifier(origin.parts[-1])
    return {row[1]: row[2] for row in connection.exec_driver_sql(f"PRAGMA {schema}table_xinfo({name})")}


def _declared(kind: Any) -> str:
    """Return the declared type for booleans and dates only; other types could change values when they are stored."""
    known = {sa.Boolean: "BOOLEAN", sa.DateTime: "DATETIME", sa.Date: "DATE"}
    return next((name for base, name in known.items() if isinstance(kind, base)), "")


def _stored_definition(connection: Connection, parts: tuple[str, ...]) -> str | None:
    """Return the definition of a plain table in lower case; None for anything else.

    If it names no collation, grouping needs no COLLATE and is a sixth faster.
    """
    found = _find_definitions(connection, parts)[1]
    return found[0].lower() if len(found) == 1 and _PLAIN_TABLE.match(found[0]) else None


def _tables_at_page(connection: Connection, schema: str, page: int) -> list[str]:
    master = f"{connection.dialect.identifier_preparer.quote_identifier(schema)}.sqlite_master"
    query = f"SELECT tbl_name FROM {master} WHERE rootpage = ?"
    return [str(name) for name in connection.exec_driver_sql(query, (page,)).scalars()]


def _find_definitions(connection: Connection, parts: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return the first database in which SQLite finds a name, and its definitions there."""
    others = [row[1] for row in connection.exec_driver_sql("PRAGMA database_list") if row[1] not in ("temp", "main")]
    for schema in parts[-2:-1] or ("temp", "main", *others):
        master = f"{connection.dialect.identifier_preparer.quote_identifier(schema)}.sqlite_master"
        query = f"SELECT sql FROM {master} WHERE type IN ('table', 'view') AND lower(name) = lower(?)"
        found = connection.exec_driver_sql(query, (parts[-1],)).scalars().all()
        if found:
            return schema, [str(definition) for definition in found]
    return ("main", *parts)[-2], []


def _boolean(stored: Any) -> Any:
    return bool(stored) if stored in (0, 1) else stored


def _stored_form(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(" ", timespec="microseconds")
    return value.isoformat() if isinstance(value, date) else value


def _date(stored: Any) -> Any:
    try:
        return date.fromisoformat(stored) if isinstance(stored, str) and _DATE.fullmatch(stored) else stored
    except ValueError:
        return stored


def _moment(stored: Any) -> Any:
    try:
        return datetime.fromisoformat(stored) if isinstance(stored, str) and _MOMENT.fullmatch(stored) else stored
    except ValueError:
        return stored


@lru_cache(maxsize=1 << 16)
def _moment_text(stored: Any) -> Any:
    moment = _moment(stored)
    return moment.isoformat(" ") if isinstance(moment, datetime) else moment
