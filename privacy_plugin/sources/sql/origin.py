"""What a SQL source reads: a named table, or a query used as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import operators, visitors
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
    rests_on: tuple[str, ...] = ()  # the one table whose rows these are, if that can be told
    text: str | None = None  # what follows FROM, where that is a name

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
        return Origin(label="the query", clause=what.subquery(ALIAS), rests_on=_picked_from(what))
    if isinstance(what, sa.Table):
        parts = (*([what.schema] if what.schema else []), what.name)
        return Origin(label=f"table {what.name!r}", clause=what.alias(ALIAS), parts=parts, rests_on=parts)
    if isinstance(what, FromClause):
        return Origin(label="the query", clause=what.alias(ALIAS), rests_on=_picked_from(what))
    raise SourceError(
        f"cannot read {type(what).__name__} as a table; give 'table', 'schema.table', a SQLAlchemy table, "
        "select(...) or text('SELECT ...')"
    )


def share_names(one: Origin, other: Origin) -> bool:
    """Say whether two queries use one name: in one statement two parameters would have one value, two CTEs be one."""
    return not _names(one).isdisjoint(_names(other))


def _names(origin: Origin) -> set[str]:
    """Return the names that somebody gave to parameters and CTEs; those that SQLAlchemy makes up are never shared."""
    elements = list(visitors.iterate(origin.clause))
    parameters = {str(e.key) for e in elements if isinstance(e, sa.BindParameter) and not e.unique}
    return parameters | {str(e.name) for e in elements if isinstance(e, sa.CTE)}


def named_origin(parts: tuple[str, ...], dialect: Dialect) -> Origin:
    """Return the table with a name given in parts."""
    quoted = quote_name(parts, dialect)
    clause = sa.table(quoted_name(quoted, False)).alias(ALIAS)
    label = f"table {'.'.join(parts)!r}"
    return Origin(label=label, clause=clause, parts=parts, rests_on=parts, text=f"{quoted} AS {ALIAS}")


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


# What a query may be made of, for its rows to be the same whenever those of its one table are.
_DETERMINED = {"select", "table", "alias", "subquery", "column", "bindparam", "binary", "unary", "clauselist", "label"}
_DETERMINED |= {"expression_clauselist", "grouping", "cast", "typeclause", "null", "true", "false"}
_HARMLESS_TEXTS = {"*", "1 = 1"}  # so does Great Expectations ask for a whole table
# What leaves open which rows a query returns, or is written by hand.
_LEFT_OPEN = {"_limit_clause", "_offset_clause", "_fetch_clause", "_distinct_on", "_for_update_arg"}
_LEFT_OPEN |= {"_prefixes", "_suffixes", "_hints", "_statement_hints"}


def _picked_from(query: SelectBase | FromClause) -> tuple[str, ...]:
    """Return the one table from which a query picks rows by comparing columns with values; () if it does more.

    A function may be random, a part in text may be anything, and which rows a LIMIT returns is left open.
    """
    tables: set[tuple[str, ...]] = set()
    for element in visitors.iterate(query):
        harmless = isinstance(element, sa.TextClause) and element.text in _HARMLESS_TEXTS
        if not harmless and (element.__visit_name__ not in _DETERMINED or _may_vary(element)):
            return ()
        if isinstance(element, sa.TableClause):
            tables.add(_parts_of(element))
    return tables.pop() if len(tables) == 1 else ()


def _may_vary(element: Any) -> bool:
    if isinstance(element, sa.Select):
        given = [getattr(element, name) for name in _LEFT_OPEN]
        return any(isinstance(value, sa.ClauseElement) or bool(value) for value in given)
    written = getattr(element, "is_literal", False) and element.name != "*"
    return written or getattr(element, "callable", None) is not None or _own_operator(element)


def _own_operator(element: Any) -> bool:
    return any(isinstance(getattr(element, name, None), operators.custom_op) for name in ("operator", "modifier"))


def _parts_of(table: sa.TableClause) -> tuple[str, ...]:
    if getattr(table.name, "quote", None) is False:  # a name that was quoted by hand
        return split_name(table.name)
    return (*([table.schema] if table.schema else []), table.name)


def _without_semicolon(query: sa.TextClause) -> sa.TextClause:
    stripped = query.text.rstrip().removesuffix(";")
    given = [element for element in visitors.iterate(query) if isinstance(element, sa.BindParameter)]
    return query if stripped == query.text else sa.text(stripped).bindparams(*given)
