"""A release and its original over the same leaves, which all parts of usability are counted from.

A *leaf* is a value that a column can have before anything is generalized: the values of the original, and those that
the column's hierarchy lists. A label of a release covers the leaves that become it on some level, so that rows of one
column may be on different levels; a label that describes what occurs in a class (`20-34`, `{a, b}`) covers just that.
`*` covers every leaf, and so does a missing value where the original has none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.numbers import as_number
from privacy_plugin.frequency.values import SUPPRESSED, Value, key, label, require_unambiguous_values
from privacy_plugin.metrics.generated_pair import require_common_value
from privacy_plugin.metrics.presence.population_join import ancestors, require_hierarchies

Floats = npt.NDArray[np.float64]
Hierarchies = Mapping[str, Hierarchy]

_OR_MISSING = " or missing"
_RANGE = re.compile(r"(-?[0-9.]+)(?:-| to )(-?[0-9.]+)")


@dataclass(frozen=True, kw_only=True, eq=False)
class Coverage:
    """For every label of a column the leaves it covers: `members[starts[i] : starts[i + 1]]`, in ascending order.

    `lost` marks the labels that carry no information: `*`, or a missing value where the original has none.
    """

    column: str
    leaves: int
    starts: Integers
    members: Integers
    lost: npt.NDArray[np.bool_]

    @cached_property
    def widths(self) -> Integers:
        """How many leaves each label covers."""
        return np.diff(self.starts)

    def shares_within(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """Return for every label the share of its leaves that are among the chosen ones."""
        within = np.add.reduceat(chosen[self.members].astype(np.int64), self.starts[:-1])
        return np.asarray(within / self.widths)

    def spread(self, counts: Integers) -> Floats:
        """Spread the rows of every label evenly over the leaves it covers; returns the rows of every leaf."""
        weights = np.repeat(counts / self.widths, self.widths)
        return np.bincount(self.members, weights=weights, minlength=self.leaves).astype(np.float64)

    def table(self, lines_of: Integers, labels: Integers, counts: Integers, *, lines: int) -> Floats:
        """Spread counted pairs (line, label of this column) evenly; returns the rows of every line and leaf."""
        widths = self.widths[labels]
        within = np.arange(int(widths.sum()), dtype=np.int64) - np.repeat(np.cumsum(widths) - widths, widths)
        leaves = self.members[np.repeat(self.starts[labels], widths) + within]
        places = np.repeat(lines_of, widths) * self.leaves + leaves
        weights = np.repeat(counts / widths, widths)
        spread = np.bincount(places, weights=weights, minlength=lines * self.leaves)
        return spread.astype(np.float64).reshape(lines, self.leaves)


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """The leaves of a column, numbers and dates in their order; `ordered` tells whether all of them are such."""

    column: str
    leaves: tuple[Value, ...] = field(repr=False)
    ordered: bool
    hierarchy: Hierarchy | None = field(repr=False)
    missing: bool
    stars: bool
    """Whether the original has missing values, and cells that are `*` already."""

    @cached_property
    def _known(self) -> dict[str | None, Integers]:
        """The leaves behind every name that the original or a level of the hierarchy uses."""
        found: dict[str | None, set[int]] = {}
        for number, leaf in enumerate(self.leaves):
            path = () if self.hierarchy is None else ancestors(self.hierarchy, leaf)
            for name in (leaf, *path):
                found.setdefault(_called(name), set()).add(number)
        return {name: np.array(sorted(members), dtype=np.int64) for name, members in found.items()}

    def is_lost(self, value: Value) -> bool:
        """Tell whether a released value carries no information: `*`, or missing where the original has every value.

        Of a column without a hierarchy whose original has `*` too, `*` is a value like any other.
        """
        if value == SUPPRESSED:
            return self.hierarchy is not None or not self.stars
        return value is None and not self.missing

    def covered(self, value: Value) -> Integers:
        """Return the numbers of the leaves that a released value stands for; none where nothing explains it.

        A label that is used for several groups, or for a group and a leaf, covers all of them.
        """
        if self.is_lost(value):
            return np.arange(len(self.leaves), dtype=np.int64)
        known = self._known.get(_called(value))
        if known is None and isinstance(value, str):
            known = np.array(sorted(self._observed(value)), dtype=np.int64)
        return np.zeros(0, dtype=np.int64) if known is None else known

    def _observed(self, text: str) -> set[int]:
        """Read a label that describes a class by what occurs in it: `20-34`, `-5 to 3`, `{a, b}`, `... or missing`."""
        described = text.removesuffix(_OR_MISSING)
        if described.startswith("{") and described.endswith("}"):
            found = self._listed(described[1:-1].split(", "))
        elif ends := _RANGE.fullmatch(described):
            found = self._between(as_number(ends[1]), as_number(ends[2]))
        else:
            found = {*self._known.get(described, ())} if described != text else set()
        missing = self._known.get(None, ()) if described != text else ()
        return {*found, *missing} if found else set()

    def _listed(self, parts: Sequence[str]) -> set[int]:
        """Put the parts of a list together to known values, which may contain commas; none where a part is unknown."""
        read: list[set[int] | None] = [set(), *[None] * len(parts)]  # what the first parts stand for
        for end in range(1, len(parts) + 1):
            for start in range(end):
                known, before = self._known.get(", ".join(parts[start:end])), read[start]
                if known is not None and before is not None:
                    read[end] = {*(read[end] or ()), *before, *known.tolist()}
        return read[-1] or set()

    def _between(self, low: Fraction | None, high: Fraction | None) -> set[int]:
        if low is None or high is None:
            return set()
        numbers = enumerate(map(as_number, self.leaves))
        return {place for place, number in numbers if number is not None and low <= number <= high}

    def coverage(self, values: Sequence[Value], counts: Integers) -> Coverage:
        """Resolve the values of a released column; `counts` has the number of rows of each."""
        members = [self.covered(value) for value in values]
        unexplained = np.array([not len(each) for each in members], dtype=bool)
        if unexplained.any():
            raise ColumnError(_unexplained(self, int(counts[unexplained].sum())))
        return Coverage(
            column=self.column,
            leaves=len(self.leaves),
            starts=np.concatenate([[0], np.cumsum([len(each) for each in members])]).astype(np.int64),
            members=np.concatenate(members),
            lost=np.array([self.is_lost(value) for value in values], dtype=bool),
        )

    def places(self, values: Sequence[Value]) -> Integers:
        """Return the number of the leaf that each value of the original is."""
        numbers = {key(leaf): number for number, leaf in enumerate(self.leaves)}
        return np.array([numbers[key(value)] for value in values], dtype=np.int64)


def covered_leaves(label: Value, hierarchy: Hierarchy | None, leaves: Sequence[Value]) -> tuple[Value, ...]:
    """Return which of the leaves a released label stands for, on whatever level; none where no level explains it.

    >>> from privacy_plugin.frequency.hierarchy_builders import interval_hierarchy
    >>> covered_leaves("[20, 40)", interval_hierarchy(start=0, stop=80, widths=[20]), [18, 20, 39, 40])
    (20, 39)
    """
    domain = _domain("", leaves, hierarchy, originals=leaves)
    return tuple(domain.leaves[number] for number in domain.covered(label).tolist())


def domain_of(column: str, originals: Sequence[Value], hierarchy: Hierarchy | None) -> Domain:
    """Return the leaves of a column: the original's values, and all others that its hierarchy lists."""
    known = {_called(value) for value in originals}
    listed = [value for value in getattr(hierarchy, "values", ()) if value not in (None, SUPPRESSED)]
    leaves = [*originals, *(value for value in listed if _called(value) not in known)]
    return _domain(column, leaves, hierarchy, originals=originals)


