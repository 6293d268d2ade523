"""Two tables of one engine: their groups are joined there, and both are seen at one moment.

Of a population only the groups that the table has too come back, and one sum of everybody else. The engine joins by
adding the groups of both under each other and grouping once more: unlike an equality, a grouping calls two missing
values the same, in every engine, and never compares all with all.

Where hierarchies say what a table's values stand for, the groups of both are renamed there first: of each column the
distinct values come here, and every group gets the positions of its values in the list of the table's.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.shared_population import SharedPopulation
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.protocol import Source

MEASURES = ("n", "people", "groups")  # rows of the table, people of the population, groups that these people have

Values: TypeAlias = Sequence[Value]

# Given a column, the table's values and the population's: for each of the latter the position of the one value of the
# table that stands for it, if there is one; nothing at all where several do.
Meaning: TypeAlias = Callable[[str, Values, Values], list[int | None] | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class JoinedGroups:
    """A table's groups, and what of the population is in them and elsewhere."""

    table: FrequencyTable
    population: SharedPopulation


def join_groups(
    table: Source, population: Source, columns: Sequence[str], meaning: Meaning | None = None
) -> JoinedGroups | None:
    """Join in the engine that both live in; None where they do not, or where it could not compare as we do.

    That is so where a column has two types, unless a `meaning` is given: what engines make of text beside numbers
    differs, and the groups of both, compared here, tell it. Groups with more rows than people are left to that
    comparison too: it says why. So are people of whom more than one value of the table could speak.
    """
    join = getattr(table, "joined_groups", None)
    return None if join is None else join(population, columns, meaning)


@contextmanager
def snapshots(table: Source, population: Source | None) -> Iterator[tuple[Source, Source | None]]:
    """Open both at one state; two tables of one database in one transaction, so that they also belong together."""
    with ExitStack() as stack:
        held = stack.enter_context(table.snapshot())
        if population is None:
            yield held, None
            return
        yield held, stack.enter_context(opened_beside(population, table, held))


def opened_beside(source: Source, other: Source, held: Source) -> AbstractContextManager[Source]:
    """Open a source at one state: that at which another is held, where both lie in one database."""
    beside = getattr(source, "beside", None)
    together = None if beside is None else beside(other, held)
    return source.snapshot() if together is None else together


@dataclass(frozen=True, kw_only=True, eq=False)
class Renaming:
    """What turns the groups of both tables, columns c0, c1, ... and measures, into groups with names they share."""

    table: Recoding
    population: Recoding
    values: Sequence[Values]
    """For every column the table's values; the names are positions in it, and missing where no value fits."""


def renaming(
    columns: Sequence[str], used: Callable[[str], Values], originals: Callable[[str], Values], meaning: Meaning
) -> Renaming | None:
    """Ask what the values of both tables' grouped columns mean; None where that leaves something open."""
    mappings: tuple[dict[str, dict[Value, Value]], ...] = ({}, {})
    values = []
    for position, column in enumerate(columns):
        label = f"c{position}"
        here, there = used(label), originals(label)
        found = meaning(column, here, there) if here else None
        if found is None:
            return None
        mappings[0][label] = {value: str(place) for place, value in enumerate(here)}
        mappings[1][label] = {v: None if p is None else str(p) for v, p in zip(there, found, strict=True)}
        values.append(here)
    keep = (*mappings[0], *MEASURES)
    table, population = (Recoding(keep=keep, mappings=mapping) for mapping in mappings)
    return Renaming(table=table, population=population, values=values)


def joined_table(
    columns: Sequence[str],
    coded: Sequence[CodedColumn],
    measures: Sequence[Any],
    renamed: Renaming | None = None,
) -> JoinedGroups | None:
    """Build both from an engine's answer: a line a group of the table, and at most one without rows, the others."""
    rows, people, groups = measures
    if renamed is not None:
        coded = [_named_again(column, values) for column, values in zip(coded, renamed.values, strict=True)]
    inside = np.asarray(rows) > 0
    others = np.flatnonzero(~inside)
    if (people[inside] < rows[inside]).any():
        return None
    table = _grouped(columns, coded, inside, rows)
    if table.distinct < inside.sum():  # a driver wrote some alike, or they mean the same: what it is shows there
        return None
    return JoinedGroups(
        table=table,
        population=SharedPopulation(
            groups=_grouped(columns, coded, inside, people),
            other_people=int(people[others].sum()),
            other_groups=int(groups[others].sum()),
        ),
    )


def _named_again(column: CodedColumn, values: Values) -> CodedColumn:
    names = [None if name is None else values[int(name)] for name in column.values]
    return CodedColumn(codes=column.codes, values=names)


def _grouped(columns: Sequence[str], coded: Sequence[CodedColumn], chosen: Any, counts: Integers) -> FrequencyTable:
    return FrequencyTable.from_columns(
        columns, [column.codes[chosen] for column in coded], [column.values for column in coded], counts[chosen]
    )
