"""Arrow columns as codes, and the Arrow tables that engines join: how groups and new values cross."""

from typing import Any
from uuid import UUID

import pandas  # noqa: F401  pyarrow imports it later otherwise, and swallows every signal that arrives meanwhile
import pyarrow as pa
import pyarrow.compute as pc

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.coding import CodedColumn, code_by_meaning
from privacy_plugin.sources.translation import Translator


def code_array(column: Any, name: str) -> CodedColumn:
    """Code one column; each of its distinct values becomes a Python object once."""
    array = _combine_chunks(column) if isinstance(column, pa.ChunkedArray) else column
    extension = getattr(array.type, "extension_name", None)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    try:
        encoded = array if pa.types.is_dictionary(array.type) else _cast_views(array).dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # Arrow has no dictionaries of nested values
        return code_by_meaning(_python_values(array, name))
    values = _python_values(encoded.dictionary, name)
    if extension == "arrow.uuid":  # stored as bytes here, and as text by every other engine
        values = [None if value is None else str(UUID(bytes=value)) for value in values]
    indices = encoded.indices
    if indices.type not in (pa.int32(), pa.int64()):  # a narrow index may not hold one more number
        indices = indices.cast(pa.int64())
    if indices.null_count:
        indices = pc.fill_null(indices, pa.scalar(len(values), indices.type))
        values.append(None)
    return CodedColumn(codes=indices.to_numpy(), values=values)


def build_combinations(translator: Translator) -> pa.Table:
    """Return the combinations of a recoding: numbers n0, n1, ... of the values and their new texts t0, t1, ...

    Call it when all columns are translated.
    """
    width, rows = len(translator.recoding.combined_columns), translator.combined_rows()
    numbers = {f"n{i}": pa.array([row[i] for row in rows], type=pa.int64()) for i in range(width)}
    texts = {f"t{i}": pa.array([row[width + i] for row in rows], type=pa.string()) for i in range(width)}
    return pa.table(numbers | texts)


def _combine_chunks(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # more text than one array of type string holds
        array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
    return array


def _cast_views(array: Any) -> Any:
    """Cast Arrow's view types to the layouts that have dictionaries."""
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _python_values(array: Any, name: str) -> list[Any]:
    if pa.types.is_time(array.type):
        return _clock_texts(array)
    try:
        values: list[Any] = array.to_pylist()
    except (ValueError, OverflowError):
        raise SourceError(
            f"column {name!r} of type {array.type} holds a value that Python cannot represent: years must be 1 to "
            "9999, and text must be UTF-8"
        ) from None
    return values


def _clock_texts(array: Any) -> list[str | None]:
    """Write times of day as Python does; Python's own type has no nanoseconds and turns 24:00 into 00:00."""
    unit = 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[array.type.unit]
    counts = array.cast(pa.int32() if pa.types.is_time32(array.type) else pa.int64()).to_pylist()
    return [None if count is None else _clock_text(count, unit) for count in counts]


def _clock_text(count: int, unit: int) -> str:
    seconds, rest = divmod(count, unit)
    nanoseconds = rest * (10**9 // unit)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if not nanoseconds:
        return clock
    return f"{clock}.{nanoseconds:09}" if nanoseconds % 1000 else f"{clock}.{nanoseconds // 1000:06}"
