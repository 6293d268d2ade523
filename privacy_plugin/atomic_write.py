"""Write a file atomically: to a staging file first, which then replaces the target."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomically(path: str | Path, text: str) -> None:
    """Replace a file by a text; an error leaves the old file unchanged and no staging file."""
    staging = staging_path(Path(path))
    try:
        staging.write_text(text, encoding="utf-8")
        os.replace(staging, path)
    finally:
        with suppress(OSError):  # it was renamed, or never created
            staging.unlink()


def staging_path(path: Path) -> Path:
    """Return an unused path in the same folder."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}")
