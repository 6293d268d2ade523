"""DuckDB's SQL as text: terms, types, errors and queries, shared by its dialect, by relations and by files.

This module does not need SQLAlchemy, whose import would slow down every reader of a file.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.sources.error_redaction import ForeignErrors, redact_errors, type_name
from privacy_plugin.sources.fingerprint import BUCKET_DIGITS
from privacy_plugin.sources.interrupts import interruptible
from privacy_plugin.sources.translation import Translator

# Types that DuckDB compares exactly and that Arrow can represent. All others are compared as text: in INTERVAL a month
# equals thirty days, and Arrow loses the zone of TIMETZ and the size of UHUGEINT.
_EXACT = frozenset(
    [
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
        "TIME",
        "TIMESTAMP",
        "TIMESTAMP_S",
        "TIMESTAMP_MS",
        "TIMESTAMP_NS",
        "TIMESTAMPTZ_NS",
        "UUID",
        "BLOB",
    ]
) | {"TIMESTAMP WITH TIME ZONE"}
_FLOATING = frozenset({"FLOAT", "DOUBLE"})
_ZONED = {"TIMESTAMP WITH TIME ZONE": "epoch_us", "TIMESTAMPTZ_NS": "epoch_ns"}
_HUGE = frozenset({"HUGEINT", "UHUGEINT", "BIGNUM", "VARINT"})

# In a type as DuckDB writes it: the quoted name of a member (any text), or an enumeration.
_NAME_OR_ENUMERATION = re.compile(r"""(?P<name>"(?:[^"]|"")*")|\bENUM\((?:'(?:[^']|'')*'(?:, )?)*\)""")

SCHEME = "duckdb-sha256-1"
ALIAS = "privacy_plugin_source"  # the name of a relation in a query on it

# A user of a database may define a macro sha256, isnan, "+" or even count_star (for count(*)), which DuckDB would call
# instead of its own function. Qualified names always mean its own.
OWN = "system.main"
ROW_COUNT = f"{OWN}.count(*)"

_CSV_LINE = re.compile(r"Invalid Input Error: CSV Error on Line: (\d+)\n")
_CSV_TOO_LONG = "Maximum line size"
_CSV_INVALID_STATE = "Invalid Input Error: The CSV Parser state machine reached an invalid state"
_NEW_VALUE = "a value appeared that did not exist when the recoding was prepared"


