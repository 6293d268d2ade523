"""What DuckDB would round when it reads a Parquet file: different values would become one, so it is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privacy_plugin.errors import SourceError

_MOST_DIGITS = 38


def require_exact(location: str) -> None:
    """Refuse decimals of more digits than DuckDB's, which it reads as floats, and moments between two microseconds.

    The latter hide in the old type INT96 only, and only there the values have to be read.
    """
    file = pq.ParquetFile(location)
    for position in range(len(file.schema)):
        column = file.schema.column(position)
        if column.logical_type.type == "DECIMAL" and column.precision > _MOST_DIGITS:
            raise SourceError(
                f"column {column.path!r} has decimals of {column.precision} digits, and DuckDB reads at most "
                f"{_MOST_DIGITS} of them exactly; store fewer, or text"
            )
        if column.physical_type == "INT96" and not _whole_microseconds(location, column.path):
            raise SourceError(
                f"column {column.path!r} has moments of type INT96 between two microseconds, which DuckDB cannot tell "
                "apart; store them as TIMESTAMP(NANOS)"
            )


def _whole_microseconds(location: str, path: str) -> bool:
    """Compare what remains in microseconds with the whole; both wrap around far from 1970, and so by the same."""
    rounded, whole = (pq.ParquetFile(location, coerce_int96_timestamp_unit=unit) for unit in ("us", "ns"))
    batches = zip(rounded.iter_batches(columns=[path]), whole.iter_batches(columns=[path]), strict=True)
    # one path may mean two columns: `b` inside of `a`, and one that is called `a.b`
    pairs = (pair for short, long in batches for pair in zip(short.columns, long.columns, strict=True))
    return all(np.array_equal(_counts(short) * 1000, _counts(long)) for short, long in pairs)


def _counts(array: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the counts of a column's moments, however deep in it they lie; none of a column without moments."""
    while pa.types.is_nested(array.type):
        array = array.values if hasattr(array, "values") else array.field(0)
    if not pa.types.is_timestamp(array.type):
        return np.zeros(0, dtype=np.int64)
    counts: np.ndarray[tuple[int], np.dtype[np.int64]] = array.cast(pa.int64()).fill_null(0).to_numpy()
    return counts
