"""Dagster resources: the warehouse, the folder of certificates, and the budget ledger."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
from pydantic import Field, PrivateAttr
from sqlalchemy.engine import Engine
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.atomic_write import staging_path
from privacy_plugin.errors import ParameterError, SourceError, require_column
from privacy_plugin.gate.certificate import Certificate, CertificateStore
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.in_use import LEDGER_VARIABLE, using_ledger
from privacy_plugin.sources import SqlTable, sql_table
from privacy_plugin.sources.sql.connections import find_database_path, parse_url
from privacy_plugin.sources.sql.dialect import MODULES, dialect_named, dialect_of
from privacy_plugin.sources.sql.origin import quote_name, split_name


def replaced_at_launch(context: dg.InitResourceContext, values: Mapping[str, str]) -> bool:
    """Tell whether a resource got other values from the configuration of its run than from the definitions."""
    schema = context.resource_def.config_schema if context.resource_def else None
    if schema is None or not schema.default_provided:
        return False
    return any(_resolved(schema.default_value.get(name, value)) != value for name, value in values.items())


def require_as_defined(replaced: bool, what: str) -> None:
    """Refuse a resource that the configuration of a run replaced."""
    if replaced:
        raise ParameterError(
            f"the run's configuration names another {what} than the definitions; launch it without, or change those"
        )


def _resolved(defined: Any) -> Any:
    return os.environ.get(defined["env"]) if isinstance(defined, dict) else defined


WAREHOUSE_VARIABLE = "PRIVACY_PLUGIN_WAREHOUSE"
DEFAULT_URL = "duckdb:///demo-output/warehouse.duckdb"


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
        bytewise = dialect_of(self.engine.dialect).byte_collation
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
        url = parse_url(given)
        file = _file(url)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(url, hide_parameters=True)
    if engine.dialect.name in MODULES:  # sql_table refuses all others
        dialect_named(engine.dialect.name).configure_engine(engine)
    return engine


def _read_url(given: str) -> sa.URL:
    with _told_without_the_url():
        return parse_url(given)


def _file(url: sa.URL) -> Path | None:
    """Return the file of an embedded database."""
    with _told_without_the_url():
        return find_database_path(url)


@contextmanager
def _told_without_the_url() -> Iterator[None]:
    try:
        yield
    except (sa.exc.ArgumentError, ImportError, OSError, ValueError) as problem:  # the text may hold a password
        raise SourceError(
            f"the warehouse URL cannot be used ({type(problem).__name__}); give a SQLAlchemy URL such as "
            "'duckdb:///warehouse.duckdb' or 'postgresql+psycopg://host/database', with its driver installed"
        ) from None


OUTPUT_VARIABLE = "PRIVACY_PLUGIN_OUTPUT"
REPORTS_VARIABLE = "PRIVACY_PLUGIN_REPORTS_URL"
DEFAULT_FOLDER = "demo-output"
_LONGEST_NAME = 80


class CertificateStoreResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A folder for what gates find; the key that signs certificates comes from the environment, never from here.

    Every gate has its own certificates, so that two gates of one dataset (as it is, and generalized) do not
    overwrite each other's word. The key is PRIVACY_PLUGIN_KEY or the user's own key file; runs on several machines
    need the former and a folder they share. A run's configuration cannot name another folder or address: both are
    shown, and a configuration may ask for any variable of the environment, the key among them.
    """

    folder: str = Field(default=DEFAULT_FOLDER, description="Folder of certificates, reports and plans")
    reports_url: str = Field(
        default="",
        description=f"Address under which the folder of reports is served; left out, {REPORTS_VARIABLE} names it",
    )

    _replaced: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Notice a run whose configuration names another place than the definitions; whoever uses it is told."""
        self._replaced = replaced_at_launch(context, {"folder": self.folder, "reports_url": self.reports_url})

    @classmethod
    def from_environment(cls, *, default: str = DEFAULT_FOLDER) -> "CertificateStoreResource":
        """Take the folder from PRIVACY_PLUGIN_OUTPUT, or the default."""
        return cls(folder=os.environ.get(OUTPUT_VARIABLE) or default)

    def store(self, gate: dg.AssetKey) -> CertificateStore:
        """Return the certificates of the gate of one asset."""
        return CertificateStore(self._root / "certificates" / file_name(gate))

    def report_path(self, gate: dg.AssetKey, partition: str | None = None) -> Path:
        """Return where the report of a gate lies."""
        return self._made("reports") / f"{file_name(gate, partition)}.html"

    def report_metadata(self, path: Path) -> dict[str, Any]:
        """Return what Dagster shows of a report: where it is, and a link or what to do to have one.

        No browser follows a link from Dagster's pages to a file, so without an address there is none.
        """
        where = {"report file": dg.MetadataValue.path(str(path))}
        address = self.reports_url or os.environ.get(REPORTS_VARIABLE, "")
        if address:
            return {"report": dg.MetadataValue.url(f"{address.rstrip('/')}/{path.name}"), **where}
        advice = f"open the report file in a browser; for a link here, serve its folder and set {REPORTS_VARIABLE}"
        return {"report": dg.MetadataValue.text(advice), **where}

    def plan_path(self, asset: dg.AssetKey, partition: str | None = None) -> Path:
        """Return where the plan lies that made an anonymized asset."""
        return self._made("plans") / f"{file_name(asset, partition)}.json"

    @contextmanager
    def handing_over(
        self, release: dg.AssetKey, partition: str | None = None
    ) -> Iterator[Callable[[Certificate], Path]]:
        """Give what writes the certificate that a release goes with; it takes its place when the release has happened.

        Where the release fails, what stands there is still that of the release before.
        """
        path = self._made("releases") / f"{file_name(release, partition)}.certificate.json"
        staging = staging_path(path)

        def written(certificate: Certificate) -> Path:
            staging.write_text(certificate.to_json(), encoding="utf-8")
            return path

        try:
            yield written
            if staging.exists():
                os.replace(staging, path)
        finally:
            staging.unlink(missing_ok=True)

    @property
    def _root(self) -> Path:
        require_as_defined(self._replaced, "place of certificates and reports")
        return Path(self.folder).absolute()

    def _made(self, name: str) -> Path:
        folder = self._root / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def file_name(key: dg.AssetKey, partition: str | None = None) -> str:
    """Name a file after an asset and a partition: readable, safe, and different for different ones.

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
    """The ledger that randomized releases spend from and gates ask, behind a SQLAlchemy URL (SQLite or PostgreSQL).

    Give a URL with a password as `dg.EnvVar(...)`, or leave it out: then the address is read from PRIVACY_PLUGIN_LEDGER
    when a step needs it. What is written here is shown in Dagster's pages. The ledger must be there already:
    `privacy-plugin ledger --set-cap` begins one. A run's configuration cannot name another: whoever may launch
    runs would have as much budget as they like.
    """

    url: str = Field(default="", description="SQLAlchemy URL of the ledger; left out, PRIVACY_PLUGIN_LEDGER names it")

    _replaced: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Notice a run whose configuration names another ledger than the definitions; whoever asks it is told."""
        self._replaced = replaced_at_launch(context, {"url": self.url})

    @contextmanager
    def in_use(self) -> Iterator[BudgetLedger | None]:
        """Let a step ask and spend from this ledger; None where no address is known, which gates then say."""
        require_as_defined(self._replaced, "ledger")
        address = self.url or os.environ.get(LEDGER_VARIABLE, "")
        if not address:
            yield None
            return
        with using_ledger(address) as ledger:
            yield ledger


@contextmanager
def ledger_of(resources: Any, name: str | None) -> Iterator[BudgetLedger | None]:
    """Open the ledger of a step that needs one."""
    if name is None:
        yield None
        return
    resource: BudgetLedgerResource = getattr(resources, name)
    with resource.in_use() as ledger:
        yield ledger
