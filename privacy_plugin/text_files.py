"""Read a text file that a person or a program wrote: a regular file of a sensible size, never a device or a pipe."""

import stat
from pathlib import Path

from privacy_plugin.errors import ParameterError

_LARGEST = 200 * 2**20


def read_text_file(path: str | Path, *, largest: int = _LARGEST) -> str:
    """Return the content of a regular file in UTF-8; raise OSError, UnicodeDecodeError or ParameterError otherwise."""
    require_regular_file(path, largest=largest)
    return Path(path).read_text(encoding="utf-8")


def require_regular_file(path: str | Path, *, largest: int = _LARGEST) -> None:
    """Raise ParameterError for a pipe, which may wait for ever, a device, which may never end, and a huge file."""
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):  # a folder is refused when it is opened
        raise ParameterError(f"{str(path)!r} is not a regular file")
    if found.st_size > largest:
        raise ParameterError(f"{str(path)!r} has {found.st_size:,} bytes; at most {largest:,} are read")
