"""Arrow tables: columns are dictionary-encoded a million rows at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.local_source import LocalSource, Mask, Texts
from privacy_plugin.sources.protocol import Source, checked_names


class ArrowSource(LocalSource):
    """A pyarrow table."""

    engine = "arrow"

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.columns = checked_names(table.column_names)

    def row_count(self) -> int:
        """Count the rows."""
        return int(self._table.num_rows)

    def coded(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code part of a column."""
        return code_array(self._column(name).slice(start, stop - start), name)

    def rebuilt(self, keep: Sequence[str], texts: Mapping[str, Texts], kept: Mask | None) -> pa.Table:
        """Put texts in the place of columns, and leave rows out, with all that is stored of them beside the rows."""
        columns = [
            pa.array(texts[name].tolist(), type=pa.string()) if name in texts else _without_views(self._column(name))
            for name in keep
        ]
        table = pa.table(columns, names=list(keep))
        rows = table.take(pa.array(np.arange(table.num_rows) if kept is None else np.flatnonzero(kept)))
        return pa.table([_with_used_values(column) for column in rows.columns], names=list(keep))

    def from_arrow(self, rows: Any) -> pa.Table:
        """Take the rows as they are."""
        return rows

    def reopened(self, frame: Any) -> Source:
        """Open another table."""
        return ArrowSource(frame)

    def _column(self, name: str) -> Any:
        return self._table.column(self.columns.index(name))


def _without_views(column: Any) -> Any:
    """Arrow cannot take rows out of views of text or bytes."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


def _with_used_values(column: Any) -> Any:
    """Encode a dictionary anew, for it may list values that no row has; inside of lists and records, decode it."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type).dictionary_encode()
    decoded = _decoded(column.type)
    return column if decoded == column.type else column.cast(decoded)


def _decoded(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(_decoded(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_decoded(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _decoded(field.type)) for field in kind])
    return kind
