"""The warehouse as a Dagster resource: one SQLAlchemy engine, and the tables and partitions in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
from pydantic import Field, PrivateAttr
from sqlalchemy.engine import Engine
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError, require_column
from privacy_plugin.sources import SqlTable, sql_table
from privacy_plugin.sources.sql.address import database_url, file_of
from privacy_plugin.sources.sql.origin import quote_name, split_name

WAREHOUSE_VARIABLE = "PRIVACY_PLUGIN_WAREHOUSE"
DEFAULT_URL = "duckdb:///demo-output/warehouse.duckdb"
EMBEDDED = ("duckdb", "sqlite")


class WarehouseResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A database behind a SQLAlchemy URL.

    The engine is made when a step first needs it and disposed when the step (in process: the run) ends, because an
    embedded database can be open in one process only. Give a URL with a password as `dg.EnvVar(...)`: what is
    written here is shown in Dagster's pages.
    """

    url: str = Field(default=DEFAULT_URL, description="SQLAlchemy URL of a DuckDB, SQLite or PostgreSQL database")

    _engine: Engine | None = PrivateAttr(default=None)

    @classmethod
    def from_environment(cls, *, default: str = DEFAULT_URL) -> "WarehouseResource":
        """Take the URL from PRIVACY_PLUGIN_WAREHOUSE, without showing it to anyone, or the default."""
        return cls(url=dg.EnvVar(WAREHOUSE_VARIABLE) if os.environ.get(WAREHOUSE_VARIABLE) else default)

    @property
    def engine(self) -> Engine:
        """The engine; statements that fail are told without their parameters, which may be values of the data."""
        if self._engine is None:
            self._engine = _engine(self.url)
        return self._engine

    def table(
        self,
        name: str,
        *,
        partition: str | None = None,
        partition_column: str | None = None,
        window: tuple[str, str] | None = None,
    ) -> SqlTable:
        """Name a table as a source, or the rows of one partition where a column says which those are.

        They hold the partition's key; with a `window` anything from its begin to before its end, as text: dates and
        moments as databases write them (2024-01-31 08:15:00) are in the order of time. A database file that is not
        there is refused: reading would make an empty one of a mistyped path.
        """
        self._require_file()
        whole = sql_table(self.engine, table_name(name, partition=partition))
        if partition_column is None or partition is None:
            return whole
        require_column(partition_column, whole.columns, role="partition_column")
        parts = split_name(table_name(name, partition=partition))
        table = sa.table(quoted_name(quote_name(parts, self.engine.dialect), False)).alias("partitioned")
        column: sa.ColumnElement[Any] = sa.column(quoted_name(partition_column, True), _selectable=table)
        everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(table)
        bytewise = "BINARY" if self.engine.dialect.name == "sqlite" else "C"
        held = sa.collate(sa.cast(column, sa.String), bytewise)
        if window is None:
            return sql_table(self.engine, everything.where(held == partition))
        moment = sa.func.replace(held, "T", " ")  # as ISO separates the hour
        written = sa.collate(moment, bytewise)
        return sql_table(self.engine, everything.where(written >= window[0], written < window[1]))

    def _require_file(self) -> None:
        file = _file(_read_url(self.url))
        if file is not None and not file.exists():
            raise SourceError(f"there is no database file {str(file)!r}; check the URL of the warehouse")

    def dispose(self) -> None:
        """Close every connection."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close every connection when Dagster is done with the resource."""
        self.dispose()


def table_name(name: str, *, partition: str | None) -> str:
    """Put a partition's key in the place of `{partition}`, quoted, whatever characters it has.

    >>> table_name("clinic.visits_{partition}", partition="2024.01")
    '"clinic"."visits_2024.01"'
    """
    if partition is None or "{partition}" not in name:
        return name
    parts = [part.replace("{partition}", partition) for part in split_name(name)]
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _engine(given: str) -> Engine:
    with _told_without_the_url():
        url = database_url(given)
        file = _file(url)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(url, hide_parameters=True)
    if engine.dialect.name == "duckdb":
        sa.event.listen(engine, "connect", _without_progress_bar)
    return engine


def _read_url(given: str) -> sa.URL:
    with _told_without_the_url():
        return database_url(given)


def _file(url: sa.URL) -> Path | None:
    """Return the file of an embedded database, where DuckDB would look for it."""
    with _told_without_the_url():
        file = file_of(url)
        return None if file is None else Path(file).expanduser() if url.drivername == "duckdb" else Path(file)


def _without_progress_bar(connection: Any, _: Any) -> None:
    """Keep DuckDB's bars out of logs: it takes the processes of `dagster dev` for somebody at a terminal."""
    connection.execute("SET enable_progress_bar = false")


@contextmanager
def _told_without_the_url() -> Iterator[None]:
    try:
        yield
    except (sa.exc.ArgumentError, ImportError, OSError, ValueError) as problem:  # the text may hold a password
        raise SourceError(
            f"the warehouse URL cannot be used ({type(problem).__name__}); give a SQLAlchemy URL such as "
            "'duckdb:///warehouse.duckdb' or 'postgresql+psycopg://host/database', with its driver installed"
        ) from None
