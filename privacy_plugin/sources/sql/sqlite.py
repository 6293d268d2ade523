"""SQLite: values carry their own types, collations are undone, hashes are computed by a function we bring along."""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.operators import custom_op

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.fingerprint import RowHashes
from privacy_plugin.sources.sql.dialect import (
    Groups,
    SqlColumn,
    described,
    fetch_rows,
    grouped_by_sqlalchemy,
    insert_rows,
    run,
)
from privacy_plugin.sources.sql.origin import Expression, Origin
from privacy_plugin.sources.sql.plans import plan_of

_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)  # a virtual one may compare as it likes
# What SQLite looks for in a declared type, in this order; without one, values are stored as they come.
_AFFINITIES = (
    ("INTEGER", ("INT",)),
    ("TEXT", ("CHAR", "CLOB", "TEXT")),
    ("BLOB", ("BLOB",)),
    ("REAL", ("REAL", "FLOA", "DOUB")),
)
_ARGUMENTS = 100  # what every build lets a function take
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6})?")


class SqliteRules:
    """Text is grouped byte by byte, whatever collation the column was declared with."""

    scheme = "sqlite-sha256-2"
    isolation = None
    savepoints = True
    joins = 64
    text_type = "TEXT"
    functions = sa.func

    def describe(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Return names with the declared types, which SQLite only tells of tables and views."""
        names = [column[0] for column in described(connection, origin)]
        declared = _declared_types(connection, origin)
        plain = bool(origin.parts) and "collate" not in (_stored_definition(connection, origin.parts) or "collate")
        return tuple(SqlColumn(name=name, type=declared.get(name, ""), bytewise=plain) for name in names)

    def is_stored(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Look the name up; a virtual table may compute what it likes, a generated column only what is determined."""
        return _stored_definition(connection, parts) is not None

    def tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Look for what is opened: the page on which a table or an index of it begins, and in which database."""
        opened = {(row[4], row[3]) for row in plan_of(connection, origin, "EXPLAIN") if row[1] == "OpenRead"}
        databases = {row[0]: row[1] for row in connection.exec_driver_sql("PRAGMA database_list")}
        return {
            (databases[number], name) for number, page in opened for name in _at(connection, databases[number], page)
        }

    def term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Undo collations such as NOCASE and RTRIM; the numbers 1 and 1.0 are equal, 1 and '1' are not."""
        expression = origin.column(column.name)
        return expression if column.bytewise else sa.collate(expression, "BINARY")

    def by_content(self, origin: Origin, columns: Sequence[SqlColumn]) -> list[Expression]:
        """Compare column by column."""
        return [self.term(origin, column) for column in columns]

    def kept(self, expression: Expression) -> Expression:
        """Take the affinity away: by it a copy of a view of numbers and text may make the text '01' the number 1."""
        return sa.UnaryExpression(expression, operator=custom_op("+"))

    def shown(self, origin: Origin, column: SqlColumn) -> Expression:
        """Write 1.0 as 1, which it equals, and every moment in one way; a column of floats makes floats of both."""
        return origin.column(column.name) if _affinity(column) == "REAL" else self._one_form(origin, column)

    def decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Read booleans and dates, which SQLite keeps as numbers and text, where the column is declared so."""
        return {
            "BOOLEAN": _boolean,
            "BOOL": _boolean,
            "DATE": _date,
            "DATETIME": _moment,
            "TIMESTAMP": _moment,
        }.get(column.type.upper().partition("(")[0].strip())

    def stored_as_meant(self, column: SqlColumn) -> bool:
        """Rely on the declared type of a stored table: without one a number may stand beside its own text."""
        untyped = not column.type or "BLOB" in column.type.upper()
        return column.bytewise and not untyped and self.decoder(column) is None

    grouped = grouped_by_sqlalchemy

    def fetch(self, connection: Connection, query: sa.Select[Any], names: Sequence[str]) -> Groups:
        """Read the rows of a query."""
        return fetch_rows(connection, query, len(names))

    def hold(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Begin by hand: Python's driver begins a transaction only before it writes."""
        driver = _driver(connection)
        _bring_functions(driver)
        if not driver.in_transaction:
            run(connection, "BEGIN IMMEDIATE" if write else "BEGIN")
        run(connection, "SELECT count(*) FROM sqlite_master")

    def buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Hash each row inside SQLite through an aggregate function; Python's literals tell types apart."""
        collected = RowHashes()

        class Collect:
            def step(self, *cells: Any) -> None:
                collected.add(ascii(cells).encode())

            def finalize(self) -> int:
                return len(collected)

        driver, chosen = _driver(connection), [self._one_form(origin, column) for column in columns]
        _bring_functions(driver)
        if len(chosen) > _ARGUMENTS:
            driver.create_function("privacy_plugin_cells", -1, lambda *cells: ascii(cells), deterministic=True)
            parts = [chosen[start : start + _ARGUMENTS] for start in range(0, len(chosen), _ARGUMENTS)]
            chosen = [sa.func.privacy_plugin_cells(*part) for part in parts]
        driver.create_aggregate("privacy_plugin_collect", len(chosen), Collect)
        query = sa.select(sa.func.privacy_plugin_collect(*chosen)).select_from(origin.clause)
        run(connection, query)
        return len(collected), collected.buckets()

    def fingerprint_type(self, column: SqlColumn) -> str:
        """Name nothing: every value carries its own type."""
        return ""

    def definition(self, column: SqlColumn) -> str:
        """Declare the type again: a table made from a query would only keep its affinity."""
        return column.type

    def load(self, connection: Connection, name: str, rows: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Insert rows into a table of ours; dates and moments are text here."""
        insert_rows(connection, name, [[_stored(value) for value in row] for row in rows])

    def settle(self, connection: Connection, name: str) -> None:
        """Do nothing: the planner counts by itself."""

    def same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Compare without case, in the databases where the names are found."""
        places = [(_found(connection, parts)[0], parts[-1]) for parts in (one, other)]
        return len({(schema.lower(), name.lower()) for schema, name in places}) == 1

    def placed(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Name the main database."""
        return ("main", *parts)[-2:]

    def rename(self, staging: str, target: str, name: str) -> list[str]:
        """Rename in the old manner, which does not stumble over views of the table that was just dropped."""
        return [
            f"DROP TABLE IF EXISTS {target}",
            "PRAGMA legacy_alter_table = ON",
            f"ALTER TABLE {staging} RENAME TO {name}",
            "PRAGMA legacy_alter_table = OFF",
        ]

    def _one_form(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return one form of what means the same, whatever the column is declared to be."""
        stored = origin.column(column.name)
        if self.decoder(column) is _moment:
            return sa.func.privacy_plugin_moment(stored)
        if _affinity(column) == "TEXT":
            return stored
        whole = sa.cast(stored, sa.Integer)
        is_whole = sa.and_(sa.func.typeof(stored) == sa.literal_column("'real'"), stored == whole)
        return sa.case((is_whole, whole), else_=stored)


RULES = SqliteRules()


def _bring_functions(driver: Any) -> None:
    driver.create_function("privacy_plugin_moment", 1, _moment_text, deterministic=True)


def _affinity(column: SqlColumn) -> str:
    declared = column.type.upper()
    return next((kind for kind, words in _AFFINITIES if any(word in declared for word in words)), "NUMERIC")


def _driver(connection: Connection) -> Any:
    driver = connection.connection.driver_connection
    if not hasattr(driver, "create_aggregate"):
        raise SourceError("SQLite is supported through Python's own sqlite3 driver only")
    return driver


def _declared_types(connection: Connection, origin: Origin) -> dict[str, str]:
    if not origin.parts:
        return {str(column.name): _declared(column.type) for column in origin.clause.columns}
    preparer = connection.dialect.identifier_preparer
    schema = f"{preparer.quote_identifier(origin.parts[-2])}." if len(origin.parts) > 1 else ""
    name = preparer.quote_identifier(origin.parts[-1])
    return {row[1]: row[2] for row in connection.exec_driver_sql(f"PRAGMA {schema}table_xinfo({name})")}


def _declared(kind: Any) -> str:
    """Name the types whose values SQLite cannot tell from others; anything more could change them when stored."""
    known = {sa.Boolean: "BOOLEAN", sa.DateTime: "DATETIME", sa.Date: "DATE"}
    return next((name for base, name in known.items() if isinstance(kind, base)), "")


def _stored_definition(connection: Connection, parts: tuple[str, ...]) -> str | None:
    """Return the definition of a plain table in lower case, None for all else.

    Where it names no collation, none has to be undone, which costs a sixth.
    """
    found = _found(connection, parts)[1]
    return found[0].lower() if len(found) == 1 and _PLAIN_TABLE.match(found[0]) else None


def _at(connection: Connection, schema: str, page: int) -> list[str]:
    master = f"{connection.dialect.identifier_preparer.quote_identifier(schema)}.sqlite_master"
    query = f"SELECT tbl_name FROM {master} WHERE rootpage = ?"
    return [str(name) for name in connection.exec_driver_sql(query, (page,)).scalars()]


def _found(connection: Connection, parts: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return the database in which a name is found, as SQLite looks for it, and the definitions that it has there."""
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


def _stored(value: Any) -> Any:
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
