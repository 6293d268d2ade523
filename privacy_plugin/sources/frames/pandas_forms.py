"""One form for all values of a pandas column that mean the same, and nothing under what is missing."""

from typing import Any

import numpy as np
import pandas as pd

from privacy_plugin.sources.frames.canonical_form import in_one_form


def series_in_one_form(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Write -0.0 as 0.0, missing values of a column in one way, and one of all objects that mean the same.

    A nullable column keeps the old values of cells that were made missing; nobody sees them, but they are stored.
    """
    kind: Any = series.dtype
    made: Any = None
    if pd.api.types.is_object_dtype(kind):
        values = series.tolist()
        objects = in_one_form(values)
        made = None if objects is values else pd.Series(objects, index=series.index, dtype=object).array
    elif isinstance(kind, pd.CategoricalDtype):
        made = _categories_in_one_form(series)
    elif isinstance(kind, np.dtype) and kind.kind in "fc":
        made = _plain_numbers(series.to_numpy())
    elif isinstance(kind, pd.SparseDtype) and kind.subtype.kind in "fc":
        made = pd.arrays.SparseArray(_plain_numbers(np.asarray(series)), dtype=kind)
    elif isinstance(series.array, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        made = _nothing_under_missing(series)
    elif isinstance(kind, pd.IntervalDtype) and getattr(kind.subtype, "kind", "") == "f":
        intervals: Any = series.array
        left, right = _plain_numbers(intervals.left.to_numpy()), _plain_numbers(intervals.right.to_numpy())
        made = pd.arrays.IntervalArray.from_arrays(left, right, closed=intervals.closed)
    return series if made is None else pd.Series(made, index=series.index, name=series.name)


def _plain_numbers(numbers: Any) -> Any:
    """Add zero, which makes 0.0 of -0.0, and forget the bits of NaN."""
    plain = numbers + numbers.dtype.type(0)
    plain[np.isnan(plain)] = np.nan
    return plain


def _nothing_under_missing(series: "pd.Series[Any]") -> Any:
    array: Any = series.array
    numbers = array.to_numpy(dtype=series.dtype.name.lower().replace("boolean", "bool"), na_value=0)
    missing = series.isna().to_numpy()
    if numbers.dtype.kind == "f":
        missing = missing | np.isnan(numbers)
        numbers = np.where(missing, numbers.dtype.type(0), numbers) + numbers.dtype.type(0)
    return type(array)(numbers, missing)


def _categories_in_one_form(series: "pd.Series[Any]") -> Any:
    """Give rows one of the categories that mean the same."""
    categories = series.cat.categories
    if not pd.api.types.is_object_dtype(categories.dtype):
        return None
    listed = categories.tolist()
    places = {id(value): place for place, value in enumerate(listed)}
    moved = [places.get(id(value), -1) for value in in_one_form(listed)]  # pandas writes -1 for what is missing
    codes = np.array([*moved, -1])[series.cat.codes.to_numpy()]
    return pd.Categorical.from_codes(codes, categories=categories, ordered=series.cat.ordered)
