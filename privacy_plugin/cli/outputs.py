"""What a command writes: which outputs are allowed, and where a result waits until it is judged."""

import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.cli.inputs import Input
from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source, sql_table
from privacy_plugin.sources.sql.connections import connect, redact_driver_errors
from privacy_plugin.sources.sql.dialect import dialect_of
from privacy_plugin.sources.sql.file_formats import require_format
from privacy_plugin.sources.sql.origin import quote_name, split_name

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
        require_format(Path(output))
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
    with redact_driver_errors(engine, "looking for the schema"), connect(engine) as connection:
        schema = sa.inspect(connection).default_schema_name or ""
    return tuple(part.casefold() for part in (schema, *parts))


Waiting = tuple[Input, str, Callable[[], Source]]


@contextmanager
def waiting_place(opened: Input, output: str) -> Iterator[Waiting]:
    """Give the input as it is read from there, the place, and how to open what was written; it is gone afterwards."""
    if opened.engine is None:
        path = Path(output)
        with _private_folder(path.parent) as folder:
            yield opened, str(folder / path.name), lambda: open_source(folder / path.name)
        return
    dialect = dialect_of(opened.engine.dialect)
    with redact_driver_errors(opened.engine, "writing"), connect(opened.engine) as connection:
        if dialect.isolation:
            connection.execution_options(isolation_level=dialect.isolation)
        # readers of the output's schema must not see a table that no gate has judged; where a dialect has no schema
        # for temporary tables, the open transaction hides it
        schema = (dialect.temporary_schema,) if dialect.temporary_schema else split_name(output)[:-1]
        parts = (*schema, f"privacy_plugin_judged_{secrets.token_hex(4)}")
        name = ".".join(f'"{part}"' for part in parts)
        with connection.begin():  # all in one: if it fails or is ended, there was nothing
            held = replace(opened, source=sql_table(connection, opened.name), session=connection)
            yield held, name, lambda: sql_table(connection, name)
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {quote_name(parts, connection.dialect)}"))


@contextmanager
def _private_folder(beside: Path) -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix=".privacy_plugin_", dir=beside)  # for nobody but the user
    except OSError as problem:
        raise SourceError(f"cannot write into {str(beside)!r}: {type(problem).__name__}") from None
    with folder as path:
        yield Path(path)


def same_data(policy: Policy, verdict: Verdict) -> Callable[[Source], None]:
    """Return a check that the copy which is put in place is the table that was judged."""

    def verify(copy: Source) -> None:
        if copy.fingerprint(policy.rules.released) != verdict.fingerprint:
            raise SourceError("the table changed while it was judged; nothing was written")

    return verify
