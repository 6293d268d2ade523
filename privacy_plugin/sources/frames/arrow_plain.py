"""Arrow columns for copies: rows can be taken out of them, and they tell nothing that no row has."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.frames.arrow_hidden import without_hidden


def plain(column: Any, name: str) -> Any:
    """Decode what keeps values of rows that are taken out, or that Arrow takes no rows of.

    These are runs, views of text, bytes and lists, dictionaries inside of lists and records and of them; and what is
    written beside the fields of a type stays behind, and so is what lies under missing records. Of what means the same
    there is one form.
    """
    try:
        whole = _spelled_out(column)
        decoded = whole.type if pa.types.is_dictionary(whole.type) else _decoded(whole.type)
        cast = whole if decoded.equals(whole.type, check_metadata=True) else whole.cast(decoded)
        cast.validate()  # of slices Arrow casts some wrongly, and whoever reads those ends the process
        return without_hidden(_one_form(cast))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise SourceError(
            f"column {name!r} is of type {column.type}, of which Arrow copies no rows; cast it to a plain type first"
        ) from None


def with_used_values(column: Any) -> Any:
    """Encode a dictionary anew: it may list values that no row has."""
    if not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type).dictionary_encode()


def _one_form(column: Any) -> Any:
    """Make NaN missing, -0.0 and 0.0 one by adding zero, and days of what is called a day and may have hours."""
    if isinstance(column.type, pa.BaseExtensionType):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        made = [pa.ExtensionArray.from_storage(column.type, _one_form(chunk.storage)) for chunk in chunks]
        return pa.chunked_array(made, type=column.type)
    if pa.types.is_date64(column.type):
        return pc.floor_temporal(column.cast(pa.timestamp("ms")), unit="day").cast(column.type)
    if pa.types.is_dictionary(column.type) and pa.types.is_floating(column.type.value_type):
        return _one_form(column.cast(column.type.value_type)).dictionary_encode()
    if pa.types.is_float16(column.type):  # of which Arrow computes nothing
        return _one_form(column.cast(pa.float32())).cast(column.type)
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), pc.add(column, pa.scalar(0, column.type)))


def _spelled_out(column: Any) -> Any:
    """Write out runs, views of lists, and dictionaries that Arrow does not decode by a cast."""
    if pa.types.is_run_end_encoded(column.type):
        return _spelled_out(pc.run_end_decode(column))
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if _is_list_view(column.type):
        lists = [_listed(chunk) for chunk in chunks]
        return pa.chunked_array(lists, type=pa.large_list(column.type.value_type))
    if pa.types.is_dictionary(column.type) and _needs_taking(column.type.value_type):
        taken = [_spelled_out(chunk.dictionary).take(chunk.indices) for chunk in chunks]
        return pa.chunked_array(taken, type=None if taken else _decoded(column.type))
    return column


def _is_list_view(kind: Any) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _needs_taking(kind: Any) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind))


def _listed(views: Any) -> Any:
    """Make lists of views: Arrow's own cast returns arrays whose offsets it calls invalid."""
    lengths = pc.list_value_length(views).cast(pa.int64()).fill_null(0)
    ends = np.cumsum(lengths.to_numpy(zero_copy_only=False))
    offsets = pa.array(np.concatenate([[0], ends]), type=pa.int64())
    return pa.LargeListArray.from_arrays(offsets, views.flatten(), mask=views.is_null())


def _decoded(kind: Any) -> Any:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _decoded(kind.value_type)
    if _is_list_view(kind):
        raise pa.ArrowNotImplementedError("views inside of other values")
    if pa.types.is_list(kind):
        return pa.list_(_decoded(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_decoded(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_decoded(kind.value_type), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(_decoded(kind.key_type), _decoded(kind.item_type), keys_sorted=kind.keys_sorted)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _decoded(field.type)) for field in kind])
    return kind
