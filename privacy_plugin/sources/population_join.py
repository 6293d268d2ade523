"""Join the groups of a table and of a population in the engine that holds both, in one snapshot.

Only the groups of the population that the table has too come back, and one total of all other people. The engine joins
by a union of the groups of both, grouped once more: in every engine grouping treats two missing values as equal, unlike
`=`, and it never compares all groups with all others.

If hierarchies define which original values a table's generalized values stand for, the groups of both are renamed in
the engine first: the distinct values of each column come to Python, and every group gets the positions of its values in
the list of the table's values.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from privacy_plugin.frequency.class_profiles import class_sizes
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.population import CountedPopulation, SharedPopulation
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import Value
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.protocol import Source

PROFILE = ("n", "fit", "repeats", "people", "groups")  # of the groups with n rows and `fit` people, and of all others
MEASURES = ("n", "people", "groups")  # rows of the table, people of the population, groups of these people

Values: TypeAlias = Sequence[Value]

# Given a column, the table's values and the population's values: for each value of the population the position of the
# one value of the table that stands for it, or None. Returns None if several values of the table stand for one.
Meaning: TypeAlias = Callable[[str, Values, Values], list[int | None] | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class JoinedGroups:
    """The groups of a table, and the people of the population inside and outside of them."""

    table: FrequencyTable
    population: SharedPopulation | CountedPopulation


def join_groups(
    table: Source,
    population: Source,
    columns: Sequence[str],
    meaning: Meaning | None = None,
    *,
    profiled: bool = False,
) -> JoinedGroups | None:
    """Join in the engine that holds both; return None if there is none, or if it would compare differently.

    With `profiled`, groups of equal numbers of rows and people are counted there, and only the numbers come back.

    Engines compare differently if a column has two types and no `meaning` is given: each converts text and numbers in
    its own way. None is also returned if a group has more rows than people, or if several values of the table stand
    for one person: the caller then compares the groups in Python, which explains the error.
    """
    join = getattr(table, "joined_groups", None)
    return None if join is None else join(population, columns, meaning, profiled=profiled)


@contextmanager
def open_snapshots(table: Source, population: Source | None) -> Iterator[tuple[Source, Source | None]]:
    """Open snapshots of both; two tables of one database share one transaction, so that both have one state."""
    with ExitStack() as stack:
        snapshot = stack.enter_context(table.snapshot())
        if population is None:
            yield snapshot, None
            return
        yield snapshot, stack.enter_context(open_joint_snapshot(population, table, snapshot))


def open_joint_snapshot(source: Source, other: Source, snapshot: Source) -> AbstractContextManager[Source]:
    """Open a snapshot of `source` in the transaction of another's snapshot, if both are in one database."""
    join = getattr(source, "joint_snapshot", None)
    joint = None if join is None else join(other, snapshot)
    return source.snapshot() if joint is None else joint


@dataclass(frozen=True, kw_only=True, eq=False)
class Renaming:
    """The recodings that give the groups of both tables (columns c0, c1, ... and measures) the same names.

    `values` holds the table's values of every column. A name is a position in that list, or missing if no value fits.
    """

    table: Recoding
    population: Recoding
    values: Sequence[Values]


def plan_renaming(
    columns: Sequence[str], used: Callable[[str], Values], originals: Callable[[str], Values], meaning: Meaning
) -> Renaming | None:
    """Look up what the grouped values of both tables stand for; return None if that is not unique."""
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


def build_joined_groups(
    columns: Sequence[str],
    coded: Sequence[CodedColumn],
    measures: Sequence[Any],
    renaming: Renaming | None = None,
) -> JoinedGroups | None:
    """Build both sides from an engine's result: one line for each group of the table, at most one for all others."""
    rows, people, groups = measures
    if renaming is not None:
        coded = [_restore_values(column, values) for column, values in zip(coded, renaming.values, strict=True)]
    inside = np.asarray(rows) > 0
    others = np.flatnonzero(~inside)
    if (people[inside] < rows[inside]).any():
        return None
    table = _select_groups(columns, coded, inside, rows)
    if table.distinct < inside.sum():  # a driver returned different values as one: the comparison in Python explains it
        return None
    return JoinedGroups(
        table=table,
        population=SharedPopulation(
            groups=_select_groups(columns, coded, inside, people),
            other_people=int(people[others].sum()),
            other_groups=int(groups[others].sum()),
        ),
    )


def build_joined_profiles(columns: Sequence[str], numbers: Sequence[Any]) -> JoinedGroups | None:
    """Build both sides from lines of `PROFILE`; those of groups without rows of the table have n = 0."""
    rows, fit, repeats, people, groups = (np.asarray(each, dtype=np.int64) for each in numbers)
    inside = rows > 0
    if (fit[inside] < rows[inside]).any():
        return None
    order = np.lexsort((fit[inside], rows[inside]))
    return JoinedGroups(
        table=class_sizes(columns, sizes=rows[inside][order], repeats=repeats[inside][order]),
        population=CountedPopulation(
            people=fit[inside][order],
            everybody=int(people.sum()),
            other_people=int(people[~inside].sum()),
            other_groups=int(groups[~inside].sum()),
        ),
    )


def _restore_values(column: CodedColumn, values: Values) -> CodedColumn:
    names = [None if name is None else values[int(name)] for name in column.values]
    return CodedColumn(codes=column.codes, values=names)


def _select_groups(
    columns: Sequence[str], coded: Sequence[CodedColumn], chosen: Any, counts: Integers
) -> FrequencyTable:
    return FrequencyTable.from_columns(
        columns, [column.codes[chosen] for column in coded], [column.values for column in coded], counts[chosen]
    )
