"""Repeat distinct rows of a table in its database, with a number beside each: values are copied there, as released."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.sources.numbered import NumberedRows, matched_numbers
from privacy_plugin.sources.sql.counting import counted
from privacy_plugin.sources.sql.dialect import Rules, SqlColumn
from privacy_plugin.sources.sql.origin import Expression, Origin, named_origin
from privacy_plugin.sources.sql.temporary import TemporaryTables

_LINE = "line"


def numbered_query(
    connection: Connection,
    rules: Rules,
    origin: Origin,
    described: Mapping[str, SqlColumn],
    wanted: NumberedRows,
    temporary: TemporaryTables,
    number: int,
) -> tuple[list[SqlColumn], sa.Select[Any]]:
    """Return the columns of the table that is wanted and the query that produces it; `number` tells several apart."""
    columns = [described[name] for name in wanted.table.columns]
    labels = [f"c{position}" for position in range(len(columns))]
    name = f"examples_{number}"
    examples = temporary.created(name, _examples(rules, origin, columns, labels), [*labels, _LINE])
    place = named_origin((temporary.full_name(name),), connection.dialect)
    line = next(column for column in rules.describe(connection, place) if column.name == _LINE)
    copies = [replace(column, name=label, bytewise=False) for column, label in zip(columns, labels, strict=True)]
    lines = matched_numbers(counted(connection, rules, place, [*copies, line]), wanted.table)
    order = np.arange(len(wanted.lines))
    rows = list(zip(*(part.tolist() for part in (order, lines[wanted.lines], wanted.numbers)), strict=True))
    repeated = temporary.filled(f"lines_{number}", ("BIGINT",) * 3, rows)
    terms: dict[str, Expression] = {
        column.name: examples.c[label] for column, label in zip(columns, labels, strict=True)
    }
    terms[wanted.number] = repeated.c.v2
    query = sa.select(*[terms[column].label(quoted_name(column, True)) for column in wanted.columns])
    joined = examples.join(repeated, examples.c[_LINE] == repeated.c.v1)
    counter = SqlColumn(name=wanted.number, type="BIGINT")
    shown = [described[column] if column != wanted.number else counter for column in wanted.columns]
    return shown, query.select_from(joined).order_by(repeated.c.v0)


def _examples(rules: Rules, origin: Origin, columns: list[SqlColumn], labels: list[str]) -> sa.Select[Any]:
    """Select one row of every combination of values, as it is released, and number them."""
    shown = [rules.shown(origin, column).label(label) for column, label in zip(columns, labels, strict=True)]
    place = sa.func.row_number().over(partition_by=[rules.term(origin, column) for column in columns])
    rows = sa.select(*shown, place.label("place")).select_from(origin.clause).subquery("rows_of_examples")
    line: Expression = sa.literal_column("row_number() OVER ()").label(_LINE)
    first: Expression = sa.literal_column("1")
    return sa.select(*[rows.c[label] for label in labels], line).where(rows.c.place == first)
