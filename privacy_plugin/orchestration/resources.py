"""Dagster resources: the warehouse, the folder of certificates, the budget ledger, and the history of releases."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
from pydantic import Field, PrivateAttr
from sqlalchemy.engine import Engine
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import ParameterError, SourceError, require_column
from privacy_plugin.gate.certificate import Certificate, CertificateStore
from privacy_plugin.history import ReleaseHistory
from privacy_plugin.history.in_use import HISTORY_VARIABLE, using_history
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.in_use import LEDGER_VARIABLE, using_ledger
from privacy_plugin.locations import Location, ObjectPath, parse_location
from privacy_plugin.sources import SqlTable, sql_table
from privacy_plugin.sources.sql.connections import find_database_path, parse_url
from privacy_plugin.sources.sql.dialect import MODULES, dialect_named, dialect_of
from privacy_plugin.sources.sql.origin import quote_name, split_name


def is_overridden(context: dg.InitResourceContext, values: Mapping[str, str]) -> bool:
    """Return whether the run configuration gives a resource other values than the definitions do.

    Dagster lets a run configuration replace every value of a resource: a person who may launch runs could choose
    another ledger or folder.
    """
    schema = context.resource_def.config_schema if context.resource_def else None
    if schema is None or not schema.default_provided:
        return False
    return any(_resolve_env(schema.default_value.get(name, value)) != value for name, value in values.items())


def require_not_overridden(overridden: bool, resource: str) -> None:
    """Raise if the run configuration replaced a resource."""
    if overridden:
        raise ParameterError(
            f"the run configuration names another {resource} than the definitions; launch the run without it, or "
            "change the definitions"
        )


def _resolve_env(defined: Any) -> Any:
    return os.environ.get(defined["env"]) if isinstance(defined, dict) else defined


WAREHOUSE_VARIABLE = "PRIVACY_PLUGIN_WAREHOUSE"
DEFAULT_URL = "duckdb:///demo-output/warehouse.duckdb"


class WarehouseResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A database behind a SQLAlchemy URL.

    The engine is created when a step first needs it and disposed when the step (in process: the run) ends, because an
    embedded database can be open in one process only. Give a URL with a password as `dg.EnvVar(...)`: Dagster's pages
    show values that are written here.
    """

    url: str = Field(default=DEFAULT_URL, description="SQLAlchemy URL of a DuckDB, SQLite or PostgreSQL database")

    _engine: Engine | None = PrivateAttr(default=None)

    @classmethod
    def from_environment(cls, *, default: str = DEFAULT_URL) -> "WarehouseResource":
        """Take the URL from PRIVACY_PLUGIN_WAREHOUSE as an `EnvVar`, which Dagster does not show, or the default."""
        return cls(url=dg.EnvVar(WAREHOUSE_VARIABLE) if os.environ.get(WAREHOUSE_VARIABLE) else default)

    @property
    def engine(self) -> Engine:
        """The engine; errors of statements leave out the parameters, which may be values of the data."""
        if self._engine is None:
            self._engine = _create_engine(self.url)
        return self._engine

    def table(
        self,
        name: str,
        *,
        partition: str | None = None,
        partition_column: str | None = None,
        window: tuple[str, str] | None = None,
    ) -> SqlTable:
        """Return a table as a source, or with `partition_column` the rows of one partition.

        Those rows have the partition key in that column or, with a `window`, a value from its begin to before its end.
        Values are compared as text: dates as databases write them (2024-01-31 08:15:00) then sort by time. Raises if
        the database file does not exist, because reading would create an empty one at a mistyped path.
        """
        self._require_file()
        whole = sql_table(self.engine, table_name(name, partition=partition))
        if partition_column is None or partition is None:
            return whole
        require_column(partition_column, whole.columns, role="partition_column")
        parts = split_name(table_name(name, partition=partition))
        table = sa.table(quoted_name(quote_name(parts, self.engine.dialect), False)).alias("partitioned")
        column: sa.ColumnElement[Any] = sa.column(quoted_name(partition_column, True), _selectable=table)
        rows: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(table)
        bytewise = dialect_of(self.engine.dialect).byte_collation
        value = sa.collate(sa.cast(column, sa.String), bytewise)
        if window is None:
            return sql_table(self.engine, rows.where(value == partition))
        spaced = sa.func.replace(value, "T", " ")  # ISO 8601 writes T before the hour
        moment = sa.collate(spaced, bytewise)
        return sql_table(self.engine, rows.where(moment >= window[0], moment < window[1]))

    def _require_file(self) -> None:
        file = _database_file(_read_url(self.url))
        if file is not None and not file.exists():
            raise SourceError(f"the database file {str(file)!r} does not exist; check the URL of the warehouse")

    def dispose(self) -> None:
        """Close every connection."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close every connection when Dagster releases the resource."""
        self.dispose()


