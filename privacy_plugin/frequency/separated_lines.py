"""Small files of separated fields, refused in words."""

import csv
from pathlib import Path

from privacy_plugin.errors import PrivacyPluginError, kind_of


def read_separated_lines(
    path: str | Path, *, separator: str, called: str, error: type[PrivacyPluginError]
) -> list[list[str]]:
    """Return the fields of every line that has any; `called` is what an error calls the file."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise error(f"cannot read the {called} {str(path)!r}: {kind_of(problem)}") from None
    if not rows:
        raise error(f"the {called} {str(path)!r} is empty")
    return rows
