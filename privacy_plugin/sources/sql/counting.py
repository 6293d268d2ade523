"""Group a table or query in its database: one row a group comes back."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.coding import CodedColumn, count_units, group_rows, grouped_table, require_groups
from privacy_plugin.sources.sql.dialect import Rules, SqlColumn
from privacy_plugin.sources.sql.origin import Origin


def counted(
    connection: Connection, rules: Rules, origin: Origin, columns: Sequence[SqlColumn], *, unit: SqlColumn | None = None
) -> FrequencyTable:
    """Count the rows, or the distinct values of a unit, of every combination of values of columns."""
    if unit is not None and not rules.stored_as_meant(unit):  # two stored values may mean one person
        return count_units(counted(connection, rules, origin, [*columns, unit]), unit.name)
    groups, numbers = rules.grouped(connection, origin, columns, unit)
    coded = [_decoded(rules, column, group) for column, group in zip(columns, groups, strict=True)]
    absent_rows = 0 if unit is None else int(numbers[0].sum())
    names = [column.name for column in columns]
    table = grouped_table(names, coded, numbers[-1], unit=unit.name if unit else None, absent=absent_rows)
    require_groups(table.distinct, lambda: row_count(connection, rules, origin))
    _require_told_apart(table, groups, lines=len(numbers[-1]))
    return table


def _require_told_apart(table: FrequencyTable, groups: Sequence[CodedColumn], *, lines: int) -> None:
    """Refuse a driver that writes groups alike which the database tells apart: they would count as one.

    What was read may mean the same where our decoder says so, never before.
    """
    if table.distinct < lines and len(group_rows(groups)[1]) < lines:
        raise SourceError(
            "the driver hands over different values as if they were the same; remove what rounds or shortens values "
            "when they are read (a loader, adapter or converter, such as one that makes floats of numeric)"
        )


def row_count(connection: Connection, rules: Rules, origin: Origin) -> int:
    """Count the rows."""
    query = sa.select(rules.functions.count(sa.literal_column("*"))).select_from(origin.clause)
    return int(connection.execute(query).scalar_one())


def _decoded(rules: Rules, column: SqlColumn, group: CodedColumn) -> CodedColumn:
    decode = rules.decoder(column)
    if decode is None:
        return group
    return CodedColumn(codes=group.codes, values=[decode(value) for value in group.values])
