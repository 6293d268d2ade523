"""Arrow tables: columns are dictionary-encoded a million rows at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.frames.arrow_plain import plain, with_used_values
from privacy_plugin.sources.frames.local_source import LocalSource, Mask, Texts
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
            pa.array(texts[name].tolist(), type=pa.string()) if name in texts else plain(self._column(name), name)
            for name in keep
        ]
        table = pa.table(columns, names=list(keep))
        rows = table.take(pa.array(np.arange(table.num_rows) if kept is None else np.flatnonzero(kept)))
        return pa.table([with_used_values(column) for column in rows.columns], names=list(keep))

    def from_arrow(self, rows: Any) -> pa.Table:
        """Take the rows as they are."""
        return rows

    def reopened(self, frame: Any) -> Source:
        """Open another table."""
        return ArrowSource(frame)

    def _column(self, name: str) -> Any:
        return self._table.column(self.columns.index(name))