def quote(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Quote a text constant."""
    return "'" + text.replace("'", "''") + "'"


def equality_term(column: str, kind: str) -> str:
    """Return the term to group a (quoted) column by: no collation, NaN is missing, enumerations are text."""
    column, kind = release_term(column, kind), released_type(kind)
    if kind in _EXACT or kind in _FLOATING or kind.startswith("DECIMAL("):
        return column
    _require_unambiguous_text(kind)
    text = column if kind == "VARCHAR" else f"CAST({column} AS VARCHAR)"
    return f'{text} COLLATE "C"'


def value_decoder(kind: str) -> Callable[[Any], Any] | None:
    """Return the function that turns values of a term back into the column's: huge integers are read as text."""
    return _parse_integer if kind in _HUGE else None


def released_type(kind: str) -> str:
    """Return the type of a released column: an enumeration, however deeply nested, lists values of other rows.

    >>> released_type("STRUCT(seen DATE, found ENUM('flu', 'it''s')[])")
    'STRUCT(seen DATE, found VARCHAR[])'
    """
    return _NAME_OR_ENUMERATION.sub(lambda found: found["name"] or "VARCHAR", kind)


def release_term(column: str, kind: str) -> str:
    """Return a (quoted) column in its released form: its `released_type`, and one form of values that mean the same.

    NaN is missing; adding zero turns -0.0 into 0.0.
    """
    if kind in _FLOATING:
        return f"CASE WHEN {_is_nan(column)} THEN NULL ELSE {OWN}.add({column}, 0) END"
    return column if released_type(kind) == kind else f"CAST({column} AS {released_type(kind)})"


def cell_text(column: str, kind: str) -> str:
    """Return a text that identifies a value of the column, whatever the session's settings; NULL if missing."""
    column, kind = release_term(column, kind), released_type(kind)
    _require_unambiguous_text(kind)
    if kind in _ZONED:  # its text depends on the session's time zone; infinity has no epoch
        return f"coalesce(CAST({OWN}.{_ZONED[kind]}({column}) AS VARCHAR), CAST({column} AS VARCHAR))"
    if kind == "BLOB":
        return f"{OWN}.hex({column})"
    return f'{column} COLLATE "C"' if kind == "VARCHAR" else f"CAST({column} AS VARCHAR)"


def count_groups(source: str, terms: Sequence[str], unit: str | None = None) -> str:
    """Return the query that counts the rows of every group (c0, c1, ..., n), or with a unit its units (and absent)."""
    named = ", ".join(f"{term} AS c{number}" for number, term in enumerate(terms))
    measures = f"{ROW_COUNT} AS n"
    if unit is not None:
        measures = f"{OWN}.count(CASE WHEN {unit} IS NULL THEN 1 END) AS absent, {OWN}.count(DISTINCT {unit}) AS n"
    if not terms:
        return f"SELECT {measures} FROM {source}"
    positions = ", ".join(str(number) for number in range(1, len(terms) + 1))  # terms written twice are bound twice
    return f"SELECT {named}, {measures} FROM {source} GROUP BY {positions}"


def class_sizes(source: str, terms: Sequence[str]) -> str:
    """Return the query of the sizes of classes and how many classes have each."""
    classes = f"SELECT {ROW_COUNT} AS n FROM {source} GROUP BY {', '.join(terms)}"
    return f"SELECT n, {ROW_COUNT} AS repeats FROM ({classes}) AS classes GROUP BY n"


def coded_values(source: str, term: str) -> str:
    """Return the query of a column's values with their codes: 0 if missing, otherwise 1, 2, ... in their order."""
    return (
        f"SELECT s, CASE WHEN s IS NULL THEN 0 ELSE row_number() OVER (ORDER BY s NULLS LAST) END AS code "
        f"FROM (SELECT {term} AS s FROM {source} GROUP BY 1) AS found"
    )


def class_histograms(source: str, terms: Sequence[str], sensitive: str) -> str:
    """Return the query of the sorted lists of the codes of classes, and how many classes have each.

    One grouping with a list of small numbers takes half the time of two groupings, by value and by class.
    """
    named = ", ".join(f"{term} AS c{number}" for number, term in enumerate(terms))
    positions = ", ".join(f"r.c{number}" for number in range(len(terms)))
    values = f"SELECT s, CAST(code AS USMALLINT) AS code FROM ({coded_values(source, sensitive)}) WHERE s IS NOT NULL"
    code = "coalesce(v.code, CAST(0 AS USMALLINT))"
    classes = (
        f"SELECT {OWN}.list_sort({OWN}.list({code})) AS codes "
        f"FROM (SELECT {named}, {sensitive} AS s FROM {source}) AS r "
        f"LEFT JOIN ({values}) AS v ON r.s = v.s GROUP BY {positions}"
    )
    return f"SELECT codes, {ROW_COUNT} AS repeats FROM ({classes}) AS classes GROUP BY codes"


def hash_buckets(source: str, cells: Sequence[str]) -> str:
    """Return the query of a fingerprint's buckets, given the texts of the cells of a row.

    A row is the concatenation of its cells: `N` if missing, else the length, a colon and the text.
    """
    parts = [
        f"CASE WHEN {cell} IS NULL THEN 'N' ELSE {OWN}.concat({OWN}.strlen({cell}), ':', {cell}) END" for cell in cells
    ]
    hashed = f"{OWN}.sha256({OWN}.concat({', '.join(parts)}))"
    bucket = f"{OWN}.substr(h, 1, {BUCKET_DIGITS})"
    digest = f"{OWN}.sha256({OWN}.string_agg(h, '' ORDER BY h))"
    return (
        f"SELECT {bucket}, {ROW_COUNT}, {OWN}.count(h), {digest} "
        f"FROM (SELECT {hashed} AS h FROM {source}) AS hashes GROUP BY {bucket}"
    )


def count_values(source: str, terms: Sequence[str]) -> str:
    """Return the query of the number of rows, and of the present and the distinct values of every term."""
    counts = ", ".join(f"{OWN}.count({term}), {OWN}.count(DISTINCT {term})" for term in terms)
    return f"SELECT {ROW_COUNT}, {counts} FROM {source}"


def select_examples(source: str, released: Sequence[str], terms: Sequence[str]) -> str:
    """Return the query of one row of every combination of values (c0, c1, ...), numbered in the column `line`."""
    labels = [f"c{position}" for position in range(len(terms))]
    listed = ", ".join(f"{term} AS {label}" for term, label in zip(released, labels, strict=True))
    rows = f"SELECT {listed}, row_number() OVER (PARTITION BY {', '.join(terms)}) AS place FROM {source}"
    return f"SELECT {', '.join(labels)}, row_number() OVER () AS line FROM ({rows}) WHERE place = 1"


def recode_rows(translator: Translator, types: Mapping[str, str], mapping: str, hidden: str, combined: str) -> str:
    """Return the query that gives every row the translations of its values, or suppresses it.

    `mapping`, `hidden` and `combined` are the names of tables: translations (position, old, new, number), suppressed
    combinations (v0, v1, ...) and combinations that are recoded together (n0, ..., t0, ...).
    """
    recoding = translator.recoding
    source = f"{ALIAS} AS s"
    for position, name in enumerate(translator.coded_columns):
        cell = cell_text(f"s.{quote(name)}", types[name])
        source += (
            f" LEFT JOIN {mapping} AS m{position} ON m{position}.position = {position} AND "
            f'm{position}.old COLLATE "C" IS NOT DISTINCT FROM {cell} COLLATE "C"'
        )
    if recoding.combined_columns:
        positions = [translator.coded_columns.index(name) for name in recoding.combined_columns]
        matches = [f"c.n{i} = {_translation(position, 'number')}" for i, position in enumerate(positions)]
        source += f" LEFT JOIN {combined} AS c ON {' AND '.join(matches)}"
    condition = ""
    if recoding.suppressed:
        positions = [translator.coded_columns.index(name) for name in recoding.suppressed_columns]
        matches = [f"h.v{i} = {_translation(position, 'number')}" for i, position in enumerate(positions)]
        source += f" LEFT JOIN {hidden} AS h ON {' AND '.join(matches)}"
        condition = " WHERE h.v0 IS NULL" if recoding.suppression == "drop" else ""
    chosen = ", ".join(f"{_recoded_column(translator, name, types[name])} AS {quote(name)}" for name in recoding.keep)
    return f"SELECT {chosen} FROM {source}{condition}"


def _recoded_column(translator: Translator, name: str, kind: str) -> str:
    if name not in translator.text_columns:
        return release_term(f"s.{quote(name)}", kind)
    text = _translation(translator.coded_columns.index(name), "new")
    if name in translator.recoding.combined_columns:
        position = translator.recoding.combined_columns.index(name)
        text = f"CASE WHEN c.n0 IS NULL THEN {OWN}.error('{_NEW_VALUE}') ELSE c.t{position} END"
    if name in translator.masked_columns:
        text = f"CASE WHEN h.v0 IS NOT NULL THEN '{SUPPRESSED}' ELSE {text} END"
    return f"CAST({text} AS {kind})" if name in translator.typed_columns else text


def _translation(position: int, field: str) -> str:
    """Return a field of a joined mapping; a row without a match raises instead of becoming a missing value."""
    return f"CASE WHEN m{position}.number IS NULL THEN {OWN}.error('{_NEW_VALUE}') ELSE m{position}.{field} END"


@contextmanager
def redact_duckdb_errors(doing: str, relation: Any = None) -> Iterator[None]:
    """Raise SourceError instead of DuckDB's exceptions, which quote lines of files, values and queries."""
    # Only newer relations know their connection; with the others an interrupt waits for the end of the query.
    connection = getattr(relation, "_con", None)
    try:
        with redact_errors(doing, _ERRORS), interruptible(getattr(connection, "interrupt", None)):
            yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # DuckDB's exception for Ctrl-C
            raise
        raise KeyboardInterrupt from None


def _describe_error(error: BaseException) -> str:
    return type_name(error) + _describe_csv_error(str(error))


_ERRORS = ForeignErrors(classes=(duckdb.Error,), place="in DuckDB", describe=_describe_error)


def _describe_csv_error(message: str) -> str:
    """Describe what is wrong with a CSV file by the number of the line, never by its content."""
    if message.startswith(_CSV_INVALID_STATE):
        return "; lines end both with and without a carriage return; write the file with one line ending"
    found = _CSV_LINE.match(message)
    if found is None:
        return ""
    fault = (
        "the wrong number of values (a .csv is separated by commas if its first line has one), a quote that is not "
        "closed, or text that is not UTF-8"
    )
    if _CSV_TOO_LONG in message:
        fault = "longer than DuckDB reads from CSV; write the table as Parquet"
    return f", line {found[1]} of the file: {fault}"


def _is_nan(column: str) -> str:
    """Avoid isnan: for a Parquet column DuckDB answers it from statistics, which ignore NaN."""
    return f"NOT {OWN}.isfinite({column}) AND NOT {OWN}.isinf({column})"


def _require_unambiguous_text(kind: str) -> None:
    """Raise for types whose text does not identify a value: in a UNION or VARIANT, 1 and '1' look alike."""
    if "UNION(" in kind or "VARIANT" in kind:
        raise SourceError("a column of type UNION or VARIANT holds different values that look alike; cast it first")


def _parse_integer(text: Any) -> Any:
    return None if text is None else int(text)
