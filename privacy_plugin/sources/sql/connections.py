"""Connections to databases: URLs, connecting, redacted driver errors, sessions and transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors, type_name
from privacy_plugin.sources.sql.dialect import MODULES, Dialect, dialect_named, dialect_of


def parse_url(address: str | sa.URL) -> sa.URL:
    """Parse a SQLAlchemy URL; without a driver, use the dialect's preferred one if it is installed.

    >>> parse_url("sqlite:///file.db").database
    'file.db'
    """
    url = sa.make_url(address)
    if url.drivername in MODULES:
        driver = dialect_named(url.drivername).preferred_driver
        if driver and find_spec(driver):
            return url.set(drivername=f"{url.drivername}+{driver}")
    return url


def find_database_file(url: sa.URL) -> str | None:
    """Return the file of a URL; None for a server, a database in memory, or another scheme.

    >>> find_database_file(parse_url("duckdb:///house.duckdb")), find_database_file(parse_url("duckdb:///md:cloud"))
    ('house.duckdb', None)
    """
    name = url.get_backend_name()
    named = url.database if name in MODULES and dialect_named(name).opens_file else None
    return named if named and ":" not in named.partition("/")[0] else None


def find_database_path(url: sa.URL) -> Path | None:
    """Return the path of a URL's file, as the database resolves it; None if there is no file."""
    file = find_database_file(url)
    return None if file is None else dialect_named(url.get_backend_name()).file_path(file)


def resolve_url(address: str, folder: Path) -> str:
    """Return a URL whose relative file is resolved against a folder, not against the working directory.

    >>> resolve_url("sqlite:///house.db", Path("/projects/clinic"))
    'sqlite:////projects/clinic/house.db'
    """
    try:
        url = sa.make_url(address)
        path = find_database_path(url)
    except (sa.exc.ArgumentError, ValueError, ImportError):  # reported where the URL is used
        return address
    if path is None:
        return address
    return url.set(database=str(folder / path)).render_as_string(hide_password=False)


def describe_database(bind: Engine | Connection) -> str:
    """Name a database without user, password or options."""
    url = bind.engine.url
    host = f" at {url.host}:{url.port or 'default port'}" if url.host else ""
    return f"{bind.dialect.name}{host}" + (f", database {url.database!r}" if url.database else "")


def describe_driver_error(error: BaseException, *dialects: Dialect) -> str:
    """Return the class name of a driver's error and the explanation of its dialect, without its message."""
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return type_name(original) + "".join(dialect.explain_error(original) for dialect in dialects)


def driver_errors(bind: Engine | Connection) -> ForeignErrors:
    """Return the exceptions that SQLAlchemy and a driver raise for a database.

    Raw cursors raise the driver's own root error, without SQLAlchemy in between.
    """
    dialect = dialect_of(bind.dialect)
    root: Any = getattr(getattr(bind.dialect, "dbapi", None), "Error", None)
    driver: tuple[type[BaseException], ...] = (root,) if isinstance(root, type) else ()

    def describe(error: BaseException) -> str:
        name = describe_driver_error(error, dialect)
        is_value = isinstance(error, UnicodeError | OverflowError)
        return f"a value cannot be read or written ({name})" if is_value else name

    classes: tuple[type[BaseException], ...] = (SQLAlchemyError, *driver, UnicodeError, OverflowError)
    return ForeignErrors(classes=classes, place=f"on {describe_database(bind)}", describe=describe)


def redact_driver_errors(bind: Engine | Connection, doing: str) -> Any:
    """Raise SourceError instead of a driver's exception: see `redact_errors`."""
    return redact_errors(doing, driver_errors(bind))


def connect(engine: Engine) -> Connection:
    """Connect to a database; raise with a hint if a server cannot be reached."""
    dialect = dialect_of(engine.dialect)
    if dialect.opens_file:
        return engine.connect()
    try:
        return engine.connect()
    except driver_errors(engine).classes as error:
        raise SourceError(
            f"cannot connect to {describe_database(engine)} ({describe_driver_error(error, dialect)}): is it running, "
            "and are the user and password right?"
        ) from None


@contextmanager
def open_session(connection: Connection) -> Iterator[Connection]:
    """Use a connection without streaming and without SQLAlchemy's statement cache, and restore both afterwards.

    SQLAlchemy caches statements by names alone, quoted or not: after Visits (to PostgreSQL visits) it would read the
    same table for "Visits". It also takes the first row of a streamed result off the driver's cursor, so that a reader
    of the cursor would miss one group.
    """
    before = connection.get_execution_options()
    connection.execution_options(stream_results=False, yield_per=0, compiled_cache=None)
    try:
        with dialect_of(connection.dialect).handle_signals(connection):
            yield connection
    finally:
        cache = before.get("compiled_cache", getattr(connection.engine, "_compiled_cache", None))
        streamed, rows = before.get("stream_results", False), before.get("yield_per", 0)
        connection.execution_options(stream_results=streamed, yield_per=rows, compiled_cache=cache)


@contextmanager
def open_connection(bind: Engine | Connection, doing: str) -> Iterator[Connection]:
    """Open a session on a connection or on a new connection of an engine; driver errors are redacted."""
    if isinstance(bind, Connection):
        with redact_driver_errors(bind, doing), open_session(bind) as connection:
            yield connection
        return
    with redact_driver_errors(bind, doing), connect(bind) as own, open_session(own) as connection:
        yield connection


@contextmanager
def open_transaction(
    bind: Engine | Connection, dialect: Dialect, *, write: bool, reads: tuple[str, ...]
) -> Iterator[Connection]:
    """Open a transaction whose queries see one state; a caller's open transaction is joined, not ended."""
    if isinstance(bind, Engine):
        engine = bind.execution_options(isolation_level=dialect.isolation) if dialect.isolation else bind
        with connect(engine) as own, open_session(own) as connection:
            dialect.begin_snapshot(connection, write=write, reads=reads)
            yield connection
            with redact_driver_errors(bind, "committing"):
                connection.commit()
        return
    with open_session(bind), _join_transaction(bind, dialect, write=write, reads=reads):
        yield bind


@contextmanager
def _join_transaction(
    bind: Connection, dialect: Dialect, *, write: bool, reads: tuple[str, ...]
) -> Iterator[Connection]:
    joined = dialect.is_in_transaction(bind)
    if joined and dialect.savepoints:
        dialect.begin_snapshot(bind, write=write, reads=reads)
        with bind.begin_nested():
            yield bind
        return
    try:
        dialect.begin_snapshot(bind, write=write, reads=reads)
        yield bind
    except BaseException:
        if not joined:
            bind.rollback()
        raise
    if not joined:
        with redact_driver_errors(bind, "committing"):
            bind.commit()


@contextmanager
def open_write_transaction(
    bind: Engine | Connection, dialect: Dialect, reads: tuple[str, ...], doing: str
) -> Iterator[Connection]:
    """Open a transaction that writes everything or nothing; driver errors are redacted."""
    with redact_driver_errors(bind, doing), open_transaction(bind, dialect, write=True, reads=reads) as connection:
        yield connection
