"""What a SQL source reads: a named table, or a query used as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.sql.selectable import FromClause, SelectBase

from privacy_plugin.errors import ParameterError, SourceError

ALIAS = "privacy_plugin_source"

Expression = sa.ColumnElement[Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Origin:
    """The table or query, and the name by which messages call it."""

    label: str
    clause: FromClause
    parts: tuple[str, ...] = ()

    def column(self, name: str) -> Expression:
        """Return a column, quoted and qualified: SQLite reads an unknown name as text only where it is not."""
        column: Expression = sa.column(quoted_name(name, True), _selectable=self.clause)
        return column

    def everything(self) -> sa.Select[Any]:
        """Select all columns and no rows: what every engine can describe."""
        return sa.select(sa.literal_column("*")).select_from(self.clause).where(sa.literal_column("1=0"))


def origin(what: Any, dialect: Dialect) -> Origin:
    """Recognize a table name, a SQLAlchemy table, a select or a textual query."""
    if isinstance(what, str) and not isinstance(what, sa.TextClause):
        return named_origin(split_name(what), dialect)
    if isinstance(what, sa.TextClause):
        return Origin(label="the textual query", clause=_without_semicolon(what).columns().subquery(ALIAS))
    if isinstance(what, SelectBase):
        return Origin(label="the query", clause=what.subquery(ALIAS))
    if isinstance(what, sa.Table):
        parts = (*([what.schema] if what.schema else []), what.name)
        return Origin(label=f"table {what.name!r}", clause=what.alias(ALIAS), parts=parts)
    if isinstance(what, FromClause):
        return Origin(label="the query", clause=what.alias(ALIAS))
    raise SourceError(
        f"cannot read {type(what).__name__} as a table; give 'table', 'schema.table', a SQLAlchemy table, "
        "select(...) or text('SELECT ...')"
    )


def named_origin(parts: tuple[str, ...], dialect: Dialect) -> Origin:
    """Return the table with a name given in parts."""
    clause = sa.table(quoted_name(quote_name(parts, dialect), False)).alias(ALIAS)
    return Origin(label=f"table {'.'.join(parts)!r}", clause=clause, parts=parts)


def split_name(name: str) -> tuple[str, ...]:
    """Split a dotted name; a part in double quotes may hold dots itself, with doubled quotes inside.

    >>> split_name('clinic."patients.2024"')
    ('clinic', 'patients.2024')
    """
    parts: list[str] = []
    rest = name
    while True:
        if rest.startswith('"'):
            part, rest = _quoted_part(rest, name)
        else:
            part, dot, tail = rest.partition(".")
            rest = dot + tail
        parts.append(part)
        if not part or len(parts) > 3 or (rest and not rest.startswith(".")):
            raise ParameterError(f"{name!r} is no table name; valid are 'table' and 'schema.table'")
        if not rest:
            return tuple(parts)
        rest = rest[1:]


def quote_name(parts: Sequence[str], dialect: Dialect) -> str:
    """Write a dotted name with every part quoted."""
    return ".".join(dialect.identifier_preparer.quote_identifier(part) for part in parts)


def _quoted_part(rest: str, name: str) -> tuple[str, str]:
    position, part = 1, ""
    while position < len(rest):
        if rest[position] != '"':
            part += rest[position]
            position += 1
        elif rest[position : position + 2] == '""':
            part += '"'
            position += 2
        else:
            return part, rest[position + 1 :]
    raise ParameterError(f"{name!r} has an opening quote without a closing one")


def _without_semicolon(query: sa.TextClause) -> sa.TextClause:
    stripped = query.text.rstrip().removesuffix(";")
    return sa.text(stripped) if stripped != query.text and not query.compile().params else query
