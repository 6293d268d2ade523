"""A source whose numeric columns are treated before anything else sees them: top coding, rounding, microaggregation."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.class_profiles import ClassProfiles
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.treatment import Treatment
from privacy_plugin.frequency.values import Key, Value, key
from privacy_plugin.sources.population_join import JoinedGroups, Meaning
from privacy_plugin.sources.protocol import Source
from privacy_plugin.sources.without_columns import WithoutColumns


class TreatedColumns(WithoutColumns):
    """A source as it is after the treatments, which it counts in groups and writes in its engine when it is recoded."""

    def __init__(self, source: Source, treatments: Mapping[str, Treatment]) -> None:
        super().__init__(source, ())
        self._treatments = {name: one for name, one in treatments.items() if name in source.columns}

    @cached_property
    def mappings(self) -> dict[str, dict[Key, Value]]:
        """The new value of every value of the treated columns, by its key; only values and counts are read."""
        found = {}
        for name, treatment in self._treatments.items():
            table = self._source.frequencies([name])
            values = table.dictionary(name)
            counts = np.bincount(table.column_codes(name), weights=table.counts, minlength=len(values))
            new = treatment.mapping(name, values, counts.astype(np.int64))
            found[name] = {key(old): changed for old, changed in zip(values, new, strict=True)}
        return found

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count the rows by their new values."""
        table = self._source.frequencies(columns, unit=unit)
        treated = [name for name in self._treatments if name in table.columns]
        if not treated:
            return table
        if unit is not None:
            raise ParameterError("people with several rows cannot be counted by treated columns; make one row a person")
        recoded = {}
        for name in treated:
            codes: dict[Key, int] = {}
            values: list[Value] = []
            for old in table.dictionary(name):
                new = self.mappings[name][key(old)]
                if key(new) not in codes:
                    codes[key(new)] = len(values)
                    values.append(new)
            places = [codes[key(self.mappings[name][key(old)])] for old in table.dictionary(name)]
            recoded[name] = np.array(places, dtype=np.int64), tuple(values)
        return table.recode(recoded)

    def class_profiles(
        self, quasi_identifiers: Sequence[str], sensitive: str | None = None, *, first_rows: int | None = None
    ) -> ClassProfiles | None:
        """Count classes in the engine where no column is treated; otherwise the caller counts groups."""
        if {*quasi_identifiers, sensitive} & set(self._treatments):
            return None
        return super().class_profiles(quasi_identifiers, sensitive, first_rows=first_rows)

    def joined_groups(
        self, population: Source, columns: Sequence[str], meaning: Meaning | None = None, *, profiled: bool = False
    ) -> JoinedGroups | None:
        """Join in the engine where no column is treated; otherwise the caller joins groups."""
        if set(columns) & set(self._treatments):
            return None
        return super().joined_groups(population, columns, meaning, profiled=profiled)

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Open a snapshot with the same treatments."""
        with self._source.snapshot() as snapshot:
            yield TreatedColumns(snapshot, self._treatments)

    def recode(self, recoding: Recoding, *, target: str | None = None) -> Any:
        """Write the recoded table, whose recoding is in terms of treated values."""
        return self._source.recode(self._composed(recoding), target=target)

    def _composed(self, recoding: Recoding) -> Recoding:
        """Return the recoding in terms of the values of the wrapped source."""
        mappings = {name: dict(mapping) for name, mapping in recoding.mappings.items()}
        typed = list(recoding.typed)
        for name in self._treatments:
            if name not in recoding.keep or name in recoding.combined_columns:
                continue
            table = self._source.frequencies([name])
            later = {key(old): new for old, new in mappings.get(name, {}).items()}
            new = {old: self.mappings[name][key(old)] for old in table.dictionary(name)}
            if name not in mappings:
                typed.append(name)
            mappings[name] = {old: later[key(value)] if later else value for old, value in new.items()}
        combined, suppressed = recoding.combined, recoding.suppressed
        if set(recoding.combined_columns) & set(self._treatments):
            names = recoding.combined_columns
            table = self._source.frequencies(names)
            known = {tuple(map(key, old)): new for old, new in recoding.combined}
            gone = {tuple(map(key, old)) for old in recoding.suppressed}
            pairs = []
            for row in range(table.distinct):
                old = table.values(row)
                treated = tuple(
                    key(self.mappings[name][key(value)] if name in self._treatments else value)
                    for name, value in zip(names, old, strict=True)
                )
                pairs.append((old, known[treated], treated in gone))
            combined = tuple((old, new) for old, new, _ in pairs)
            suppressed = frozenset(old for old, _, out in pairs if out)
        return replace(recoding, mappings=mappings, combined=combined, suppressed=suppressed, typed=tuple(typed))
