"""MariaDB: text is grouped in a binary collation without padding, tables are staged and renamed together.

Creating or renaming a table commits, so a target is replaced by one RENAME, which MariaDB performs as a whole. A table
that a query fills does not read the transaction's snapshot: what is written comes from one copy of the source.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.sources.fingerprint import check_buckets
from privacy_plugin.sources.interrupts import interruptible
from privacy_plugin.sources.sql.dialect import PRIVATE_PREFIX, Dialect, SqlColumn, run_statement
from privacy_plugin.sources.sql.origin import Expression, Origin, quote_name

COLLATION = "utf8mb4_nopad_bin"  # the default collations of MariaDB group 'a', 'A', 'á' and 'a ' as one value
_TEXT_COLUMN = f"LONGTEXT CHARACTER SET utf8mb4 COLLATE {COLLATION}"
# When MariaDB sorts to group, it compares max_sort_length bytes of a value and merges longer values that begin alike.
# So a value that may be longer is grouped together with its SHA-256 in front of it.
_SORTED_BYTES = 1024
_SORTED_CHARACTERS = _SORTED_BYTES // 4
_DIGITS = 64
_CHARACTER_SET = "utf8mb4"
_BINARY = 63  # the number of the character set of bytes
_UNSIGNED = 32  # a flag of a column
_INTEGERS = {1: "tinyint", 2: "smallint", 3: "int", 8: "bigint", 9: "mediumint"}
_MOMENTS = {7: "timestamp", 11: "time", 12: "datetime"}
_STRINGS = {6, 15, 245, 247, 248, 249, 250, 251, 252, 253, 254}
_MAX_VARCHAR = 16_383  # characters of four bytes in a row of 65,535 bytes
_NO_SUCH_TABLE = 1146
_WAIT_SECONDS = 60  # for other sessions that still read the old table; MariaDB's default is a day
_GROUP_CONCAT_BYTES = 1 << 30
_COLUMN_TYPES = {"TEXT": _TEXT_COLUMN, "text": _TEXT_COLUMN, "TIMESTAMP": "DATETIME(6)"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_ZERO_MOMENT = "0000-00-00 00:00:00"


class MariadbDialect(Dialect):
    """MariaDB with InnoDB tables; no collation decides what is equal."""

    name = "mariadb"
    scheme = "mariadb-sha256-1"
    isolation = "AUTOCOMMIT"  # snapshots are begun by a statement; nothing stays open between them
    savepoints = False
    transactional_ddl = False
    max_joined_tables = 61
    text_type = "text"

    def number_term(self, text: Any, column: SqlColumn) -> Any:
        """Return the text: the column of the new table converts it when it is inserted."""
        return text

    byte_collation = COLLATION
    preferred_driver = "pymysql"
    drop_temporary = "DROP TEMPORARY TABLE IF EXISTS"

    def explain_error(self, error: BaseException) -> str:
        """Add the number of the server's error."""
        number = error.args[0] if error.args else None
        return f", error {number}" if isinstance(number, int) and number else ""

    @contextmanager
    def handle_signals(self, connection: Connection) -> Iterator[None]:
        """Kill the query through another connection: the server would finish it, and keep its locks."""
        number = getattr(connection.connection.driver_connection, "thread_id", None)

        def kill() -> None:
            arguments, options = connection.dialect.create_connect_args(connection.engine.url)
            with closing(connection.dialect.connect(*arguments, **options)) as other, closing(other.cursor()) as cursor:
                cursor.execute(f"KILL QUERY {int(number())}" if number is not None else "DO 0")

        with interruptible(kill):
            yield

    def describe_columns(self, connection: Connection, origin: Origin) -> tuple[SqlColumn, ...]:
        """Read the types from the description of a query that returns no rows."""
        _require_exact_session(connection)
        result = connection.execute(origin.select_no_rows())
        described: Any = getattr(getattr(result.cursor, "_result", None), "fields", None)
        if described is None:
            raise SourceError("MariaDB is supported through PyMySQL only; use a mariadb+pymysql:// URL")
        columns = tuple(_describe_field(field) for field in described)
        result.all()
        return columns

    def is_stored_table(self, connection: Connection, parts: tuple[str, ...]) -> bool:
        """Accept InnoDB tables without virtual columns: other storage engines ignore snapshots."""
        found = _find_table(connection, parts)
        return found is not None and found.stored

    def find_tables_read(self, connection: Connection, origin: Origin) -> set[tuple[str, ...]]:
        """Collect the names in the query as the server writes it, and in the views that it reads."""
        if origin.parts:
            waiting = {_full_name(connection, origin.parts)}
        else:
            everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(origin.clause)
            compiled = everything.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
            parameters = [compiled.params[name] for name in getattr(compiled, "positiontup", None) or ()]
            given: Any = tuple(parameters) if parameters else compiled.params
            run_statement_with(connection, f"EXPLAIN EXTENDED {compiled}", given)
            notes = connection.exec_driver_sql("SHOW WARNINGS").all()
            waiting = {pair for note in notes for pair in _qualified_names(str(note[2]))}
        found: set[tuple[str, ...]] = set()
        while waiting - found:
            name = (waiting - found).pop()
            found.add(name)
            waiting |= _names_in_view(connection, name)
        return found

    def equality_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Compare text in the binary collation, floats as doubles, times as text and time stamps in UTC."""
        stored = origin.column(column.name)
        if column.type == "text":
            text = _in_utf8(stored)
            return text if column.limited else _with_digest(text)
        if column.type == "blob":
            return stored if column.limited else sa.func.concat(sa.func.sha2(stored, sa.literal_column("256")), stored)
        if column.type in ("float", "double"):
            return stored + sa.literal_column("0e0")
        if column.type == "timestamp":
            return sa.func.unix_timestamp(stored)
        if column.type == "time":
            return _as_text(stored)
        return stored + sa.literal_column("0") if column.type == "bit" else stored

    def release_term(self, origin: Origin, column: SqlColumn) -> Expression:
        """Write enumerations, which list values of other rows, as text, and -0.0 as 0.0."""
        stored = origin.column(column.name)
        if column.type == "text":
            return _in_utf8(stored)
        return stored + sa.literal_column("0e0") if column.type in ("float", "double") else stored

    def value_decoder(self, column: SqlColumn) -> Callable[[Any], Any] | None:
        """Remove the digest of long values; read booleans, and time stamps as moments in UTC."""
        if column.type in ("text", "blob") and not column.limited:
            return _without_digest
        return {"boolean": _boolean, "timestamp": _moment}.get(column.type)

    def has_unique_forms(self, column: SqlColumn) -> bool:
        """Return True: in every type that `equality_term` compares, equal values have one form."""
        return True

    def join_codes(self) -> Expression:
        """Order inside of the aggregate; the server cuts texts longer than group_concat_max_len."""
        return sa.literal_column("GROUP_CONCAT(CONCAT(code, ':', n) ORDER BY code SEPARATOR ',')")

    def order_codes(self, rows: sa.Select[Any], terms: Sequence[Expression]) -> sa.Select[Any]:
        """Return the rows as they are: the aggregate orders them."""
        return rows

    def text_key(self, text: Expression) -> Expression:
        """Group by a hash: the server compares long texts up to max_sort_length bytes."""
        return sa.func.sha2(text, sa.literal_column("256"))

    def is_in_transaction(self, connection: Connection) -> bool:
        """Ask the server: SQLAlchemy counts a transaction as begun before the server has one."""
        return bool(connection.exec_driver_sql("SELECT @@in_transaction").scalar_one())

    def begin_snapshot(self, connection: Connection, *, write: bool, reads: tuple[str, ...]) -> None:
        """Open a consistent snapshot to read; to write, let every statement read the newest committed state.

        A writer copies its source in one statement. A caller's transaction cannot be joined to write: the first table
        that is created would commit it.
        """
        begun, level = connection.exec_driver_sql("SELECT @@in_transaction, @@tx_isolation").one()
        if begun and write:
            raise SourceError(
                "MariaDB commits an open transaction when a table is created; commit it first, or pass the engine"
            )
        if begun and level not in ("REPEATABLE-READ", "SERIALIZABLE"):
            raise SourceError(
                f"the connection's transaction is {str(level).replace('-', ' ').lower()}, where two queries can see "
                "different data; pass the engine instead, or a connection with isolation_level='REPEATABLE READ'"
            )
        if not begun:
            level = "READ COMMITTED" if write else "REPEATABLE READ"
            run_statement(connection, f"SET TRANSACTION ISOLATION LEVEL {level}")
            run_statement(connection, "START TRANSACTION" if write else "START TRANSACTION WITH CONSISTENT SNAPSHOT")

    def create_command(self, name: str, *, temporary: bool) -> str:
        """Raise a server's error instead of copying rows that are newer than the transaction's snapshot."""
        kind = "TEMPORARY TABLE" if temporary else "TABLE"
        return (
            f"SET STATEMENT innodb_snapshot_isolation = ON, sql_mode = 'STRICT_ALL_TABLES' "
            f"FOR CREATE {kind} {name} ENGINE = InnoDB AS"
        )

    def column_type(self, kind: str) -> str:
        """Return LONGTEXT for text of any length, and DATETIME(6), whose range is that of Python."""
        return _COLUMN_TYPES.get(kind, kind)

    def hash_buckets(
        self, connection: Connection, origin: Origin, columns: Sequence[SqlColumn]
    ) -> tuple[int, list[tuple[str, str]]]:
        """Hash the texts of a row's cells, each with its length; a truncated list of hashes has no digest."""
        missing: Expression = sa.literal_column("'N'")
        colon: Expression = sa.literal_column("':'")
        bits: Expression = sa.literal_column("256")
        cells = [self._cell(origin, column) for column in columns]
        parts = [
            sa.case((cell.is_(None), missing), else_=sa.func.concat(sa.func.length(cell), colon, cell))
            for cell in cells
        ]
        hashed = sa.func.sha2(sa.func.concat(*parts), bits).label("h")
        rows = sa.select(hashed).select_from(origin.clause).subquery("hashes")
        bucket: Expression = sa.literal_column("LEFT(h, 3)")
        listed = "GROUP_CONCAT(h ORDER BY h SEPARATOR '')"
        digest: Expression = sa.literal_column(
            f"CASE WHEN LENGTH({listed}) = {_DIGITS} * COUNT(h) THEN SHA2({listed}, 256) END"
        )
        counts = [sa.func.count(sa.literal_column("*")), sa.func.count(rows.c.h)]
        query = sa.select(bucket, *counts, digest).select_from(rows).group_by(bucket)
        with _session_value(connection, "group_concat_max_len", _GROUP_CONCAT_BYTES):
            found = connection.execute(query).all()
        if any(row[3] is None and row[2] for row in found):
            raise SourceError("the hashes of the rows are longer than max_allowed_packet; set it to 1G on the server")
        return check_buckets(found)

    def create_table(
        self, connection: Connection, name: str, columns: Sequence[SqlColumn], query: sa.Select[Any]
    ) -> None:
        """Declare the columns: a table made from a query would copy default values and comments."""
        quote = connection.dialect.identifier_preparer.quote_identifier
        definitions = ", ".join(
            f"{quote(column.name)} {column.released_as or self.column_type(column.type)} NULL" for column in columns
        )
        options = f"ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE {COLLATION}"
        kind = "TEMPORARY TABLE" if PRIVATE_PREFIX in name else "TABLE"
        run_statement(connection, f"CREATE {kind} {name} ({definitions}) {options}")
        names = [column.name for column in columns]
        table = sa.table(quoted_name(name, False), *[sa.column(quoted_name(n, True)) for n in names])
        with _session_value(connection, "sql_mode", "STRICT_ALL_TABLES"):
            run_statement(connection, sa.insert(table).from_select(names, query))

    def is_same_table(self, connection: Connection, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Compare the full names, without case where the server ignores it."""
        names = [_full_name(connection, parts) for parts in (one, other)]
        if names[0] == names[1]:
            return True
        ignored = connection.exec_driver_sql("SELECT @@lower_case_table_names").scalar_one()
        return bool(ignored) and len({tuple(part.lower() for part in name) for name in names}) == 1

    def qualified_name(self, connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Add the session's database; raise for a target that a RENAME would not replace as a whole."""
        full = _full_name(connection, parts)
        if not parts[-1].startswith(PRIVATE_PREFIX):
            _require_replaceable(connection, full)
        return full

    def replace_tables(
        self, connection: Connection, staging: Sequence[tuple[str, ...]], targets: Sequence[tuple[str, ...]]
    ) -> None:
        """Rename all tables in one statement, which happens as a whole or not at all, and drop the old ones."""
        steps: list[str] = []
        old: list[str] = []
        for new, target in zip(staging, targets, strict=True):
            names = [quote_name(parts, connection.dialect) for parts in (new, target)]
            if target[-1].startswith(PRIVATE_PREFIX):
                run_statement(connection, f"ALTER TABLE {names[0]} RENAME TO {names[1]}")
                continue
            if _find_table(connection, target) is not None:
                old.append(quote_name((*new[:-1], f"{new[-1]}_old"), connection.dialect))
                steps.append(f"{names[1]} TO {old[-1]}")
            steps.append(f"{names[0]} TO {names[1]}")
        waiting = f"SET STATEMENT lock_wait_timeout = {_WAIT_SECONDS} FOR"
        if steps:
            run_statement(connection, f"{waiting} RENAME TABLE {', '.join(steps)}")
        for name in old:
            run_statement(connection, f"{waiting} DROP TABLE {name}")

    def _cell(self, origin: Origin, column: SqlColumn) -> Expression:
        """Return a text that identifies a value; NULL if it is missing."""
        stored = origin.column(column.name)
        if column.type == "text":
            return _in_utf8(stored)
        return sa.func.hex(stored) if column.type == "blob" else _as_text(self.equality_term(origin, column))


DIALECT = MariadbDialect()


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A table or view by its name in the database."""

    stored: bool
    view: bool


def run_statement_with(connection: Connection, statement: str, parameters: Any) -> None:
    """Run a statement with parameters and read its whole result."""
    result = connection.exec_driver_sql(statement, parameters)
    if result.returns_rows:
        result.all()


def _describe_field(field: Any) -> SqlColumn:
    """Return a column from the server's description of a result: the family of its type, and how it is released."""
    code, flags, length, scale, name = field.type_code, field.flags, field.length, field.scale, field.name
    unsigned = " unsigned" if flags & _UNSIGNED else ""
    if code == 1 and length == 1:
        return SqlColumn(name=name, type="boolean", released_as="BOOLEAN")
    if code in _INTEGERS:
        return SqlColumn(name=name, type="integer", released_as=_INTEGERS[code] + unsigned)
    if code in (0, 246):
        digits = length - (1 if scale else 0) - (0 if unsigned else 1)
        return SqlColumn(name=name, type="decimal", released_as=f"decimal({min(digits, 65)}, {scale})")
    if code in (4, 5):
        return SqlColumn(name=name, type="float" if code == 4 else "double", released_as="float" if code == 4 else None)
    if code in _MOMENTS:
        return SqlColumn(name=name, type=_MOMENTS[code], released_as=f"{_MOMENTS[code]}({min(scale, 6)})")
    if code in (10, 14):
        return SqlColumn(name=name, type="date", released_as="date")
    if code in (13, 16):
        return SqlColumn(
            name=name, type="year" if code == 13 else "bit", released_as="year" if code == 13 else f"bit({length})"
        )
    if code not in _STRINGS:
        raise SourceError(f"column {name!r} has a type that is not supported; select it as text, as in CAST(x AS CHAR)")
    if field.charsetnr == _BINARY and code != 6:
        kind = f"varbinary({length})" if length <= _MAX_VARCHAR else "longblob"
        return SqlColumn(name=name, type="blob", released_as=kind, limited=length <= _SORTED_BYTES)
    characters = length // 4
    kind = f"varchar({max(characters, 1)})" if characters <= _MAX_VARCHAR else "longtext"
    return SqlColumn(
        name=name,
        type="text",
        released_as=f"{kind} CHARACTER SET utf8mb4 COLLATE {COLLATION}",
        limited=characters <= _SORTED_CHARACTERS,
    )


def _require_exact_session(connection: Connection) -> None:
    """Raise if the session would return or group different values as one."""
    query = "SELECT @@character_set_results, @@max_sort_length"
    characters, sorted_bytes = connection.exec_driver_sql(query).one()
    if characters != _CHARACTER_SET:
        raise SourceError(
            f"the session has character_set_results = {characters}, which cannot return every text; add "
            "?charset=utf8mb4 to the URL"
        )
    if int(sorted_bytes) < _SORTED_BYTES:
        raise SourceError(
            f"the session has max_sort_length = {sorted_bytes}, which groups different texts as one; set it to "
            f"{_SORTED_BYTES} or more"
        )


@contextmanager
def _session_value(connection: Connection, variable: str, value: str | int) -> Iterator[None]:
    """Set a variable of the session for a statement, and restore it."""
    before = connection.exec_driver_sql(f"SELECT @@SESSION.{variable}").scalar_one()
    connection.exec_driver_sql(f"SET SESSION {variable} = %s", (value,))
    try:
        yield
    finally:
        try:
            connection.exec_driver_sql(f"SET SESSION {variable} = %s", (before,))
        except (DBAPIError, sa.exc.InvalidRequestError):  # the connection is closed, and its session is gone
            connection.invalidate()


def _full_name(connection: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
    if len(parts) > 1:
        return parts
    database = connection.exec_driver_sql("SELECT DATABASE()").scalar_one()
    if database is None:
        raise ParameterError(f"the connection has no database; name the table as 'database.{parts[0]}'")
    return (str(database), *parts)


def _find_table(connection: Connection, parts: tuple[str, ...]) -> _Table | None:
    """Look a table up; the server's catalog compares names without case, so they are compared again here."""
    database, name = _full_name(connection, parts)[-2:]
    found = connection.execute(_TABLES, {"database": database, "name": name}).all()
    exact = [row for row in found if (row[0], row[1]) == (database, name)] or [row for row in found if row[5]]
    if not exact:
        return None
    *_, kind, engine, virtual, _ = exact[0]
    stored = kind == "BASE TABLE" and str(engine).lower() == "innodb" and not virtual
    return _Table(stored=stored, view=kind == "VIEW")


_TABLES = sa.text(
    "SELECT t.table_schema, t.table_name, t.table_type, t.engine, (SELECT COUNT(*) FROM information_schema.columns c "
    "WHERE c.table_schema = :database AND c.table_name = :name AND c.extra LIKE '%VIRTUAL%'), "
    "@@lower_case_table_names FROM information_schema.tables t "
    "WHERE t.table_schema = :database AND t.table_name = :name"
)


def _require_replaceable(connection: Connection, full: tuple[str, ...]) -> None:
    """Raise if the target is a view, is hidden by a temporary table, or is referenced by a foreign key."""
    label = ".".join(full)
    try:
        definition = connection.exec_driver_sql(f"SHOW CREATE TABLE {quote_name(full, connection.dialect)}").one()[1]
    except DBAPIError as error:
        if error.orig is None or error.orig.args[:1] != (_NO_SUCH_TABLE,):
            raise
        return
    if str(definition).startswith("CREATE TEMPORARY"):
        raise ParameterError(f"a temporary table shadows the target {label!r} in this session; drop it")
    if not str(definition).startswith("CREATE TABLE"):
        raise ParameterError(f"the target {label!r} is a view; name a table")
    query = sa.text(
        "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE unique_constraint_schema = :database "
        "AND referenced_table_name = :name"
    )
    if connection.execute(query, {"database": full[-2], "name": full[-1]}).scalar_one():
        raise ParameterError(f"a foreign key refers to the target {label!r}; drop it, or name another target")


def _names_in_view(connection: Connection, name: tuple[str, ...]) -> set[tuple[str, ...]]:
    found = _find_table(connection, name) if len(name) == 2 else None
    if found is None or not found.view:
        return set()
    query = sa.text(
        "SELECT view_definition FROM information_schema.views WHERE table_schema = :database AND table_name = :name"
    )
    definition = connection.execute(query, {"database": name[0], "name": name[1]}).scalar_one()
    if not definition:
        raise SourceError(f"the definition of the view {'.'.join(name)!r} cannot be read; grant SHOW VIEW on it")
    return _qualified_names(str(definition))


def _qualified_names(query: str) -> set[tuple[str, ...]]:
    """Return all pairs of quoted names; those of an alias and its column name no table, and do no harm.

    >>> sorted(_qualified_names("select `t`.`a` from `d`.`we``ird`"))
    [('d', 'we`ird'), ('t', 'a')]
    """
    parts = [part.replace("\0", "`") for part in query.replace("``", "\0").split("`")]
    names = range(1, len(parts) - 2, 2)
    return {(parts[i], parts[i + 2]) for i in names if parts[i + 1] == "."}


def _in_utf8(expression: Expression) -> Expression:
    converted = sa.func.convert(expression.op("USING")(sa.literal_column("utf8mb4")))
    return sa.collate(sa.type_coerce(converted, sa.Text()), COLLATION)


def _as_text(expression: Expression) -> Expression:
    return sa.cast(expression, sa.CHAR())


def _with_digest(text: Expression) -> Expression:
    return sa.collate(sa.func.concat(sa.func.sha2(text, sa.literal_column("256")), text), COLLATION)


def _without_digest(value: Any) -> Any:
    return None if value is None else value[_DIGITS:]


def _boolean(stored: Any) -> Any:
    return bool(stored) if stored in (0, 1) else stored


def _moment(seconds: Any) -> Any:
    """Return a time stamp in UTC; MariaDB counts the moment that does not exist as 0 seconds."""
    if seconds is None:
        return None
    return _EPOCH + timedelta(microseconds=int(seconds * 1_000_000)) if seconds else _ZERO_MOMENT
