"""The combinations of values that are recoded together, as an Arrow table that engines join with their rows."""

import pyarrow as pa

from privacy_plugin.sources.translation import Translator


def combinations_table(translator: Translator) -> pa.Table:
    """Return the numbers n0, n1, ... of the values and their new texts t0, t1, ..., once all columns are translated."""
    width, rows = len(translator.recoding.combined_columns), translator.combined_rows()
    numbers = {f"n{i}": pa.array([row[i] for row in rows], type=pa.int64()) for i in range(width)}
    texts = {f"t{i}": pa.array([row[width + i] for row in rows], type=pa.string()) for i in range(width)}
    return pa.table(numbers | texts)
