"""The queries of a SQL source: count groups, join the groups of two tables, number rows, load drawn rows."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.coding import (
    CodedColumn,
    build_frequency_table,
    count_units,
    group_rows,
    require_groups,
    require_units,
)
from privacy_plugin.sources.drawn_rows import list_rows
from privacy_plugin.sources.numbered_rows import NumberedRows, match_row_numbers
from privacy_plugin.sources.population_join import (
    MEASURES,
    PROFILE,
    JoinedGroups,
    Meaning,
    Renaming,
    Values,
    build_joined_profiles,
    plan_renaming,
)
from privacy_plugin.sources.sql.dialect import COLUMN_TYPES, Dialect, SqlColumn
from privacy_plugin.sources.sql.origin import Expression, Origin, table_origin
from privacy_plugin.sources.sql.recoding import SqlRecoder
from privacy_plugin.sources.sql.staging import TemporaryTables, open_temporary_tables

Side = tuple[Origin, Sequence[SqlColumn]]

_LINE = "line"
_ZERO: Expression = sa.literal_column("0")
_ONE: Expression = sa.literal_column("1")
_ALL: Expression = sa.literal_column("*")
_TYPES = dict(
    zip((pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us")), COLUMN_TYPES, strict=True)
)


def count_groups(
    connection: Connection,
    dialect: Dialect,
    origin: Origin,
    columns: Sequence[SqlColumn],
    *,
    unit: SqlColumn | None = None,
) -> FrequencyTable:
    """Count the rows, or the distinct values of a unit, of every combination of values of columns."""
    if unit is not None and not dialect.has_unique_forms(unit):  # two stored values may mean one person
        return count_units(count_groups(connection, dialect, origin, [*columns, unit]), unit.name)
    groups, numbers = dialect.fetch_counts(connection, origin, columns, unit)
    coded = [group.decode(dialect.value_decoder(column)) for column, group in zip(columns, groups, strict=True)]
    absent = 0 if unit is None else int(numbers[0].sum())
    names = [column.name for column in columns]
    table = build_frequency_table(names, coded, numbers[-1], unit=unit.name if unit else None, absent=absent)
    require_groups(table.distinct, lambda: dialect.count_rows(connection, origin))
    _require_distinct_values(table, groups, lines=len(numbers[-1]))
    return table


def count_people(connection: Connection, dialect: Dialect, origin: Origin, unit: SqlColumn) -> int:
    """Count the distinct values of a unit; raise if some are missing."""
    if not dialect.has_unique_forms(unit):
        return count_groups(connection, dialect, origin, [unit]).distinct
    _, (absent, people) = dialect.fetch_counts(connection, origin, [], unit)
    require_units(unit.name, int(absent.sum()))
    return int(people.sum())


def _require_distinct_values(table: FrequencyTable, groups: Sequence[CodedColumn], *, lines: int) -> None:
    """Raise if the driver returned different groups of the database as equal: they would count as one.

    Only our own decoder may map two stored values to one.
    """
    if table.distinct < lines and len(group_rows(groups)[1]) < lines:
        raise SourceError(
            "the driver returns different values as equal; remove the loader, adapter or converter that rounds or "
            "shortens values (such as one that converts numeric to float)"
        )


def count_values(
    dialect: Dialect, origin: Origin, columns: Sequence[SqlColumn], first_rows: int | None
) -> sa.Select[Any]:
    """Select the number of rows, and the number of present and of distinct values of every column."""
    named = [dialect.equality_term(origin, column).label(f"c{number}") for number, column in enumerate(columns)]
    rows = sa.select(*named).select_from(origin.clause)
    if first_rows is not None:
        rows = rows.limit(sa.literal_column(str(int(first_rows))))
    found = rows.subquery("counted")
    count = dialect.functions.count
    counts = [term for value in found.c for term in (count(value), count(sa.distinct(value)))]
    return sa.select(count(_ALL), *counts).select_from(found)


def is_readable(dialect: Dialect, *sides: Sequence[SqlColumn]) -> bool:
    """Return whether stored values need no decoder."""
    return all(dialect.value_decoder(column) is None for columns in sides for column in columns)


def is_comparable(dialect: Dialect, one: Sequence[SqlColumn], other: Sequence[SqlColumn]) -> bool:
    """Return whether the database's equality is ours: columns have equal types and need no decoder."""
    return is_readable(dialect, one) and all(left.type == right.type for left, right in zip(one, other, strict=True))


