"""What a command writes: which outputs are allowed, and where a result is staged until it has been judged."""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from privacy_plugin.cli.inputs import Input
from privacy_plugin.cli.terminal import Terminal
from privacy_plugin.errors import ParameterError, SourceError
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.bundle import Bundle, bundle_targets
from privacy_plugin.sources.sql.file_formats import redact_file_errors, require_format
from privacy_plugin.sources.sql.file_release import (
    FilePlace,
    finish_releases,
    open_staging_folder,
    parse_place,
    place_suffix,
)
from privacy_plugin.sources.sql.lake_tables import LakeTable

if TYPE_CHECKING:
    import sqlalchemy as sa  # it loads slowly, and files do not need it

Place = str | Path | None

Staging = tuple[Input, str, Callable[[], Source]]


def require_free_files(written: Iterable[Place], *, read: Iterable[Place], force: bool) -> None:
    """Raise if an output file cannot be written, is an input of the command, or exists already without `force`."""
    inputs = [parse_place(place) for place in read if place is not None]
    outputs: list[FilePlace] = []
    for path in (parse_place(place) for place in written if place is not None):
        if isinstance(path, Path) and not path.parent.is_dir():
            raise ParameterError(f"cannot write {path.name!r}: the folder {str(path.parent)!r} does not exist")
        if any(_is_same_file(path, other) for other in inputs):
            raise ParameterError(f"{str(path)!r} is also an input of this command; write to another file")
        if any(_is_same_file(path, other) for other in outputs):
            raise ParameterError(f"this command would write {str(path)!r} twice; name two different files")
        with redact_file_errors(path):
            if not isinstance(path, LakeTable) and path.is_dir():
                raise ParameterError(f"{str(path)!r} is a folder; name a file")
            _require_free(str(path), exists=path.exists(), force=force)
        outputs.append(path)


def output_tables(opened: Input, output: str, policy: Policy) -> list[str]:
    """Return the tables or files that a release is written to: one, or one for each table of a bundle."""
    parts = policy.rules.tables
    return bundle_targets(output, parts, database=opened.engine is not None) if parts else [output]


def finish_interrupted(terminal: Terminal, opened: Input, outputs: Sequence[str]) -> None:
    """Finish an earlier release of these files that was interrupted between two of them."""
    if opened.engine is None and (finished := finish_releases(_files(outputs))):
        terminal.print_note(f"finished the interrupted release of {', '.join(finished)}")


def _files(outputs: Iterable[str]) -> list[Path]:
    """Return the outputs that are files of this machine."""
    return [place for place in map(parse_place, outputs) if isinstance(place, Path)]


def require_no_earlier_deal(opened: Input, outputs: Sequence[str], policy: Policy) -> None:
    """Raise if a deal or repair was written before: two of the same people intersect, so `--force` does not help."""
    for output in outputs:
        if opened.has_table(output):
            raise ParameterError(
                f"{output!r} exists already. Two {policy.anonymizer.once}s of the same people intersect and disclose "
                "more than either: use what is there; delete it only if nobody has received it"
            )


def require_free_output(
    opened: Input,
    outputs: Sequence[str],
    *,
    written: Iterable[Place],
    tables: Iterable[Place],
    files: Iterable[Place],
    force: bool,
) -> None:
    """Raise if an output table or one of the other `written` files is an input or exists already without `force`.

    `tables` and `files` are the inputs of the command. With a database, tables and files are compared separately.
    """
    if opened.engine is None:
        for place in map(parse_place, outputs):
            if not isinstance(place, LakeTable):
                require_format(place)
        require_free_files([*outputs, *written], read=[*tables, *files], force=force)
        return
    known = {_qualified_name(opened.engine, str(table)) for table in tables if table is not None}
    for output in outputs:
        if _qualified_name(opened.engine, output) in known:
            raise ParameterError(f"{output!r} is also an input of this command; write to another table")
        _require_free(output, exists=opened.has_table(output), force=force)
    require_free_files(written, read=files, force=force)


