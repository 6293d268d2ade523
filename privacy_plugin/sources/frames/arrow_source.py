"""Arrow tables: columns are dictionary-encoded, a million rows at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from privacy_plugin.sources.arrow_coding import code_array
from privacy_plugin.sources.coding import CodedColumn
from privacy_plugin.sources.frames.arrow_copy import copy_column, drop_unused_values
from privacy_plugin.sources.frames.local_source import LocalSource, Mask, Texts
from privacy_plugin.sources.protocol import Source, require_column_names


class ArrowSource(LocalSource):
    """A pyarrow table."""

    engine = "arrow"

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.columns = require_column_names(table.column_names)

    def row_count(self) -> int:
        """Count the rows."""
        return int(self._table.num_rows)

    def code_column(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code part of a column."""
        return code_array(self._column(name).slice(start, stop - start), name)

    def rebuild(
        self, keep: Sequence[str], texts: Mapping[str, Texts], mask: Mask | None, typed: Sequence[str] = ()
    ) -> pa.Table:
        """Replace columns by texts and remove rows, with everything that is stored of them."""
        columns = [
            pa.array(texts[name].tolist(), type=pa.string()) if name in texts else copy_column(self._column(name), name)
            for name in keep
        ]
        columns = [
            one.cast(self._column(name).type) if name in typed else one for name, one in zip(keep, columns, strict=True)
        ]
        table = pa.table(columns, names=list(keep))
        rows = table.take(pa.array(np.arange(table.num_rows) if mask is None else np.flatnonzero(mask)))
        return pa.table([drop_unused_values(column) for column in rows.columns], names=list(keep))

    def from_arrow(self, rows: Any) -> pa.Table:
        """Return the rows unchanged."""
        return rows

    def reopen(self, frame: Any) -> Source:
        """Open another table."""
        return ArrowSource(frame)

    def _column(self, name: str) -> Any:
        return self._table.column(self.columns.index(name))