def _domain(column: str, leaves: Sequence[Value], hierarchy: Hierarchy | None, *, originals: Sequence[Value]) -> Domain:
    present = [value for value in leaves if value is not None]
    numbers = {label(value): as_number(value) for value in present}
    numeric = bool(present) and None not in numbers.values()

    def rank(value: Value) -> tuple[bool, Fraction, str]:
        return value is not None, (numbers.get(label(value)) if numeric else None) or Fraction(0), label(value)

    return Domain(
        column=column,
        leaves=tuple(sorted(leaves, key=rank)),
        ordered=numeric or (bool(present) and all(isinstance(value, date) for value in present)),
        hierarchy=hierarchy,
        missing=any(value is None for value in originals),
        stars=SUPPRESSED in originals,
    )


def _called(value: Value) -> str | None:
    """The name of a value, the same for a number and its text: recoding writes text."""
    return None if value is None else label(value)


def _unexplained(domain: Domain, rows: int) -> str:
    those = "1 row of the release holds" if rows == 1 else f"{rows:,} rows of the release hold"
    if domain.hierarchy is None:
        return (
            f"column {domain.column!r}: {those} a value that the original does not have, and no hierarchy explains it; "
            "give the hierarchy that the column was generalized with"
        )
    return (
        f"column {domain.column!r}: {those} a value that is neither one of the original nor a label of its hierarchy; "
        "give the hierarchy that the column was generalized with"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One of the two tables: its distinct rows, and what the values of every column cover."""

    table: FrequencyTable
    coverages: tuple[Coverage, ...]

    def label_counts(self, position: int) -> Integers:
        """Return how many rows have each value of a column."""
        return _label_counts(self.table, position)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedTables:
    """Both tables, their columns in the order of names: no part depends on the order in which they were given."""

    columns: tuple[str, ...]
    generalized: tuple[str, ...]
    """The columns that have a hierarchy, all columns where none has."""
    domains: tuple[Domain, ...]
    original: Side
    released: Side

    @property
    def rows(self) -> int:
        """How many rows the larger of the two tables has."""
        return max(self.original.table.rows, self.released.table.rows)

    @property
    def dropped(self) -> int:
        """How many rows of the original the release lacks."""
        return max(self.original.table.rows - self.released.table.rows, 0)

    @cached_property
    def suppressed(self) -> int:
        """How many rows were dropped, or carry no information in any generalized column."""
        silent = np.ones(self.released.table.distinct, dtype=bool)
        for position, name in enumerate(self.columns):
            if name in self.generalized:
                silent &= self.released.coverages[position].lost[self.released.table.codes[:, position]]
        return self.dropped + int(self.released.table.counts[silent].sum())


def compare_tables(
    released: FrequencyTable,
    original: FrequencyTable,
    *,
    attributes: Sequence[str],
    hierarchies: Hierarchies | None,
    generated: bool = False,
) -> ComparedTables:
    """Resolve every label of a release over the leaves of its original; raises where nothing explains one.

    Of a `generated` table, values that the original lacks are leaves too, in columns without a hierarchy. Hierarchies
    of columns that are not compared are ignored: a policy hands over those of all its columns.
    """
    require_hierarchies(hierarchies)
    if not attributes:
        raise ColumnError("usability needs at least one column to compare")
    columns = tuple(sorted(attributes))
    known = {name: hierarchy for name, hierarchy in (hierarchies or {}).items() if name in columns}
    for table in (released, original):
        table.require_rows()
        table.require_one_row_a_person("usability")
    first, second = original.project(columns), released.project(columns)
    domains = tuple(
        _either(name, first.dictionary(name), second.dictionary(name))
        if generated and name not in known
        else domain_of(name, first.dictionary(name), known.get(name))
        for name in columns
    )
    return ComparedTables(
        columns=columns,
        generalized=tuple(known) or columns,
        domains=domains,
        original=Side(
            table=first,
            coverages=tuple(_itself(domain, first.dictionary(domain.column)) for domain in domains),
        ),
        released=Side(
            table=second,
            coverages=tuple(
                domain.coverage(second.dictionary(domain.column), _label_counts(second, position))
                for position, domain in enumerate(domains)
            ),
        ),
    )


def require_ungeneralized(
    released: FrequencyTable, original: FrequencyTable, *, attributes: Sequence[str], hierarchies: Hierarchies | None
) -> None:
    """Raise if a column holds labels that stand for several values, for metrics that compare exact values."""
    for name in attributes:
        hierarchy = (hierarchies or {}).get(name)
        if hierarchy is None:
            continue
        domain, table = domain_of(name, original.dictionary(name), hierarchy), released.project([name])
        general = np.array([len(domain.covered(value)) > 1 for value in table.dictionary(name)], dtype=bool)
        if general.any():
            rows = int(table.counts[general[table.codes[:, 0]]].sum())
            those = "1 row holds a generalized label" if rows == 1 else f"{rows:,} rows hold generalized labels"
            raise ColumnError(
                f"column {name!r}: {those}, and this metric compares exact values; ask "
                "usability or query_error, which know what labels stand for"
            )


def _either(column: str, original: Sequence[Value], generated: Sequence[Value]) -> Domain:
    """Take the values of both tables for leaves, if they have one in common and none is another one's text."""
    require_common_value(original, generated, column)
    either = list({key(value): value for value in (*original, *generated)}.values())
    require_unambiguous_values(either, column)
    return domain_of(column, either, None)


def _itself(domain: Domain, values: Sequence[Value]) -> Coverage:
    """Every value of the original covers itself."""
    return Coverage(
        column=domain.column,
        leaves=len(domain.leaves),
        starts=np.arange(len(values) + 1, dtype=np.int64),
        members=domain.places(values),
        lost=np.zeros(len(values), dtype=bool),
    )


def _label_counts(table: FrequencyTable, position: int) -> Integers:
    return sum_by(table.codes[:, position].astype(np.int64), table.counts, table.cardinalities[position])
