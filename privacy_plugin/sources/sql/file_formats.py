"""The formats of files: the DuckDB query that reads a file exactly, or an error if it cannot."""

import codecs
import csv
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privacy_plugin.errors import ColumnError, ParameterError, SourceError, describe_error
from privacy_plugin.locations import SCHEMES, Location, ObjectPath
from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors
from privacy_plugin.sources.protocol import require_column_names, require_distinct_ignoring_case
from privacy_plugin.sources.sql.duckdb_sql import ROW_COUNT, quote_text
from privacy_plugin.sources.sql.json_lines import json_lines_query

SEPARATED = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
WORKBOOK = ".xlsx"
SUFFIXES = (*SEPARATED, ".parquet", *JSON_LINES, WORKBOOK)
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}  # of text: .csv, .tsv, .jsonl and .ndjson

_MAX_DIGITS = 38  # of DuckDB's decimals
_PIECE = 1 << 24
_QUOTE, _NEWLINE = ord('"'), ord("\n")


def require_format(path: Location) -> None:
    """Raise if the path is an unknown URL or its suffix does not name a supported format."""
    if ":/" in str(path) and not isinstance(path, ObjectPath):  # it may hold a password, so it is not repeated
        raise SourceError(
            f"a URL cannot be read as a file, except {', '.join(f'{each}://' for each in SCHEMES)}; pass a local path, "
            "or sql_table(engine, 'schema.table') for a database"
        )
    if file_suffix(path).partition(".")[2].partition(".")[0] not in {suffix[1:] for suffix in SUFFIXES}:
        raise SourceError(f"the format of {str(path)!r} is unknown; valid suffixes are {', '.join(SUFFIXES)}")


def file_suffix(path: Location) -> str:
    """Return the suffix of a path in lower case, of compressed text both.

    >>> file_suffix(Path("visits.CSV.gz")), file_suffix(Path("visits.parquet"))
    ('.csv.gz', '.parquet')
    """
    last, before = path.suffix.lower(), Path(path.stem).suffix.lower()
    return before + last if last in COMPRESSIONS and before in (*SEPARATED, *JSON_LINES) else last


def require_encoding(encoding: str | None) -> str | None:
    """Return the name of an encoding that text has to be converted from; None for UTF-8."""
    if encoding is None:
        return None
    try:
        found = codecs.lookup(encoding)
        "a".encode(found.name)  # raises for codecs of bytes, such as base64
    except (LookupError, ValueError, TypeError):
        raise ParameterError(
            f"the encoding {encoding!r} is unknown; valid are Python's: utf-8, cp1252 (Windows), latin-1, utf-16, ..."
        ) from None
    return None if found.name == "utf-8" else found.name


def convert_encoding(path: Path, folder: Path, encoding: str) -> Path:
    """Write text of another encoding as UTF-8 to a private folder; raise if it is not of that encoding."""
    converted = folder / f"utf-8{path.suffix}"
    try:
        with (
            open(path, encoding=encoding, newline="") as content,
            open(converted, "w", encoding="utf-8", newline="") as file,
        ):
            while piece := content.read(_PIECE):
                file.write(piece)
    except UnicodeError:
        raise SourceError(f"the text of {path.name!r} is not {encoding}; name its encoding") from None
    return converted


def decompress_file(path: Path, folder: Path) -> Path:
    """Write the content of a .gz or .zst file to a folder that only this user can read; return its path there."""
    plain = folder / f"plain{Path(path.stem).suffix}"
    with (
        redact_file_errors(path, "decompressing"),
        pa.input_stream(str(path), compression=COMPRESSIONS[path.suffix.lower()]) as content,
        open(plain, "wb") as file,
    ):
        while piece := content.read(_PIECE):
            file.write(piece)
    return plain


def redact_file_errors(path: object, doing: str = "reading") -> AbstractContextManager[None]:
    """Raise SourceError instead of the errors of a file's readers, whose messages may quote lines of it."""
    return redact_errors(f"{doing} the file {str(path)!r}", _ERRORS)


def _describe(error: BaseException) -> str:
    return describe_error(error) + ("; is it a Parquet file?" if isinstance(error, pa.ArrowInvalid) else "")


