"""A place beside the output where a result waits until it was judged."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.commands.inputs import Input
from privacy_plugin.errors import SourceError
from privacy_plugin.gate import Verdict
from privacy_plugin.policy import Policy
from privacy_plugin.sources import Source, open_source, sql_table
from privacy_plugin.sources.sql_origin import quote_name, split_name


@contextmanager
def waiting_place(opened: Input, output: str) -> Iterator[tuple[str, Callable[[], Source]]]:
    """Give a place beside the output, and how to open what was written there; it is gone afterwards."""
    if opened.engine is None:
        path = Path(output)
        staging = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
        try:
            yield str(staging), lambda: open_source(staging)
        finally:
            staging.unlink(missing_ok=True)
        return
    engine = opened.engine
    parts = (*split_name(output)[:-1], f"privacy_plugin_judged_{secrets.token_hex(4)}")
    name = ".".join(f'"{part}"' for part in parts)
    try:
        yield name, lambda: sql_table(engine, name)
    finally:
        with engine.begin() as connection:
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {quote_name(parts, engine.dialect)}"))


def same_data(policy: Policy, verdict: Verdict) -> Callable[[Source], None]:
    """Return a check that the copy which is put in place is the table that was judged."""

    def verify(copy: Source) -> None:
        if copy.fingerprint(policy.rules.released) != verdict.fingerprint:
            raise SourceError("the table changed while it was judged; nothing was written")

    return verify
