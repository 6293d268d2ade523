"""CSV and Parquet files, read and written by DuckDB in place."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from privacy_plugin.errors import ParameterError, SourceError, require_columns
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.private_folder import PrivateFolder
from privacy_plugin.sources.drawn_rows import build_arrow_table, check_arrival, convert_to_text
from privacy_plugin.sources.frequency_source import FrequencySource
from privacy_plugin.sources.population_join import JoinedGroups, Meaning
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, RehearsalDone, Source, VerifyTables
from privacy_plugin.sources.sql.duckdb_relation import DuckDBRelation
from privacy_plugin.sources.sql.duckdb_sql import redact_duckdb_errors
from privacy_plugin.sources.sql.file_formats import (
    choose_query,
    decompress_file,
    redact_file_errors,
    require_format,
    uncompressed_name,
)
from privacy_plugin.sources.sql.file_release import replace_files, require_complete

# The files that this process wrote in the order of their content, by inode, size and time: a release of all columns of
# one of them is a copy.
_ORDERED: set[tuple[int, int, int]] = set()

_PIECE = 1 << 22


class FileSource:
    """A CSV, TSV or Parquet file.

    In CSV every value is text ('02138' stays '02138'), and an empty field without quotes is missing. A .csv file is
    separated by commas, or by semicolons if its first line has those and no comma; a .tsv file by tabs. Text is UTF-8.
    A .csv.gz, .tsv.gz, .csv.zst or .tsv.zst file is decompressed to a private folder (mode 0700), which is removed when
    the source is no longer used.
    """

    engine = "duckdb"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        compressed = uncompressed_name(self._path) != self._path.name
        if not self._path.is_file():
            raise SourceError(f"the file {str(self._path)!r} does not exist")
        require_complete(self._path)
        self._connection = duckdb.connect(":memory:", config={"temp_directory": tempfile.gettempdir()})
        self._opened = _file_state(self._path)
        self._folder = _open_temporary_folder(self._path) if compressed else None
        content = decompress_file(self._path, self._folder.path) if self._folder else self._path
        with redact_duckdb_errors(f"reading {self._path.name!r}"), redact_file_errors(self._path):
            self._query = choose_query(self._connection, content)
            self._relation = DuckDBRelation(self._connection.sql(self._query))
        self.columns = self._relation.columns
        self._fingerprints: dict[tuple[str, ...], Fingerprint] = {}

    @property
    def named_by_first_line(self) -> bool:
        """Whether the first line names the columns, and could be a row of data by mistake."""
        return self._path.suffix.lower() != ".parquet"

    def remarks(self) -> tuple[str, ...]:
        """Return what a Parquet file holds beyond the rows that are judged: metadata, several forms of one value."""
        if self._path.suffix.lower() != ".parquet":
            return ()
        from privacy_plugin.sources.sql.file_remarks import remark_on_parquet

        with redact_duckdb_errors(f"reading {self._path.name!r}"), redact_file_errors(self._path):
            return remark_on_parquet(self._path, self._connection.sql(self._query))

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in DuckDB."""
        return self._relation.frequencies(columns, unit=unit)

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes by their profile in DuckDB."""
        return self._relation.class_profiles(quasi_identifiers, sensitive, first_rows=first_rows)

    def joined_groups(
        self,
        population: Source,
        columns: Sequence[str],
        meaning: Meaning | None = None,
        *,
        profiled: bool = False,
    ) -> JoinedGroups | None:
        """Group both files and join the groups in DuckDB."""
        if not isinstance(population, FileSource):
            return None
        with redact_duckdb_errors(f"reading {population._path.name!r}"), redact_file_errors(population._path):
            other = DuckDBRelation(self._connection.sql(population._query))
        return self._relation.joined_groups(other, columns, meaning, profiled=profiled)

    def row_count(self) -> int:
        """Count the rows."""
        return self._relation.row_count()

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in DuckDB, once for a file that does not change."""
        chosen = tuple(sorted(self.columns if columns is None else columns))
        if chosen not in self._fingerprints:
            with self._require_unchanged():
                found = self._relation.fingerprint(columns)
            self._fingerprints[chosen] = found
        with self._require_unchanged():
            return self._fingerprints[chosen]

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Raise at the end if the file has changed since it was opened."""
        with self._require_unchanged():
            yield self

    def recode(self, recoding: Recoding, *, target: str | None = None) -> "FileSource":
        """Write the recoded table to another file."""
        path = self._parse_target(target)
        with replace_files([path]) as (temporary,), self._require_unchanged():
            recoded = DuckDBRelation(self._relation.select_recoded(recoding))
            _write_file(recoded.select_in_content_order(recoded.columns), temporary)
            _ORDERED.add(_file_state(temporary)[:3])
        return FileSource(path)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> "FileSource":
        """Copy columns to a staging file, call `verify` on it, and only then replace the target."""
        (published,) = self.publish_together([(self, target, columns)], lambda staged: verify(staged[0]))
        return published

    @staticmethod
    def publish_together(
        files: Sequence[tuple["FileSource", str | None, Sequence[str]]], verify: VerifyTables
    ) -> tuple["FileSource", ...]:
        """Publish several files, each given with its target and its columns; see `replace_files`."""
        for file, _, columns in files:
            require_columns(columns, file.columns)
        paths = [file._parse_target(target) for file, target, _ in files]
        with replace_files(paths) as staging, ExitStack() as stack:
            written = []
            for (file, _, columns), temporary in zip(files, staging, strict=True):
                stack.enter_context(file._require_unchanged())
                written.append(file._write_released(columns, temporary))
            verify(written)
        return tuple(FileSource(path) for path in paths)

    def _write_released(self, columns: Sequence[str], path: Path) -> "FileSource":
        """Write columns in the order of the content; a file that is the same already is copied."""
        same = tuple(columns) == self.columns and path.suffix.lower() == self._path.suffix.lower()
        if not same or self._opened[:3] not in _ORDERED:
            _write_file(self._relation.select_in_content_order(columns), path)
            return FileSource(path)
        with redact_file_errors(path, "writing"):
            copied = _copy_file(self._path, path)
        found = FileSource(path)
        if copied != _hash_file(path):
            raise SourceError(f"the file {path.name!r} is not what was written; nothing was released")
        with self._require_unchanged(), found._require_unchanged():  # equal bytes have equal fingerprints
            found._fingerprints = dict(self._fingerprints)
        return found

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Write staging files and replace all targets together; without targets return pandas frames."""
        if targets is None:
            with self._require_unchanged():
                table = FrequencySource(self.frequencies(columns))
            return table.distribute(columns, make, targets=None, verify=verify)
        paths = [self._parse_target(target) for target in targets]
        with replace_files(paths) as temporaries, self._require_unchanged():
            tables = make(self.frequencies(columns))
            for wanted, temporary in zip(tables, temporaries, strict=True):
                if isinstance(wanted, FrequencyTable) and temporary.suffix.lower() != ".parquet":
                    wanted = convert_to_text(wanted)
                _write_file(self._relation.select_rows(wanted), temporary)
            verify([FileSource(temporary) for temporary in temporaries])
        return tuple(FileSource(path) for path in paths)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> "FileSource":
        """Write other rows to a staging file, call `verify` on it, and only then replace the target."""
        path = self._parse_target(target)
        with replace_files([path]) as (temporary,):
            self._write_checked(rows, temporary, verify)
        return FileSource(path)

    def rehearse_rows(self, rows: FrequencyTable, *, target: str | None) -> None:
        """Raise if the target's folder or the values cannot be written, without a value in that folder.

        The values are written to a private folder of this process (mode 0700), and a file without rows to the target's
        folder: a process that is killed here leaves no value where a release is expected.
        """
        path = self._parse_target(target)
        with suppress(RehearsalDone), replace_files([path]) as (probe,):
            _write_file(self._connection.sql("SELECT 0 AS rehearsal LIMIT 0"), probe)
            raise RehearsalDone
        folder = _open_temporary_folder(path)
        try:
            self._write_checked(rows, folder.path / f"rehearsal{path.suffix}", _accept)
        finally:
            folder.close()

    def _write_checked(self, rows: FrequencyTable, path: Path, verify: Callable[[Source], None]) -> None:
        stored = rows if path.suffix.lower() == ".parquet" else convert_to_text(rows)
        privacy_plugin_rows = build_arrow_table(stored)  # noqa: F841  DuckDB finds it by the name of the variable
        _write_file(self._connection.sql("SELECT * FROM privacy_plugin_rows"), path)
        check_arrival(stored, verify)(FileSource(path))

    def _parse_target(self, target: str | None) -> Path:
        if target is None:
            raise ParameterError("a file needs a target; pass a path that ends in .csv, .tsv or .parquet")
        path = Path(target)
        require_format(path)
        if path.is_dir():
            raise ParameterError(f"the target {target!r} is a folder; name a file in it")
        if path.exists() and path.samefile(self._path):
            raise ParameterError(f"the target {target!r} is the source itself; name another file")
        return path

    @contextmanager
    def _require_unchanged(self) -> Iterator[None]:
        yield
        if _file_state(self._path) != self._opened:
            raise SourceError(f"the file {str(self._path)!r} changed after it was opened; open it again")


