"""Group a table or query in its database: one row a group comes back."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.coding import CodedColumn, count_units, grouped_table, require_groups
from privacy_plugin.sources.sql_origin import Origin
from privacy_plugin.sources.sql_rules import Rules, SqlColumn


def counted(
    connection: Connection, rules: Rules, origin: Origin, columns: Sequence[SqlColumn], *, unit: SqlColumn | None = None
) -> FrequencyTable:
    """Count the rows, or the distinct values of a unit, of every combination of values of columns."""
    if unit is not None and not rules.stored_as_meant(unit):  # two stored values may mean one person
        return count_units(counted(connection, rules, origin, [*columns, unit]), unit.name)
    terms = [rules.term(origin, column) for column in columns]
    count = rules.functions.count
    measures = [count(sa.literal_column("*")).label("n")]
    if unit is not None:
        person = rules.term(origin, unit)
        absent = count(sa.case((person.is_(None), 1))).label("absent")
        measures = [absent, count(sa.distinct(person)).label("n")]
    labelled = [term.label(f"c{number}") for number, term in enumerate(terms)]
    query = sa.select(*labelled, *measures).select_from(origin.clause).group_by(*terms)
    groups, numbers = rules.fetch(connection, query, measures=len(measures))
    coded = [_decoded(rules, column, group) for column, group in zip(columns, groups, strict=True)]
    absent_rows = 0 if unit is None else int(numbers[0].sum())
    names = [column.name for column in columns]
    table = grouped_table(names, coded, numbers[-1], unit=unit.name if unit else None, absent=absent_rows)
    require_groups(table.distinct, lambda: row_count(connection, rules, origin))
    return table


def row_count(connection: Connection, rules: Rules, origin: Origin) -> int:
    """Count the rows."""
    query = sa.select(rules.functions.count(sa.literal_column("*"))).select_from(origin.clause)
    return int(connection.execute(query).scalar_one())


def _decoded(rules: Rules, column: SqlColumn, group: CodedColumn) -> CodedColumn:
    decode = rules.decoder(column)
    if decode is None:
        return group
    return CodedColumn(codes=group.codes, values=[decode(value) for value in group.values])
