"""A release and its original over the same leaves, which all parts of usability are counted from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.values import Value, key, require_unambiguous_values
from privacy_plugin.metrics.generated_pair import require_common_value
from privacy_plugin.metrics.presence.population_join import require_hierarchies
from privacy_plugin.metrics.usability.coverage import Coverage, Domain, Hierarchies, domain_of


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
