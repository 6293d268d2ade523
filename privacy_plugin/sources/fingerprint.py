"""The content fingerprint: identifies the rows of a table, whatever their order.

Every row becomes bytes by the scheme of its engine (injective: lengths or types separate the cells, and a missing
value differs from every text), the bytes become a SHA-256 hash, and the hashes are put into buckets by their first
three hexadecimal digits. A bucket's digest is the SHA-256 of its hashes in ascending order; the fingerprint is the
SHA-256 of scheme, column names, number of rows and the buckets' digests. Engines compute the buckets' digests
(at most 4,096 come back), this module does the rest.

It detects every change: a cell changed, a row added, removed or repeated, a column renamed gives another digest. Two
tables with one digest are a collision of SHA-256. (Hashes are sorted, not added up: a user who may insert rows could
steer a sum of hashes to a chosen value.)

It has limits. It is not a signature: a user who may rewrite both the data and the certificate can make them agree. It
is not secret: a reader of the digest can confirm a guess of the *whole* table. It does not cover columns left out, the
order of rows, or a table in another engine. Values that mean the same (NaN and NULL, 0.0 and -0.0; in frames and SQLite
also 1 and 1.0) count as unchanged.

A `Source.fingerprint` depends on its engine, so that no row has to leave it. `content_fingerprint` is the same in every
engine: it is computed from the distinct rows in canonical form, so that a release that was made in Python is recognized
in the database it was written to. In CSV every value is text, so a CSV file has other content than a typed table.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import canonical, key, kind
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.dispatch import open_source
from privacy_plugin.sources.protocol import Fingerprint

LOCAL_SCHEME = "rows-sha256-1"
BUCKET_DIGITS = 3

_SLICE_ROWS = 1 << 16
_HASH_BYTES = 32


def combine_buckets(
    *,
    scheme: str,
    columns: Sequence[str],
    rows: int,
    buckets: Iterable[tuple[str, str]],
    types: Sequence[str] = (),
) -> Fingerprint:
    """Combine (bucket, digest) pairs of sorted columns; `types` tell apart equal texts of different types."""
    content = json.dumps([scheme, list(columns), list(types), rows, sorted(map(list, buckets))])
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Fingerprint(rows=rows, digest=digest, scheme=scheme, columns=tuple(columns))


def check_buckets(rows: Iterable[Sequence[Any]]) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of rows and (bucket, digest) pairs of an engine's (bucket, rows, hashed rows, digest) lines.

    Raise if a row has no hash: a change of it would not be detected.
    """
    listed = [tuple(row) for row in rows]
    total, hashed = sum(int(row[1]) for row in listed), sum(int(row[2]) for row in listed)
    if total != hashed:
        raise SourceError(f"{total - hashed} of {total} rows hold a value that has no hash; cast the column to text")
    return total, [(str(row[0]), str(row[3])) for row in listed]


class RowHashes:
    """Collects the hashes of rows, 32 bytes each, in any order."""

    def __init__(self) -> None:
        self._collected = bytearray()

    def __len__(self) -> int:
        return len(self._collected) // _HASH_BYTES

    def add(self, row: bytes) -> None:
        """Hash the bytes of one row."""
        self._collected += hashlib.sha256(row).digest()

    def buckets(self) -> list[tuple[str, str]]:
        """Return the digest of every bucket that is not empty."""
        hashes = np.sort(np.frombuffer(self._collected, dtype=f"S{_HASH_BYTES}"))
        raw = hashes.view(np.uint8).reshape(-1, _HASH_BYTES)
        numbers = (raw[:, 0].astype(np.int64) << 4) | (raw[:, 1] >> 4)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        ends = np.append(starts, len(numbers))[1:]
        return [
            (
                format(int(numbers[start]), f"0{BUCKET_DIGITS}x"),
                hashlib.sha256(raw[start:end].tobytes().hex().encode()).hexdigest(),
            )
            for start, end in zip(starts, ends, strict=True)
        ]


class LocalDigest:
    """Computes the fingerprint of coded columns: a cell is the kind, length and text of its canonical value."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._order = sorted(range(len(columns)), key=lambda position: columns[position])
        self._columns = tuple(columns[position] for position in self._order)
        self._rows = RowHashes()

    def add(self, coded: Sequence[CodedColumn]) -> None:
        """Add the rows of a chunk, given column by column in the order of the constructor's names."""
        cells = [_write_cells(coded[position].values) for position in self._order]
        codes = [coded[position].codes for position in self._order]
        for start in range(0, len(codes[0]), _SLICE_ROWS):
            pieces = [
                [known[code] for code in column[start : start + _SLICE_ROWS].tolist()]
                for known, column in zip(cells, codes, strict=True)
            ]
            for row in zip(*pieces, strict=True):
                self._rows.add("".join(row).encode("utf-8", "surrogatepass"))

    def finish(self, scheme: str = LOCAL_SCHEME) -> Fingerprint:
        """Return the fingerprint of all rows added."""
        return combine_buckets(scheme=scheme, columns=self._columns, rows=len(self._rows), buckets=self._rows.buckets())


def fingerprint_table(table: FrequencyTable, scheme: str = LOCAL_SCHEME) -> Fingerprint:
    """Return the fingerprint of a frequency table, as a frame with its rows would have it."""
    digest = LocalDigest(table.columns)
    repeated = np.repeat(np.arange(table.distinct), table.counts)
    digest.add(
        [
            CodedColumn(codes=table.codes[repeated, position], values=list(dictionary))
            for position, dictionary in enumerate(table.dictionaries)
        ]
    )
    return digest.finish(scheme)


def content_fingerprint(data: Any) -> Fingerprint:
    """Return the fingerprint of all columns of a frequency table or of anything a source accepts.

    >>> import pandas
    >>> one, other = (pandas.DataFrame({"age": ages}) for ages in ([30, 41, 30], [41.0, 30.0, 30.0]))
    >>> content_fingerprint(one) == content_fingerprint(other)
    True
    """
    if isinstance(data, FrequencyTable):
        return fingerprint_table(data)
    source = open_source(data)
    return fingerprint_table(source.frequencies(source.columns))


def _write_cells(values: Sequence[Any]) -> list[str]:
    """Write every value of a dictionary; values that mean the same have the same text."""
    return [_WRITERS.get(type(raw), _write_cell)(raw) for raw in values]


def _write_cell(raw: Any) -> str:
    number, text = key(canonical(raw))
    return f"{number}:{len(text)}:{text}"


def _write_text(raw: str) -> str:
    return f"{_TEXT}:{len(raw)}:{raw}"


def _write_integer(raw: int) -> str:
    text = str(raw)
    return f"{_NUMBER}:{len(text)}:{text}"


def _write_float(raw: float) -> str:
    text = repr(raw)
    if raw.is_integer() or raw != raw or "e" in text:
        return _write_cell(raw)
    return f"{_NUMBER}:{len(text)}:{text}"


# Faster equivalents of `_write_cell` for the most frequent types.
_TEXT, _NUMBER = kind(""), kind(0)
_WRITERS: dict[type, Callable[[Any], str]] = {str: _write_text, int: _write_integer, float: _write_float}
