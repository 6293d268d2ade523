"""Class profiles of a table behind SQLAlchemy: group by value, then by class, then by profile, all in the database."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from privacy_plugin.frequency.class_profiles import ClassProfiles, class_sizes
from privacy_plugin.sources.class_profiles import MOST_VALUES, parse_histograms
from privacy_plugin.sources.sql.origin import Expression, Origin

if TYPE_CHECKING:
    from privacy_plugin.sources.sql.dialect import Dialect, SqlColumn

_ALL: Expression = sa.literal_column("*")
_ZERO: Expression = sa.literal_column("0")


def count_sizes(
    connection: Connection,
    dialect: "Dialect",
    origin: Origin,
    columns: Sequence["SqlColumn"],
    first_rows: int | None = None,
) -> ClassProfiles:
    """Count the classes of every size, of all rows or of the first ones."""
    named = [dialect.equality_term(origin, column).label(f"c{number}") for number, column in enumerate(columns)]
    rows = sa.select(*named).select_from(origin.clause)
    count = dialect.functions.count(_ALL)
    if first_rows is not None:
        sample = rows.limit(sa.literal_column(str(int(first_rows)))).subquery("sample")
        classes = sa.select(count.label("n")).select_from(sample).group_by(*sample.c).subquery("classes")
    else:
        terms = [dialect.equality_term(origin, column) for column in columns]
        classes = sa.select(count.label("n")).select_from(origin.clause).group_by(*terms).subquery("classes")
    found = connection.execute(sa.select(classes.c.n, count.label("repeats")).group_by(classes.c.n)).all()
    sizes, repeats = ([int(row[position]) for row in found] for position in (0, 1))
    return class_sizes([column.name for column in columns], sizes=sizes, repeats=repeats)


def count_histograms(
    connection: Connection, dialect: "Dialect", origin: Origin, columns: Sequence["SqlColumn"]
) -> ClassProfiles | None:
    """Count the classes of every histogram of the last column; None if it has too many values."""
    *quasi_identifiers, sensitive = columns
    term = dialect.equality_term(origin, sensitive)
    distinct = sa.select(term.label("s")).select_from(origin.clause).where(term.is_not(None)).group_by(term)
    found = distinct.subquery("found")
    place = sa.func.row_number().over(order_by=found.c.s).label("code")
    values = sa.select(found.c.s, place)
    groups, codes = dialect.fetch_coded(connection, values.limit(sa.literal_column(str(MOST_VALUES + 1))), ["s"])
    if len(codes[0]) > MOST_VALUES:
        return None
    decoded = groups[0].decode(dialect.value_decoder(sensitive))
    raw: list[Any] = [None] * (len(codes[0]) + 1)
    for code, position in zip(codes[0].tolist(), decoded.codes.tolist(), strict=True):
        raw[int(code)] = decoded.values[position]
    query = _histogram_query(dialect, origin, quasi_identifiers, sensitive, values.subquery("coded"))
    rows = [tuple(row) for row in connection.execute(query).all()]
    names = [column.name for column in quasi_identifiers]
    return parse_histograms(names, sensitive.name, rows, raw)


def _histogram_query(
    dialect: "Dialect",
    origin: Origin,
    quasi_identifiers: Sequence["SqlColumn"],
    sensitive: "SqlColumn",
    coded: sa.Subquery,
) -> sa.Select[Any]:
    """Select the text of every histogram, its size, and how many classes have it."""
    own = dialect.functions
    terms = [dialect.equality_term(origin, column) for column in (*quasi_identifiers, sensitive)]
    labels = [*(f"c{number}" for number in range(len(quasi_identifiers))), "s"]
    named = [term.label(label) for term, label in zip(terms, labels, strict=True)]
    groups = (
        sa.select(*named, own.count(_ALL).label("n")).select_from(origin.clause).group_by(*terms).subquery("groups")
    )
    classes = [groups.c[label] for label in labels[:-1]]
    code: Expression = sa.func.coalesce(coded.c.code, _ZERO).label("code")
    joined = groups.outerjoin(coded, groups.c.s == coded.c.s)  # only missing values have no code
    rows = sa.select(*classes, code, groups.c.n).select_from(joined)
    entries = dialect.order_codes(rows, [*classes, code]).subquery("entries")
    shapes = sa.select(
        dialect.join_codes().label("shape"), sa.cast(own.sum(entries.c.n), sa.BigInteger).label("size")
    ).select_from(entries)
    shapes = shapes.group_by(*[entries.c[label] for label in labels[:-1]])
    found = shapes.subquery("shapes")
    repeats = own.count(_ALL).label("repeats")
    key = dialect.text_key(found.c.shape)
    return sa.select(own.min(found.c.shape), found.c.size, repeats).group_by(key, found.c.size)
