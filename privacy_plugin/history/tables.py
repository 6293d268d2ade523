"""The tables of the release history, in SQLite or PostgreSQL.

A joint class is a node of a tree: the people who were in the joint class `parent` before a release and in the class
`label` of that release. People who are absent from a release stay where they are. So the node of a person is their
sequence of classes over all releases, absence included, and there is one row a person, not one a person and release.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.errors import HistoryError, ParameterError
from privacy_plugin.ledger.tables import postgresql_engine, sqlite_engine
from privacy_plugin.sources.sql.connections import describe_driver_error, find_database_path, parse_url
from privacy_plugin.sources.sql.dialect import dialect_named

_BACKENDS = ("sqlite", "postgresql")
_NO_HISTORY = "there is no release history at this address; create one: privacy-plugin history create"

METADATA = sa.MetaData()
ABOUT = sa.Table(
    "privacy_history",
    METADATA,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("content", sa.String(64), nullable=False),
)
RELEASES = sa.Table(
    "privacy_history_releases",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("dataset", sa.String(255), nullable=False, index=True),
    sa.Column("partition", sa.Text),
    sa.Column("policy_digest", sa.String(64), nullable=False),
    sa.Column("certificate", sa.Text),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reserved_at", sa.String(32), nullable=False),
    sa.Column("committed_at", sa.String(32)),
    sa.Column("purged_at", sa.String(32)),
    sa.Column("counted_by_unit", sa.Boolean, nullable=False),
    sa.Column("people", sa.Integer, nullable=False),
    sa.Column("returning_people", sa.Integer, nullable=False),
    sa.Column("classes", sa.Integer, nullable=False),
    sa.Column("several_rows", sa.Integer, nullable=False),
    sa.Column("columns", sa.Text, nullable=False),
    # The digest of what may be released once only, or of several tables: a deal of people to buckets, a repair.
    sa.Column("content", sa.String(64)),
)
JOINT_CLASSES = sa.Table(
    "privacy_history_joint_classes",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("dataset", sa.String(255), nullable=False, index=True),
    sa.Column("parent", sa.Integer, nullable=False),
    sa.Column("release", sa.Integer, nullable=False),
    sa.Column("label", sa.String(32), nullable=False),
    sa.Column("facts", sa.Text, nullable=False),
)
# How many people of a joint class have each combination of (keyed) sensitive values.
COUNTS = sa.Table(
    "privacy_history_counts",
    METADATA,
    sa.Column("joint_class", sa.Integer, primary_key=True),
    sa.Column("hashes", sa.String(900), primary_key=True),
    sa.Column("people", sa.Integer, nullable=False),
)
PEOPLE = sa.Table(
    "privacy_history_people",
    METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("person", sa.String(32), primary_key=True),
    sa.Column("joint_class", sa.Integer, nullable=False, index=True),
    sa.Column("hashes", sa.String(900), nullable=False),
)
ERASED = sa.Table(
    "privacy_history_erased",
    METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("person", sa.String(32), primary_key=True),
)
# What was released of a table without a unit: its classes, their sensitive values and counts.
ROWS = sa.Table(
    "privacy_history_rows",
    METADATA,
    sa.Column("release", sa.Integer, primary_key=True),
    sa.Column("row", sa.Integer, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("people", sa.Integer, nullable=False),
)
# The plan of a release, encrypted: it lists combinations of quasi-identifiers.
PLANS = sa.Table(
    "privacy_history_plans",
    METADATA,
    sa.Column("release", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
# Who is in which bucket with which value, for pairs of tables that do not say it; encrypted.
DEALS = sa.Table(
    "privacy_history_deals",
    METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("partition", sa.String(255), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
# People who were in no release yet, because too few others could enter with them.
WAITING = sa.Table(
    "privacy_history_waiting",
    METADATA,
    sa.Column("dataset", sa.String(255), primary_key=True),
    sa.Column("partition", sa.String(255), primary_key=True),
    sa.Column("person", sa.String(32), primary_key=True),
    sa.Column("since", sa.String(32), nullable=False),
)


def open_history(url: str | sa.URL, *, create: bool) -> sa.Engine:
    """Return an engine for a history; a missing one is created, or refused with create=False."""
    try:
        parsed = parse_url(url)
        backend = parsed.get_backend_name()
    except (sa.exc.ArgumentError, ValueError, AttributeError):
        raise ParameterError(f"the address of the history is not a SQLAlchemy URL; {_ADDRESSES}") from None
    if backend not in _BACKENDS:
        raise ParameterError(f"a release history needs SQLite or PostgreSQL, whose locks order releases; {_ADDRESSES}")
    with as_history_error("opened"):
        in_memory = backend == "sqlite" and parsed.database in (None, "", ":memory:")
        if backend == "sqlite" and not in_memory and not create and not Path(str(parsed.database)).exists():
            raise HistoryError(_NO_HISTORY)
        engine = postgresql_engine(parsed) if backend == "postgresql" else sqlite_engine(parsed)
        if create:
            METADATA.create_all(engine)
        elif not all(sa.inspect(engine).has_table(table.name) for table in METADATA.sorted_tables):
            raise HistoryError(_NO_HISTORY)
    return engine


def is_same_database(engine: sa.Engine, connection: sa.Connection) -> bool:
    """Return whether a connection is to the database of the history, as the same user.

    Names of one server that differ count as different: the history then has a transaction of its own.
    """
    own, other = engine.url, connection.engine.url
    if own.get_backend_name() != other.get_backend_name():
        return False
    if own.get_backend_name() == "sqlite":
        paths = [find_database_path(url) for url in (own, other)]
        return all(path is not None and path.exists() for path in paths) and Path(str(paths[0])).samefile(str(paths[1]))
    parts = [(url.host, url.port, url.database, url.username) for url in (own, other)]
    return parts[0] == parts[1]


def find_schema(engine: sa.Engine) -> str | None:
    """Return the schema of the history's tables in PostgreSQL; None in SQLite."""
    if engine.url.get_backend_name() != "postgresql":
        return None
    query = "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('privacy_history')"
    with engine.connect() as connection:
        return str(connection.exec_driver_sql(query).scalar_one())


@contextmanager
def searching(connection: sa.Connection, schema: str | None) -> Iterator[None]:
    """Find the history's tables by their names inside the block, whatever the search path of a connection."""
    if schema is None:
        yield
        return
    change = sa.text("SELECT set_config('search_path', :path, true)")
    before = connection.exec_driver_sql("SELECT current_setting('search_path')").scalar_one()
    connection.execute(change, {"path": f"{schema}, pg_temp"})
    yield  # after an error the transaction is over
    connection.execute(change, {"path": before})


@contextmanager
def as_history_error(doing: str) -> Iterator[None]:
    """Raise HistoryError with the kind of a foreign error only: its text may contain the address of the history."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, ImportError, OSError, ValueError, TypeError, ArithmeticError) as problem:
        described = describe_driver_error(problem, *map(dialect_named, _BACKENDS))
        raise HistoryError(f"the release history cannot be {doing}: {described}") from None


_ADDRESSES = "give a URL such as sqlite:///history.db or postgresql+psycopg://host/database"
