"""The content fingerprint: what identifies the rows of a table, whatever their order.

Every row becomes bytes by the scheme of its engine (injective: lengths or types separate the cells, a missing
value is unlike any text), the bytes become a SHA-256 hash, and the hashes are put into buckets by their first
three hexadecimal digits. A bucket's digest is the SHA-256 of its hashes in ascending order; the fingerprint is the
SHA-256 of scheme, column names, number of rows and the buckets' digests. Engines compute the buckets' digests
(at most 4,096 come back), this module does the rest.

What it protects against: any cell changed, any row added, removed or repeated, any column renamed, in whatever
way and by whomever, gives another digest; to find two tables with one digest is to find a collision of SHA-256.
(Hashes are sorted, not added up: a sum of hashes can be steered to a wanted value by whoever may insert rows.)

What it does not protect against: it is no signature, so whoever may rewrite both the data and the certificate
can make them agree; it is no secret, so whoever has the digest can confirm a guess of the *whole* table; it says
nothing of the columns left out, of the order of rows, or of a table in another engine; and values that mean the
same (NaN and NULL, 0.0 and -0.0; in frames and SQLite also 1 and 1.0) count as unchanged.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.values import canonical, key, kind
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.protocol import Fingerprint

LOCAL_SCHEME = "rows-sha256-1"
BUCKET_DIGITS = 3

_SLICE_ROWS = 1 << 16
_HASH_BYTES = 32


def compose(
    *,
    scheme: str,
    columns: Sequence[str],
    rows: int,
    buckets: Iterable[tuple[str, str]],
    types: Sequence[str] = (),
) -> Fingerprint:
    """Make the fingerprint of sorted columns out of (bucket, digest) pairs; types bind texts to what they stand for."""
    content = json.dumps([scheme, list(columns), list(types), rows, sorted(map(list, buckets))])
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Fingerprint(rows=rows, digest=digest, scheme=scheme, columns=tuple(columns))


def checked_buckets(rows: Iterable[Sequence[Any]]) -> tuple[int, list[tuple[str, str]]]:
    """Read (bucket, rows, hashed rows, digest) as an engine returned them; a row without hash must not go unseen."""
    listed = [tuple(row) for row in rows]
    total, hashed = sum(int(row[1]) for row in listed), sum(int(row[2]) for row in listed)
    if total != hashed:
        raise SourceError(f"{total - hashed} of {total} rows hold a value that cannot be fingerprinted")
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
    """The fingerprint of coded columns: a cell is the kind, length and text of its canonical value."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._order = sorted(range(len(columns)), key=lambda position: columns[position])
        self._columns = tuple(columns[position] for position in self._order)
        self._rows = RowHashes()

    def add(self, coded: Sequence[CodedColumn]) -> None:
        """Add the rows of a chunk, given column by column in the order of the constructor's names."""
        cells = [_cells(coded[position].values) for position in self._order]
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
        return compose(scheme=scheme, columns=self._columns, rows=len(self._rows), buckets=self._rows.buckets())


def _cells(values: Sequence[Any]) -> list[str]:
    """Write every value of a dictionary; the same meaning gives the same text."""
    return [_WRITERS.get(type(raw), _written)(raw) for raw in values]


def _written(raw: Any) -> str:
    number, text = key(canonical(raw))
    return f"{number}:{len(text)}:{text}"


def _written_text(raw: str) -> str:
    return f"{_TEXT}:{len(raw)}:{raw}"


def _written_integer(raw: int) -> str:
    text = str(raw)
    return f"{_NUMBER}:{len(text)}:{text}"


def _written_float(raw: float) -> str:
    text = repr(raw)
    if raw.is_integer() or raw != raw or "e" in text:
        return _written(raw)
    return f"{_NUMBER}:{len(text)}:{text}"


# The same as `_written`, without the detours, for the types that nearly all values have.
_TEXT, _NUMBER = kind(""), kind(0)
_WRITERS: dict[type, Callable[[Any], str]] = {str: _written_text, int: _written_integer, float: _written_float}
