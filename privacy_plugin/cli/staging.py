"""A place where a result waits until it was judged, and where nobody else sees it."""

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.cli.inputs import Input
from privacy_plugin.errors import SourceError
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.policy.policy import Policy
from privacy_plugin.sources import Source, open_source, sql_table
from privacy_plugin.sources.sql.dialect import rules_of
from privacy_plugin.sources.sql.errors import connect, told_as_source_error
from privacy_plugin.sources.sql.origin import quote_name, split_name

# Where tables of a session are: in the place of the output, whoever reads releases would read what no gate has judged,
# and the unit with it. DuckDB has none that can be renamed; but nothing of a transaction is seen before its end.
_TEMPORARY = {"postgresql": ("pg_temp",), "sqlite": ("temp",)}

Waiting = tuple[Input, str, Callable[[], Source]]


@contextmanager
def waiting_place(opened: Input, output: str) -> Iterator[Waiting]:
    """Give the input as it is read from there, the place, and how to open what was written; it is gone afterwards."""
    if opened.engine is None:
        path = Path(output)
        with _private_folder(path.parent) as folder:
            yield opened, str(folder / path.name), lambda: open_source(folder / path.name)
        return
    isolation = rules_of(opened.engine.dialect).isolation
    with told_as_source_error(opened.engine, "writing"), connect(opened.engine) as connection:
        if isolation:
            connection.execution_options(isolation_level=isolation)
        place = _TEMPORARY.get(connection.dialect.name, split_name(output)[:-1])
        parts = (*place, f"privacy_plugin_judged_{secrets.token_hex(4)}")
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
