"""Two tables of one engine: their groups are joined there, and both are seen at one moment.

Of a population only the groups that the table has too come back, and one sum of everybody else. The engine joins by
adding the groups of both under each other and grouping once more: unlike an equality, a grouping calls two missing
values the same, in every engine, and never compares all with all.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.shared_population import SharedPopulation
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.protocol import Source


@dataclass(frozen=True, kw_only=True, eq=False)
class JoinedGroups:
    """A table's groups, and what of the population is in them and elsewhere."""

    table: FrequencyTable
    population: SharedPopulation


def join_groups(table: Source, population: Source, columns: Sequence[str]) -> JoinedGroups | None:
    """Join in the engine that both live in; None where they do not, or where it could not compare as we do.

    That is so where a column has two types: what engines make of text beside numbers differs, and the groups of both,
    compared by meaning, tell it. Groups with more rows than people are left to that comparison too: it says why.
    """
    join = getattr(table, "joined_groups", None)
    return None if join is None else join(population, columns)


@contextmanager
def snapshots(table: Source, population: Source | None) -> Iterator[tuple[Source, Source | None]]:
    """Open both at one state; two tables of one database in one transaction, so that they also belong together."""
    with ExitStack() as stack:
        held = stack.enter_context(table.snapshot())
        if population is None:
            yield held, None
            return
        beside = getattr(population, "beside", None)
        together = None if beside is None else beside(table, held)
        yield held, stack.enter_context(population.snapshot() if together is None else together)


def joined_table(
    columns: Sequence[str], coded: Sequence[CodedColumn], rows: Any, people: Any, groups: Any
) -> JoinedGroups | None:
    """Build both from an engine's answer: a line a group of the table, and at most one without rows, the others."""
    inside = np.asarray(rows) > 0
    others = np.flatnonzero(~inside)
    if (people[inside] < rows[inside]).any():
        return None
    return JoinedGroups(
        table=_grouped(columns, coded, inside, rows),
        population=SharedPopulation(
            groups=_grouped(columns, coded, inside, people),
            other_people=int(people[others].sum()),
            other_groups=int(groups[others].sum()),
        ),
    )


def _grouped(columns: Sequence[str], coded: Sequence[CodedColumn], chosen: Any, counts: Integers) -> FrequencyTable:
    return FrequencyTable.from_columns(
        columns, [column.codes[chosen] for column in coded], [column.values for column in coded], counts[chosen]
    )