def group_sides(dialect: Dialect, table: Side, population: Side) -> list[sa.Select[Any]]:
    """Group a table and a population, with columns c0, c1, ... and the measures."""
    count: Expression = dialect.functions.count(_ALL)
    return [
        _group_side(dialect, *table, {"n": count}),
        _group_side(dialect, *population, {"people": count, "groups": _ONE}),
    ]


def rename_sides(
    connection: Connection,
    dialect: Dialect,
    sides: Sequence[sa.Select[Any]],
    columns: Sequence[str],
    meaning: Meaning,
    stack: ExitStack,
) -> tuple[list[sa.Select[Any]], Renaming] | None:
    """Store the groups of both sides in temporary tables, and rename their values there."""
    stored = [_StoredSide(connection, dialect, side, stack) for side in sides]
    renaming = plan_renaming(columns, stored[0].values, stored[1].values, meaning)
    if renaming is None:
        return None
    recodings = (renaming.table, renaming.population)
    return [side.recoder.prepare(recoding)[1] for side, recoding in zip(stored, recodings, strict=True)], renaming


class _StoredSide:
    """Groups in a temporary table, their values, and their recoder."""

    def __init__(self, connection: Connection, dialect: Dialect, side: sa.Select[Any], stack: ExitStack) -> None:
        temporary = stack.enter_context(open_temporary_tables(connection, dialect))
        temporary.create_from_query("side", side, ())
        origin = table_origin((temporary.full_name("side"),), connection.dialect)
        described = {column.name: column for column in dialect.describe_columns(connection, origin)}
        self.recoder = SqlRecoder(connection, dialect, origin, list(described.values()), temporary)
        self.values: Callable[[str], Values] = lambda label: count_groups(
            connection, dialect, origin, [described[label]]
        ).dictionary(label)


def join_sides(dialect: Dialect, sides: Sequence[sa.Select[Any]], width: int) -> sa.Select[Any]:
    """Return one line for each group of the table, and one for all groups of the population without rows of it."""
    labels = [f"c{number}" for number in range(width)]
    groups = _add_sides(dialect, sides, labels)
    inside: Expression = groups.c.n > _ZERO
    values = [sa.case((inside, groups.c[label])).label(label) for label in labels]
    measures = [groups.c[name] for name in MEASURES]
    marked = sa.select(*values, inside.label("inside"), *measures).subquery("marked")
    chosen = [marked.c[label] for label in labels]
    totals = [sa.cast(dialect.functions.sum(marked.c[name]), sa.BigInteger).label(name) for name in MEASURES]
    return sa.select(*chosen, *totals).group_by(marked.c.inside, *chosen)


def profile_sides(
    connection: Connection, dialect: Dialect, sides: Sequence[sa.Select[Any]], columns: Sequence[str]
) -> JoinedGroups | None:
    """Join the groups of both sides, and count those of equal numbers of rows and people."""
    groups = _add_sides(dialect, sides, [f"c{number}" for number in range(len(columns))])
    fit = sa.case((groups.c.n > _ZERO, groups.c.people), else_=_ZERO).label("fit")
    fitted = sa.select(groups.c.n, fit, groups.c.people, groups.c.groups).subquery("fitted")
    totals = [dialect.functions.sum(fitted.c[name]) for name in ("people", "groups")]
    query = sa.select(fitted.c.n, fitted.c.fit, dialect.functions.count(_ALL), *totals)
    found = connection.execute(query.group_by(fitted.c.n, fitted.c.fit)).all()
    return build_joined_profiles(columns, [[int(row[place]) for row in found] for place in range(len(PROFILE))])


