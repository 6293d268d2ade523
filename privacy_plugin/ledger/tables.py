"""The tables of the budget ledger, and how SQLite and PostgreSQL are opened so that their locks keep it right."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.sources.sql.address import database_url
from privacy_plugin.sources.sql.errors import driver_word_for

_NO_LEDGER = "there is no budget ledger at this address; begin one with a cap: privacy-plugin ledger --set-cap"

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
# What a committed spend made: how it was drawn and what it assumes, and the content of the table in every form it has.
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
    """Return an engine on a ledger; one that is not there is made, or refused without `create`.

    No message holds the address, which may hold a password.
    """
    try:
        parsed = database_url(url)
        backend = parsed.get_backend_name()
    except (sa.exc.ArgumentError, ValueError, AttributeError):
        raise ParameterError(f"the address of the ledger is no SQLAlchemy URL; {_ADDRESSES}") from None
    if backend not in ("sqlite", "postgresql"):
        raise ParameterError(
            "a ledger lives in SQLite or PostgreSQL, whose locks keep two runs from overspending; " + _ADDRESSES
        )
    with told_as_budget_error("opened"):
        engine = _postgresql(parsed) if backend == "postgresql" else _sqlite(parsed, create=create)
        if create:
            METADATA.create_all(engine)
        elif not all(sa.inspect(engine).has_table(table.name) for table in METADATA.sorted_tables):
            raise BudgetError(_NO_LEDGER)
    return engine


@contextmanager
def told_as_budget_error(doing: str) -> Iterator[None]:
    """Tell a database's errors, and those of amounts that are none, by their kind: their text may hold the address."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, ImportError, OSError, ValueError, TypeError, ArithmeticError) as problem:
        raise BudgetError(f"the budget ledger cannot be {doing}: {driver_word_for(problem)}") from None


def _postgresql(url: sa.URL) -> sa.Engine:
    # Reserving waits for a lock and then reads what others have spent. A transaction of a stricter level would read
    # the state from before it waited, and two runs could spend the same budget.
    engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, isolation_level="READ COMMITTED")

    # A server may be set to answer before it has written: after a crash, what was reserved would be forgotten. And a
    # policy on rows may hide what others have spent: without row_security, to read with something hidden is an error.
    @sa.event.listens_for(engine, "begin")
    def _wait_for_the_disk_and_see_all(connection: sa.Connection) -> None:
        connection.exec_driver_sql(
            "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.exec_driver_sql("SET LOCAL row_security = off")

    return engine


def _sqlite(url: sa.URL, *, create: bool) -> sa.Engine:
    in_memory = url.database in (None, "", ":memory:")
    if not in_memory and not create and not Path(str(url.database)).exists():
        raise BudgetError(_NO_LEDGER)
    pool = {"poolclass": sa.StaticPool} if in_memory else {}
    waiting = {"timeout": 60, "check_same_thread": False}
    engine = sa.create_engine(url, connect_args=waiting, hide_parameters=True, **pool)

    # The driver would open a transaction only at the first write: two runs could both read before either writes.
    @sa.event.listens_for(engine, "connect")
    def _leave_transactions_to_us(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = FULL")  # what was reserved outlives a crash, however SQLite was built

    @sa.event.listens_for(engine, "begin")
    def _lock_before_reading(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


_ADDRESSES = "give one such as sqlite:///privacy-ledger.db or postgresql+psycopg://host/database"
