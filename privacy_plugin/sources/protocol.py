"""The `Source` protocol: what every engine can do with a table."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.numbered_rows import NumberedRows


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """Identifies the content of a table: equal fingerprints mean the same rows, in any order.

    `scheme` names the rule by which rows became bytes, one for each engine; digests of different schemes cannot be
    compared. `columns` is sorted, and the digest covers their names. See `privacy_plugin.sources.fingerprint` for what
    the digest detects and what it does not.
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


class RehearsalDone(Exception):  # noqa: N818  not an error: it rolls a successful rehearsal back
    """Raised when a rehearsal has written all rows, to undo it."""


@runtime_checkable
class Source(Protocol):
    """A table in some engine, which groups, fingerprints, recodes and publishes it.

    Only groups come back from the engine, never single rows.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""

    @property
    def engine(self) -> str:
        """The name of the engine."""

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count the rows (with `unit`: its distinct values) of every combination of values of the columns."""

    def row_count(self) -> int:
        """Count the rows."""

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content of these columns (default: all), independent of the order of rows and columns."""

    def snapshot(self) -> AbstractContextManager["Source"]:
        """Open a snapshot: all queries see one state of the table."""

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Write the recoded table in the same engine.

        A frame returns a new frame of its kind and takes no target. A database table needs the name, a file the path
        of a target, which is replaced only when everything succeeded.
        """

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[["Source"], None]) -> Any:
        """Copy columns to a staging table, call `verify` on it, and only then replace the target.

        The copy's rows are ordered by their content or at random. The order of the source could identify people: it may
        be the order of names, of arrival, or of another release.
        """

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[["Source"], None]) -> Any:
        """Write rows that were drawn in Python as a new table of this engine, staged and verified as in `publish`."""

    def distribute(
        self,
        columns: Sequence[str],
        make: "BuildTables",
        *,
        targets: Sequence[str] | None,
        verify: "VerifyTables",
    ) -> tuple[Any, ...]:
        """Group columns, let `make` decide which tables to build from the groups, and write them in the same engine.

        Everything happens in one snapshot. The tables are staged, `verify` is called on all of them, and only then they
        replace their targets, together. A table is made of `NumberedRows`, which repeat examples of the engine, or is
        a frequency table of other rows. Frames return frames of their kind and take no targets. A database or a file
        needs a target for each table; without targets it returns pandas frames. Only the groups, and two or three whole
        numbers for every row written, cross between Python and the engine.
        """


BuildTables = Callable[[FrequencyTable], Sequence[NumberedRows | FrequencyTable]]
VerifyTables = Callable[[Sequence[Source]], None]


def count_people(source: Source, unit: str) -> int:
    """Count the distinct values of the unit: in the engine if it can, otherwise by its groups."""
    counted = getattr(source, "count_people", None)
    return source.frequencies([unit]).distinct if counted is None else int(counted(unit))


def require_column_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Return the names as a tuple; raise if one is not a string, empty or repeated."""
    if not all(isinstance(name, str) for name in names):
        position = next(i for i, name in enumerate(names, start=1) if not isinstance(name, str))
        raise ColumnError(f"the name of column {position} of {len(names)} is not a string; rename the column")
    if "" in names:
        raise ColumnError(
            f"column {list(names).index('') + 1} of {len(names)} has no name; name every column "
            "(pandas writes its index without a name; pass index=False to to_csv)"
        )
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise ColumnError(f"the table has more than one column named {', '.join(map(repr, repeated))}")
    if not names:
        raise ColumnError("the table has no columns")
    return tuple(str(name) for name in names)


def require_distinct_ignoring_case(names: Sequence[str], engine: str) -> None:
    """Raise if two names differ only in case, for an engine that ignores case in names."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise ColumnError(
                f"the columns {other!r} and {name!r} differ only in case, which {engine} ignores; rename one"
            )
