"""Redact the errors of drivers and engines: their messages may quote data, SQL and passwords."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from privacy_plugin.errors import SourceError


def type_name(error: BaseException) -> str:
    """Return the name of an exception's class, which never holds data."""
    return type(error).__name__


@dataclass(frozen=True, kw_only=True)
class ForeignErrors:
    """The exceptions of one engine, and what of them an error of ours may repeat.

    `place` is where the work failed ("in DuckDB"), if `doing` does not name it. `describe` returns text free of data.
    """

    classes: tuple[type[BaseException], ...]
    place: str = ""
    describe: Callable[[BaseException], str] = type_name


@contextmanager
def redact_errors(doing: str, foreign: ForeignErrors) -> Iterator[None]:
    """Raise SourceError instead of an engine's exception, without its message and without a chain to it."""
    try:
        yield
    except foreign.classes as error:
        where = f" {foreign.place}" if foreign.place else ""
        raise SourceError(f"{doing} failed{where}: {foreign.describe(error)}") from None
