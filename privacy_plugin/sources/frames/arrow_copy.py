"""Copy Arrow columns for a release: the copy stores only what its rows show.

Arrow arrays may store more than their rows: dictionary values without rows, values inside of a missing record, list or
map, rows that were sliced off. None of that may reach a release.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privacy_plugin.errors import SourceError


def copy_column(column: Any, name: str) -> Any:
    """Return a copy without values of removed rows, hidden values and field metadata, in canonical form.

    Runs, views of text, bytes and lists, and nested dictionaries are decoded: they store values of removed rows, or
    Arrow cannot take rows out of them.
    """
    try:
        whole = _decode_encodings(column)
        decoded = whole.type if pa.types.is_dictionary(whole.type) else _decoded_type(whole.type)
        cast = whole if decoded.equals(whole.type, check_metadata=True) else whole.cast(decoded)
        cast.validate()  # Arrow casts some slices wrongly, and reading those would crash the process
        return drop_hidden_values(_canonical_column(cast))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise SourceError(
            f"Arrow cannot copy rows of column {name!r} of type {column.type}; cast it to a plain type first"
        ) from None


def drop_unused_values(column: Any) -> Any:
    """Encode a dictionary again: it may list values that no row has."""
    if not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type).dictionary_encode()


def _canonical_column(column: Any) -> Any:
    """Make NaN missing, add zero to turn -0.0 into 0.0, and cut hours off date64 values."""
    if isinstance(column.type, pa.BaseExtensionType):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        made = [pa.ExtensionArray.from_storage(column.type, _canonical_column(chunk.storage)) for chunk in chunks]
        return pa.chunked_array(made, type=column.type)
    if pa.types.is_date64(column.type):
        return pc.floor_temporal(column.cast(pa.timestamp("ms")), unit="day").cast(column.type)
    if pa.types.is_dictionary(column.type) and pa.types.is_floating(column.type.value_type):
        return _canonical_column(column.cast(column.type.value_type)).dictionary_encode()
    if pa.types.is_float16(column.type):  # Arrow has no arithmetic for it
        return _canonical_column(column.cast(pa.float32())).cast(column.type)
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), pc.add(column, pa.scalar(0, column.type)))


def _decode_encodings(column: Any) -> Any:
    """Decode runs, views of lists, and dictionaries that a cast cannot decode."""
    if pa.types.is_run_end_encoded(column.type):
        return _decode_encodings(pc.run_end_decode(column))
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if _is_list_view(column.type):
        lists = [_convert_view(chunk) for chunk in chunks]
        return pa.chunked_array(lists, type=pa.large_list(column.type.value_type))
    if pa.types.is_dictionary(column.type) and _is_encoded(column.type.value_type):
        taken = [_decode_encodings(chunk.dictionary).take(chunk.indices) for chunk in chunks]
        return pa.chunked_array(taken, type=None if taken else _decoded_type(column.type))
    return column


def _is_list_view(kind: Any) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _is_encoded(kind: Any) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind))


def _convert_view(views: Any) -> Any:
    """Convert list views to lists: Arrow's own cast returns arrays with invalid offsets."""
    lengths = pc.list_value_length(views).cast(pa.int64()).fill_null(0)
    ends = np.cumsum(lengths.to_numpy(zero_copy_only=False))
    offsets = pa.array(np.concatenate([[0], ends]), type=pa.int64())
    return pa.LargeListArray.from_arrays(offsets, views.flatten(), mask=views.is_null())


def _decoded_type(kind: Any) -> Any:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _decoded_type(kind.value_type)
    if _is_list_view(kind):
        raise pa.ArrowNotImplementedError("nested views")
    if pa.types.is_list(kind):
        return pa.list_(_decoded_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_decoded_type(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_decoded_type(kind.value_type), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(_decoded_type(kind.key_type), _decoded_type(kind.item_type), keys_sorted=kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _decoded_type(field.type)) for field in kind])
    return kind


def drop_hidden_values(column: Any) -> Any:
    """Copy a nested column without the values inside of missing records, lists and maps, however deeply nested.

    Unions raise an error: they store values that no row selects, and two members may mean the same (1 and 1.0).
    """
    if not pa.types.is_nested(column.type) and not isinstance(column.type, pa.BaseExtensionType):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_copy_array(chunk) for chunk in column.chunks], type=column.type)
    return _copy_array(column)


def _copy_array(array: Any) -> Any:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, _copy_array(array.storage))
    if pa.types.is_union(kind):
        raise pa.ArrowNotImplementedError("unions")
    if pa.types.is_struct(kind):
        present = _valid_positions(array.is_valid())
        members = [_copy_array(array.field(number).take(present)) for number in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=array.is_null())
    if pa.types.is_fixed_size_list(kind) and not kind.list_size:  # it is empty, and Arrow would divide by its size
        return array
    if pa.types.is_fixed_size_list(kind):
        first, size = array.offset * kind.list_size, kind.list_size
        present = _valid_positions(np.repeat(array.is_valid().to_numpy(zero_copy_only=False), size))
        values = _copy_array(array.values.slice(first, len(array) * size).take(present))
        return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=array.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return type(array).from_arrays(
            _list_offsets(array), _copy_array(array.flatten()), type=kind, mask=array.is_null()
        )
    if pa.types.is_map(kind):
        entries = _entry_positions(array)
        members = [_copy_array(member.take(entries)) for member in (array.keys, array.items)]
        return pa.MapArray.from_arrays(_list_offsets(array), *members, type=kind, mask=array.is_null())
    return array.take(_valid_positions(array.is_valid()))


def _valid_positions(valid: Any) -> Any:
    """Return the positions of valid values, and null for missing ones: taking null copies nothing."""
    return pc.if_else(valid, pa.array(np.arange(len(valid))), pa.scalar(None, pa.int64()))


def _list_lengths(array: Any) -> Any:
    """Return the length of every list or map; a missing one counts as empty, whatever it stores."""
    starts = array.offsets.to_numpy().astype(np.int64)
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), np.diff(starts), 0)


def _list_offsets(array: Any) -> Any:
    narrow = pa.int64() if pa.types.is_large_list(array.type) else pa.int32()
    return pa.array(np.concatenate([[0], np.cumsum(_list_lengths(array))]), type=narrow)


def _entry_positions(array: Any) -> Any:
    """Return the positions of the entries of valid maps."""
    starts, lengths = array.offsets.to_numpy()[:-1].astype(np.int64), _list_lengths(array)
    before = np.cumsum(lengths) - lengths
    return pa.array(np.arange(lengths.sum()) + np.repeat(starts - before, lengths))
