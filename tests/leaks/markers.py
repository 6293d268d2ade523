"""Rare values, and every form in which one of them could be written down."""

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote

import pandas as pd

# Quotes, brackets and letters beyond ASCII: what is escaped somewhere is searched for in all its forms.
NAME = "Zqvanessa O'Kré<m>"
AGE = 2001987654
ZIP = "ZQX77131"
DISEASE = 'Zqmarkosis "B&B"'
MARKERS = (NAME, AGE, ZIP, DISEASE)

COLUMNS = ["name", "age", "zip", "disease"]
MARKED = (NAME, AGE, ZIP, DISEASE)


def people(count: int = 40) -> list[tuple[str, int, str, str]]:
    """Return rows that could be released, and one whose every value is a marker."""
    plain = [(f"person {i}", 20 + i % 30, f"8{i % 7:07d}", "abcd"[i % 4]) for i in range(count)]
    return [*plain, MARKED]


def frame(count: int = 40) -> pd.DataFrame:
    """Return the same rows as a frame."""
    return pd.DataFrame(people(count), columns=COLUMNS)


def found_in(output: str | bytes) -> list[str]:
    """Return the forms of markers that something written down holds, whatever its case."""
    text = (output.decode("utf-8", "replace") if isinstance(output, bytes) else output).lower()
    return sorted({form for marker in MARKERS for form in _forms(marker) if form.lower() in text})


def _forms(marker: str | int) -> Iterator[str]:
    """Yield a value as people, Python, JSON, HTML, addresses, SQL and bytes write it."""
    if isinstance(marker, int):
        yield from (str(marker), f"{marker:,}", hex(marker)[2:], f"{marker:.4g}", f"{marker:.6g}")
        return
    yield from (marker, repr(marker)[1:-1], json.dumps(marker)[1:-1], html.escape(marker), quote(marker))
    yield from (quote(marker, safe=""), marker.replace("'", "''"), marker.replace('"', '""'), ascii(marker)[1:-1])
    core = max(marker.replace('"', " ").replace("'", " ").split(), key=len)  # the marker cut short, or half of it
    yield from (core, core[:7], core.encode().hex())
    for before in range(3):  # base64 takes three bytes at a time, wherever the value begins
        yield base64.b64encode(bytes(before) + core.encode()).decode()[4 * (before > 0) : -4]
