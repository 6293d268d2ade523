"""JSON lines: one object a line, whose fields have one type each, read exactly by DuckDB."""

from pathlib import Path
from typing import Any

from privacy_plugin.errors import ColumnError, SourceError
from privacy_plugin.sources.protocol import require_column_names, require_distinct_ignoring_case
from privacy_plugin.sources.sql.duckdb_sql import quote, quote_text

_EXACT = 1 << 53  # whole numbers up to here are exact in a double
_LONG = (1 << 63) - 1
_POINTER = "'/' || replace(replace(k, '~', '~0'), '/', '~1')"


def json_lines_query(connection: Any, path: Path, location: str) -> str:
    """Return the query that reads a file of JSON lines; raise if values would be rounded, merged or hidden.

    A missing field is a missing value. Text stays text ("02138", "2024-01-31"), whole numbers are integers, numbers
    with a fraction are doubles, as in JavaScript.
    """
    objects = f"read_ndjson_objects({location})"
    fields = (
        f"SELECT k, json_type(json, {_POINTER}) AS kind, json ->> ({_POINTER}) AS text, number "
        f"FROM (SELECT json, unnest(json_keys(json)) AS k, row_number() OVER () AS number FROM {objects})"
    )
    ((wrong, repeated),) = connection.sql(
        "SELECT count(*) FILTER (json_type(json) <> 'OBJECT'), "
        f"count(*) FILTER (json_type(json) = 'OBJECT' AND len(json_keys(json)) > len(list_distinct(json_keys(json)))) "
        f"FROM {objects}"
    ).fetchall()
    if wrong:
        raise SourceError(f"{wrong:,} lines of {str(path)!r} are not JSON objects; write one object a line")
    if repeated:
        raise ColumnError(f"{repeated:,} lines of {str(path)!r} name a field twice; name every field once")
    found = connection.sql(
        "SELECT k, list_sort(list_distinct(list(kind))), "
        "max(CASE WHEN kind IN ('BIGINT', 'UBIGINT', 'DOUBLE') THEN abs(CAST(text AS DOUBLE)) END), "
        "max(CASE WHEN kind = 'UBIGINT' THEN CAST(text AS UBIGINT) END) "
        f"FROM ({fields}) GROUP BY k ORDER BY min(number), k"
    ).fetchall()
    names = require_column_names([name for name, *_ in found])
    require_distinct_ignoring_case(names, "DuckDB")
    order = connection.sql(f"SELECT json_keys(json) FROM {objects} LIMIT 1").fetchall()
    first = {name: position for position, name in enumerate(order[0][0] if order else ())}
    found.sort(key=lambda entry: (first.get(entry[0], len(first)), entry[0]))
    chosen = []
    for name, kinds, largest, whole in found:
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        kind = _column_type(name, set(kinds) - {"NULL"}, largest, whole)
        chosen.append(f"CAST(json ->> {quote_text(pointer)} AS {kind}) AS {quote(name)}")
    return f"SELECT {', '.join(chosen)} FROM {objects}"


def _column_type(name: str, kinds: set[str], largest: float | None, whole: int | None) -> str:
    """Return the DuckDB type of a field with values of these kinds."""
    if kinds & {"OBJECT", "ARRAY"}:
        raise SourceError(f"field {name!r} holds objects or lists; write one value into every field")
    if len(kinds & {"VARCHAR", "BOOLEAN"}) + bool(kinds & {"BIGINT", "UBIGINT", "DOUBLE"}) > 1:
        raise SourceError(f"field {name!r} mixes text, numbers or booleans; write one of them")
    if "DOUBLE" in kinds:
        if largest is not None and largest > _EXACT:
            raise SourceError(f"field {name!r} has numbers that a double does not hold exactly; write them as text")
        return "DOUBLE"
    if kinds & {"BIGINT", "UBIGINT"}:
        return "BIGINT" if whole is None or whole <= _LONG else "DECIMAL(38, 0)"
    return "BOOLEAN" if kinds == {"BOOLEAN"} else "VARCHAR"
