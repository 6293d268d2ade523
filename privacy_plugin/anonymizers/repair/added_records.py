"""Add records to a frame of any kind, in the frame's own types; columns that a record lacks get a missing value."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

from privacy_plugin.errors import SourceError, require_columns
from privacy_plugin.frequency.values import Value

Records = Sequence[Mapping[str, Value]]


def with_records(frame: Any, records: Records) -> Any:
    """Return a new frame with the records at its end.

    >>> import pandas
    >>> with_records(pandas.DataFrame({"city": ["Bern"], "age": [30]}), [{"city": "Basel"}]).to_dict("list")
    {'city': ['Bern', 'Basel'], 'age': [30.0, nan]}
    """
    kind = type(frame).__module__.partition(".")[0]
    adding = {"pandas": _with_pandas, "polars": _with_polars, "pyarrow": _with_arrow}.get(kind)
    if adding is None or not hasattr(frame, "shape"):
        raise SourceError(
            f"records can be added to a pandas, polars or Arrow frame, not to {type(frame).__name__}; "
            "insert the repair's records with the engine's own means"
        )
    names = list(frame.column_names if kind == "pyarrow" else frame.columns)
    for record in records:
        require_columns(list(record), names)
    if not records:
        return frame
    return adding(frame, {name: [record.get(name) for record in records] for name in names})


def _with_pandas(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    import pandas as pd

    added = {name: _as_in(frame[name], values) for name, values in columns.items()}
    return pd.concat([frame, pd.DataFrame(added)], ignore_index=True)


def _as_in(column: Any, values: list[Any]) -> Any:
    """Give values a column's type, or the nearest one that has room for a missing value."""
    import pandas as pd

    plain = pd.Series(values, dtype=object)
    if plain.isna().any() and column.dtype.kind in "iu" and not hasattr(column.dtype, "numpy_dtype"):
        return pd.to_numeric(plain).astype("float64")
    if plain.isna().any() and column.dtype == bool:
        return plain
    return plain.astype(column.dtype)


def _with_polars(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    return frame.vstack(type(frame)(columns, schema=frame.schema))


def _with_arrow(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    moments = {field.name for field in frame.schema if str(field.type).startswith("timestamp")}
    filled = {name: [_moment(v) for v in values] if name in moments else values for name, values in columns.items()}
    added = type(frame).from_pydict(filled, schema=frame.schema)
    return type(frame).from_batches([*frame.to_batches(), *added.to_batches()], schema=frame.schema)


def _moment(value: Any) -> Any:
    """A moment at midnight is canonically a date, which Arrow does not take for a moment."""
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    return datetime.combine(value, time()) if is_date else value
