"""Arrow columns as codes: every engine that speaks Arrow hands over its groups this way."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.coding import CodedColumn, code_exactly


def code_array(column: Any, name: str) -> CodedColumn:
    """Code one column: its distinct values become Python objects, once each."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # too much text for one piece
        array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    try:
        encoded = array if pa.types.is_dictionary(array.type) else _plain(array).dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # nested values have no dictionary
        return code_exactly(_python_values(array, name))
    values = _python_values(encoded.dictionary, name)
    indices = encoded.indices
    if indices.type not in (pa.int32(), pa.int64()):  # a narrow index may have no room for one more number
        indices = indices.cast(pa.int64())
    if indices.null_count:
        indices = pc.fill_null(indices, pa.scalar(len(values), indices.type))
        values.append(None)
    return CodedColumn(codes=indices.to_numpy(), values=values)


def _plain(array: Any) -> Any:
    """Give Arrow's view types the layout its dictionaries know."""
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _python_values(array: Any, name: str) -> list[Any]:
    try:
        if pa.types.is_time64(array.type) and array.type.unit == "ns":
            return [str(text) if text is not None else None for text in array.cast(pa.string()).to_pylist()]
        values: list[Any] = array.to_pylist()
    except (ValueError, OverflowError):
        raise SourceError(
            f"column {name!r} holds a value of type {array.type} that Python cannot express: it knows the years 1 to "
            "9999, and text in UTF-8"
        ) from None
    return values
