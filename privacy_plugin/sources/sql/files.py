"""Tables in files, object stores and lakes, read and written through DuckDB."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import duckdb

from privacy_plugin.errors import ParameterError, SourceError, require_columns
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.locations import ObjectPath
from privacy_plugin.private_folder import PrivateFolder
from privacy_plugin.sources.drawn_rows import build_arrow_table, check_arrival, convert_to_text
from privacy_plugin.sources.frequency_source import FrequencySource
from privacy_plugin.sources.population_join import JoinedGroups, Meaning
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, RehearsalDone, Source, VerifyTables
from privacy_plugin.sources.sql.duckdb_relation import DuckDBRelation
from privacy_plugin.sources.sql.duckdb_sql import quote, quote_text, redact_duckdb_errors
from privacy_plugin.sources.sql.file_formats import (
    COMPRESSIONS,
    JSON_LINES,
    SEPARATED,
    WORKBOOK,
    choose_query,
    convert_encoding,
    decompress_file,
    file_suffix,
    partition_files,
    redact_file_errors,
    require_encoding,
    require_format,
)
from privacy_plugin.sources.sql.file_release import (
    FilePlace,
    parse_place,
    place_suffix,
    replace_files,
    require_complete,
)
from privacy_plugin.sources.sql.lake_tables import LakeTable
from privacy_plugin.sources.sql.workbook import KEPT, convert_workbook, write_workbook

_WRITTEN = "privacy_plugin_written"


def file_table(
    path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None, sheet: str | None = None
) -> "FileSource":
    r"""Return a source for a file that does not speak for itself: another delimiter, encoding or sheet.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "visits.csv"
    >>> _ = path.write_bytes("city|age\nZürich|30\n".encode("latin-1"))
    >>> file_table(path, delimiter="|", encoding="latin-1").columns
    ('city', 'age')
    """
    return FileSource(path, delimiter=delimiter, encoding=encoding, sheet=sheet)


def choose_options(place: object, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options that a place can have, of those given for several files."""
    parsed = parse_place(place)
    suffix = place_suffix(parsed)
    text = suffix.startswith((*SEPARATED, *JSON_LINES))
    valid = {"delimiter": suffix.startswith(SEPARATED), "encoding": text, "sheet": suffix == WORKBOOK}
    return {name: value for name, value in given.items() if valid[name]}


# The files that this process wrote in the order of their content, by inode, size and time: a release of all columns of
# one of them is a copy.
_ORDERED: set[tuple[int, int, int]] = set()

_PIECE = 1 << 22


