"""A frequency table as a source: existing counts can be grouped again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from privacy_plugin.errors import ParameterError, SourceError, require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.sources.coding import count_units
from privacy_plugin.sources.dispatch import open_source
from privacy_plugin.sources.fingerprint import fingerprint_table
from privacy_plugin.sources.numbered_rows import NumberedRows, require_no_targets
from privacy_plugin.sources.protocol import BuildTables, Fingerprint, Source, VerifyTables, require_column_names


class FrequencySource:
    """A table of counts; it has no rows, so it can be grouped but neither recoded nor published."""

    engine = "frequency table"

    def __init__(self, table: FrequencyTable) -> None:
        self._table = table
        self.columns = require_column_names(table.columns)

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Project the table; people are counted by one of its columns, or by the unit it was grouped with."""
        if self._table.unit is None and unit in self.columns:
            return count_units(self._table.project([*columns, unit]), unit)
        if unit != self._table.unit:
            counted = "rows" if self._table.unit is None else f"distinct {self._table.unit!r}"
            raise ParameterError(f"this frequency table counts {counted}, not distinct {unit!r}; group the source")
        return self._table.project(columns)

    def row_count(self) -> int:
        """Return the rows that the table counts (with a unit: the sum of people over distinct rows)."""
        return self._table.rows

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content, as a frame with these rows would."""
        chosen = self.columns if columns is None else tuple(columns)
        require_columns(chosen, self.columns)
        return fingerprint_table(self._table.project(chosen))

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Return the table itself: it never changes."""
        yield self

    def recode(self, recoding: Recoding, *, target: str | None = None) -> NoReturn:
        """Raise: there are no rows to recode."""
        raise SourceError("a frequency table has no rows to recode; pass the frame, file or table it came from")

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Raise: there are no rows to publish."""
        raise SourceError("a frequency table has no rows to publish; pass the frame, file or table it came from")

    def write_rows(self, rows: FrequencyTable, *, target: str | None, verify: Callable[[Source], None]) -> NoReturn:
        """Raise: there is no engine to write to."""
        raise SourceError("a frequency table has no engine to write rows to; pass the data it came from")

    def distribute(
        self, columns: Sequence[str], make: BuildTables, *, targets: Sequence[str] | None, verify: VerifyTables
    ) -> tuple[Any, ...]:
        """Return pandas frames of the canonical values."""
        require_no_targets(targets, self.engine)
        frames = tuple(map(_build_pandas_frame, make(self._table.project(columns))))
        verify([open_source(frame) for frame in frames])
        return frames


def _build_pandas_frame(wanted: NumberedRows | FrequencyTable) -> Any:
    import pandas as pd

    if isinstance(wanted, FrequencyTable):
        rows = np.repeat(np.arange(wanted.distinct), wanted.counts)
        made = {}
        for name in wanted.columns:
            values = np.array([*wanted.dictionary(name), None], dtype=object)[:-1]
            made[name] = pd.Series(values[wanted.column_codes(name)[rows]]).infer_objects()
        return pd.DataFrame(made)
    found: dict[str, Any] = {wanted.number: wanted.numbers}
    for name, dictionary in zip(wanted.table.columns, wanted.table.dictionaries, strict=True):
        values = np.empty(len(dictionary), dtype=object)
        values[:] = dictionary
        found[name] = pd.Series(values[wanted.table.column_codes(name)[wanted.lines]]).infer_objects()
    return pd.DataFrame({name: found[name] for name in wanted.columns})
