"""What an Arrow array stores and no row shows: values inside of a record, list or map that is itself missing."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def without_hidden(column: Any) -> Any:
    """Copy a nested column without the values under what is missing, however deep inside.

    Unions are refused: they store values that no row has chosen, and members may mean the same (1 and 1.0), of which
    nothing here could write one for the other.
    """
    if not pa.types.is_nested(column.type) and not isinstance(column.type, pa.BaseExtensionType):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_shown(chunk) for chunk in column.chunks], type=column.type)
    return _shown(column)


def _shown(array: Any) -> Any:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, _shown(array.storage))
    if pa.types.is_union(kind):
        raise pa.ArrowNotImplementedError("unions")
    if pa.types.is_struct(kind):
        present = _kept(array.is_valid())
        members = [_shown(array.field(number).take(present)) for number in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=array.is_null())
    if pa.types.is_fixed_size_list(kind) and not kind.list_size:  # holds nothing, and Arrow would divide by its size
        return array
    if pa.types.is_fixed_size_list(kind):
        first, size = array.offset * kind.list_size, kind.list_size
        present = _kept(np.repeat(array.is_valid().to_numpy(zero_copy_only=False), size))
        values = _shown(array.values.slice(first, len(array) * size).take(present))
        return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=array.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return type(array).from_arrays(_offsets(array), _shown(array.flatten()), type=kind, mask=array.is_null())
    if pa.types.is_map(kind):
        entries = _entries(array)
        members = [_shown(member.take(entries)) for member in (array.keys, array.items)]
        return pa.MapArray.from_arrays(_offsets(array), *members, type=kind, mask=array.is_null())
    return array.take(_kept(array.is_valid()))


def _kept(valid: Any) -> Any:
    """Number the values, and leave those out that are missing: to take nothing leaves nothing behind."""
    return pc.if_else(valid, pa.array(np.arange(len(valid))), pa.scalar(None, pa.int64()))


def _lengths(array: Any) -> Any:
    """Count the values of every list or map; of a missing one there are none, whatever it stores."""
    starts = array.offsets.to_numpy().astype(np.int64)
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), np.diff(starts), 0)


def _offsets(array: Any) -> Any:
    narrow = pa.int64() if pa.types.is_large_list(array.type) else pa.int32()
    return pa.array(np.concatenate([[0], np.cumsum(_lengths(array))]), type=narrow)


def _entries(array: Any) -> Any:
    """Return the places of the entries of maps that are there."""
    starts, lengths = array.offsets.to_numpy()[:-1].astype(np.int64), _lengths(array)
    before = np.cumsum(lengths) - lengths
    return pa.array(np.arange(lengths.sum()) + np.repeat(starts - before, lengths))
