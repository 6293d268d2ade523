"""One form for all values of a pandas column that mean the same, so that a release does not tell them apart."""

from typing import Any

import numpy as np
import pandas as pd

from privacy_plugin.frequency.values import canonical, key
from privacy_plugin.sources.one_form import in_one_form


def series_in_one_form(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Write -0.0 as 0.0, missing values of a column in one way, and one of all objects that mean the same."""
    kind: Any = series.dtype
    if pd.api.types.is_object_dtype(kind):
        return _objects_in_one_form(series)
    if isinstance(kind, pd.CategoricalDtype):
        return _categories_in_one_form(series)
    made: Any = None
    if isinstance(kind, np.dtype) and kind.kind in "fc":
        made = _plain_numbers(series.to_numpy())
    elif isinstance(kind, pd.SparseDtype) and kind.subtype.kind in "fc":
        made = pd.arrays.SparseArray(_plain_numbers(np.asarray(series)), dtype=kind)
    elif isinstance(kind, pd.Float32Dtype | pd.Float64Dtype):
        numbers = _plain_numbers(series.to_numpy(dtype=kind.name.lower(), na_value=np.nan))
        made = pd.arrays.FloatingArray(numbers, np.isnan(numbers))
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


def _objects_in_one_form(series: "pd.Series[Any]") -> "pd.Series[Any]":
    values, absent = series.tolist(), series.isna().tolist()
    present = [value for value, missing in zip(values, absent, strict=True) if not missing]
    made = in_one_form(present)
    several = len({type(value) for value, missing in zip(values, absent, strict=True) if missing}) > 1
    if made is present and not several:
        return series
    following = iter(made)
    joined = [
        (None if several else v) if missing else next(following) for v, missing in zip(values, absent, strict=True)
    ]
    return pd.Series(joined, index=series.index, name=series.name, dtype=object)


def _categories_in_one_form(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Give rows the first of the categories that mean the same."""
    categories = series.cat.categories
    if categories.dtype != object:
        return series
    keys = [key(canonical(value)) for value in categories]
    first = {each: place for place, each in reversed(list(enumerate(keys)))}
    places = np.array([*(first[each] for each in keys), -1])  # pandas writes -1 for what is missing
    codes = places[series.cat.codes.to_numpy()]
    made = pd.Categorical.from_codes(codes, categories=categories, ordered=series.cat.ordered)
    return pd.Series(made, index=series.index, name=series.name)
