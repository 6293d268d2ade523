"""Write tables in a database so that a failure leaves everything as it was."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.sources.sql.dialect import Rules, SqlColumn, run
from privacy_plugin.sources.sql.errors import connect, told_as_source_error
from privacy_plugin.sources.sql.origin import Origin, named_origin, quote_name, split_name
from privacy_plugin.sources.sql.session import session

_COUNTS = 1_500  # in one query: SQLite returns at most 2,000


class _CreateTableAs(sa.Executable, sa.ClauseElement):
    inherit_cache = False

    def __init__(self, name: str, query: sa.Select[Any], temporary: bool) -> None:
        self.name, self.query, self.temporary = name, query, temporary


@compiles(_CreateTableAs)
def _create_table_as(element: _CreateTableAs, compiler: Any, **options: Any) -> str:
    kind = "TEMPORARY TABLE" if element.temporary else "TABLE"
    return f"CREATE {kind} {element.name} AS {compiler.process(element.query, **options)}"


def create_as(connection: Connection, name: str, query: sa.Select[Any], *, temporary: bool = False) -> None:
    """Create a (quoted) table from a query."""
    run(connection, _CreateTableAs(name, query, temporary))


@contextmanager
def transaction(
    bind: Engine | Connection, rules: Rules, *, write: bool, reads: tuple[str, ...]
) -> Iterator[Connection]:
    """Open a transaction whose queries all see one state; a caller's own transaction is joined, not ended."""
    if isinstance(bind, Engine):
        engine = bind.execution_options(isolation_level=rules.isolation) if rules.isolation else bind
        with connect(engine) as own, session(own) as connection:
            rules.hold(connection, write=write, reads=reads)
            yield connection
            with told_as_source_error(bind, "committing"):
                connection.commit()
        return
    with session(bind), _joined(bind, rules, write=write, reads=reads):
        yield bind


@contextmanager
def _joined(bind: Connection, rules: Rules, *, write: bool, reads: tuple[str, ...]) -> Iterator[Connection]:
    joined = bind.in_transaction()
    if joined and rules.savepoints:
        rules.hold(bind, write=write, reads=reads)
        with bind.begin_nested():
            yield bind
        return
    try:
        rules.hold(bind, write=write, reads=reads)
        yield bind
    except BaseException:
        if not joined:
            bind.rollback()
        raise
    if not joined:
        with told_as_source_error(bind, "committing"):
            bind.commit()


@contextmanager
def writing(bind: Engine | Connection, rules: Rules, source: Origin, doing: str) -> Iterator[Connection]:
    """Open the transaction in which all is written or nothing."""
    with told_as_source_error(bind, doing), transaction(bind, rules, write=True, reads=source.rests_on) as connection:
        yield connection


def target_parts(target: str | None) -> tuple[str, ...]:
    """Read the name of a target table."""
    if target is None:
        raise ParameterError("a database table is written to a target; give its name, 'table' or 'schema.table'")
    return split_name(target)


def require_another(connection: Connection, rules: Rules, source: Origin, parts: tuple[str, ...]) -> None:
    """Refuse to write a table over itself, over one that it is made of, or under the name by which it was asked for."""
    named = {source.rests_on} if source.rests_on else set()
    stored = bool(source.rests_on) and rules.is_stored(connection, source.rests_on)
    read = named if stored else named | rules.tables_read(connection, source)
    targets = (parts, rules.placed(connection, parts))
    if any(rules.same_table(connection, name, target) for name in read for target in targets):
        raise ParameterError(
            f"the target {'.'.join(parts)!r} is the source itself, or shares rows with it; name another table"
        )


def require_different(connection: Connection, rules: Rules, targets: Sequence[tuple[str, ...]]) -> None:
    """Refuse to put two tables in one place."""
    for one, other in combinations(targets, 2):
        placed = [rules.placed(connection, parts) for parts in (one, other)]
        if placed[0] == placed[1] or rules.same_table(connection, *placed):
            raise ParameterError(f"the targets {'.'.join(one)!r} and {'.'.join(other)!r} are one table; name two")


@dataclass(frozen=True, kw_only=True, eq=False)
class Written:
    """A table to write: its name in parts, its columns, and the query that produces its rows."""

    parts: tuple[str, ...]
    columns: Sequence[SqlColumn]
    query: sa.Select[Any]


def staged(
    connection: Connection, rules: Rules, tables: Sequence[Written], check: Callable[[Sequence[Origin]], None]
) -> None:
    """Write queries' results to staging tables beside the targets, check all of them, then swap all into place."""
    places = [rules.placed(connection, table.parts) for table in tables]
    staging = [(*place[:-1], f"privacy_plugin_staging_{secrets.token_hex(8)}") for place in places]
    names = [quote_name(parts, connection.dialect) for parts in staging]
    try:
        for table, name in zip(tables, names, strict=True):
            _fill(connection, rules, name, table.columns, table.query)
        check([named_origin(parts, connection.dialect) for parts in staging])
        for place, name in zip(places, names, strict=True):
            final = quote_name(place, connection.dialect)
            for statement in rules.rename(name, final, quote_name(place[-1:], connection.dialect)):
                run(connection, statement)
        # two names that were free before may have been two names of one place
        require_different(connection, rules, [table.parts for table in tables])
        for table, place in zip(tables, places, strict=True):
            _require_visible(connection, rules, table.parts, place)
    except BaseException:
        for name in names:
            _drop(connection, name)
        raise


def _require_visible(connection: Connection, rules: Rules, parts: tuple[str, ...], place: tuple[str, ...]) -> None:
    """Refuse a name by which whoever asks for the table that was written would get another one."""
    if not rules.same_table(connection, parts, place):
        raise ParameterError(
            f"a temporary table hides the target {'.'.join(parts)!r} in this session; drop it, or name 'schema.table'"
        )


def _fill(connection: Connection, rules: Rules, name: str, columns: Sequence[SqlColumn], query: sa.Select[Any]) -> None:
    declared = [rules.definition(column) for column in columns]
    if None in declared:
        create_as(connection, name, query)
        return
    names = [column.name for column in columns]
    quoted = [quote_name([n], connection.dialect) for n in names]
    definitions = ", ".join(f"{q} {kind}" for q, kind in zip(quoted, declared, strict=True))
    run(connection, f"CREATE TABLE {name} ({definitions})")
    table = sa.table(quoted_name(name, False), *[sa.column(quoted_name(n, True)) for n in names])
    run(connection, sa.insert(table).from_select(names, query))
    if _storage(connection, table) != _storage(connection, query.subquery("source")):
        raise SourceError("a declared column type would change stored values; cast the columns in the query")


def _storage(connection: Connection, table: sa.FromClause) -> list[Any]:
    """Count text and numbers column by column: a declared type turns the text '02138' into the number 2138."""
    kinds = [sa.func.typeof(column) == kind for column in table.columns for kind in ("text", "integer", "real")]
    counts = [sa.func.count(sa.case((kind, 1))).label(f"n{number}") for number, kind in enumerate(kinds)]
    queries = [sa.select(*counts[start : start + _COUNTS]) for start in range(0, len(counts), _COUNTS)]
    return [count for query in queries for count in connection.execute(query.select_from(table)).all()[0]]


def _drop(connection: Connection, name: str) -> None:
    """Remove the staging table where the caller's transaction goes on; elsewhere the rollback has done it."""
    with suppress(SQLAlchemyError):
        run(connection, f"DROP TABLE IF EXISTS {name}")
