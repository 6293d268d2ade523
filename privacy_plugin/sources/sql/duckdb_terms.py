"""DuckDB expressions whose equality is the equality of values: shared by relations, files and SQLAlchemy tables."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.fingerprint import BUCKET_DIGITS

# Types that DuckDB compares exactly and that cross into Arrow without loss. Everything else is compared as text:
# INTERVAL calls a month and thirty days equal, TIMETZ loses its zone and UHUGEINT its size on the way.
_EXACT = frozenset(
    {
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "DATE",
    }
    | {
        "TIME",
        "TIMESTAMP",
        "TIMESTAMP_S",
        "TIMESTAMP_MS",
        "TIMESTAMP_NS",
        "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMPTZ_NS",
        "UUID",
        "BLOB",
    }
)
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_ZONED = {"TIMESTAMP WITH TIME ZONE": "epoch_us", "TIMESTAMPTZ_NS": "epoch_ns"}
_HUGE = frozenset({"HUGEINT", "UHUGEINT", "BIGNUM", "VARINT"})

# In a type as DuckDB writes it: a member's quoted name, which may say anything, or an enumeration.
_NAME_OR_ENUMERATION = re.compile(r"""(?P<name>"(?:[^"]|"")*")|\bENUM\((?:'(?:[^']|'')*'(?:, )?)*\)""")

SCHEME = "duckdb-sha256-1"
ALIAS = "privacy_plugin_source"  # what a relation is called in a query about it

# Any user of a database may define a macro sha256, isnan or "+", even count_star, which count(*) stands for, and
# DuckDB would ask it first. Under their full names its own functions answer.
OWN = "system.main"

BUCKET = f"{OWN}.substr(h, 1, {BUCKET_DIGITS})"
BUCKET_MEASURES = (
    f"{OWN}.count(*)",
    f"{OWN}.count(h)",
    f"{OWN}.sha256({OWN}.string_agg(h, '' ORDER BY h))",
)


def quote(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def group_term(column: str, kind: str) -> str:
    """Return the expression to group a (quoted) column by: no collation, NaN is missing, enumerations are text."""
    column, kind = shown(column, kind), shown_type(kind)
    if kind in _EXACT or kind in _FLOATING or kind.startswith("DECIMAL("):
        return column
    _require_telling_text(kind)
    text = column if kind == "VARCHAR" else f"CAST({column} AS VARCHAR)"
    return f'{text} COLLATE "C"'


def counting_query(source: str, terms: Sequence[str], person: str | None = None) -> str:
    """Return the query that counts the rows of every group (c0, c1, ... and n), or its people and rows of nobody."""
    named = ", ".join(f"{term} AS c{number}" for number, term in enumerate(terms))
    measures = f"{OWN}.count(*) AS n"
    if person is not None:
        measures = f"{OWN}.count(CASE WHEN {person} IS NULL THEN 1 END) AS absent, {OWN}.count(DISTINCT {person}) AS n"
    places = ", ".join(str(number) for number in range(1, len(terms) + 1))  # terms written twice are bound twice
    return f"SELECT {named}, {measures} FROM {source} GROUP BY {places}"


def group_decoder(kind: str) -> Callable[[Any], Any] | None:
    """Return what turns a term's value back into the column's: huge numbers travel as text."""
    return _whole_number if kind in _HUGE else None


def shown_type(kind: str) -> str:
    """Name the type that a release has: an enumeration, however deep inside, lists values that no row may have.

    >>> shown_type("STRUCT(seen DATE, found ENUM('flu', 'it''s')[])")
    'STRUCT(seen DATE, found VARCHAR[])'
    """
    return _NAME_OR_ENUMERATION.sub(lambda found: found["name"] or "VARCHAR", kind)


def shown(column: str, kind: str) -> str:
    """Return a (quoted) column as it is released: with the type of `shown_type`, and one form of what means the same.

    NaN is missing; adding zero makes -0.0 and 0.0 one.
    """
    if kind in _FLOATING:
        return f"CASE WHEN {_is_nan(column)} THEN NULL ELSE {OWN}.add({column}, 0) END"
    return column if shown_type(kind) == kind else f"CAST({column} AS {shown_type(kind)})"


def cell_text(column: str, kind: str) -> str:
    """Return a text that tells any two values of the column apart and does not depend on settings; NULL if missing."""
    column, kind = shown(column, kind), shown_type(kind)
    _require_telling_text(kind)
    if kind in _ZONED:  # its text follows the session's time zone; infinity has no epoch
        return f"coalesce(CAST({OWN}.{_ZONED[kind]}({column}) AS VARCHAR), CAST({column} AS VARCHAR))"
    if kind == "BLOB":
        return f"{OWN}.hex({column})"
    return f'{column} COLLATE "C"' if kind == "VARCHAR" else f"CAST({column} AS VARCHAR)"


def row_hash(cells: Sequence[str]) -> str:
    """Return the hash of a row: every cell is `N` if missing, else its length, a colon and its text."""
    parts = [
        f"CASE WHEN {cell} IS NULL THEN 'N' ELSE {OWN}.concat({OWN}.strlen({cell}), ':', {cell}) END" for cell in cells
    ]
    return f"{OWN}.sha256({OWN}.concat({', '.join(parts)}))"


def _is_nan(column: str) -> str:
    """Ask in a roundabout way: isnan of a Parquet column is answered from its statistics, which leave NaN out."""
    return f"NOT {OWN}.isfinite({column}) AND NOT {OWN}.isinf({column})"


def _require_telling_text(kind: str) -> None:
    """Refuse types whose text leaves open what a value is: in a UNION or VARIANT the number 1 and the text '1'."""
    if "UNION(" in kind or "VARIANT" in kind:
        raise SourceError("a column of type UNION or VARIANT holds different values that look alike; cast it first")


def _whole_number(text: Any) -> Any:
    return None if text is None else int(text)
