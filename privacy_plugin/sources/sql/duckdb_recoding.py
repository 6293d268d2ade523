"""Carry out a recoding in DuckDB: distinct values are translated outside, rows are rewritten by joins."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from privacy_plugin.frequency.values import SUPPRESSED
from privacy_plugin.sources.arrow_combinations import combinations_table
from privacy_plugin.sources.sql.duckdb_errors import told_as_source_error
from privacy_plugin.sources.sql.duckdb_terms import ALIAS, OWN, cell_text, quote, shown
from privacy_plugin.sources.translation import Translator

# The place of a column, a value's text in the relation, its new text and its number.
Translated = tuple[int, str | None, str | None, int]

_UNKNOWN = "a value appeared that was not there when the recoding was prepared"
_MAPPING = pa.schema([("position", pa.int64()), ("old", pa.string()), ("new", pa.string()), ("number", pa.int64())])


def joined_with_translations(
    relation: Any, types: Mapping[str, str], translator: Translator, rows: Sequence[Translated]
) -> Any:
    """Return the relation in which every row has the translations of its values, or is suppressed."""
    recoding = translator.recoding
    hidden = translator.suppressed_numbers() if recoding.suppressed else []
    # DuckDB finds these tables by the names of the variables, and keeps them as long as it needs them.
    privacy_plugin_mapping = pa.Table.from_pylist(  # noqa: F841
        [dict(zip(_MAPPING.names, row, strict=True)) for row in rows], schema=_MAPPING
    )
    width = len(recoding.suppressed_columns) if recoding.suppressed else 1
    privacy_plugin_hidden = pa.table(  # noqa: F841
        [pa.array([row[i] for row in hidden], type=pa.int64()) for i in range(width)],
        names=[f"v{i}" for i in range(width)],
    )
    source = f"{ALIAS} AS s"
    for position, name in enumerate(translator.coded_columns):
        cell = cell_text(f"s.{quote(name)}", types[name])
        source += (
            f" LEFT JOIN privacy_plugin_mapping AS m{position} ON m{position}.position = {position} AND "
            f'm{position}.old COLLATE "C" IS NOT DISTINCT FROM {cell} COLLATE "C"'
        )
    condition = ""
    privacy_plugin_combined = combinations_table(translator)  # noqa: F841
    if recoding.combined_columns:
        places = [translator.coded_columns.index(name) for name in recoding.combined_columns]
        matches = [f"c.n{i} = {_translated(place, 'number')}" for i, place in enumerate(places)]
        source += f" LEFT JOIN privacy_plugin_combined AS c ON {' AND '.join(matches)}"
    if recoding.suppressed:
        places = [translator.coded_columns.index(name) for name in recoding.suppressed_columns]
        matches = [f"h.v{i} = {_translated(place, 'number')}" for i, place in enumerate(places)]
        source += f" LEFT JOIN privacy_plugin_hidden AS h ON {' AND '.join(matches)}"
        condition = " WHERE h.v0 IS NULL" if recoding.suppression == "drop" else ""
    chosen = ", ".join(f"{_output(translator, name, types[name])} AS {quote(name)}" for name in recoding.keep)
    with told_as_source_error("recoding", relation):
        return relation.query(ALIAS, f"SELECT {chosen} FROM {source}{condition}")


def _output(translator: Translator, name: str, kind: str) -> str:
    if name not in translator.text_columns:
        return shown(f"s.{quote(name)}", kind)
    text = _translated(translator.coded_columns.index(name), "new")
    if name in translator.recoding.combined_columns:
        place = translator.recoding.combined_columns.index(name)
        text = f"CASE WHEN c.n0 IS NULL THEN {OWN}.error('{_UNKNOWN}') ELSE c.t{place} END"
    if name in translator.masked_columns:
        text = f"CASE WHEN h.v0 IS NOT NULL THEN '{SUPPRESSED}' ELSE {text} END"
    return text


def _translated(position: int, what: str) -> str:
    """Return a column of a joined mapping; a row that found no match stops the query instead of passing as missing."""
    return f"CASE WHEN m{position}.number IS NULL THEN {OWN}.error('{_UNKNOWN}') ELSE m{position}.{what} END"
