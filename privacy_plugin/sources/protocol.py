"""What every source can do, whatever engine it stands for."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.numbered import NumberedRows


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """What identifies the content of a table: equal fingerprints mean the same rows, in whatever order.

    `scheme` names the rule by which rows became bytes (one an engine): digests of different schemes say nothing
    about each other. `columns` is sorted; the digest covers their names. `privacy_plugin.sources.fingerprint` says
    what the digest protects against and what it does not.
    """

    rows: int
    digest: str
    scheme: str
    columns: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for certificates."""
        return {
            "rows": self.rows,
            "digest": self.digest,
            "scheme": self.scheme,
            "columns": list(self.columns),
        }


class Rehearsed(Exception):  # noqa: N818  all went well
    """All rows have arrived where they should; they go no further."""


@runtime_checkable
class Source(Protocol):
    """A table somewhere: grouped, fingerprinted, recoded and published where it lies.

    Only groups come back from the engine, never its rows.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""

    @property
    def engine(self) -> str:
        """The name of the engine that does the work."""

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count the rows (with `unit`: its distinct values) of every combination of values of the columns."""

    def row_count(self) -> int:
        """Count the rows."""

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content of these columns (all, if not given), whatever the order of rows and columns."""

    def snapshot(self) -> AbstractContextManager["Source"]:
        """Open a view of the table whose queries all see one state."""

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Write the recoded table in the same engine.

        A frame returns a new frame of its kind (no target); a database table needs the name and a file the path
        of a target, which is replaced only when all has gone well.
        """

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[["Source"], None]) -> Any:
        """Copy columns aside, let `verify` look at the copy, and only then put it in the target's place.

        The copy's rows stand in the order of their content, or in a random one: in that of the source they would still
        tell who is who, where that is the order of names, of arrival, or of another release.
        """

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[["Source"], None]) -> Any:
        """Write rows that were drawn in this process as a new table of this engine, in the manner of `publish`."""

    def distribute(
        self,
        columns: Sequence[str],
        make: "Make",
        *,
        targets: Sequence[str] | None,
        verify: "VerifyAll",
    ) -> tuple[Any, ...]:
        """Group columns, let `make` say which tables to make of the groups, and write those in the same engine.

        All of one state of the data. They are written aside, `verify` looks at all of them, and only then they are put
        in place, together. Frames return frames of their kind (no targets). A database or a file needs a target for
        each; without, it returns pandas frames. Only the groups and, for every row written, two or three whole numbers
        cross between this process and the engine.
        """


Make = Callable[[FrequencyTable], Sequence[NumberedRows]]
VerifyAll = Callable[[Sequence[Source]], None]


def checked_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Refuse names that are no text, empty or used twice: a column must be found by its name alone."""
    if not all(isinstance(name, str) for name in names):
        position = next(i for i, name in enumerate(names, start=1) if not isinstance(name, str))
        raise ColumnError(f"column {position} of {len(names)} has a name that is no text; rename it to a string")
    if "" in names:
        raise ColumnError(
            f"column {list(names).index('') + 1} of {len(names)} has no name; name every column "
            "(pandas writes its index so, unless to_csv has index=False)"
        )
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise ColumnError(f"the table has more than one column named {', '.join(map(repr, repeated))}")
    if not names:
        raise ColumnError("the table has no columns")
    return tuple(str(name) for name in names)


def require_distinct_ignoring_case(names: Sequence[str], engine: str) -> None:
    """Refuse names that an engine which ignores case in names could not tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise ColumnError(
                f"the columns {other!r} and {name!r} differ only in case, which {engine} ignores; rename one"
            )
