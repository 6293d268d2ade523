"""Tables and queries of a database, through SQLAlchemy: everything is computed there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError, require_column, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.coding import require_groups
from privacy_plugin.sources.drawn_rows import arrived, arrow_rows
from privacy_plugin.sources.fingerprint import compose
from privacy_plugin.sources.frequency_source import FrequencySource
from privacy_plugin.sources.joining import JoinedGroups, Meaning, joined_table
from privacy_plugin.sources.protocol import Fingerprint, Make, Rehearsed, Source, VerifyAll, checked_names
from privacy_plugin.sources.sql.address import file_of
from privacy_plugin.sources.sql.counting import counted, row_count
from privacy_plugin.sources.sql.dialect import SqlColumn, rules_of
from privacy_plugin.sources.sql.drawn_rows import drawn_query
from privacy_plugin.sources.sql.errors import connect, told_as_source_error
from privacy_plugin.sources.sql.joining import comparable, grouped_sides, joined_query, readable, renamed_sides
from privacy_plugin.sources.sql.numbered import numbered_query
from privacy_plugin.sources.sql.origin import Origin, named_origin, origin, share_names
from privacy_plugin.sources.sql.recoding import SqlRecoder
from privacy_plugin.sources.sql.session import session
from privacy_plugin.sources.sql.temporary import temporary_tables
from privacy_plugin.sources.sql.writing import (
    Written,
    require_another,
    require_different,
    staged,
    target_parts,
    transaction,
    writing,
)


def sql_table(engine_or_connection: Engine | Connection, table: Any) -> "SqlTable":
    """Name a table or query of a database as a source; nothing is read yet.

    `table` is "table", "schema.table", a SQLAlchemy table, select(...) or text("SELECT ..."). SQLite, DuckDB and
    PostgreSQL are supported.

    >>> engine = sa.create_engine("sqlite://")
    >>> with engine.begin() as connection:
    ...     _ = connection.exec_driver_sql("CREATE TABLE people AS SELECT 30 AS age UNION ALL SELECT 41")
    >>> sql_table(engine, "people").frequencies(["age"]).rows
    2
    """
    if not isinstance(engine_or_connection, Engine | Connection):
        raise SourceError(
            f"cannot reach a database through {type(engine_or_connection).__name__}; "
            "give a SQLAlchemy engine, create_engine('postgresql+psycopg://...'), or a connection"
        )
    if engine_or_connection.get_execution_options().get("schema_translate_map") and not isinstance(table, str):
        raise SourceError(
            "the engine replaces schemas (schema_translate_map), so that two questions could go to two tables; "
            "name the table as 'schema.table', or give an engine without the option"
        )
    return SqlTable(engine_or_connection, origin(table, engine_or_connection.dialect))


class SqlTable:
    """A table or query of a database."""

    def __init__(
        self, bind: Engine | Connection, origin: Origin, described: tuple[SqlColumn, ...] | None = None
    ) -> None:
        self._bind = bind
        self._origin = origin
        self._rules = rules_of(bind.dialect)
        self._described = described  # a copy's columns are what the original's are declared to be

    @property
    def engine(self) -> str:
        """The name of the database system."""
        return self._bind.dialect.name

    @property
    def bind(self) -> Engine | Connection:
        """The engine or connection through which the database is reached."""
        return self._bind

    @property
    def name(self) -> str | None:
        """The table's name with every part quoted, or None for a query."""
        parts = self._origin.parts
        return ".".join('"' + part.replace('"', '""') + '"' for part in parts) if parts else None

    @property
    def selectable(self) -> sa.FromClause:
        """The table or query as SQLAlchemy selects from it."""
        return self._origin.clause

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, asked of the database."""
        with self._connected("reading the columns") as connection:
            return tuple(column.name for column in self._describe(connection))

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in the database; one row a group comes back."""
        with self._connected("grouping") as connection:
            described = {column.name: column for column in self._describe(connection)}
            require_columns(columns, tuple(described))
            chosen = [described[name] for name in columns]
            if unit is not None:
                require_column(unit, tuple(described), role="unit")
            person = described[unit] if unit is not None else None
            return counted(connection, self._rules, self._origin, chosen, unit=person)

    def joined_groups(
        self, population: Source, columns: Sequence[str], meaning: Meaning | None = None
    ) -> JoinedGroups | None:
        """Group this table and another of the same engine or connection, and join the groups in the database.

        Engines that only have the same URL may still differ in their sessions, and so in what a name means there.
        """
        if not isinstance(population, SqlTable) or population.bind is not self._bind:
            return None
        if meaning is not None:
            return self._joined_by_meaning(population, columns, meaning)
        with self._connected("joining the groups of two tables") as connection:
            chosen = [each._chosen(connection, columns) for each in (self, population)]
            if not comparable(self._rules, *chosen) or share_names(self._origin, population._origin):
                return None
            sides = grouped_sides(self._rules, (self._origin, chosen[0]), (population._origin, chosen[1]))
            query = joined_query(self._rules, sides, len(columns))
            groups, numbers = self._rules.fetch(connection, query, columns)
        return joined_table(columns, groups, numbers)

    def _joined_by_meaning(
        self, population: "SqlTable", columns: Sequence[str], meaning: Meaning
    ) -> JoinedGroups | None:
        try:
            with ExitStack() as stack:
                stack.enter_context(told_as_source_error(self._bind, "joining the groups of two tables"))
                connection = stack.enter_context(self._transaction())
                chosen = [each._chosen(connection, columns) for each in (self, population)]
                stored = all(each._is_stored(connection) for each in (self, population))
                if not stored or not readable(self._rules, *chosen):  # a copy of a view may change types: SQLite's do
                    return None
                sides = grouped_sides(self._rules, (self._origin, chosen[0]), (population._origin, chosen[1]))
                renamed = renamed_sides(connection, self._rules, sides, columns, meaning, stack)
                if renamed is None:
                    return None
                query = joined_query(self._rules, renamed[0], len(columns))
                groups, numbers = self._rules.fetch(connection, query, columns)
        except SourceError:  # not everybody may have temporary tables, and a replica has none; to read is enough then
            return None
        return joined_table(columns, groups, numbers, renamed[1])

    def beside(self, other: Source, held: Source) -> AbstractContextManager[Source] | None:
        """Hold this table in the transaction that holds another one of the same engine or connection."""
        connection = getattr(held, "bind", None)
        if getattr(other, "bind", None) is not self._bind or not isinstance(connection, Connection):
            return None
        return self._held(connection)

    def row_count(self) -> int:
        """Count the rows in the database."""
        with self._connected("counting rows") as connection:
            return row_count(connection, self._rules, self._origin)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in the database."""
        with self._connected("fingerprinting") as connection:
            described = {column.name: column for column in self._describe(connection)}
            require_columns(tuple(described) if columns is None else columns, tuple(described))
            chosen = sorted(described if columns is None else columns)
            ordered = [described[name] for name in chosen]
            rows, buckets = self._rules.buckets(connection, self._origin, ordered)
            require_groups(rows, lambda: row_count(connection, self._rules, self._origin))
            types = [self._rules.fingerprint_type(column) for column in ordered]
            return compose(scheme=self._rules.scheme, columns=chosen, rows=rows, buckets=buckets, types=types)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Hold one transaction of one connection: what others commit meanwhile is not seen."""
        with ExitStack() as stack:
            with told_as_source_error(self._bind, "opening a snapshot"):
                connection = stack.enter_context(self._transaction())
                held = stack.enter_context(self._held(connection))
            yield held

    def _transaction(self) -> AbstractContextManager[Connection]:
        return transaction(self._bind, self._rules, write=False, reads=self._origin.rests_on)

    @contextmanager
    def _held(self, connection: Connection) -> Iterator["SqlTable"]:
        """Give what has the same rows for the rest of the transaction.

        What is no stored table (a view, a foreign table, a query) may have others whenever it is read: it is read
        once, and the copy answers.
        """
        described = self._describe(connection)  # databases settle on a state when they first look at the table
        if self._is_stored(connection):
            yield SqlTable(connection, self._origin, described)
            return
        with temporary_tables(connection, self._rules) as temporary:
            with told_as_source_error(connection, f"copying {self._origin.label}, which is no stored table,"):
                values = [(column.name, self._rules.kept(self._origin.column(column.name))) for column in described]
                copied = [value.label(quoted_name(name, True)) for name, value in values]
                temporary.created("held", sa.select(*copied).select_from(self._origin.clause), ())
            copy = named_origin((temporary.full_name("held"),), connection.dialect)
            yield SqlTable(connection, copy, described)

    def _is_stored(self, connection: Connection) -> bool:
        return bool(self._origin.rests_on) and self._rules.is_stored(connection, self._origin.rests_on)

    def _selected(self, columns: Sequence[SqlColumn]) -> sa.Select[Any]:
        chosen = [self._rules.shown(self._origin, c).label(quoted_name(c.name, True)) for c in columns]
        return sa.select(*chosen).select_from(self._origin.clause)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> "SqlTable":
        """Write the recoded table next to the original and put it in the target's place when it is complete."""
        parts = target_parts(target)
        with writing(self._bind, self._rules, self._origin, "recoding") as connection:
            require_another(connection, self._rules, self._origin, parts)
            with self._held(connection) as held, temporary_tables(connection, self._rules) as temporary:
                recoder = SqlRecoder(connection, self._rules, held._origin, held._describe(connection), temporary)
                columns, query = recoder.prepare(recoding)
                table = Written(parts=parts, columns=columns, query=query)
                staged(connection, self._rules, [table], held._same_rows(connection, recoding))
        return sql_table(self._bind, target)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> "SqlTable":
        """Copy columns into a staging table, let `verify` look at it, and only then swap it into place."""
        parts = target_parts(target)
        with writing(self._bind, self._rules, self._origin, "publishing") as connection:
            require_another(connection, self._rules, self._origin, parts)
            described = {column.name: column for column in self._describe(connection)}
            require_columns(columns, tuple(described))
            copied = [described[name] for name in columns]
            with self._held(connection) as held:
                by_content = self._rules.by_content(held._origin, copied)
                table = Written(parts=parts, columns=copied, query=held._selected(copied).order_by(*by_content))
                staged(connection, self._rules, [table], lambda origins: verify(SqlTable(connection, origins[0])))
        return sql_table(self._bind, target)

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[Any, ...]:
        """Write all tables in one transaction, or none; without targets return pandas frames."""
        if targets is None:
            with self.snapshot() as held:
                table = held.frequencies(columns)
            return FrequencySource(table).distribute(columns, make, targets=None, verify=verify)
        places = [target_parts(target) for target in targets]
        with writing(self._bind, self._rules, self._origin, "writing") as connection:
            for parts in places:
                require_another(connection, self._rules, self._origin, parts)
            require_different(connection, self._rules, places)
            described = {column.name: column for column in self._describe(connection)}
            with self._held(connection) as held, temporary_tables(connection, self._rules) as temporary:
                wanted = make(held.frequencies(columns))
                tables = []
                for number, (parts, rows) in enumerate(zip(places, wanted, strict=True)):
                    shown, query = numbered_query(
                        connection, self._rules, held._origin, described, rows, temporary, number
                    )
                    tables.append(Written(parts=parts, columns=shown, query=query))
                temporary.settle()
                staged(
                    connection,
                    self._rules,
                    tables,
                    lambda origins: verify([SqlTable(connection, origin) for origin in origins]),
                )
        return tuple(sql_table(self._bind, target) for target in targets)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> "SqlTable":
        """Write other rows to a staging table, let `verify` look at it, and only then swap it into place."""
        with writing(self._bind, self._rules, self._origin, "writing") as connection:
            self._write_rows(connection, rows, target, verify)
        return sql_table(self._bind, target)

    def rehearse_rows(self, rows: FrequencyTable, *, target: str | None) -> None:
        """Put other rows in the target's place, and undo it: a view that rests on the target, say, is in the way."""
        bind, verify = self._bind, _accept
        if isinstance(bind, Connection) and bind.in_transaction() and not self._rules.savepoints:
            # nothing could be undone here alone: in a file another connection can, else the rows stop beside the target
            bind, verify = (bind.engine, _accept) if file_of(bind.engine.url) else (bind, _stop)
        with suppress(Rehearsed), writing(bind, self._rules, self._origin, "writing") as connection:
            self._write_rows(connection, rows, target, verify)
            raise Rehearsed

    def _write_rows(
        self, connection: Connection, rows: FrequencyTable, target: str | None, verify: Callable[[Source], None]
    ) -> None:
        parts = target_parts(target)
        check = arrived(rows, verify)
        require_another(connection, self._rules, self._origin, parts)
        with temporary_tables(connection, self._rules) as temporary:
            columns, query = drawn_query(temporary, arrow_rows(rows))
            table = Written(parts=parts, columns=columns, query=query)
            staged(connection, self._rules, [table], lambda origins: check(SqlTable(connection, origins[0])))

    def _same_rows(self, connection: Connection, recoding: Recoding) -> Callable[[Sequence[Origin]], None]:
        """Return a check that recoding lost no row; dropping rows is the one way to have fewer."""

        def check(staging: Sequence[Origin]) -> None:
            before, after = (
                SqlTable(connection, self._origin).row_count(),
                SqlTable(connection, staging[0]).row_count(),
            )
            dropping = recoding.suppression == "drop" and recoding.suppressed
            if after > before or (after < before and not dropping):
                raise SourceError(f"recoding made {after} rows of {before}; the table was not written")

        return check

    @contextmanager
    def _connected(self, doing: str) -> Iterator[Connection]:
        if isinstance(self._bind, Connection):
            with told_as_source_error(self._bind, doing), session(self._bind) as connection:
                yield connection
            return
        with told_as_source_error(self._bind, doing), connect(self._bind) as own, session(own) as connection:
            yield connection

    def _describe(self, connection: Connection) -> tuple[SqlColumn, ...]:
        if self._described is not None:
            return self._described
        with told_as_source_error(connection, f"reading the columns of {self._origin.label} (does it exist?)"):
            described = self._rules.describe(connection, self._origin)
        checked_names([column.name for column in described])
        return described

    def _chosen(self, connection: Connection, columns: Sequence[str]) -> list[SqlColumn]:
        described = {column.name: column for column in self._describe(connection)}
        require_columns(columns, tuple(described))
        return [described[name] for name in columns]


def _stop(_: Source) -> None:
    raise Rehearsed


def _accept(_: Source) -> None:
    pass
