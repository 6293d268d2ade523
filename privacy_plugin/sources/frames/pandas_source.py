"""pandas frames: columns are factorized, a million rows at a time; the index is not measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from privacy_plugin.errors import SourceError
from privacy_plugin.sources.coding import CodedColumn, code_by_meaning
from privacy_plugin.sources.frames.arrow_copy import copy_column, drop_unused_values
from privacy_plugin.sources.frames.canonical_form import to_canonical_form
from privacy_plugin.sources.frames.local_source import LocalSource, Mask, Texts
from privacy_plugin.sources.protocol import Source, require_column_names

# Inferred types of object columns whose equal values mean the same. All others are coded by meaning: mixtures (True
# equals 1), lists, and moments (Python treats the two hours as equal that a clock shows twice in autumn).
_UNIFORM_TYPES = frozenset({"string", "bytes", "integer", "boolean", "decimal", "date", "empty"})

# Types that pandas rounds to float64 and complex128 when it compares.
_ROUNDED = frozenset({np.dtype(np.longdouble), np.dtype(np.clongdouble)} - {np.dtype(float), np.dtype(complex)})


class PandasSource(LocalSource):
    """A pandas frame."""

    engine = "pandas"

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.columns = require_column_names(list(frame.columns))

    @property
    def labelled(self) -> bool:
        """Whether the index is more than row numbers: it has a name, levels, or labels that are not integers."""
        index = self._frame.index
        numbering = index.nlevels == 1 and index.name is None and pd.api.types.is_integer_dtype(index.dtype)
        return len(index) > 0 and not numbering

    def row_count(self) -> int:
        """Count the rows."""
        return len(self._frame)

    def code_column(self, name: str, start: int, stop: int) -> CodedColumn:
        """Code part of a column."""
        return code_series(self._frame[name].iloc[start:stop], name)

    def rebuild(
        self, keep: Sequence[str], texts: Mapping[str, Texts], mask: Mask | None, typed: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Replace columns by texts and remove rows; the index stays with its rows.

        Attributes of the frame and unused categories are dropped: they may reveal removed rows. Values that mean the
        same get one form.
        """
        frame = self._frame[list(keep)].copy()
        frame.attrs = {}
        for name, values in texts.items():
            column = pd.Series(values, index=frame.index, dtype=object).infer_objects()
            frame[name] = _typed(column, self._frame[name]) if name in typed else column
        in_arrow = [name for name in keep if isinstance(frame[name].dtype, pd.ArrowDtype)]
        for name in in_arrow:
            frame[name] = pd.arrays.ArrowExtensionArray(copy_column(frame[name].array.__arrow_array__(), name))
        rows = frame if mask is None else frame[mask].copy()
        for name in keep:
            if name in in_arrow:
                rows[name] = pd.arrays.ArrowExtensionArray(drop_unused_values(rows[name].array.__arrow_array__()))
            else:
                rows[name] = canonical_series(rows[name])
            if isinstance(rows[name].dtype, pd.CategoricalDtype):
                rows[name] = rows[name].cat.remove_unused_categories()
        return rows

    def strip(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Reset the index, and convert subclasses of DataFrame, which may carry other data."""
        return pd.DataFrame(frame.reset_index(drop=True).rename_axis(columns=None))

    def from_arrow(self, rows: Any) -> pd.DataFrame:
        """Convert the rows; integers stay integers in columns with missing values."""
        frame: pd.DataFrame = rows.to_pandas(integer_object_nulls=True)
        return frame

    def reopen(self, frame: Any) -> Source:
        """Open another frame."""
        return PandasSource(frame)


def code_series(series: "pd.Series[Any]", name: str) -> CodedColumn:
    """Code one column by value; every kind of missing value gets one code."""
    if isinstance(series.dtype, pd.ArrowDtype):
        from privacy_plugin.sources.arrow_coding import code_array  # imports Arrow

        return code_array(series.array.__arrow_array__(), name)
    if series.dtype in _ROUNDED:
        raise SourceError(f"pandas rounds numbers of type {series.dtype} in column {name!r}; cast it first")
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _code_missing(series.cat.codes.to_numpy(), series.cat.categories.tolist())
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) not in _UNIFORM_TYPES:
        return code_by_meaning(series.tolist())
    try:
        codes, values = pd.factorize(series)
    except (TypeError, ValueError, NotImplementedError):  # nested values have no hash
        return code_by_meaning(series.tolist())
    return _code_missing(codes, values.tolist())


def _code_missing(codes: Any, values: list[Any]) -> CodedColumn:
    """Give missing values, which pandas codes as -1, a code of their own."""
    widened = codes.astype(np.int64)
    widened[widened < 0] = len(values)
    return CodedColumn(codes=widened, values=[*values, None])


def canonical_series(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Write -0.0 as 0.0, missing values in one form, and objects that mean the same as one of them.

    The old values of cells that were set to missing are overwritten: a nullable column still stores them.
    """
    kind: Any = series.dtype
    made: Any = None
    if pd.api.types.is_object_dtype(kind):
        values = series.tolist()
        objects = to_canonical_form(values)
        made = None if objects is values else pd.Series(objects, index=series.index, dtype=object).array
    elif isinstance(kind, pd.CategoricalDtype):
        made = _canonical_categories(series)
    elif isinstance(kind, np.dtype) and kind.kind in "fc":
        made = _canonical_floats(series.to_numpy())
    elif isinstance(kind, pd.SparseDtype) and kind.subtype.kind in "fc":
        made = pd.arrays.SparseArray(_canonical_floats(np.asarray(series)), dtype=kind)
    elif isinstance(series.array, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        made = _overwrite_missing(series)
    elif isinstance(kind, pd.IntervalDtype) and getattr(kind.subtype, "kind", "") == "f":
        intervals: Any = series.array
        left, right = _canonical_floats(intervals.left.to_numpy()), _canonical_floats(intervals.right.to_numpy())
        made = pd.arrays.IntervalArray.from_arrays(left, right, closed=intervals.closed)
    return series if made is None else pd.Series(made, index=series.index, name=series.name)


def _canonical_floats(numbers: Any) -> Any:
    """Add zero, which turns -0.0 into 0.0, and reset the bits of NaN."""
    plain = numbers + numbers.dtype.type(0)
    plain[np.isnan(plain)] = np.nan
    return plain


def _overwrite_missing(series: "pd.Series[Any]") -> Any:
    array: Any = series.array
    numbers = array.to_numpy(dtype=series.dtype.name.lower().replace("boolean", "bool"), na_value=0)
    missing = series.isna().to_numpy()
    if numbers.dtype.kind == "f":
        missing = missing | np.isnan(numbers)
        numbers = np.where(missing, numbers.dtype.type(0), numbers) + numbers.dtype.type(0)
    return type(array)(numbers, missing)


def _canonical_categories(series: "pd.Series[Any]") -> Any:
    """Move rows to one of the categories that mean the same."""
    categories = series.cat.categories
    if not pd.api.types.is_object_dtype(categories.dtype):
        return None
    listed = categories.tolist()
    positions = {id(value): position for position, value in enumerate(listed)}
    # pandas has the code -1 for missing values
    moved = [positions.get(id(value), -1) for value in to_canonical_form(listed)]
    codes = np.array([*moved, -1])[series.cat.codes.to_numpy()]
    return pd.Categorical.from_codes(codes, categories=categories, ordered=series.cat.ordered)


def _typed(texts: "pd.Series[Any]", original: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return texts of numbers as numbers of the original column's type."""
    if pd.api.types.is_numeric_dtype(original.dtype):
        return pd.to_numeric(texts).astype(original.dtype)
    present = original.dropna()
    kind = type(present.iloc[0]) if len(present) else str
    return texts if issubclass(kind, str) else texts.map(lambda text: None if text is None else kind(text))
