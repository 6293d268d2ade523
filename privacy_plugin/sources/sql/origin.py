"""The origin of a SQL source's rows: a named table, or a query used as a table."""

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
    """A table or query; `label` names it in messages."""

    label: str
    clause: FromClause
    parts: tuple[str, ...] = ()
    base_table: tuple[str, ...] = ()  # the one table whose rows these are, if that is certain
    from_text: str | None = None  # the text after FROM, for a named table

    def column(self, name: str) -> Expression:
        """Return a column, quoted and qualified: SQLite reads an unknown unqualified name as a text constant."""
        column: Expression = sa.column(quoted_name(name, True), _selectable=self.clause)
        return column

    def select_no_rows(self) -> sa.Select[Any]:
        """Select all columns and no rows, to describe them."""
        return sa.select(sa.literal_column("*")).select_from(self.clause).where(sa.literal_column("1=0"))


def resolve_origin(what: Any, dialect: Dialect) -> Origin:
    """Return the origin of a table name, a SQLAlchemy table, a select or a textual query."""
    if isinstance(what, str) and not isinstance(what, sa.TextClause):
        return table_origin(split_name(what), dialect)
    if isinstance(what, sa.TextClause):
        return Origin(label="the textual query", clause=_without_semicolon(what).columns().subquery(ALIAS))
    if isinstance(what, SelectBase):
        return Origin(label="the query", clause=what.subquery(ALIAS), base_table=_find_base_table(what))
    if isinstance(what, sa.Table):
        parts = (*([what.schema] if what.schema else []), what.name)
        return Origin(label=f"table {what.name!r}", clause=what.alias(ALIAS), parts=parts, base_table=parts)
    if isinstance(what, FromClause):
        return Origin(label="the query", clause=what.alias(ALIAS), base_table=_find_base_table(what))
    raise SourceError(
        f"cannot read {type(what).__name__} as a table; pass 'table', 'schema.table', a SQLAlchemy table, "
        "select(...) or text('SELECT ...')"
    )


def share_names(one: Origin, other: Origin) -> bool:
    """Return whether two queries share a parameter or CTE name: in one statement both would be the same object."""
    return not _names(one).isdisjoint(_names(other))


def _names(origin: Origin) -> set[str]:
    """Return the explicit names of parameters and CTEs; names that SQLAlchemy generates are never shared."""
    elements = list(visitors.iterate(origin.clause))
    parameters = {str(e.key) for e in elements if isinstance(e, sa.BindParameter) and not e.unique}
    return parameters | {str(e.name) for e in elements if isinstance(e, sa.CTE)}


def table_origin(parts: tuple[str, ...], dialect: Dialect) -> Origin:
    """Return the origin of a table whose name is given in parts."""
    quoted = quote_name(parts, dialect)
    clause = sa.table(quoted_name(quoted, False)).alias(ALIAS)
    label = f"table {'.'.join(parts)!r}"
    return Origin(label=label, clause=clause, parts=parts, base_table=parts, from_text=f"{quoted} AS {ALIAS}")


def split_name(name: str) -> tuple[str, ...]:
    """Split a dotted name; a part in double quotes may contain dots, and quotes if they are doubled.

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
            raise ParameterError(f"{name!r} is not a table name; valid are 'table' and 'schema.table'")
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


# The elements of a query whose rows are determined by the rows of its one table.
_DETERMINED = {"select", "table", "alias", "subquery", "column", "bindparam", "binary", "unary", "clauselist", "label"}
_DETERMINED |= {"expression_clauselist", "grouping", "cast", "typeclause", "null", "true", "false"}
_HARMLESS_TEXTS = {"*", "1 = 1"}  # Great Expectations selects a whole table with these
# Parts of a query that leave its rows open, or that are textual.
_UNDETERMINED = {"_limit_clause", "_offset_clause", "_fetch_clause", "_distinct_on", "_for_update_arg"}
_UNDETERMINED |= {"_prefixes", "_suffixes", "_hints", "_statement_hints"}


def _find_base_table(query: SelectBase | FromClause) -> tuple[str, ...]:
    """Return the one table whose rows a query filters by comparing columns with values; () if it does more.

    A function may be random, textual SQL may be anything, and LIMIT leaves open which rows it returns.
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
        given = [getattr(element, name) for name in _UNDETERMINED]
        return any(isinstance(value, sa.ClauseElement) or bool(value) for value in given)
    written = getattr(element, "is_literal", False) and element.name != "*"
    return written or getattr(element, "callable", None) is not None or _own_operator(element)


def _own_operator(element: Any) -> bool:
    return any(isinstance(getattr(element, name, None), operators.custom_op) for name in ("operator", "modifier"))


def _parts_of(table: sa.TableClause) -> tuple[str, ...]:
    if getattr(table.name, "quote", None) is False:  # the name is already quoted
        return split_name(table.name)
    return (*([table.schema] if table.schema else []), table.name)


def _without_semicolon(query: sa.TextClause) -> sa.TextClause:
    stripped = query.text.rstrip().removesuffix(";")
    given = [element for element in visitors.iterate(query) if isinstance(element, sa.BindParameter)]
    return query if stripped == query.text else sa.text(stripped).bindparams(*given)
