"""Errors of databases, told without what drivers put into them: values of the data, SQL, passwords."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine import Connection, Dialect, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from privacy_plugin.errors import SourceError

# What DuckDB and SQLite say to the second who comes, as happens with steps or runs at the same time.
_HELD = ("Could not set lock on file", "database is locked")


@contextmanager
def told_as_source_error(bind: Engine | Connection, doing: str) -> Iterator[None]:
    """Turn whatever a driver raises into a SourceError that names the kind of error and nothing else."""
    foreign: tuple[type[Exception], ...] = (SQLAlchemyError, *_driver_errors(bind.dialect))
    try:
        yield
    except foreign as error:
        raise SourceError(f"{doing} failed on {place(bind)}: {driver_word_for(error)}") from None
    except (UnicodeError, OverflowError) as error:
        raise SourceError(
            f"{doing} failed on {place(bind)}: a value cannot be read or written ({driver_word_for(error)})"
        ) from None


def connect(engine: Engine) -> Connection:
    """Connect; a server that is down, or lets nobody in, is told as that, whatever was to be done there."""
    if engine.dialect.name in ("duckdb", "sqlite"):  # a file is opened, and says itself who holds it
        return engine.connect()
    foreign: tuple[type[Exception], ...] = (SQLAlchemyError, *_driver_errors(engine.dialect))
    try:
        return engine.connect()
    except foreign as error:
        raise SourceError(
            f"cannot connect to {place(engine)} ({driver_word_for(error)}): is it running, and are the user and "
            "password right?"
        ) from None


def place(bind: Engine | Connection) -> str:
    """Name a database without user, password or options."""
    url = bind.engine.url
    host = f" at {url.host}:{url.port or 'default port'}" if url.host else ""
    return f"{bind.dialect.name}{host}" + (f", database {url.database!r}" if url.database else "")


def _driver_errors(dialect: Dialect) -> tuple[type[Exception], ...]:
    """Return the driver's own root error: raw cursors raise it without SQLAlchemy in between."""
    error: Any = getattr(getattr(dialect, "dbapi", None), "Error", None)
    return (error,) if isinstance(error, type) else ()


def driver_word_for(error: BaseException) -> str:
    """Name an error by the driver's word for it, with the database's code, and not by its text."""
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    state = state_of(original)
    held = any(words in str(original) for words in _HELD)
    return "".join(
        (
            type(original).__name__,
            f", SQLSTATE {state}" if state else "",
            "; another process has the file open, so try again when it is done" if held else "",
        )
    )


def state_of(error: Any) -> str | None:
    """Return the code of an error that PostgreSQL itself raised, as psycopg or psycopg2 call it; drivers have none."""
    state: str | None = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state