def table_name(name: str, *, partition: str | None) -> str:
    """Replace `{partition}` in a table name by the partition key, and quote the name.

    >>> table_name("clinic.visits_{partition}", partition="2024.01")
    '"clinic"."visits_2024.01"'
    """
    if partition is None or "{partition}" not in name:
        return name
    parts = [part.replace("{partition}", partition) for part in split_name(name)]
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _create_engine(given: str) -> Engine:
    with _redact_url():
        url = parse_url(given)
        file = _database_file(url)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(url, hide_parameters=True)
    if engine.dialect.name in MODULES:  # sql_table raises for all others
        dialect_named(engine.dialect.name).configure_engine(engine)
    return engine


def _read_url(given: str) -> sa.URL:
    with _redact_url():
        return parse_url(given)


def _database_file(url: sa.URL) -> Path | None:
    """Return the file of an embedded database; None for a server."""
    with _redact_url():
        return find_database_path(url)


@contextmanager
def _redact_url() -> Iterator[None]:
    try:
        yield
    except (sa.exc.ArgumentError, ImportError, OSError, ValueError) as problem:  # its message may contain a password
        raise SourceError(
            f"cannot use the warehouse URL ({type(problem).__name__}); give a SQLAlchemy URL such as "
            "'duckdb:///warehouse.duckdb' or 'postgresql+psycopg://host/database', and install its driver"
        ) from None


OUTPUT_VARIABLE = "PRIVACY_PLUGIN_OUTPUT"
REPORTS_VARIABLE = "PRIVACY_PLUGIN_REPORTS_URL"
DEFAULT_FOLDER = "demo-output"
_LONGEST_NAME = 80


class CertificateStoreResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A folder for certificates, reports and plans: of this machine, or of an object store (s3://, gs://, az://).

    Every gate has its own certificates, so that two gates of one dataset (original and generalized) do not overwrite
    each other's verdicts. Checks sign with PRIVACY_PLUGIN_KEY or a key of the user's key folder, never a value of this
    resource; releases need only the public key. Runs on several machines need the variables and a shared folder.
    A run configuration cannot change the folder or the URL: Dagster shows both, and a configuration
    could name any environment variable, the signing key included.
    """

    folder: str = Field(default=DEFAULT_FOLDER, description="Folder or URL for certificates, reports and plans")
    reports_url: str = Field(
        default="",
        description=f"URL that serves the reports folder; default: {REPORTS_VARIABLE}",
    )

    _overridden: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Record whether the run configuration names another folder or URL; the first use then raises."""
        self._overridden = is_overridden(context, {"folder": self.folder, "reports_url": self.reports_url})

    @classmethod
    def from_environment(cls, *, default: str = DEFAULT_FOLDER) -> "CertificateStoreResource":
        """Take the folder from PRIVACY_PLUGIN_OUTPUT, or the default."""
        return cls(folder=os.environ.get(OUTPUT_VARIABLE) or default)

    def store(self, gate: dg.AssetKey) -> CertificateStore:
        """Return the certificates of the gate of one asset."""
        return CertificateStore(self._root / "certificates" / file_name(gate))

    def report_path(self, gate: dg.AssetKey, partition: str | None = None) -> Location:
        """Return the path of a gate's report."""
        return self._subfolder("reports") / f"{file_name(gate, partition)}.html"

    def report_metadata(self, path: Location) -> dict[str, Any]:
        """Return the Dagster metadata of a report: its path, and a link or how to get one.

        Browsers do not follow links from Dagster's pages to local files, so that a link needs a URL.
        """
        file = {"report file": location_metadata(path)}
        url = self.reports_url or os.environ.get(REPORTS_VARIABLE, "")
        if url:
            return {"report": dg.MetadataValue.url(f"{url.rstrip('/')}/{path.name}"), **file}
        if isinstance(path, ObjectPath):
            return {"report": location_metadata(path)}
        advice = f"open the report file in a browser; for a link here, serve its folder and set {REPORTS_VARIABLE}"
        return {"report": dg.MetadataValue.text(advice), **file}

    def plan_path(self, asset: dg.AssetKey, partition: str | None = None) -> Location:
        """Return the path of the plan of an asset; the folder is private, because local plans hold values."""
        return self._subfolder("plans", mode=0o700) / f"{file_name(asset, partition)}.json"

    @property
    def deals_folder(self) -> Location:
        """The private folder with the records of deals (see `deals`)."""
        return self._subfolder("deals", mode=0o700)

    def release_certificate_path(
        self, release: dg.AssetKey, certificate: Certificate, partition: str | None = None
    ) -> Location:
        """Return where the certificate of a release is written before the release; the name contains the fingerprint.

        If the process ends between the two, the old release and its certificate are still there, and the new
        certificate describes rows that passed the gate but are not published. No release is next to the certificate of
        another.
        """
        name = f"{file_name(release, partition)}.{certificate.release_name}.certificate.json"
        return self._subfolder("releases") / name

    @property
    def _root(self) -> Location:
        require_not_overridden(self._overridden, "folder of certificates and reports")
        return parse_location(self.folder).absolute()

    def _subfolder(self, name: str, *, mode: int = 0o777) -> Location:
        self._root.mkdir(parents=True, exist_ok=True)
        folder = self._root / name
        folder.mkdir(exist_ok=True, mode=mode)
        return folder


def location_metadata(path: Location) -> dg.MetadataValue[Any]:
    """Return a location as Dagster shows it: an object of a store as a URL."""
    return dg.MetadataValue.url(str(path)) if isinstance(path, ObjectPath) else dg.MetadataValue.path(str(path))


def file_name(key: dg.AssetKey, partition: str | None = None) -> str:
    """Return a readable, safe and unique file name for an asset and a partition.

    >>> file_name(dg.AssetKey("visits"))
    'visits'
    """
    parts = [*key.path, *([] if partition is None else [partition])]
    plain = "-".join(parts)
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in plain)[:_LONGEST_NAME]
    if len(parts) == 1 and safe == plain:
        return safe
    separated = "\0".join([str(len(key.path)), *parts])
    return f"{safe}-{hashlib.sha256(separated.encode()).hexdigest()[:8]}"


class BudgetLedgerResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The budget ledger of randomized releases and of gates, behind a SQLAlchemy URL (SQLite or PostgreSQL).

    Give a URL with a password as `dg.EnvVar(...)`, because Dagster's pages show values that are written here. Without a
    URL, PRIVACY_PLUGIN_LEDGER is read when a step needs the ledger. The ledger must exist: create it with
    `privacy-plugin ledger --set-cap`. A run configuration cannot name another ledger, which would give a person who may
    launch runs an unlimited budget.
    """

    url: str = Field(default="", description="SQLAlchemy URL of the ledger; default: PRIVACY_PLUGIN_LEDGER")

    _overridden: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Record whether the run configuration names another ledger; the first use then raises."""
        self._overridden = is_overridden(context, {"url": self.url})

    @contextmanager
    def in_use(self) -> Iterator[BudgetLedger | None]:
        """Make this ledger the one in use; yield None if no URL is known, and the gate then reports that."""
        require_not_overridden(self._overridden, "ledger")
        url = self.url or os.environ.get(LEDGER_VARIABLE, "")
        if not url:
            yield None
            return
        with using_ledger(url) as ledger:
            yield ledger


@contextmanager
def open_ledger(resources: Any, name: str | None) -> Iterator[BudgetLedger | None]:
    """Open the ledger resource of this name, or yield None without a name."""
    if name is None:
        yield None
        return
    resource: BudgetLedgerResource = getattr(resources, name)
    with resource.in_use() as ledger:
        yield ledger


class ReleaseHistoryResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The history of releases, behind a SQLAlchemy URL (SQLite or PostgreSQL), for gates and releases.

    Give its name to the builders as `history`. Give a URL with a password as `dg.EnvVar(...)`, because Dagster's pages
    show values that are written here. Without a URL, PRIVACY_PLUGIN_HISTORY is read when a step needs the history. The
    history must exist: create it with `privacy-plugin history create`. A run configuration cannot name another history,
    which would give a person who may launch runs a gate that remembers nothing.
    """

    url: str = Field(default="", description="SQLAlchemy URL of the history; default: PRIVACY_PLUGIN_HISTORY")

    _overridden: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Record whether the run configuration names another history; the first use then raises."""
        self._overridden = is_overridden(context, {"url": self.url})

    @contextmanager
    def in_use(self) -> Iterator[ReleaseHistory]:
        """Make this history the one in use; raise without a URL, because releases would not be recorded."""
        require_not_overridden(self._overridden, "history")
        url = self.url or os.environ.get(HISTORY_VARIABLE, "")
        if not url:
            raise ParameterError(f"the history resource has no URL; give it one, or set {HISTORY_VARIABLE}")
        with using_history(url) as history:
            yield history


@contextmanager
def open_history(resources: Any, name: str | None) -> Iterator[None]:
    """Use the history resource of this name; without a name, the history that the environment names stays in use."""
    if name is None:
        yield
        return
    resource: ReleaseHistoryResource = getattr(resources, name)
    with resource.in_use():
        yield
