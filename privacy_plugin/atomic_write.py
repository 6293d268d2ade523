"""Write a file atomically and durably: to a staging file first, which then replaces the target."""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from privacy_plugin.locations import Location, ObjectPath, parse_location


def write_atomically(path: str | Location, text: str, *, private: bool = False) -> None:
    """Replace a file by a text; an error leaves the old file unchanged and no staging file.

    The content is on the disk before the name points to it, and the name before this function returns: after a power
    failure the file is the old one or the new one, never an empty one. A `private` file can be read by its owner only,
    from its first byte on. In an object store, the rights of the bucket decide who can read it.
    """
    target = parse_location(path)
    if isinstance(target, ObjectPath):
        target.write_text(text)
        return
    staging = staging_path(target)
    try:
        with open(os.open(staging, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666), "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(staging, target)
        sync_folder(target.parent)
    finally:
        with suppress(OSError):  # it was renamed, or never created
            staging.unlink()


def sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk, where the system can: a rename is durable only after that."""
    with suppress(OSError, AttributeError):  # Windows opens no folders; some network file systems sync none
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def staging_path(path: Path) -> Path:
    """Return an unused path in the same folder, by whose name the command `clean` finds what a killed run left."""
    return path.with_name(f".privacy_plugin_{path.name[:200]}.{secrets.token_hex(4)}")


def is_staging_name(name: str) -> bool:
    """Return whether a file name is one that `staging_path` made.

    >>> is_staging_name(staging_path(Path("plan.json")).name), is_staging_name("plan.json")
    (True, False)
    """
    return re.fullmatch(r"\.privacy_plugin_.+\.[0-9a-f]{8}", name) is not None
