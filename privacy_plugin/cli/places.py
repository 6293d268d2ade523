"""Where a command may write, asked before it reads: nothing that it reads itself, and nothing that is there already."""

from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.cli.inputs import Input
from privacy_plugin.errors import ParameterError
from privacy_plugin.sources.sql.errors import connect, told_as_source_error
from privacy_plugin.sources.sql.files import require_suffix
from privacy_plugin.sources.sql.origin import split_name

Place = str | Path | None


def require_free_files(written: Iterable[Place], *, read: Iterable[Place], force: bool) -> None:
    """Refuse files that cannot be written, that this command reads, and, unless told to, that are there already."""
    inputs = [Path(place) for place in read if place is not None]
    outputs: list[Path] = []
    for path in (Path(place) for place in written if place is not None):
        if not path.parent.is_dir():
            raise ParameterError(f"there is no folder {str(path.parent)!r} to write {path.name!r} into")
        if any(_same(path, other) for other in inputs):
            raise ParameterError(f"{str(path)!r} is also an input of this command; write to another file")
        if any(_same(path, other) for other in outputs):
            raise ParameterError(f"{str(path)!r} is written twice by this command; name two files")
        if path.is_dir():
            raise ParameterError(f"{str(path)!r} is a folder; name a file")
        _require_free(str(path), exists=path.exists(), force=force)
        outputs.append(path)


def require_free_output(
    opened: Input, output: str, *, beside: Iterable[Place], tables: Iterable[Place], files: Iterable[Place], force: bool
) -> None:
    """Refuse a table, and files beside it, that must not be written; `tables` and `files` are what the command reads.

    A database's table is no file.
    """
    if opened.engine is None:
        require_suffix(Path(output))
        require_free_files([output, *beside], read=[*tables, *files], force=force)
        return
    known = {_full_name(opened.engine, str(table)) for table in tables if table is not None}
    if _full_name(opened.engine, output) in known:
        raise ParameterError(f"{output!r} is also an input of this command; write to another table")
    _require_free(output, exists=opened.exists(output), force=force)
    require_free_files(beside, read=files, force=force)


def _require_free(place: str, *, exists: bool, force: bool) -> None:
    if exists and not force:
        raise ParameterError(f"{place!r} exists already; name another, or give --force to replace it")


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def _full_name(engine: sa.Engine, name: str) -> tuple[str, ...]:
    """Return schema and table as most databases compare them; where they tell case apart, refusing is the safe side."""
    parts = split_name(name)[-2:]
    if len(parts) == 2:
        return tuple(part.casefold() for part in parts)
    with told_as_source_error(engine, "looking for the schema"), connect(engine) as connection:
        schema = sa.inspect(connection).default_schema_name or ""
    return tuple(part.casefold() for part in (schema, *parts))
