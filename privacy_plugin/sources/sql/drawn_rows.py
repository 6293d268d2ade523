"""Carry drawn rows into a database: a temporary table, and the query that gives its columns their names."""

from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from privacy_plugin.sources.drawn_rows import plain_rows
from privacy_plugin.sources.sql.dialect import KINDS, SqlColumn
from privacy_plugin.sources.sql.temporary import TemporaryTables

_KINDS = dict(
    zip((pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us")), KINDS, strict=True)
)


def drawn_query(temporary: TemporaryTables, rows: pa.Table) -> tuple[list[SqlColumn], sa.Select[Any]]:
    """Load rows, and return the columns they become and the query that selects them."""
    kinds = [_KINDS[column.type] for column in rows.columns]
    table = temporary.filled("drawn", kinds, plain_rows(rows))
    chosen = [table.c[f"v{n}"].label(quoted_name(name, True)) for n, name in enumerate(rows.column_names)]
    columns = [SqlColumn(name=name, type=kind) for name, kind in zip(rows.column_names, kinds, strict=True)]
    return columns, sa.select(*chosen).select_from(table)
