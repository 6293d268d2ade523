"""CSV and Parquet files, read and written by DuckDB where they lie."""

import csv
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from privacy_plugin.errors import ColumnError, ParameterError, SourceError, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.drawn_rows import arrived, arrow_rows, as_text
from privacy_plugin.sources.frequency_source import FrequencySource
from privacy_plugin.sources.joining import JoinedGroups, Meaning
from privacy_plugin.sources.protocol import (
    Fingerprint,
    Make,
    Source,
    VerifyAll,
    checked_names,
    require_distinct_ignoring_case,
)
from privacy_plugin.sources.sql.csv_lines import count_rows, has_rows_of_several_lines
from privacy_plugin.sources.sql.duckdb_errors import told_as_source_error
from privacy_plugin.sources.sql.duckdb_relation import DuckDBRelation
from privacy_plugin.sources.sql.duckdb_terms import OWN
from privacy_plugin.sources.sql.file_replacing import readable, replacing
from privacy_plugin.sources.sql.parquet_exactness import require_exact

_SUFFIXES = (".csv", ".tsv", ".parquet")


class FileSource:
    """A file. In CSV every value is text ('02138' stays '02138'), and an empty field without quotes is missing.

    A .csv file is separated by commas, or by semicolons if its first line has those and no comma; a .tsv file by
    tabs. Text is UTF-8.
    """

    engine = "duckdb"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        require_suffix(self._path)
        if not self._path.is_file():
            raise SourceError(f"there is no file {str(self._path)!r}")
        self._connection = duckdb.connect(":memory:", config={"temp_directory": tempfile.gettempdir()})
        self._opened = _state(self._path)
        with told_as_source_error(f"reading {self._path.name!r}"), readable(self._path):
            self._query = _line_by_line(self._connection, self._path) or _query(self._path)
            self._relation = DuckDBRelation(self._connection.sql(self._query))
        self.columns = self._relation.columns

    @property
    def named_by_first_line(self) -> bool:
        """Whether nothing but its place says that a line holds the names of the columns."""
        return self._path.suffix.lower() != ".parquet"

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Group in DuckDB."""
        return self._relation.frequencies(columns, unit=unit)

    def joined_groups(
        self, population: Source, columns: Sequence[str], meaning: Meaning | None = None
    ) -> JoinedGroups | None:
        """Group both files and join the groups in DuckDB."""
        if not isinstance(population, FileSource):
            return None
        with told_as_source_error(f"reading {population._path.name!r}"), readable(population._path):
            other = DuckDBRelation(self._connection.sql(population._query))
        return self._relation.joined_groups(other, columns, meaning)

    def row_count(self) -> int:
        """Count the rows."""
        return self._relation.row_count()

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content; hashes are computed in DuckDB."""
        return self._relation.fingerprint(columns)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Refuse all answers if the file turns out to have changed since it was opened: its columns were read then."""
        with self._unchanged():
            yield self

    def recode(self, recoding: Recoding, *, target: str | None = None) -> "FileSource":
        """Write the recoded table to another file."""
        path = self._target(target)
        with replacing([path]) as (temporary,), self._unchanged():
            _write(self._relation.recoded(recoding), temporary)
        return FileSource(path)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> "FileSource":
        """Copy columns into a file beside the target, let `verify` look at it, and only then put it in place."""
        path = self._target(target)
        require_columns(columns, self.columns)
        with replacing([path]) as (temporary,), self._unchanged():
            _write(self._relation.ordered(columns), temporary)
            verify(FileSource(temporary))
        return FileSource(path)

    def distribute(
        self, columns: Sequence[str], make: Make, *, targets: Sequence[str] | None, verify: VerifyAll
    ) -> tuple[Any, ...]:
        """Write files beside their targets, and put all in place together; without targets return pandas frames."""
        if targets is None:
            with self._unchanged():
                table = FrequencySource(self.frequencies(columns))
            return table.distribute(columns, make, targets=None, verify=verify)
        paths = [self._target(target) for target in targets]
        with replacing(paths) as temporaries, self._unchanged():
            tables = make(self.frequencies(columns))
            for wanted, temporary in zip(tables, temporaries, strict=True):
                _write(self._relation.numbered(wanted), temporary)
            verify([FileSource(temporary) for temporary in temporaries])
        return tuple(FileSource(path) for path in paths)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> "FileSource":
        """Write other rows to a file beside the target, let `verify` look at it, and only then put it in place."""
        path = self._target(target)
        held = rows if path.suffix.lower() == ".parquet" else as_text(rows)
        privacy_plugin_rows = arrow_rows(held)  # noqa: F841  DuckDB finds it by the name of the variable
        with replacing([path]) as (temporary,):
            _write(self._connection.sql("SELECT * FROM privacy_plugin_rows"), temporary)
            arrived(held, verify)(FileSource(temporary))
        return FileSource(path)

    def _target(self, target: str | None) -> Path:
        if target is None:
            raise ParameterError("a file is written to a target; give a path that ends in .csv, .tsv or .parquet")
        path = Path(target)
        require_suffix(path)
        if path.is_dir():
            raise ParameterError(f"the target {target!r} is a folder; name a file in it")
        if path.exists() and path.samefile(self._path):
            raise ParameterError(f"the target {target!r} is the source itself; name another file")
        return path

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        yield
        if _state(self._path) != self._opened:
            raise SourceError(f"the file {str(self._path)!r} changed after it was opened; open it again")


def require_suffix(path: Path) -> None:
    """Refuse a file whose format its name does not tell, and an address."""
    if ":/" in str(path):  # an address may hold a password, so it is not repeated; a path loses one of two slashes
        raise SourceError("an address is no file; give a path, or sql_table(engine, 'schema.table') for a database")
    if path.suffix.lower() not in _SUFFIXES:
        raise SourceError(f"cannot tell the format of {str(path)!r}; valid endings are {', '.join(_SUFFIXES)}")


def _state(path: Path) -> tuple[int, int, int, int]:
    """What changes when a file is replaced or written to."""
    with readable(path):
        found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _query(path: Path) -> str:
    location = str(path.absolute())
    name = _literal("".join(f"[{c}]" if c in "*?[" else c for c in location))  # this one file, no pattern
    if path.suffix.lower() == ".parquet":
        require_distinct_ignoring_case(checked_names(pq.read_schema(location).names), "DuckDB")
        require_exact(location)
        return f"SELECT * FROM read_parquet({name}, hive_partitioning = false)"
    separator, header = _header(path)
    columns = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in header)
    return (
        f"SELECT * FROM read_csv({name}, auto_detect = false, header = true, columns = {{{columns}}}, "
        f"delim = {_literal(separator)}, quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
        "hive_partitioning = false, strict_mode = true, null_padding = false, ignore_errors = false)"
    )


def _line_by_line(connection: Any, path: Path) -> str | None:
    """Return the query of one thread where several fail; they begin at lines, and values may go on over some.

    One thread alone leaves out what follows a quote that is not closed: it must find as many rows as there are.
    """
    if path.suffix.lower() == ".parquet" or not has_rows_of_several_lines(path):
        return None
    query = _query(path)
    alone = query.removesuffix(")") + ", parallel = false)"
    try:
        connection.sql(query).aggregate(f"{OWN}.count(*)").fetchall()
    except duckdb.Error:
        rows = count_rows(path, _header(path)[0])
        found = connection.sql(alone).aggregate(f"{OWN}.count(*)").fetchall()
        return alone if found == [(rows,)] else None
    return None


def _header(path: Path) -> tuple[str, tuple[str, ...]]:
    """Read the separator and the names from the first line: DuckDB would rename what is named twice."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        separator = "\t" if path.suffix.lower() == ".tsv" else ";" if ";" in first and "," not in first else ","
        file.seek(0)
        names = next(csv.reader(file, delimiter=separator, strict=True), [])
    if not names:
        raise SourceError(f"the first line of {str(path)!r} is empty; it must name the columns")
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|" if mark != separator):
        raise SourceError(
            f"the first line of {str(path)!r} has one name, with a mark in it that separates names elsewhere: a .csv "
            "is separated by commas or semicolons, a .tsv by tabs; write it anew, or rename it"
        )
    _require_no_repetition(path, names)
    return separator, checked_names(names)


def _require_no_repetition(path: Path, names: list[str]) -> None:
    """Refuse what is named twice, also where only case differs, which DuckDB ignores; a row may stand for the names."""
    seen = [name.lower() for name in names]
    times = Counter(seen)
    repeated = [str(place) for place, name in enumerate(seen, start=1) if name and times[name] > 1]
    if repeated:
        raise ColumnError(
            f"the first line of {str(path)!r} has the same name in fields {', '.join(repeated)}; it must name every "
            "column once, and names that differ in upper and lower case alone are the same"
        )


def _write(relation: Any, path: Path) -> None:
    place = f"the folder {str(path.parent)!r}"  # the file has a name for a moment only
    with told_as_source_error(f"writing into {place}", relation):
        if path.suffix.lower() == ".parquet":
            relation.write_parquet(str(path))
        else:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            relation.write_csv(str(path), sep=separator, header=True, na_rep="", quotechar='"', escapechar='"')


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
