"""Delta and Iceberg tables: read as one snapshot, replaced by one commit; what older snapshots keep is named."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from privacy_plugin.errors import ParameterError, PrivacyPluginError, SourceError
from privacy_plugin.locations import ObjectPath, parse_location

DELTA, ICEBERG = "delta", "iceberg"
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class LakeTable:
    """A table of a lake by its address: `delta:<folder or URL>` or `iceberg:<catalog>/<namespace>.<table>`."""

    kind: str
    address: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.address}"

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.rstrip("/").rpartition("/")[2]

    def is_same(self, other: object) -> bool:
        """Return whether another address is of the same table, also where its folder is spelled otherwise."""
        if not isinstance(other, LakeTable) or self.kind != other.kind:
            return False
        return self.address == other.address if self.kind == ICEBERG else self._resolved() == other._resolved()

    def _resolved(self) -> str:
        place = parse_location(self.address)
        return str(place) if isinstance(place, ObjectPath) else os.path.realpath(place)

    def exists(self) -> bool:
        """Return whether there is such a table."""
        with self._redact("looking for"):
            if self.kind == DELTA:
                found = self._delta_module().DeltaTable.is_deltatable(self._place())
            else:
                found = self._catalog().table_exists(self._identifier())
        return bool(found)

    def read(self, folder: Path) -> tuple[Path, tuple[str, ...]]:
        """Write the current snapshot to a Parquet file in a private folder; return it, and notes on older snapshots."""
        converted = folder / "snapshot.parquet"
        with self._redact("reading"):
            batches, notes = self._read_delta() if self.kind == DELTA else self._read_iceberg()
            with pq.ParquetWriter(converted, batches.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        return converted, notes

    def replace(self, staged: Path) -> None:
        """Replace the rows of the table, or create it, by a Parquet file, in one commit."""
        with self._redact("writing"):
            table = pq.read_table(staged)
            if self.kind == DELTA:
                self._delta_module().write_deltalake(self._place(), table, mode="overwrite", schema_mode="overwrite")
                return
            catalog, identifier = self._catalog(), self._identifier()
            if not catalog.table_exists(identifier):
                with catalog.create_table_transaction(identifier, schema=table.schema) as transaction:
                    transaction.append(table)
                return
            existing = catalog.load_table(identifier)
            names = [field.name for field in existing.schema().fields]
            if names != table.column_names:
                raise ParameterError(f"the Iceberg table {self.address!r} has other columns; name a new table")
            with existing.transaction() as transaction:
                transaction.overwrite(table)

    def _read_delta(self) -> tuple[pa.RecordBatchReader, tuple[str, ...]]:
        table = self._delta_module().DeltaTable(self._place())
        removed = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
        folder = parse_location(self.address)
        notes: tuple[str, ...] = ()
        if any((folder / unquote(name)).exists() for name in removed):  # the log also names those that are deleted
            kept = f"versions before {table.version()}"
            notes = (_note(f"the Delta table {self.address!r}", kept, "vacuum it with a retention of 0 hours"),)
        return table.to_pyarrow_dataset().scanner().to_reader(), notes

    def _read_iceberg(self) -> tuple[pa.RecordBatchReader, tuple[str, ...]]:
        table = self._catalog().load_table(self._identifier())
        current = table.current_snapshot()
        kept = [one.snapshot_id for one in table.metadata.snapshots if current is None or one != current]
        notes: tuple[str, ...] = ()
        if kept:
            listed = ", ".join(map(str, kept[:_SHOWN])) + (" ..." if len(kept) > _SHOWN else "")
            notes = (_note(f"the Iceberg table {self.address!r}", f"snapshots {listed}", "expire them"),)
        return table.scan().to_arrow_batch_reader(), notes

    def _place(self) -> str:
        place = parse_location(self.address)
        return str(place if isinstance(place, ObjectPath) else place.absolute())

    def _identifier(self) -> str:
        return self.address.partition("/")[2]

    def _delta_module(self) -> Any:
        import deltalake

        return deltalake

    def _catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog(self.address.partition("/")[0])

    @contextmanager
    def _redact(self, doing: str) -> Iterator[None]:
        """Raise SourceError instead of the errors of the library, which quote requests, paths and settings."""
        try:
            yield
        except ModuleNotFoundError:
            package = {DELTA: "deltalake", ICEBERG: "pyiceberg"}[self.kind]
            raise SourceError(
                f"{self.kind}: needs the package {package}; pip install 'privacy-plugin[{self.kind}]'"
            ) from None
        except PrivacyPluginError:
            raise
        except Exception as error:  # noqa: BLE001  catalogs and stores raise what their drivers raise
            hint = "is it a Delta table that can be reached?" if self.kind == DELTA else "do catalog and table exist?"
            raise SourceError(f"{doing} the table {str(self)!r} failed: {type(error).__name__}; {hint}") from None


def parse_lake_table(place: object) -> LakeTable | None:
    """Return the table of an address, or of a folder that has a Delta log; None for all others.

    >>> str(parse_lake_table("iceberg:house/clinic.visits"))
    'iceberg:house/clinic.visits'
    """
    kind, colon, address = str(place).partition(":")
    if colon and kind == DELTA and address:
        return LakeTable(kind=kind, address=str(parse_location(address)))
    if colon and kind == ICEBERG:
        catalog, slash, name = address.partition("/")
        if not (catalog and slash and "." in name):
            raise ParameterError("an Iceberg table is named iceberg:<catalog>/<namespace>.<table>")
        return LakeTable(kind=kind, address=address)
    if isinstance(place, Path) and (place / "_delta_log").is_dir():
        return LakeTable(kind=DELTA, address=str(place))
    return None


def _note(table: str, kept: str, remedy: str) -> str:
    return (
        f"{table} keeps older rows ({kept}), which this verdict does not cover and every reader of its files can get; "
        f"{remedy} before it is shared"
    )
