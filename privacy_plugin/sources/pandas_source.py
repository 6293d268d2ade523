"""pandas frames: columns are factorized a million rows at a time, so that memory grows with distinct rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from privacy_plugin.errors import require_columns
from privacy_plugin.frequency.recoding import Recoding
from privacy_plugin.frequency.table import FrequencyTable, merge
from privacy_plugin.sources.coding import CHUNK_ROWS, CodedColumn, chunk_table, code_exactly, count_units
from privacy_plugin.sources.digest import LocalDigest
from privacy_plugin.sources.protocol import Fingerprint, Source, checked_names
from privacy_plugin.sources.translation import Translator, require_no_target

# Kinds of object columns whose equal values mean the same; all others (True beside 1, lists) are coded exactly.
_UNIFORM_KINDS = frozenset({"string", "bytes", "integer", "boolean", "decimal", "date", "datetime", "empty"})


class PandasSource:
    """A pandas frame; its index takes no part in anything."""

    engine = "pandas"

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.columns = checked_names(list(frame.columns))

    def frequencies(self, columns: Sequence[str], *, unit: str | None = None) -> FrequencyTable:
        """Count equal rows."""
        require_columns(columns, self.columns)
        if unit is None:
            return merge([chunk_table(columns, coded) for coded in self._chunks(columns)])
        require_columns([unit], self.columns, role="unit")
        pairs = merge([chunk_table([*columns, unit], coded) for coded in self._chunks([*columns, unit])])
        return count_units(pairs, unit)

    def row_count(self) -> int:
        """Count the rows."""
        return len(self._frame)

    def fingerprint(self, columns: Sequence[str] | None = None) -> Fingerprint:
        """Identify the content by its canonical values."""
        chosen = self.columns if columns is None else tuple(columns)
        require_columns(chosen, self.columns)
        digest = LocalDigest(chosen)
        for coded in self._chunks(chosen):
            digest.add(coded)
        return digest.finish()

    @contextmanager
    def snapshot(self) -> Iterator[Source]:
        """Return the frame itself: nobody else writes to it."""
        yield self

    def recode(self, recoding: Recoding, *, target: str | None = None) -> pd.DataFrame:
        """Return a new frame with the same index (without the dropped rows)."""
        require_no_target(target, self.engine)
        translator = Translator(recoding, self.columns)
        coded = {name: code_series(self._frame[name]) for name in translator.coded_columns}
        translated = {name: translator.translate(name, column.values) for name, column in coded.items()}
        hit = translator.suppressed_rows(
            {name: translated[name].numbers[coded[name].codes] for name in coded}
        )
        result = self._frame[list(recoding.keep)].copy()
        for name in translator.text_columns:
            texts = np.array(translated[name].texts, dtype=object)[coded[name].codes]
            if hit is not None and name in translator.masked_columns:
                texts[hit] = "*"
            result[name] = pd.Series(texts, index=result.index, dtype=object).infer_objects()
        return result[~hit] if hit is not None and recoding.suppression == "drop" else result

    def publish(self, target: str | None, *, columns: Sequence[str], verify: Callable[[Source], None]) -> Any:
        """Return a copy of the columns once `verify` has accepted it."""
        require_no_target(target, self.engine)
        require_columns(columns, self.columns)
        copy = self._frame[list(columns)].copy(deep=True)
        verify(PandasSource(copy))
        return copy

    def _chunks(self, columns: Sequence[str]) -> Iterator[list[CodedColumn]]:
        for start in range(0, max(len(self._frame), 1), CHUNK_ROWS):
            yield [code_series(self._frame[name].iloc[start : start + CHUNK_ROWS]) for name in columns]


def code_series(series: "pd.Series[Any]") -> CodedColumn:
    """Code one column by value; every kind of missing value gets one code."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _with_missing(series.cat.codes.to_numpy(), series.cat.categories.tolist())
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) not in _UNIFORM_KINDS:
        return code_exactly(series.tolist())
    try:
        codes, values = pd.factorize(series)
    except (TypeError, ValueError, NotImplementedError):  # nested values have no hash
        return code_exactly(series.tolist())
    return _with_missing(codes, values.tolist())


def _with_missing(codes: Any, values: list[Any]) -> CodedColumn:
    """Give missing values, which pandas codes as -1, a code of their own."""
    widened = codes.astype(np.int64)
    widened[widened < 0] = len(values)
    return CodedColumn(codes=widened, values=[*values, None])
