"""Arrow columns for copies: rows can be taken out of them, and they list no value that no row has."""

from typing import Any

import pyarrow as pa


def plain(column: Any) -> Any:
    """Decode views of text and bytes, of which Arrow takes no rows, and dictionaries inside of lists and records."""
    decoded = column.type if pa.types.is_dictionary(column.type) else _decoded(column.type)
    return column if decoded == column.type else column.cast(decoded)


def with_used_values(column: Any) -> Any:
    """Encode a dictionary anew: it may list values that no row has."""
    if not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type).dictionary_encode()


def _decoded(kind: Any) -> Any:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return _decoded(kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(_decoded(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_decoded(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_decoded(kind.value_type), kind.list_size)
    if pa.types.is_map(kind):
        return pa.map_(_decoded(kind.key_type), _decoded(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _decoded(field.type)) for field in kind])
    return kind
