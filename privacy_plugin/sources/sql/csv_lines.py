"""Whether the lines of a CSV file are its rows: a value in quotes may go on over several of them."""

import csv
from pathlib import Path

import numpy as np

_PIECE = 1 << 24
_QUOTE, _NEWLINE = ord('"'), ord("\n")


def has_rows_of_several_lines(path: Path) -> bool:
    """Say whether a line ends inside of quotes; a stray quote counts as the beginning of some."""
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


def count_rows(path: Path, separator: str) -> int | None:
    """Count the rows below the names one by one, or return None where quotes are not closed or say nothing clear."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return sum(1 for row in csv.reader(file, delimiter=separator, strict=True) if row) - 1
    except (csv.Error, UnicodeError):
        return None
