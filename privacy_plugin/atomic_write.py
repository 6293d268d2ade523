"""Write a file atomically: to a staging file first, which then replaces the target."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomically(path: str | Path, text: str, *, private: bool = False) -> None:
    """Replace a file by a text; an error leaves the old file unchanged and no staging file.

    A `private` file can be read by its owner only, from its first byte on.
    """
    staging = staging_path(Path(path))
    try:
        if private:
            os.close(os.open(staging, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        staging.write_text(text, encoding="utf-8")
        os.replace(staging, path)
    finally:
        with suppress(OSError):  # it was renamed, or never created
            staging.unlink()


def staging_path(path: Path) -> Path:
    """Return an unused path in the same folder."""
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}")
