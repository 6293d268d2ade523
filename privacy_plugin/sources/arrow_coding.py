"""Arrow columns as codes, and the Arrow tables that engines join: how groups and new values cross.

`whole_numbers`, `number_array` and `text_array` use Arrow's buffers: pyarrow's own conversions import pandas, which
takes longer than checking a small file, and forget what a signal's handler raised meanwhile.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
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
        encoded = array if pa.types.is_dictionary(array.type) else _cast_views(array).dictionary_encode("encode")
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
    return CodedColumn(codes=whole_numbers(indices), values=values)


def whole_numbers(column: Any) -> npt.NDArray[Any]:
    """Return a column of whole numbers as an array that shares its memory if it can."""
    array = _combine_chunks(column) if isinstance(column, pa.ChunkedArray) else column
    if array.null_count or not pa.types.is_integer(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(len(array), dtype=str(array.type))
    return np.frombuffer(data, dtype=str(array.type), count=len(array) + array.offset)[array.offset :]


def number_array(numbers: Sequence[int] | npt.NDArray[np.int64]) -> Any:
    """Return whole numbers as an Arrow array of 64 bits."""
    data = np.ascontiguousarray(numbers, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(data)])


def text_array(texts: Sequence[str | None]) -> Any:
    """Return texts, of which some may be missing, as an Arrow array."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    present = np.packbits(np.array([text is not None for text in texts], dtype=bool), bitorder="little")
    buffers = [pa.py_buffer(data) for data in (present.tobytes(), offsets, b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)


def build_combinations(translator: Translator) -> pa.Table:
    """Return the combinations of a recoding: numbers n0, n1, ... of the values and their new texts t0, t1, ...

    Call it when all columns are translated.
    """
    width, rows = len(translator.recoding.combined_columns), translator.combined_rows()
    numbers = {f"n{i}": number_array([row[i] for row in rows]) for i in range(width)}
    texts = {f"t{i}": text_array([row[width + i] for row in rows]) for i in range(width)}
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
