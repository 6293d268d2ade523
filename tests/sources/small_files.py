"""Small files, written and read, for tests of sources."""

from pathlib import Path
from typing import Any

from privacy_plugin.sources import open_source


def write(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(path: Any) -> list[tuple[Any, ...]]:
    source = open_source(path)
    table = source.frequencies(source.columns)
    return [table.values(i) for i in range(table.distinct) for _ in range(table.counts[i])]