def _add_sides(dialect: Dialect, sides: Sequence[sa.Select[Any]], labels: Sequence[str]) -> sa.Subquery:
    union = sa.union_all(*sides).subquery("under")
    sums = [dialect.functions.sum(union.c[name]).label(name) for name in MEASURES]
    values = [union.c[label] for label in labels]
    return sa.select(*values, *sums).group_by(*values).subquery("joined")


def _group_side(
    dialect: Dialect, origin: Origin, columns: Sequence[SqlColumn], measures: Mapping[str, Expression]
) -> sa.Select[Any]:
    """Group one side; text is compared byte by byte on both, whatever the columns' collations."""
    terms = [dialect.equality_term(origin, replace(column, bytewise=False)) for column in columns]
    named = [term.label(f"c{number}") for number, term in enumerate(terms)]
    counts = [measures.get(name, _ZERO).label(name) for name in MEASURES]
    return sa.select(*named, *counts).select_from(origin.clause).group_by(*terms)


def number_rows(
    connection: Connection,
    dialect: Dialect,
    origin: Origin,
    described: Mapping[str, SqlColumn],
    wanted: NumberedRows,
    temporary: TemporaryTables,
    number: int,
) -> tuple[list[SqlColumn], sa.Select[Any]]:
    """Return the columns of a table of numbered rows and the query that produces it.

    `number` makes the names of several such tables in one transaction distinct.
    """
    columns = [described[name] for name in wanted.table.columns]
    labels = [f"c{position}" for position in range(len(columns))]
    name = f"examples_{number}"
    examples = temporary.create_from_query(name, _select_examples(dialect, origin, columns, labels), [*labels, _LINE])
    stored = table_origin((temporary.full_name(name),), connection.dialect)
    line = next(column for column in dialect.describe_columns(connection, stored) if column.name == _LINE)
    copies = [replace(column, name=label, bytewise=False) for column, label in zip(columns, labels, strict=True)]
    lines = match_row_numbers(count_groups(connection, dialect, stored, [*copies, line]), wanted.table)
    order = np.arange(len(wanted.lines))
    rows = list(zip(*(part.tolist() for part in (order, lines[wanted.lines], wanted.numbers)), strict=True))
    repeated = temporary.create_from_rows(f"lines_{number}", ("BIGINT",) * 3, rows)
    terms: dict[str, Expression] = {
        column.name: examples.c[label] for column, label in zip(columns, labels, strict=True)
    }
    terms[wanted.number] = repeated.c.v2
    query = sa.select(*[terms[column].label(quoted_name(column, True)) for column in wanted.columns])
    joined = examples.join(repeated, examples.c[_LINE] == repeated.c.v1)
    counter = SqlColumn(name=wanted.number, type="BIGINT")
    released = [described[column] if column != wanted.number else counter for column in wanted.columns]
    return released, query.select_from(joined).order_by(repeated.c.v0)


def _select_examples(dialect: Dialect, origin: Origin, columns: list[SqlColumn], labels: list[str]) -> sa.Select[Any]:
    """Select one row of every combination of values in its released form, and number these rows."""
    released = [
        dialect.release_term(origin, column).label(label) for column, label in zip(columns, labels, strict=True)
    ]
    terms = [dialect.equality_term(origin, column) for column in columns]
    position = sa.func.row_number().over(partition_by=terms)
    rows = sa.select(*released, position.label("place")).select_from(origin.clause).subquery("rows_of_examples")
    line: Expression = sa.literal_column("row_number() OVER ()").label(_LINE)
    return sa.select(*[rows.c[label] for label in labels], line).where(rows.c.place == _ONE)


def load_drawn_rows(temporary: TemporaryTables, rows: pa.Table) -> tuple[list[SqlColumn], sa.Select[Any]]:
    """Load drawn rows into a temporary table; return their columns and the query that selects them."""
    types = [_TYPES[column.type] for column in rows.columns]
    table = temporary.create_from_rows("drawn", types, list_rows(rows))
    chosen = [table.c[f"v{n}"].label(quoted_name(name, True)) for n, name in enumerate(rows.column_names)]
    columns = [SqlColumn(name=name, type=kind) for name, kind in zip(rows.column_names, types, strict=True)]
    return columns, sa.select(*chosen).select_from(table)