class FileSource:
    """A table in a file, a folder of Parquet files, an object of a store, or a Delta or Iceberg table.

    In CSV every value is text ('02138' stays '02138'), and an empty field without quotes is missing. A .csv file is
    separated by commas, or by semicolons if its first line has those and no comma; a .tsv file by tabs; `delimiter`
    names another separator. Text is UTF-8 unless `encoding` says otherwise. `sheet` names a sheet of a workbook.

    What DuckDB does not read in place (compressed text, other encodings, objects of a store, workbooks, Delta and
    Iceberg tables) is copied once to a private folder (mode 0700), which is removed when the source is no longer used.
    `notes` name what the place keeps besides the rows that are read.
    """

    engine = "duckdb"

    def __init__(
        self,
        path: str | os.PathLike[str] | FilePlace,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
    ) -> None:
        self._place = parse_place(path)
        self._suffix = place_suffix(self._place)
        self.notes: tuple[str, ...] = ()
        self._require_readable()
        self._require_options(delimiter, encoding, sheet)
        self._by_default = delimiter is None and encoding is None and sheet is None
        self._connection = duckdb.connect(":memory:", config={"temp_directory": tempfile.gettempdir()})
        self._opened = _place_state(self._place)
        self._folder: PrivateFolder | None = None
        self._content = self._copy(require_encoding(encoding), sheet)
        name = str(self._place)
        with redact_duckdb_errors(f"reading {name!r}"), redact_file_errors(self._place):
            self._query = choose_query(self._connection, self._content, delimiter)
            self._relation = DuckDBRelation(self._connection.sql(self._query))
        self.columns = self._relation.columns
        self._fingerprints: dict[tuple[str, ...], Fingerprint] = {}

    def _require_readable(self) -> None:
        place = self._place
        if isinstance(place, LakeTable):
            return
        with redact_file_errors(self._place):
            if not place.is_dir():
                require_format(place)
                if not place.is_file():
                    raise SourceError(f"the file {str(place)!r} does not exist")
            elif place.suffix.lower() in (".csv", ".tsv"):
                raise SourceError(f"the file {str(place)!r} does not exist; it is a folder")
            else:
                self._suffix = ".parquet"
        if isinstance(place, Path) and not place.is_dir():
            require_complete(place)

    def _require_options(self, delimiter: str | None, encoding: str | None, sheet: str | None) -> None:
        """Raise for an option that the format has no use for, instead of ignoring it."""
        separated = self._suffix.startswith(SEPARATED)
        if delimiter is not None and not separated:
            raise ParameterError("delimiter is for .csv and .tsv files")
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ParameterError("delimiter must be one character, and neither a quote nor a line end")
        if encoding is not None and not (separated or self._suffix.startswith(JSON_LINES)):
            raise ParameterError("encoding is for text files: .csv, .tsv, .jsonl and .ndjson")
        if sheet is not None and self._suffix != WORKBOOK:
            raise ParameterError("sheet is for .xlsx files")

    def _copy(self, encoding: str | None, sheet: str | None) -> Path:
        """Return the file or folder that DuckDB reads: the place itself, or a private copy."""
        place = self._place
        if isinstance(place, LakeTable):
            content, self.notes = place.read(self._private_folder())
            return content
        if isinstance(place, ObjectPath):
            with redact_file_errors(self._place):
                content = _download(place, self._private_folder())
        else:
            content = place
        if file_suffix(content).endswith(tuple(COMPRESSIONS)):
            content = decompress_file(content, self._private_folder())
        if encoding is not None:
            content = convert_encoding(content, self._private_folder(), encoding)
        if content.suffix.lower() == WORKBOOK:
            content = convert_workbook(content, self._private_folder(), sheet)
        return content

    def _private_folder(self) -> Path:
        if self._folder is None:
            self._folder = _open_temporary_folder(self._place)
        return self._folder.path

    @property
    def named_by_first_line(self) -> bool:
        """Whether the first line names the columns, and could be a row of data by mistake."""
        return self._suffix.startswith((*SEPARATED, WORKBOOK))

    def remarks(self) -> tuple[str, ...]:
        """Return what a Parquet file holds beyond the rows that are judged: metadata, several forms of one value."""
        if self._suffix != ".parquet" or isinstance(self._place, LakeTable) or self._content.is_dir():
            return ()
        from privacy_plugin.sources.sql.file_remarks import remark_on_parquet

        with redact_duckdb_errors(f"reading {str(self._place)!r}"), redact_file_errors(self._place):
            return remark_on_parquet(self._content, self._connection.sql(self._query))

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in DuckDB."""
        return self._relation.frequencies(columns, unit=unit)

    def count_people(self, unit: str) -> int:
        """Count the distinct values of the unit in DuckDB; raise if some are missing."""
        return self._relation.count_people(unit)

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes by their profile in DuckDB."""
        return self._relation.class_profiles(quasi_identifiers, sensitive, first_rows=first_rows)

    def unique_columns(self, columns: Sequence[str], *, first_rows: int | None = None) -> list[str]:
        """Return the columns that have another value in every row, or in every one of the first rows."""
        return self._relation.unique_columns(columns, first_rows=first_rows)

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
        with redact_duckdb_errors(f"reading {str(population._place)!r}"), redact_file_errors(population._place):
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
        with self._require_unchanged():
            pass
        source = self._place
        same = tuple(columns) == self.columns and file_suffix(path) == self._suffix and self._by_default
        if not (same and isinstance(source, Path) and source.is_file() and _file_state(source)[:3] in _ORDERED):
            _write_file(self._relation.select_in_content_order(columns), path)
            return FileSource(path)
        with redact_file_errors(path, "writing"):
            copied = _copy_file(source, path)
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
                if isinstance(wanted, FrequencyTable) and file_suffix(temporary).startswith(SEPARATED):
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
            self._write_checked(rows, folder.path / f"rehearsal{place_suffix(path)}", _accept)
        finally:
            folder.close()

    def _write_checked(self, rows: FrequencyTable, path: Path, verify: Callable[[Source], None]) -> None:
        stored = convert_to_text(rows) if file_suffix(path).startswith(SEPARATED) else rows
        privacy_plugin_rows = build_arrow_table(stored)  # noqa: F841  DuckDB finds it by the name of the variable
        _write_file(self._connection.sql("SELECT * FROM privacy_plugin_rows"), path)
        check_arrival(stored, verify)(FileSource(path))

    def _parse_target(self, target: str | None) -> FilePlace:
        if target is None:
            raise ParameterError("a file needs a target; pass a path that ends in .csv, .tsv, .parquet or .jsonl")
        place = parse_place(target)
        if isinstance(place, LakeTable):
            if place.is_same(self._place):
                raise ParameterError(f"the target {target!r} is the source itself; name another table")
            return place
        require_format(place)
        with redact_file_errors(place):
            if place.is_dir():
                raise ParameterError(f"the target {target!r} is a folder; name a file in it")
            if type(place) is type(self._place) and place.exists() and place.samefile(self._place):  # type: ignore[arg-type]
                raise ParameterError(f"the target {target!r} is the source itself; name another file")
        return place

    @contextmanager
    def _require_unchanged(self) -> Iterator[None]:
        yield
        if _place_state(self._place) != self._opened:
            raise SourceError(f"the file {str(self._place)!r} changed after it was opened; open it again")


