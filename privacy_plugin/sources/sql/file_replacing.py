"""Put files in the place of others: all of them, or, if anything fails, none."""

import csv
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from privacy_plugin.errors import ParameterError, SourceError, kind_of


@contextmanager
def replacing(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Give a temporary file beside every path, and put them in the paths' places when all has gone well.

    Each is put in place at once. Several are put in place one after the other, and taken back if a later one fails;
    only if the machine stops in between, some are new and some are old.
    """
    for one, other in combinations(paths, 2):
        if one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other)):
            raise ParameterError(f"the targets {str(one)!r} and {str(other)!r} are one file; name two")
    temporaries = [_beside(path) for path in paths]
    try:
        yield temporaries
        for temporary in temporaries:
            with readable(temporary), open(temporary, "rb") as file:
                os.fsync(file.fileno())
        _put_in_place(temporaries, paths)
    finally:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Tell errors of files by their kind alone: their messages may hold lines of the file."""
    try:
        yield
    except (OSError, UnicodeError, csv.Error, pa.ArrowException) as error:
        doubt = "; is it a Parquet file?" if isinstance(error, pa.ArrowInvalid) else ""
        raise SourceError(f"cannot read the file {str(path)!r}: {kind_of(error)}{doubt}") from None


def _put_in_place(temporaries: Sequence[Path], paths: Sequence[Path]) -> None:
    last = len(paths) - 1
    kept = [_kept(path) if number < last and path.exists() else None for number, path in enumerate(paths)]
    placed: list[int] = []
    try:
        for number, (temporary, path) in enumerate(zip(temporaries, paths, strict=True)):
            with readable(path):
                os.replace(temporary, path)
            placed.append(number)
    except BaseException:
        for number in placed:
            old = kept[number]
            paths[number].unlink() if old is None else os.replace(old, paths[number])
        raise
    finally:
        for old in kept:
            if old is not None:
                old.unlink(missing_ok=True)


def _kept(path: Path) -> Path:
    """Keep the old file under a second name, or a copy where the file system knows no second names."""
    other = _beside(path)
    try:
        os.link(path, other)
    except OSError:
        shutil.copy2(path, other)
    return other


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
