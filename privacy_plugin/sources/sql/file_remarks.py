"""Say what a Parquet file holds beyond its rows, which no requirement covers: recipients of the file see it too.

A release is a new file without any of it. These remarks are for a file that is handed on as it is.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from privacy_plugin.sources.sql.duckdb_sql import quote

_OF_ARROW = b"ARROW:schema"  # types only; its own metadata are looked at by the Arrow schema
_OF_PANDAS = b"pandas"
_OF_FIELDS = {b"PARQUET:field_id"}
_FLOATS = ("FLOAT", "DOUBLE")


def remark_on_parquet(path: Path, relation: Any) -> tuple[str, ...]:
    """Return what a reader of the file sees beyond the rows that are judged; names no value."""
    return (*_remark_on_metadata(path), *_remark_on_encodings(relation))


def _remark_on_metadata(path: Path) -> list[str]:
    file = pq.ParquetFile(path)
    remarks = []
    stored = dict(file.schema_arrow.metadata or {}) | dict(file.metadata.metadata or {})
    others = len(set(stored) - {_OF_ARROW, _OF_PANDAS})
    if others:
        remarks.append(f"the file has {others} entries of metadata of its own, which no requirement covers")
    if _has_pandas_extras(stored.get(_OF_PANDAS)):
        remarks.append("the metadata of pandas describe an index or attributes, which no requirement covers")
    described = [field.name for field in file.schema_arrow if set(field.metadata or {}) - _OF_FIELDS]
    if described:
        remarks.append(f"these columns have metadata, which no requirement covers: {', '.join(described)}")
    return remarks


def _has_pandas_extras(stored: bytes | None) -> bool:
    """Return whether the metadata of pandas say more than columns, types and consecutive row numbers."""
    if stored is None:
        return False
    try:
        loaded = json.loads(stored)
        attributes = bool(loaded.get("attributes"))
        plain = [
            isinstance(index, dict) and index["kind"] == "range" and index["name"] is None and index["start"] == 0
            for index in loaded.get("index_columns", [])
        ]
        described = any(column.get("metadata") and not _is_type(column) for column in loaded.get("columns", []))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return True
    return attributes or described or not all(plain)


def _is_type(column: Any) -> bool:
    """Return whether the metadata of a column are those of its type: categories, a time zone, a precision, text."""
    return set(column["metadata"]) <= {"num_categories", "ordered", "timezone", "precision", "scale", "encoding"}


def _remark_on_encodings(relation: Any) -> list[str]:
    """Count the forms in which one value is written, in one query over the columns that can have several."""
    terms, meanings = ["count(*)"], [""]
    for name, kind in zip(relation.columns, relation.types, strict=True):
        column = quote(name)
        if str(kind) in _FLOATS:
            terms.append(f"least(count(*) FILTER (isnan({column})), count(*) FILTER ({column} IS NULL))")
            meanings.append(f"column {name!r} has both NaN and NULL: readers can tell them apart, the gate does not")
            zeros = [f"count(*) FILTER ({column} = 0 AND {sign} signbit({column}))" for sign in ("", "NOT")]
            terms.append(f"least({', '.join(zeros)})")
            meanings.append(f"column {name!r} has both 0.0 and -0.0: readers can tell them apart, the gate does not")
        elif str(kind) == "VARCHAR":
            terms.append(f"count(DISTINCT {column}) - count(DISTINCT nfc_normalize({column}))")
            meanings.append(
                f"column {name!r} has values that differ only in their Unicode form: they look like one value and "
                "count as several"
            )
    (found,) = relation.aggregate(", ".join(terms)).fetchall()
    return [meaning for count, meaning in zip(found, meanings, strict=True) if count and meaning]
