"""Write a file whole or not at all: aside first, then in its place."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | Path, text: str) -> None:
    """Put a text in the place of a file at once; whatever fails leaves the file that was there, and nothing beside."""
    staging = beside(Path(path))
    try:
        staging.write_text(text, encoding="utf-8")
        os.replace(staging, path)
    finally:
        with suppress(OSError):  # it is in its place, or was never made
            staging.unlink()


def beside(path: Path) -> Path:
    """Return a name beside a file that nobody else has."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}")
