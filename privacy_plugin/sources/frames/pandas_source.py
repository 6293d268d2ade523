"""pandas frames: columns are factorized a million rows at a time; the index takes no part in what is measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.coding import CodedColumn, code_exactly
from privacy_plugin.sources.frames.arrow_plain import plain, with_used_values
from privacy_plugin.sources.frames.local_source import LocalSource, Mask, Texts
from privacy_plugin.sources.frames.pandas_forms import series_in_one_form
from privacy_plugin.sources.protocol import Source, checked_names

# Kinds of object columns whose equal values mean the same; others (True beside 1, lists, moments, of which Python calls
# the two equal that a clock shows the same when summer ends) are coded exactly.
_UNIFORM_KINDS = frozenset({"string", "bytes", "integer", "boolean", "decimal", "date", "empty"})

# What pandas compares as float64 and complex128.
_ROUNDED = frozenset({np.dtype(np.longdouble), np.dtype(np.clongdouble)} - {np.dtype(float), np.dtype(complex)})


class PandasSource(LocalSource):
    """A pandas frame."""

    engine = "pandas"

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.columns = checked_names(list(frame.columns))

    @property
    def labelled(self) -> bool:
        """Whether the index is more than a numbering of the rows: it has a name, levels, or labels of another kind."""
        index = self._frame.index
        numbering = index.nlevels == 1 and index.name is None and pd.api.types.is_integer_dtype(index.dtype)
        return len(index) > 0 and not numbering

    def row_count(self) -> int:
        """Count the rows."""
        return len(self._frame)

    def coded(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code part of a column."""
        return code_series(self._frame[name].iloc[start:stop], name)

    def rebuilt(self, keep: Sequence[str], texts: Mapping[str, Texts], kept: Mask | None) -> pd.DataFrame:
        """Put texts in the place of columns, and leave rows out; the index stays with its rows.

        What is attached to a frame, and categories that no row has, stay behind: they may tell of rows left out.
        Values that mean the same get one form.
        """
        frame = self._frame[list(keep)].copy()
        frame.attrs = {}
        for name, values in texts.items():
            frame[name] = pd.Series(values, index=frame.index, dtype=object).infer_objects()
        in_arrow = [name for name in keep if isinstance(frame[name].dtype, pd.ArrowDtype)]
        for name in in_arrow:
            frame[name] = pd.arrays.ArrowExtensionArray(plain(frame[name].array.__arrow_array__(), name))
        rows = frame if kept is None else frame[kept].copy()
        for name in keep:
            if name in in_arrow:
                rows[name] = pd.arrays.ArrowExtensionArray(with_used_values(rows[name].array.__arrow_array__()))
            else:
                rows[name] = series_in_one_form(rows[name])
            if isinstance(rows[name].dtype, pd.CategoricalDtype):
                rows[name] = rows[name].cat.remove_unused_categories()
        return rows

    def bare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Number the rows anew; a frame of a class of its own may carry anything with it."""
        return pd.DataFrame(frame.reset_index(drop=True).rename_axis(columns=None))

    def from_arrow(self, rows: Any) -> pd.DataFrame:
        """Take the rows; whole numbers with missing ones among them stay whole."""
        frame: pd.DataFrame = rows.to_pandas(integer_object_nulls=True)
        return frame

    def reopened(self, frame: Any) -> Source:
        """Open another frame."""
        return PandasSource(frame)


def code_series(series: "pd.Series[Any]", name: str) -> CodedColumn:
    """Code one column by value; every kind of missing value gets one code."""
    if isinstance(series.dtype, pd.ArrowDtype):
        from privacy_plugin.sources.arrow_coding import code_array  # Arrow comes when it is needed

        return code_array(series.array.__arrow_array__(), name)
    if series.dtype in _ROUNDED:
        raise SourceError(f"column {name!r} has numbers of type {series.dtype}, which pandas rounds; cast it first")
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
