"""Class profiles: the distinct histograms of the classes of a table, and how many classes have each of them.

A class-wise metric does not need the quasi-identifiers of a class, only how often every sensitive value occurs in it.
Ten million classes of one or two people have a few thousand such histograms, which an engine counts itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privacy_plugin.errors import ColumnError, ParameterError
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.frequency.table import Classes, FrequencyTable, Histograms, canonical_dictionary
from privacy_plugin.frequency.values import require_unambiguous_values


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassProfiles(FrequencyTable):
    """The histograms of the classes of some quasi-identifiers, in place of the classes themselves.

    Row r says that `counts[r]` people of every class with histogram `profiles[r]` have one sensitive value, the only
    column of `codes`; without a sensitive column there is one row for each class size. `repeats[p]` classes have
    histogram p. The values of the quasi-identifiers are not known.

    >>> found = class_sizes(["age"], sizes=[1, 2], repeats=[5, 3])
    >>> found.rows, found.classes(["age"]).number
    (11, 8)
    """

    quasi_identifiers: tuple[str, ...]
    profiles: Integers = field(repr=False)
    repeats: Integers = field(repr=False)

    @property
    def rows(self) -> int:
        """The number of rows of the source."""
        return int((self.counts * self.repeats[self.profiles]).sum())

    def project(self, columns: Sequence[str]) -> FrequencyTable:
        """Leave out the sensitive column; no other columns can be told apart."""
        if set(columns) == set(self.columns):
            return self
        if set(columns) != set(self.quasi_identifiers):
            raise ParameterError("class profiles cannot be grouped by other columns; group the source")
        return class_sizes(self.quasi_identifiers, sizes=self._sizes, repeats=self.repeats)

    def classes(self, quasi_identifiers: Sequence[str]) -> Classes:
        """Return one class for each histogram, with the number of classes that have it."""
        self.require_rows()
        if set(quasi_identifiers) != set(self.quasi_identifiers):
            raise ColumnError("class profiles were counted by other quasi-identifiers; group the source")
        return Classes(
            quasi_identifiers=tuple(quasi_identifiers),
            members=self.profiles,
            sizes=self._sizes,
            example_rows=np.searchsorted(self.profiles, np.arange(len(self.repeats))),
            repeats=self.repeats,
        )

    def histograms(self, quasi_identifiers: Sequence[str], sensitive: str) -> Histograms:
        """Return the distinct histograms; raise if two sensitive values look alike."""
        if self.columns != (*self.quasi_identifiers, sensitive):
            raise ColumnError(f"class profiles were counted without the sensitive column {sensitive!r}")
        require_unambiguous_values(self.dictionaries[-1], sensitive)
        lengths = np.bincount(self.profiles, minlength=len(self.repeats))
        return Histograms(
            table=self,
            classes=self.classes(quasi_identifiers),
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            values=self.codes[:, -1],
            counts=self.counts,
            dictionary=self.dictionaries[-1],
        )

    @property
    def _sizes(self) -> Integers:
        return sum_by(self.profiles, self.counts, len(self.repeats))


def class_sizes(quasi_identifiers: Sequence[str], *, sizes: Any, repeats: Any) -> ClassProfiles:
    """Return the profiles of classes of which only the size is known."""
    people, times = np.asarray(sizes, dtype=np.int64), np.asarray(repeats, dtype=np.int64)
    order = np.argsort(people, kind="stable")
    return ClassProfiles(
        columns=tuple(quasi_identifiers),
        codes=np.zeros((len(people), 0), dtype=np.int32),
        counts=people[order],
        dictionaries=((),) * len(quasi_identifiers),
        quasi_identifiers=tuple(quasi_identifiers),
        profiles=np.arange(len(people), dtype=np.int64),
        repeats=times[order],
    )


def class_histograms(
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    profiles: Integers,
    codes: Integers,
    counts: Integers,
    raw_values: Sequence[Any],
    repeats: Integers,
) -> ClassProfiles:
    """Return profiles with the counts of sensitive values.

    Entry e: in histogram `profiles[e]` the value `raw_values[codes[e]]` occurs `counts[e]` times. Entries of one
    histogram whose values mean the same are added. Histograms are sorted, so that the result does not depend on the
    engine's order.
    """
    used, codes = np.unique(codes, return_inverse=True)  # a value that does not occur has no place in the order
    positions, dictionary = canonical_dictionary([raw_values[code] for code in used.tolist()])
    values = positions[codes].astype(np.int64)
    members, first = group(*pack([profiles, values], [len(repeats), len(dictionary)]))
    entry_profiles, entry_values = profiles[first], values[first]
    entry_counts = sum_by(members, counts, len(first))
    order = np.lexsort((entry_values, entry_profiles))
    entry_profiles, entry_values, entry_counts = entry_profiles[order], entry_values[order], entry_counts[order]
    starts = np.searchsorted(entry_profiles, np.arange(len(repeats) + 1))
    lengths = np.diff(starts)
    shapes = [
        (entry_values[start:stop].tolist(), entry_counts[start:stop].tolist())
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    ranked = np.array(sorted(range(len(shapes)), key=shapes.__getitem__), dtype=np.int64)
    moved = np.repeat(starts[:-1][ranked] - np.concatenate([[0], np.cumsum(lengths[ranked])[:-1]]), lengths[ranked])
    entries = np.arange(len(entry_values), dtype=np.int64) + moved
    return ClassProfiles(
        columns=(*quasi_identifiers, sensitive),
        codes=entry_values[entries].astype(np.int32).reshape(-1, 1),
        counts=entry_counts[entries],
        dictionaries=(*((),) * len(quasi_identifiers), dictionary),
        quasi_identifiers=tuple(quasi_identifiers),
        profiles=np.repeat(np.arange(len(repeats), dtype=np.int64), lengths[ranked]),
        repeats=np.asarray(repeats, dtype=np.int64)[ranked],
    )