def _open_temporary_folder(path: Path) -> PrivateFolder:
    """Return a private folder for the content of a file."""
    try:
        return PrivateFolder(None, path)
    except OSError as problem:
        raise SourceError(
            f"cannot write into the folder for temporary files: {type(problem).__name__}; set TMPDIR to another one"
        ) from None


def _accept(_: Source) -> None:
    """Accept what was written: a rehearsal only tests that it arrives."""


def _file_state(path: Path) -> tuple[int, int, int, int]:
    """Return what changes when a file is replaced or written."""
    with redact_file_errors(path):
        found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _copy_file(source: Path, target: Path) -> bytes:
    """Copy a file; return the hash of what was read."""
    digest = hashlib.sha256()
    with open(source, "rb") as file, open(target, "xb") as copy:
        while piece := file.read(_PIECE):
            digest.update(piece)
            copy.write(piece)
    return digest.digest()


def _hash_file(path: Path) -> bytes:
    with redact_file_errors(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _write_file(relation: Any, path: Path) -> None:
    folder = f"the folder {str(path.parent)!r}"  # the staging file's own name would mean nothing to a reader
    with redact_duckdb_errors(f"writing into {folder}", relation):
        if path.suffix.lower() == ".parquet":
            relation.write_parquet(str(path))
        else:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            relation.write_csv(str(path), sep=separator, header=True, na_rep="", quotechar='"', escapechar='"')
