"""A source that hides some of its columns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.population_join import JoinedGroups, Meaning, join_groups
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, Source, VerifyTables, count_people


class WithoutColumns:
    """A source that hides some of its columns: a table as it would be without its identifiers."""

    def __init__(self, source: Source, hidden: Sequence[str]) -> None:
        self._source = source
        self._hidden = tuple(hidden)
        self.columns = tuple(name for name in source.columns if name not in hidden)
        self.engine = source.engine

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count rows of the wrapped source."""
        return self._source.frequencies(columns, unit=unit)

    @property
    def bind(self) -> Any:
        """The engine or connection of the table's database, or None."""
        return getattr(self._source, "bind", None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the place of the table keeps besides its rows."""
        return tuple(getattr(self._source, "notes", ()))

    @property
    def rehearse_rows(self) -> Any:
        """The rehearsal of the wrapped source, or None if it has none."""
        return getattr(self._source, "rehearse_rows", None)

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes by their profile, if the engine can."""
        profile = getattr(self._source, "class_profiles", None)
        return None if profile is None else profile(quasi_identifiers, sensitive, first_rows=first_rows)

    def count_people(self, unit: str) -> int:
        """Count the people of the wrapped source."""
        return count_people(self._source, unit)

    def joined_groups(
        self,
        population: Source,
        columns: Sequence[str],
        meaning: Meaning | None = None,
        *,
        profiled: bool = False,
    ) -> JoinedGroups | None:
        """Join with the groups of a population, if the engine can."""
        return join_groups(self._source, population, columns, meaning, profiled=profiled)

    def row_count(self) -> int:
        """Count the rows."""
        return self._source.row_count()

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content of the visible columns."""
        return self._source.fingerprint(self.columns if columns is None else columns)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Open a snapshot with the same columns hidden."""
        with self._source.snapshot() as snapshot:
            yield WithoutColumns(snapshot, self._hidden)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Recode the wrapped source."""
        return self._source.recode(recoding, target=target)

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Publish columns of the wrapped source."""
        return self._source.publish(target, columns=columns, verify=verify)

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Distribute rows of the wrapped source."""
        return self._source.distribute(columns, make, targets=targets, verify=verify)

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> Any:
        """Write other rows to the engine of the wrapped source."""
        return self._source.write_rows(rows, target=target, verify=verify)