_ERRORS = ForeignErrors(classes=(OSError, UnicodeError, csv.Error, pa.ArrowException), describe=_describe)


def choose_query(connection: Any, path: Path, delimiter: str | None = None) -> str:
    """Return the query that reads a file; CSV values that span lines may need one that uses a single thread.

    DuckDB's threads start at line ends and fail inside of such values. A single thread skips what follows a quote that
    is not closed, so it must find as many rows as the file has.
    """
    if path.suffix.lower() in JSON_LINES:
        return json_lines_query(connection, path, _file_name(path))
    query = _folder_query(path) if path.is_dir() else _read_query(path, delimiter)
    if path.is_dir() or path.suffix.lower() == ".parquet" or not has_multiline_rows(path):
        return query
    alone = query.removesuffix(")") + ", parallel = false)"
    try:
        connection.sql(query).aggregate(ROW_COUNT).fetchall()
    except duckdb.Error:
        rows = count_csv_rows(path, _read_header(path, delimiter)[0])
        found = connection.sql(alone).aggregate(ROW_COUNT).fetchall()
        return alone if found == [(rows,)] else query
    return query


def _file_name(path: Path) -> str:
    """Return the quoted name of one file, not of a glob pattern."""
    return quote_text("".join(f"[{c}]" if c in "*?[" else c for c in str(path.absolute())))


def partition_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder; raise if it holds other data, or is not partitioned alike everywhere.

    Names that begin with '_' or '.' are not data, as in Spark and Hive.
    """
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    data = [path for path in found if not any(part[0] in "_." for part in path.relative_to(folder).parts)]
    others = [path for path in data if path.suffix.lower() != ".parquet"]
    if others or not data:
        raise SourceError(
            f"the folder {str(folder)!r} has {len(data) - len(others)} .parquet files and {len(others)} of another "
            "kind; a folder that is read as one table holds .parquet files only"
        )
    keys = {tuple(_partition_keys(path.relative_to(folder))) for path in data}
    if len(keys) > 1:
        raise SourceError(f"the files of {str(folder)!r} are not partitioned alike (key=value folders)")
    return data


def _partition_keys(path: Path) -> list[str]:
    return [part.partition("=")[0] for part in path.parts[:-1] if "=" in part]


def _folder_query(folder: Path) -> str:
    """Return the query that reads a folder of Parquet files with the same columns; partition keys become text."""
    paths = partition_files(folder)
    schemas = [pq.read_schema(path) for path in paths]
    if any(not schema.equals(schemas[0]) for schema in schemas):
        raise SourceError(f"the Parquet files of {str(folder)!r} have different columns or types; write them again")
    keys = _partition_keys(paths[0].relative_to(folder))
    require_distinct_ignoring_case(require_column_names([*schemas[0].names, *keys]), "DuckDB")
    for path in paths:
        _require_exact_parquet(str(path))
    listed = ", ".join(_file_name(path) for path in paths)
    hive = "hive_partitioning = true, hive_types_autocast = false" if keys else "hive_partitioning = false"
    return f"SELECT * FROM read_parquet([{listed}], {hive})"


def _read_query(path: Path, delimiter: str | None) -> str:
    location, name = str(path.absolute()), _file_name(path)
    if path.suffix.lower() == ".parquet":
        require_distinct_ignoring_case(require_column_names(pq.read_schema(location).names), "DuckDB")
        _require_exact_parquet(location)
        return f"SELECT * FROM read_parquet({name}, hive_partitioning = false)"
    separator, header = _read_header(path, delimiter)
    columns = ", ".join(f"{quote_text(column)}: 'VARCHAR'" for column in header)
    return (
        f"SELECT * FROM read_csv({name}, auto_detect = false, header = true, columns = {{{columns}}}, "
        f"delim = {quote_text(separator)}, quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
        "hive_partitioning = false, strict_mode = true, null_padding = false, ignore_errors = false)"
    )


def _read_header(path: Path, delimiter: str | None) -> tuple[str, tuple[str, ...]]:
    """Read the separator and the names from the first line: DuckDB would rename repeated names."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        guess = "\t" if path.suffix.lower() == ".tsv" else ";" if ";" in first and "," not in first else ","
        separator = guess if delimiter is None else delimiter
        file.seek(0)
        names = next(csv.reader(file, delimiter=separator, strict=True), [])
    if not names:
        raise SourceError(f"the first line of {str(path)!r} is empty; it must name the columns")
    if delimiter is None and len(names) == 1 and any(mark in names[0] for mark in ",;\t|" if mark != separator):
        raise SourceError(
            f"the first line of {str(path)!r} has one name, which contains another separator: a .csv is separated by "
            "commas or semicolons, a .tsv by tabs; name the separator (--delimiter, or delimiter=)"
        )
    _require_distinct_names(path, names)
    return separator, require_column_names(names)


