"""The tables of the budget ledger, and connections to SQLite and PostgreSQL whose locks prevent overspending."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.sources.sql.connections import describe_driver_error, parse_url
from privacy_plugin.sources.sql.dialect import dialect_named

_NO_LEDGER = "there is no budget ledger at this address; create one by setting a cap: privacy-plugin ledger --set-cap"

METADATA = sa.MetaData()
CAPS = sa.Table(
    "privacy_budget_caps",
    METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("unit", sa.String(255), primary_key=True),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
)
SPENDS = sa.Table(
    "privacy_budget_spends",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("dataset", sa.String(255), nullable=False, index=True),
    sa.Column("unit", sa.String(255), nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("mechanism", sa.String(255), nullable=False),
    sa.Column("neighbours", sa.String(32), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reserved_at", sa.String(32), nullable=False),
    sa.Column("committed_at", sa.String(32)),
)
# What a committed spend made: its account, and the fingerprint of the table in every form it was written in.
RELEASES = sa.Table(
    "privacy_budget_releases",
    METADATA,
    sa.Column("spend", sa.String(32), primary_key=True),
    sa.Column("private", sa.Boolean, nullable=False),
    sa.Column("account", sa.Text, nullable=False),
)
FINGERPRINTS = sa.Table(
    "privacy_budget_fingerprints",
    METADATA,
    sa.Column("spend", sa.String(32), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True, index=True),
    sa.Column("scheme", sa.String(64), nullable=False),
)


def open_ledger(url: str | sa.URL, *, create: bool) -> sa.Engine:
    """Return an engine for a ledger; a missing ledger is created, or refused with create=False.

    Error messages leave out the address, which may contain a password.
    """
    try:
        parsed = parse_url(url)
        backend = parsed.get_backend_name()
    except (sa.exc.ArgumentError, ValueError, AttributeError):
        raise ParameterError(f"the address of the ledger is not a SQLAlchemy URL; {_ADDRESSES}") from None
    if backend not in _BACKENDS:
        raise ParameterError(
            "a ledger needs SQLite or PostgreSQL, whose locks keep two runs from overspending; " + _ADDRESSES
        )
    with as_budget_error("opened"):
        if backend == "sqlite" and not create and _is_missing(parsed):
            raise BudgetError(_NO_LEDGER)
        engine = postgresql_engine(parsed) if backend == "postgresql" else sqlite_engine(parsed)
        if create:
            METADATA.create_all(engine)
        elif not all(sa.inspect(engine).has_table(table.name) for table in METADATA.sorted_tables):
            raise BudgetError(_NO_LEDGER)
    return engine


@contextmanager
def as_budget_error(doing: str) -> Iterator[None]:
    """Raise BudgetError with the kind of a foreign error only: its text may contain the address of the ledger."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, ImportError, OSError, ValueError, TypeError, ArithmeticError) as problem:
        described = describe_driver_error(problem, *map(dialect_named, _BACKENDS))
        raise BudgetError(f"the budget ledger cannot be {doing}: {described}") from None


def postgresql_engine(url: sa.URL) -> sa.Engine:
    """Return an engine whose commits are durable and whose reads see every row."""
    # Reserving waits for a lock and then reads what others have spent. A stricter isolation level would read the
    # state from before the wait, and two runs could spend the same budget.
    engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, isolation_level="READ COMMITTED")

    # A server may be configured to answer before it has written: a crash would lose the reservation. And row-level
    # security may hide what others have spent: with row_security off, reading a table with hidden rows is an error.
    @sa.event.listens_for(engine, "begin")
    def _require_durable_commits_and_all_rows(connection: sa.Connection) -> None:
        connection.exec_driver_sql(
            "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.exec_driver_sql("SET LOCAL row_security = off")

    return engine


def _is_missing(url: sa.URL) -> bool:
    return url.database not in (None, "", ":memory:") and not Path(str(url.database)).exists()


def sqlite_engine(url: sa.URL) -> sa.Engine:
    """Return an engine whose transactions lock the file before they read."""
    pool = {"poolclass": sa.StaticPool} if url.database in (None, "", ":memory:") else {}
    waiting = {"timeout": 60, "check_same_thread": False}
    engine = sa.create_engine(url, connect_args=waiting, hide_parameters=True, **pool)

    # By default the driver opens a transaction at the first write: two runs could both read before either writes.
    @sa.event.listens_for(engine, "connect")
    def _disable_implicit_transactions(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = FULL")  # a reservation survives a crash, whatever the build defaults

    @sa.event.listens_for(engine, "begin")
    def _lock_before_reading(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


_BACKENDS = ("sqlite", "postgresql")
_ADDRESSES = "give a URL such as sqlite:///privacy-ledger.db or postgresql+psycopg://host/database"
