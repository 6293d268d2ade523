"""Read a text file that a person or a program wrote: a regular file of a sensible size, never a device or a pipe."""

import stat

from privacy_plugin.errors import ParameterError
from privacy_plugin.locations import Location, ObjectPath, parse_location

_LARGEST = 200 * 2**20


def read_text_file(path: str | Location, *, largest: int = _LARGEST) -> str:
    """Return the content of a regular file in UTF-8; raise OSError, UnicodeDecodeError or ParameterError otherwise."""
    place = parse_location(path)
    require_regular_file(place, largest=largest)
    return place.read_text(encoding="utf-8")


def require_regular_file(path: str | Location, *, largest: int = _LARGEST) -> None:
    """Raise ParameterError for a pipe, which may wait for ever, a device, which may never end, and a huge file."""
    place = parse_location(path)
    if isinstance(place, ObjectPath):
        size = place.state()[2]
        if size > largest:
            raise ParameterError(f"{str(place)!r} has {size:,} bytes; at most {largest:,} are read")
        return
    try:
        found = place.stat()
    except ValueError:  # a null byte, or a surrogate that UTF-8 cannot hold
        raise ParameterError(f"{str(path)!r} cannot be the name of a file") from None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):  # a folder is refused when it is opened
        raise ParameterError(f"{str(path)!r} is not a regular file")
    if found.st_size > largest:
        raise ParameterError(f"{str(path)!r} has {found.st_size:,} bytes; at most {largest:,} are read")