def _download(place: ObjectPath, folder: Path) -> Path:
    """Download an object, or all objects below a key, to a private folder; return the path there."""
    if place.is_file():
        place.download(folder / place.name)
        return folder / place.name
    copy = folder / "objects"
    for each in place.files():
        name = PurePosixPath(each.key).relative_to(place.key)
        if ".." in name.parts:
            raise SourceError(f"an object below {str(place)!r} has a name with '..'; rename it")
        path = copy.joinpath(*name.parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        each.download(path)
    return copy


def _open_temporary_folder(place: FilePlace) -> PrivateFolder:
    """Return a private folder for the content of a place."""
    try:
        return PrivateFolder(None, Path(str(place)))
    except OSError as problem:
        raise SourceError(
            f"cannot write into the folder for temporary files: {type(problem).__name__}; set TMPDIR to another one"
        ) from None


def _accept(_: Source) -> None:
    """Accept what was written: a rehearsal only tests that it arrives."""


def _place_state(place: FilePlace) -> Any:
    """Return what changes when a file is replaced or written; a snapshot of a lake never changes."""
    if isinstance(place, LakeTable):
        return None
    with redact_file_errors(place):
        if isinstance(place, ObjectPath):
            return place.state() if place.is_file() else [(str(each), each.state()) for each in place.files()]
        paths = partition_files(place) if place.is_dir() else [place]
        return [_file_state(path) for path in paths]


def _file_state(path: Path) -> tuple[int, int, int, int]:
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
    suffix, _, packed = file_suffix(path)[1:].partition(".")
    compression = COMPRESSIONS.get(f".{packed}")
    with redact_duckdb_errors(f"writing into {folder}", relation):
        if suffix == "parquet":
            relation.write_parquet(str(path))
        elif suffix == "xlsx":
            write_workbook(_for_workbook(relation), path)
        elif suffix in ("jsonl", "ndjson"):
            given = f"FORMAT json, COMPRESSION {compression or 'uncompressed'}"
            relation.query(_WRITTEN, f"COPY {_WRITTEN} TO {quote_text(str(path))} ({given})")
        else:
            separator = "\t" if suffix == "tsv" else ","
            relation.write_csv(
                str(path), sep=separator, header=True, na_rep="", quotechar='"', escapechar='"', compression=compression
            )


def _for_workbook(relation: Any) -> Any:
    """Return the rows for a workbook; what Excel would round, such as decimals, becomes text."""
    terms = [
        quote(name) if str(kind) in KEPT else f"CAST({quote(name)} AS VARCHAR) AS {quote(name)}"
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]
    return relation.project(", ".join(terms)).to_arrow_table()
