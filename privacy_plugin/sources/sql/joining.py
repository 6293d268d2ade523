"""The queries that join the groups of two tables of one database."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from privacy_plugin.sources.joining import MEASURES, Meaning, Renaming, Values, renaming
from privacy_plugin.sources.sql.counting import counted
from privacy_plugin.sources.sql.dialect import Rules, SqlColumn
from privacy_plugin.sources.sql.origin import Expression, Origin, named_origin
from privacy_plugin.sources.sql.recoding import SqlRecoder
from privacy_plugin.sources.sql.temporary import temporary_tables

Side = tuple[Origin, Sequence[SqlColumn]]


def readable(rules: Rules, *sides: Sequence[SqlColumn]) -> bool:
    """Say whether the stored values are the values."""
    return all(rules.decoder(column) is None for columns in sides for column in columns)


def comparable(rules: Rules, one: Sequence[SqlColumn], other: Sequence[SqlColumn]) -> bool:
    """Say whether the database's equality is ours: columns of one type whose stored values are the values."""
    return readable(rules, one) and all(left.type == right.type for left, right in zip(one, other, strict=True))


def grouped_sides(rules: Rules, table: Side, population: Side) -> list[sa.Select[Any]]:
    """Group both, with columns c0, c1, ... and the measures."""
    count: Expression = rules.functions.count(_ALL)
    return [_side(rules, *table, {"n": count}), _side(rules, *population, {"people": count, "groups": _ONE})]


def renamed_sides(
    connection: Connection,
    rules: Rules,
    sides: Sequence[sa.Select[Any]],
    columns: Sequence[str],
    meaning: Meaning,
    stack: ExitStack,
) -> tuple[list[sa.Select[Any]], Renaming] | None:
    """Keep the groups of both in temporary tables, and rename them there."""
    held = [_Held(connection, rules, side, stack) for side in sides]
    names = renaming(columns, held[0].values, held[1].values, meaning)
    if names is None:
        return None
    recodings = (names.table, names.population)
    return [side.recoder.prepare(recoding)[1] for side, recoding in zip(held, recodings, strict=True)], names


class _Held:
    """Groups in a temporary table, their values, and what recodes them."""

    def __init__(self, connection: Connection, rules: Rules, side: sa.Select[Any], stack: ExitStack) -> None:
        temporary = stack.enter_context(temporary_tables(connection, rules))
        temporary.created("side", side, ())
        origin = named_origin((temporary.full_name("side"),), connection.dialect)
        described = {column.name: column for column in rules.describe(connection, origin)}
        self.recoder = SqlRecoder(connection, rules, origin, list(described.values()), temporary)
        self.values: Callable[[str], Values] = lambda label: counted(
            connection, rules, origin, [described[label]]
        ).dictionary(label)


def joined_query(rules: Rules, sides: Sequence[sa.Select[Any]], width: int) -> sa.Select[Any]:
    """Return a line for every group of the table, and one for all groups of the population without a row of it."""
    labels = [f"c{number}" for number in range(width)]
    under = sa.union_all(*sides).subquery("under")
    sums = [rules.functions.sum(under.c[name]).label(name) for name in MEASURES]
    joined = sa.select(*[under.c[label] for label in labels], *sums).group_by(*[under.c[label] for label in labels])
    groups = joined.subquery("joined")
    inside: Expression = groups.c.n > _ZERO
    shown = [sa.case((inside, groups.c[label])).label(label) for label in labels]
    measures = [groups.c[name] for name in MEASURES]
    marked = sa.select(*shown, inside.label("inside"), *measures).subquery("marked")
    kept = [marked.c[label] for label in labels]
    totals = [sa.cast(rules.functions.sum(marked.c[name]), sa.BigInteger).label(name) for name in MEASURES]
    return sa.select(*kept, *totals).group_by(marked.c.inside, *kept)


def _side(
    rules: Rules, origin: Origin, columns: Sequence[SqlColumn], measures: Mapping[str, Expression]
) -> sa.Select[Any]:
    """Group one of the two; text is compared byte by byte on both sides, whatever the columns' collations."""
    terms = [rules.term(origin, replace(column, bytewise=False)) for column in columns]
    named = [term.label(f"c{number}") for number, term in enumerate(terms)]
    counts = [measures.get(name, _ZERO).label(name) for name in MEASURES]
    return sa.select(*named, *counts).select_from(origin.clause).group_by(*terms)


_ZERO: Expression = sa.literal_column("0")
_ONE: Expression = sa.literal_column("1")
_ALL: Expression = sa.literal_column("*")
