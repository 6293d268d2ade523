"""The tables of the budget ledger, and connections to SQLite and PostgreSQL whose locks prevent overspending."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privacy_plugin.errors import BudgetError, ParameterError
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.composition import SUBSTITUTED, Sums, Total
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
    # Required: a program that does not know these columns does not keep totals, and must not spend here.
    sa.Column("rho", sa.Text, nullable=False),
    sa.Column("rho_delta", sa.Text, nullable=False),
    sa.Column("mechanism", sa.String(255), nullable=False),
    sa.Column("neighbours", sa.String(32), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reserved_at", sa.String(32), nullable=False),
    sa.Column("committed_at", sa.String(32)),
)
# The sums of all spends of a dataset and unit under one neighbour relation, written with every spend: reserving reads
# these rows only, whatever the number of spends.
AMOUNTS = ("epsilon", "delta", "rho", "rho_delta")
TOTALS = sa.Table(
    "privacy_budget_totals",
    METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("unit", sa.String(255), primary_key=True),
    sa.Column("neighbours", sa.String(32), primary_key=True),
    sa.Column("spends", sa.BigInteger, nullable=False),
    sa.Column("reserved", sa.BigInteger, nullable=False),
    sa.Column("tests", sa.BigInteger, nullable=False),
    *(sa.Column(name, sa.Text, nullable=False) for name in AMOUNTS),
    *(sa.Column(f"twice_{name}", sa.Text, nullable=False) for name in AMOUNTS),
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
        upgrade_ledger(engine)
        if create:
            METADATA.create_all(engine)
        elif not all(sa.inspect(engine).has_table(table.name) for table in METADATA.sorted_tables):
            raise BudgetError(_NO_LEDGER)
    return engine


def upgrade_ledger(engine: sa.Engine) -> None:
    """Add rho and the totals to a ledger of an earlier version, in one transaction; its spends stay as they are."""
    if not _is_earlier(engine):
        return
    with engine.begin() as connection:
        if engine.url.get_backend_name() == "postgresql":
            connection.exec_driver_sql(f"LOCK TABLE {CAPS.name}, {SPENDS.name} IN ACCESS EXCLUSIVE MODE")
        if not _is_earlier(connection):  # another process has upgraded it meanwhile
            return
        before = sa.Table(f"{SPENDS.name}_before", sa.MetaData(), *(_copy(name) for name in _EARLIER))
        connection.exec_driver_sql(f"ALTER TABLE {SPENDS.name} RENAME TO {before.name}")
        for index in SPENDS.indexes:
            connection.exec_driver_sql(f"DROP INDEX IF EXISTS {index.name}")
        if engine.url.get_backend_name() == "postgresql":
            connection.exec_driver_sql(
                f"ALTER TABLE {before.name} RENAME CONSTRAINT {SPENDS.name}_pkey TO earlier_pkey"
            )
        METADATA.create_all(connection)
        rows = connection.execute(sa.select(before)).mappings().all()
        amounts = [Sums.of(Budget(epsilon=Fraction(row["epsilon"]), delta=Fraction(row["delta"]))) for row in rows]
        kept = [
            {**row, "rho": str(amount.rho), "rho_delta": str(amount.rho_delta)}
            for row, amount in zip(rows, amounts, strict=True)
        ]
        if kept:
            connection.execute(sa.insert(SPENDS), kept)
        connection.exec_driver_sql(f"DROP TABLE {before.name}")
        private = dict(connection.execute(sa.select(RELEASES.c.spend, RELEASES.c.private)).tuples().all())
        groups: dict[tuple[str, str, str], list[int]] = {}
        for number, row in enumerate(rows):
            groups.setdefault((row["dataset"], row["unit"], row["neighbours"]), []).append(number)
        for (dataset, unit, neighbours), numbers in groups.items():
            total = Total.of((amounts[number], neighbours) for number in numbers)
            insert_total(
                connection,
                {"dataset": dataset, "unit": unit, "neighbours": neighbours},
                total,
                reserved=sum(rows[number]["status"] == "reserved" for number in numbers),
                tests=sum(private.get(rows[number]["id"]) is False for number in numbers),
            )


def insert_total(
    connection: sa.Connection, key: dict[str, str], total: Total, *, reserved: int = 0, tests: int = 0
) -> None:
    """Insert the sums of the spends of one dataset, unit and neighbour relation."""
    counts = {"spends": sum(total.counts), "reserved": reserved, "tests": tests}
    connection.execute(sa.insert(TOTALS).values(**key, **counts, **written_sums(total, key["neighbours"])))


def written_sums(total: Total, neighbours: str) -> dict[str, str]:
    """Return the columns of a total under one neighbour relation."""
    once, twice = (total.substituted, Sums()) if neighbours == SUBSTITUTED else (total.removed, total.removed_twice)
    return {
        **{name: str(getattr(once, name)) for name in AMOUNTS},
        **{f"twice_{name}": str(getattr(twice, name)) for name in AMOUNTS},
    }


def read_sums(row: Any, prefix: str = "") -> Sums:
    """Return the sums in the columns of a total."""
    return Sums(**{name: Fraction(getattr(row, prefix + name)) for name in AMOUNTS})


_EARLIER = tuple(column.name for column in SPENDS.columns if column.name not in ("rho", "rho_delta"))


def _copy(name: str) -> sa.Column[Any]:
    return sa.Column(name, SPENDS.c[name].type)


def _is_earlier(bind: sa.Engine | sa.Connection) -> bool:
    found = sa.inspect(bind)
    return found.has_table(SPENDS.name) and "rho" not in {column["name"] for column in found.get_columns(SPENDS.name)}


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