def _require_free(place: str, *, exists: bool, force: bool) -> None:
    if exists and not force:
        raise ParameterError(f"{place!r} exists already; name another output, or pass --force to replace it")


def _is_same_file(path: FilePlace, other: FilePlace) -> bool:
    if isinstance(path, LakeTable):
        return path.is_same(other)
    if not (isinstance(path, Path) and isinstance(other, Path)):
        return str(path) == str(other)
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def _qualified_name(engine: "sa.Engine", name: str) -> tuple[str, ...]:
    """Return schema and table in lower case; a case-sensitive database then refuses too much, never too little."""
    import sqlalchemy as sa

    from privacy_plugin.sources.sql.connections import connect, redact_driver_errors
    from privacy_plugin.sources.sql.origin import split_name

    parts = split_name(name)[-2:]
    if len(parts) == 2:
        return tuple(part.casefold() for part in parts)
    with redact_driver_errors(engine, "looking for the schema"), connect(engine) as connection:
        schema = sa.inspect(connection).default_schema_name or ""
    return tuple(part.casefold() for part in (schema, *parts))


@contextmanager
def stage_output(opened: Input, output: str, parts: Collection[str] = ()) -> Iterator[Staging]:
    """Yield the input to read, the name of the staging file or table, and a function that opens what was staged.

    Other users cannot read the staging file or table, and it is removed at the end. In a database all happens in one
    transaction: if it fails or is interrupted, nothing remains.
    """
    if opened.engine is None:
        place = parse_place(output)
        with open_staging_folder(place) as folder:
            staged = str(folder / (place.name if place_suffix(place) in place.name.lower() else "staged.parquet"))
            yield opened, staged, lambda: _open_staged(staged, parts, database=False, open_table=open_source)
        return
    import sqlalchemy as sa

    from privacy_plugin.sources import sql_table
    from privacy_plugin.sources.sql.connections import connect, redact_driver_errors
    from privacy_plugin.sources.sql.dialect import PRIVATE_PREFIX, dialect_of
    from privacy_plugin.sources.sql.origin import quote_name, split_name

    dialect = dialect_of(opened.engine.dialect)
    with redact_driver_errors(opened.engine, "writing"), connect(opened.engine) as connection:
        if dialect.isolation:
            connection.execution_options(isolation_level=dialect.isolation)
        # Readers of the output's schema must not see a table that no gate has judged. If a dialect has no schema for
        # temporary tables, the open transaction hides the table.
        schema = (dialect.temporary_schema,) if dialect.temporary_schema else split_name(output)[:-1]
        name = ".".join(f'"{part}"' for part in (*schema, f"{PRIVATE_PREFIX}{secrets.token_hex(4)}"))
        open_table = partial(sql_table, connection)
        names = bundle_targets(name, parts, database=True) if parts else [name]
        dropped = [quote_name(split_name(staged), connection.dialect) for staged in names]
        with ExitStack() as stack:
            source: Source = sql_table(connection, opened.name)
            if dialect.transactional_ddl:
                stack.enter_context(connection.begin())
            else:  # no transaction spans the work: read a private copy, and stage privately
                source = stack.enter_context(sql_table(connection, opened.name).private_copy())
            held = replace(opened, source=source, session=connection)
            yield held, name, lambda: _open_staged(name, parts, database=True, open_table=open_table)
            for each in dropped:
                connection.execute(sa.text(f"{dialect.drop_temporary} {each}"))


def _open_staged(name: str, parts: Collection[str], *, database: bool, open_table: Callable[[str], Source]) -> Source:
    """Open what was staged: one table, or the bundle of several."""
    if not parts:
        return open_table(name)
    names = bundle_targets(name, parts, database=database)
    return Bundle({part: open_table(each) for part, each in zip(parts, names, strict=True)})


def verify_fingerprint(policy: Policy, verdict: Verdict) -> Callable[[Source], None]:
    """Return a function that raises unless the published copy is the table that was judged."""

    def verify(copy: Source) -> None:
        if copy.fingerprint(policy.rules.released) != verdict.fingerprint:
            raise SourceError("the table changed while it was judged; nothing was written. Run the command again")

    return verify
