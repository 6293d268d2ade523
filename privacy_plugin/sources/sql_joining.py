"""The query that joins the groups of two tables of one database."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from privacy_plugin.sources.sql_origin import Expression, Origin
from privacy_plugin.sources.sql_rules import Rules, SqlColumn

MEASURES = 3  # rows of the table, people of the population, groups


def comparable(rules: Rules, one: Sequence[SqlColumn], other: Sequence[SqlColumn]) -> bool:
    """Say whether the database's equality is ours: columns of one type whose stored values are the values."""
    return all(left.type == right.type and rules.decoder(left) is None for left, right in zip(one, other, strict=True))


def joined_query(
    rules: Rules,
    table: tuple[Origin, Sequence[SqlColumn]],
    population: tuple[Origin, Sequence[SqlColumn]],
) -> sa.Select[Any]:
    """Return a line for every group of the table, and one for all groups of the population without a row of it."""
    labels = [f"c{number}" for number in range(len(table[1]))]
    under = sa.union_all(
        _side(rules, *table, labels, counted="n"), _side(rules, *population, labels, counted="people")
    ).subquery("under")
    sums = [rules.functions.sum(under.c[name]).label(name) for name in ("n", "people")]
    joined = sa.select(*[under.c[label] for label in labels], *sums).group_by(*[under.c[label] for label in labels])
    groups = joined.subquery("joined")
    inside: Expression = groups.c.n > _ZERO
    shown = [sa.case((inside, groups.c[label])).label(label) for label in labels]
    marked = sa.select(*shown, inside.label("inside"), groups.c.n, groups.c.people).subquery("marked")
    kept = [marked.c[label] for label in labels]
    totals = [sa.cast(rules.functions.sum(marked.c[name]), sa.BigInteger).label(name) for name in ("n", "people")]
    return sa.select(*kept, *totals, rules.functions.count(_ALL).label("groups")).group_by(marked.c.inside, *kept)


def _side(
    rules: Rules, origin: Origin, columns: Sequence[SqlColumn], labels: Sequence[str], *, counted: str
) -> sa.Select[Any]:
    """Group one of the two; text is compared byte by byte on both sides, whatever the columns' collations."""
    terms = [rules.term(origin, replace(column, bytewise=False)) for column in columns]
    named = [term.label(label) for term, label in zip(terms, labels, strict=True)]
    counts = [(rules.functions.count(_ALL) if name == counted else _ZERO).label(name) for name in ("n", "people")]
    return sa.select(*named, *counts).select_from(origin.clause).group_by(*terms)


_ZERO: Expression = sa.literal_column("0")
_ALL: Expression = sa.literal_column("*")
