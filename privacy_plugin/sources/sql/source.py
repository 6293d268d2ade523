"""Tables and queries of a database through SQLAlchemy: all work is done in the database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError, require_column, require_columns
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.class_profiles import choose_unique
from privacy_plugin.sources.coding import require_groups
from privacy_plugin.sources.drawn_rows import build_arrow_table, check_arrival
from privacy_plugin.sources.fingerprint import combine_buckets
from privacy_plugin.sources.frequency_source import FrequencySource
from privacy_plugin.sources.population_join import JoinedGroups, Meaning, build_joined_groups
from privacy_plugin.sources.protocol import (
    BuildTables,
    Fingerprint,
    RehearsalDone,
    Source,
    VerifyTables,
    require_column_names,
)
from privacy_plugin.sources.sql.connections import (
    find_database_file,
    open_connection,
    open_transaction,
    open_write_transaction,
    redact_driver_errors,
)
from privacy_plugin.sources.sql.dialect import SqlColumn, dialect_of
from privacy_plugin.sources.sql.origin import Origin, resolve_origin, share_names, table_origin
from privacy_plugin.sources.sql.queries import (
    count_groups,
    count_people,
    count_values,
    group_sides,
    is_comparable,
    is_readable,
    join_sides,
    load_drawn_rows,
    number_rows,
    profile_sides,
    rename_sides,
)
from privacy_plugin.sources.sql.recoding import SqlRecoder
from privacy_plugin.sources.sql.staging import (
    TableToWrite,
    open_temporary_tables,
    parse_target,
    require_distinct_targets,
    require_other_target,
    write_tables,
)


def sql_table(engine_or_connection: Engine | Connection, table: Any) -> "SqlTable":
    """Return a source for a table or query of a database; nothing is read yet.

    `table` is "table", "schema.table", a SQLAlchemy table, select(...) or text("SELECT ..."). SQLite, DuckDB,
    PostgreSQL and MariaDB are supported.

    >>> engine = sa.create_engine("sqlite://")
    >>> with engine.begin() as connection:
    ...     _ = connection.exec_driver_sql("CREATE TABLE people AS SELECT 30 AS age UNION ALL SELECT 41")
    >>> sql_table(engine, "people").frequencies(["age"]).rows
    2
    """
    if not isinstance(engine_or_connection, Engine | Connection):
        raise SourceError(
            f"cannot use {type(engine_or_connection).__name__} as a database; "
            "pass a SQLAlchemy engine, create_engine('postgresql+psycopg://...'), or a connection"
        )
    if engine_or_connection.get_execution_options().get("schema_translate_map") and not isinstance(table, str):
        raise SourceError(
            "the engine replaces schemas (schema_translate_map), so that two queries could read two tables; "
            "name the table as 'schema.table', or pass an engine without the option"
        )
    return SqlTable(engine_or_connection, resolve_origin(table, engine_or_connection.dialect))


class SqlTable:
    """A table or query of a database."""

    def __init__(
        self, bind: Engine | Connection, origin: Origin, described: tuple[SqlColumn, ...] | None = None
    ) -> None:
        self._bind = bind
        self._origin = origin
        self._dialect = dialect_of(bind.dialect)
        self._described = described  # a copy keeps the declared types of the original

    @property
    def engine(self) -> str:
        """The name of the database system."""
        return self._bind.dialect.name

    @property
    def bind(self) -> Engine | Connection:
        """The SQLAlchemy engine or connection of the database."""
        return self._bind

    @property
    def name(self) -> str | None:
        """The table's name with every part quoted; None for a query."""
        parts = self._origin.parts
        return ".".join('"' + part.replace('"', '""') + '"' for part in parts) if parts else None

    @property
    def selectable(self) -> sa.FromClause:
        """The table or query as SQLAlchemy selects from it."""
        return self._origin.clause

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, read from the database."""
        with open_connection(self._bind, "reading the columns") as connection:
            return tuple(column.name for column in self._describe(connection))

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in the database; one row a group comes back."""
        with open_connection(self._bind, "grouping") as connection:
            described = {column.name: column for column in self._describe(connection)}
            require_columns(columns, tuple(described))
            chosen = [described[name] for name in columns]
            if unit is not None:
                require_column(unit, tuple(described), role="unit")
            person = described[unit] if unit is not None else None
            return count_groups(connection, self._dialect, self._origin, chosen, unit=person)

    def count_people(self, unit: str) -> int:
        """Count the distinct values of the unit in the database; raise if some are missing."""
        with open_connection(self._bind, "counting people") as connection:
            (column,) = self._choose_columns(connection, [unit])
            return count_people(connection, self._dialect, self._origin, column)

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes by their profile in the database; None if values of a column have several forms."""
        columns = [*quasi_identifiers, *([] if sensitive is None else [sensitive])]
        with open_connection(self._bind, "grouping") as connection:
            chosen = self._choose_columns(connection, columns)
            if not all(self._dialect.has_unique_forms(column) for column in chosen[: len(quasi_identifiers)]):
                return None
            return self._dialect.count_profiles(
                connection, self._origin, chosen, sensitive=sensitive is not None, first_rows=first_rows
            )

    def unique_columns(self, columns: Sequence[str], *, first_rows: int | None = None) -> list[str]:
        """Return the columns that have another value in every row, or in every one of the first rows."""
        with open_connection(self._bind, "counting values") as connection:
            chosen = self._choose_columns(connection, columns)
            query = count_values(self._dialect, self._origin, chosen, first_rows)
            rows, *counts = (int(number) for number in connection.execute(query).one())
        return choose_unique(columns, rows, counts)

    def joined_groups(
        self,
        population: Source,
        columns: Sequence[str],
        meaning: Meaning | None = None,
        *,
        profiled: bool = False,
    ) -> JoinedGroups | None:
        """Group this table and another one of the same engine or connection, and join the groups in the database.

        Two engines with the same URL may have different sessions, in which a name means different tables.
        """
        if not isinstance(population, SqlTable) or population.bind is not self._bind:
            return None
        if meaning is not None:
            return self._join_by_meaning(population, columns, meaning, profiled=profiled)
        with open_connection(self._bind, "joining the groups of two tables") as connection:
            chosen = [each._choose_columns(connection, columns) for each in (self, population)]
            if not is_comparable(self._dialect, *chosen) or share_names(self._origin, population._origin):
                return None
            sides = group_sides(self._dialect, (self._origin, chosen[0]), (population._origin, chosen[1]))
            if profiled:
                return profile_sides(connection, self._dialect, sides, columns)
            query = join_sides(self._dialect, sides, len(columns))
            groups, numbers = self._dialect.fetch_coded(connection, query, columns)
        return build_joined_groups(columns, groups, numbers)

    def _join_by_meaning(
        self, population: "SqlTable", columns: Sequence[str], meaning: Meaning, *, profiled: bool
    ) -> JoinedGroups | None:
        if not self._dialect.transactional_ddl:  # the stored groups might be newer than the snapshot
            return None
        try:
            with ExitStack() as stack:
                stack.enter_context(redact_driver_errors(self._bind, "joining the groups of two tables"))
                connection = stack.enter_context(self._open_transaction())
                chosen = [each._choose_columns(connection, columns) for each in (self, population)]
                stored = all(each._is_stored(connection) for each in (self, population))
                # a copy of a view may change types, as in SQLite
                if not stored or not is_readable(self._dialect, *chosen):
                    return None
                sides = group_sides(self._dialect, (self._origin, chosen[0]), (population._origin, chosen[1]))
                renamed = rename_sides(connection, self._dialect, sides, columns, meaning, stack)
                if renamed is None:
                    return None
                if profiled:
                    return profile_sides(connection, self._dialect, renamed[0], columns)
                query = join_sides(self._dialect, renamed[0], len(columns))
                groups, numbers = self._dialect.fetch_coded(connection, query, columns)
        except SourceError:  # no temporary tables: missing permission, or a replica. Reading alone still works
            return None
        return build_joined_groups(columns, groups, numbers, renamed[1])

    def joint_snapshot(self, other: Source, snapshot: Source) -> AbstractContextManager[Source] | None:
        """Open a snapshot in the transaction of another table's snapshot, if both have one engine or connection."""
        connection = getattr(snapshot, "bind", None)
        if getattr(other, "bind", None) is not self._bind or not isinstance(connection, Connection):
            return None
        return self._open_state(connection)

    def row_count(self) -> int:
        """Count the rows in the database."""
        with open_connection(self._bind, "counting rows") as connection:
            return self._dialect.count_rows(connection, self._origin)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in the database."""
        with open_connection(self._bind, "fingerprinting") as connection:
            described = {column.name: column for column in self._describe(connection)}
            require_columns(tuple(described) if columns is None else columns, tuple(described))
            chosen = sorted(described if columns is None else columns)
            ordered = [described[name] for name in chosen]
            rows, buckets = self._dialect.hash_buckets(connection, self._origin, ordered)
            require_groups(rows, lambda: self._dialect.count_rows(connection, self._origin))
            types = [self._dialect.fingerprint_type(column) for column in ordered]
            return combine_buckets(scheme=self._dialect.scheme, columns=chosen, rows=rows, buckets=buckets, types=types)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Open one transaction: commits of other sessions stay invisible in it."""
        with ExitStack() as stack:
            with redact_driver_errors(self._bind, "opening a snapshot"):
                connection = stack.enter_context(self._open_transaction())
                state = stack.enter_context(self._open_state(connection))
            yield state

    def _open_transaction(self) -> AbstractContextManager[Connection]:
        return open_transaction(self._bind, self._dialect, write=False, reads=self._origin.base_table)

    @contextmanager
    def _open_state(self, connection: Connection, *, write: bool = False) -> Iterator["SqlTable"]:
        """Yield a table that keeps its rows for the rest of the transaction.

        A view, a foreign table or a query may return other rows whenever it is read: it is copied once to a temporary
        table. So is every source of a writer whose transaction ends with the first table that it creates.
        """
        described, stored = self._describe_table(connection)
        if (self._dialect.transactional_ddl or not write) and stored:
            yield SqlTable(connection, self._origin, described)
            return
        with open_temporary_tables(connection, self._dialect) as temporary:
            with redact_driver_errors(connection, f"copying {self._origin.label}, which is not a stored table,"):
                values = [
                    (column.name, self._dialect.copied_value(self._origin.column(column.name))) for column in described
                ]
                copied = [value.label(quoted_name(name, True)) for name, value in values]
                temporary.create_from_query("held", sa.select(*copied).select_from(self._origin.clause), ())
            copy = table_origin((temporary.full_name("held"),), connection.dialect)
            yield SqlTable(connection, copy, described)

    @contextmanager
    def private_copy(self) -> Iterator["SqlTable"]:
        """Yield a copy in a temporary table of this connection, for work that spans several transactions."""
        with ExitStack() as stack:
            with open_write_transaction(self._bind, self._dialect, self._origin.base_table, "copying") as connection:
                copy = stack.enter_context(self._open_state(connection, write=True))
            yield copy

    def _is_stored(self, connection: Connection) -> bool:
        return bool(self._origin.base_table) and self._dialect.is_stored_table(connection, self._origin.base_table)

    def _select_released(self, columns: Sequence[SqlColumn]) -> sa.Select[Any]:
        chosen = [self._dialect.release_term(self._origin, c).label(quoted_name(c.name, True)) for c in columns]
        return sa.select(*chosen).select_from(self._origin.clause)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> "SqlTable":
        """Write the recoded table to a staging table and replace the target when it is complete."""
        parts = parse_target(target)
        with open_write_transaction(self._bind, self._dialect, self._origin.base_table, "recoding") as connection:
            require_other_target(connection, self._dialect, self._origin, parts)
            with (
                self._open_state(connection, write=True) as state,
                open_temporary_tables(connection, self._dialect) as temporary,
            ):
                recoder = SqlRecoder(connection, self._dialect, state._origin, state._describe(connection), temporary)
                columns, query = recoder.prepare(recoding)
                table = TableToWrite(parts=parts, columns=columns, query=query)
                write_tables(connection, self._dialect, [table], state._check_row_count(connection, recoding))
        return sql_table(self._bind, target)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> "SqlTable":
        """Copy columns to a staging table, call `verify` on it, and only then replace the target."""
        (published,) = self.publish_together([(self, target, columns)], lambda staged: verify(staged[0]))
        return published

    @staticmethod
    def publish_together(
        tables: Sequence[tuple["SqlTable", str | None, Sequence[str]]], verify: VerifyTables
    ) -> tuple["SqlTable", ...]:
        """Publish tables of one database in one transaction; each is given with its target and its columns."""
        first = tables[0][0]
        bind, dialect = first._bind, first._dialect
        if any(table._bind is not bind for table, _, _ in tables):
            raise SourceError("tables that are published together must be in one database; pass one engine")
        targets = [parse_target(target) for _, target, _ in tables]
        with (
            open_write_transaction(bind, dialect, first._origin.base_table, "publishing") as connection,
            ExitStack() as stack,
        ):
            require_distinct_targets(connection, dialect, targets)
            written = []
            for (table, _, columns), parts in zip(tables, targets, strict=True):
                for other in targets:
                    require_other_target(connection, dialect, table._origin, other)
                described = {column.name: column for column in table._describe(connection)}
                require_columns(columns, tuple(described))
                copied = [described[name] for name in columns]
                state = stack.enter_context(table._open_state(connection, write=True))
                order = dialect.content_order(state._origin, copied)
                query = state._select_released(copied).order_by(*order)
                written.append(TableToWrite(parts=parts, columns=copied, query=query))
            write_tables(
                connection,
                dialect,
                written,
                lambda origins: verify([SqlTable(connection, origin) for origin in origins]),
            )
        return tuple(sql_table(bind, target) for _, target, _ in tables if target is not None)

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Write all tables in one transaction; without targets return pandas frames."""
        if targets is None:
            with self.snapshot() as snapshot:
                table = snapshot.frequencies(columns)
            return FrequencySource(table).distribute(columns, make, targets=None, verify=verify)
        names = [parse_target(target) for target in targets]
        with open_write_transaction(self._bind, self._dialect, self._origin.base_table, "writing") as connection:
            for parts in names:
                require_other_target(connection, self._dialect, self._origin, parts)
            require_distinct_targets(connection, self._dialect, names)
            described = {column.name: column for column in self._describe(connection)}
            with (
                self._open_state(connection, write=True) as state,
                open_temporary_tables(connection, self._dialect) as temporary,
            ):
                wanted = make(state.frequencies(columns))
                tables = []
                for number, (parts, rows) in enumerate(zip(names, wanted, strict=True)):
                    if isinstance(rows, FrequencyTable):
                        released, query = load_drawn_rows(temporary, build_arrow_table(rows))
                    else:
                        released, query = number_rows(
                            connection, self._dialect, state._origin, described, rows, temporary, number
                        )
                    tables.append(TableToWrite(parts=parts, columns=released, query=query))
                temporary.analyze()
                write_tables(
                    connection,
                    self._dialect,
                    tables,
                    lambda origins: verify([SqlTable(connection, origin) for origin in origins]),
                )
        return tuple(sql_table(self._bind, target) for target in targets)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> "SqlTable":
        """Write other rows to a staging table, call `verify` on it, and only then replace the target."""
        with open_write_transaction(self._bind, self._dialect, self._origin.base_table, "writing") as connection:
            self._write_rows(connection, rows, target, verify)
        return sql_table(self._bind, target)

    def rehearse_rows(self, rows: FrequencyTable, *, target: str | None) -> None:
        """Replace the target by other rows and roll back, to detect obstacles such as a view that depends on it.

        Where nothing can be rolled back, the rows go to a temporary table only, and an empty table is staged.
        """
        bind, verify = self._bind, _accept
        if not self._dialect.transactional_ddl:
            with open_write_transaction(bind, self._dialect, self._origin.base_table, "writing") as connection:
                self._rehearse_staging(connection, rows, target)
            return
        if isinstance(bind, Connection) and bind.in_transaction() and not self._dialect.savepoints:
            # without savepoints the caller's transaction cannot be rolled back in part: use another connection to the
            # file, or stop before the target is replaced
            bind, verify = (bind.engine, _accept) if find_database_file(bind.engine.url) else (bind, _stop)
        with (
            suppress(RehearsalDone),
            open_write_transaction(bind, self._dialect, self._origin.base_table, "writing") as connection,
        ):
            self._write_rows(connection, rows, target, verify)
            raise RehearsalDone

    def _write_rows(
        self, connection: Connection, rows: FrequencyTable, target: str | None, verify: Callable[[Source], None]
    ) -> None:
        parts = parse_target(target)
        check = check_arrival(rows, verify)
        require_other_target(connection, self._dialect, self._origin, parts)
        with open_temporary_tables(connection, self._dialect) as temporary:
            columns, query = load_drawn_rows(temporary, build_arrow_table(rows))
            table = TableToWrite(parts=parts, columns=columns, query=query)
            write_tables(connection, self._dialect, [table], lambda origins: check(SqlTable(connection, origins[0])))

    def _rehearse_staging(self, connection: Connection, rows: FrequencyTable, target: str | None) -> None:
        parts = parse_target(target)
        require_other_target(connection, self._dialect, self._origin, parts)
        with open_temporary_tables(connection, self._dialect) as temporary, suppress(RehearsalDone):
            columns, query = load_drawn_rows(temporary, build_arrow_table(rows))
            temporary.create_from_query("arrived", query, ())
            arrived = table_origin((temporary.full_name("arrived"),), connection.dialect)
            check_arrival(rows, _accept)(SqlTable(connection, arrived))
            table = TableToWrite(parts=parts, columns=columns, query=query.where(sa.false()))
            write_tables(connection, self._dialect, [table], lambda _: _stop(self))

    def _check_row_count(self, connection: Connection, recoding: Recoding) -> Callable[[Sequence[Origin]], None]:
        """Return a check that recoding lost no row, unless suppressed rows are dropped."""

        def check(staging: Sequence[Origin]) -> None:
            before, after = (
                SqlTable(connection, self._origin).row_count(),
                SqlTable(connection, staging[0]).row_count(),
            )
            dropping = recoding.suppression == "drop" and recoding.suppressed
            if after > before or (after < before and not dropping):
                raise SourceError(f"recoding turned {before} rows into {after}; the table was not written")

        return check

    def _describe(self, connection: Connection) -> tuple[SqlColumn, ...]:
        if self._described is not None:
            return self._described
        with self._describing(connection):
            described = self._dialect.describe_columns(connection, self._origin)
        require_column_names([column.name for column in described])
        return described

    def _describe_table(self, connection: Connection) -> tuple[tuple[SqlColumn, ...], bool]:
        """Return the columns, and whether the rows are those of one stored table."""
        with self._describing(connection):
            described, stored = self._dialect.describe_table(connection, self._origin)
        require_column_names([column.name for column in described])
        return (described if self._described is None else self._described), stored

    def _describing(self, connection: Connection) -> Any:
        return redact_driver_errors(connection, f"reading the columns of {self._origin.label} (does it exist?)")

    def _choose_columns(self, connection: Connection, columns: Sequence[str]) -> list[SqlColumn]:
        described = {column.name: column for column in self._describe(connection)}
        require_columns(columns, tuple(described))
        return [described[name] for name in columns]


def _stop(_: Source) -> None:
    raise RehearsalDone


def _accept(_: Source) -> None:
    pass