def _require_distinct_names(path: Path, names: list[str]) -> None:
    """Raise if names repeat, ignoring case as DuckDB does; the names may be values, so only positions are listed."""
    folded = [name.lower() for name in names]
    times = Counter(folded)
    repeated = [str(position) for position, name in enumerate(folded, start=1) if name and times[name] > 1]
    if repeated:
        raise ColumnError(
            f"the first line of {str(path)!r} has the same name in fields {', '.join(repeated)}; it must name every "
            "column once, and names that differ only in upper and lower case are the same"
        )


def has_multiline_rows(path: Path) -> bool:
    """Return whether a line of a CSV file ends inside of quotes; a stray quote counts as an opening one."""
    inside = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            if b'"' not in piece:
                if inside and b"\n" in piece:
                    return True
                continue
            octets = np.frombuffer(piece, dtype=np.uint8)
            quotes, newlines = np.flatnonzero(octets == _QUOTE), np.flatnonzero(octets == _NEWLINE)
            if ((np.searchsorted(quotes, newlines) + inside) % 2).any():
                return True
            inside = (inside + len(quotes)) % 2
    return False


def count_csv_rows(path: Path, separator: str) -> int | None:
    """Count the rows below the header one by one; None if quotes are not closed or misplaced."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return sum(1 for row in csv.reader(file, delimiter=separator, strict=True) if row) - 1
    except (csv.Error, UnicodeError):
        return None


def _require_exact_parquet(location: str) -> None:
    """Raise if DuckDB would round values, and so merge different ones.

    It reads decimals of more than 38 digits as floats, and moments of the old type INT96 in microseconds. Only for
    INT96 the values have to be read.
    """
    file = pq.ParquetFile(location)
    for position in range(len(file.schema)):
        column = file.schema.column(position)
        if column.logical_type.type == "DECIMAL" and column.precision > _MAX_DIGITS:
            raise SourceError(
                f"column {column.path!r} has decimals of {column.precision} digits, and DuckDB reads at most "
                f"{_MAX_DIGITS} of them exactly; store fewer, or text"
            )
        if column.physical_type == "INT96" and not _is_in_microseconds(location, column.path):
            raise SourceError(
                f"column {column.path!r} has moments of type INT96 with nanoseconds, which DuckDB drops; "
                "store them as TIMESTAMP(NANOS)"
            )


def _is_in_microseconds(location: str, path: str) -> bool:
    """Compare the values read in microseconds and in nanoseconds; far from 1970 both overflow by the same amount."""
    rounded, whole = (pq.ParquetFile(location, coerce_int96_timestamp_unit=unit) for unit in ("us", "ns"))
    batches = zip(rounded.iter_batches(columns=[path]), whole.iter_batches(columns=[path]), strict=True)
    # one path may mean two columns: `b` inside of `a`, and a column named `a.b`
    pairs = (pair for short, long in batches for pair in zip(short.columns, long.columns, strict=True))
    return all(np.array_equal(_epoch_counts(short) * 1000, _epoch_counts(long)) for short, long in pairs)


def _epoch_counts(array: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the integer counts of a column's moments, however deeply nested; empty for a column without moments."""
    while pa.types.is_nested(array.type):
        array = array.values if hasattr(array, "values") else array.field(0)
    if not pa.types.is_timestamp(array.type):
        return np.zeros(0, dtype=np.int64)
    counts: np.ndarray[tuple[int], np.dtype[np.int64]] = array.cast(pa.int64()).fill_null(0).to_numpy()
    return counts
