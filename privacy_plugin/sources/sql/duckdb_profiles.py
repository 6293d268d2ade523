"""Class profiles in DuckDB, for relations, files and tables behind SQLAlchemy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privacy_plugin.frequency.class_profiles import ClassProfiles, class_histograms, class_sizes
from privacy_plugin.frequency.grouping import group
from privacy_plugin.sources.arrow_coding import code_array, whole_numbers
from privacy_plugin.sources.class_profiles import MOST_VALUES
from privacy_plugin.sources.sql import duckdb_sql


def fetch_profiles(
    run: Callable[[str], Any], source: str, columns: Sequence[str], terms: Sequence[str], *, sensitive: bool
) -> ClassProfiles | None:
    """Count classes by their profile; with `sensitive` the last column is the sensitive one.

    `run` returns the relation of a query. None is returned if there are too many sensitive values.
    """
    if not sensitive:
        found = run(duckdb_sql.class_sizes(source, terms)).to_arrow_table()
        sizes, repeats = (whole_numbers(found.column(name)) for name in ("n", "repeats"))
        return class_sizes(columns, sizes=sizes, repeats=repeats)
    *quasi_identifiers, name = columns
    values = run(duckdb_sql.coded_values(source, terms[-1])).to_arrow_table()
    if values.num_rows > MOST_VALUES:
        return None
    coded = code_array(values.column("s"), name)
    raw: list[Any] = [None] * (values.num_rows + 1)
    for code, position in zip(values.column("code").to_pylist(), coded.codes.tolist(), strict=True):
        raw[code] = coded.values[position]
    found = run(duckdb_sql.class_histograms(source, terms[:-1], terms[-1])).to_arrow_table().combine_chunks()
    lists = found.column("codes").combine_chunks() if found.num_rows else None
    if lists is None:
        return class_sizes(quasi_identifiers, sizes=[], repeats=[])
    codes = whole_numbers(lists.flatten()).astype(np.int64)
    lengths = whole_numbers(lists.value_lengths()).astype(np.int64)
    profiles = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    members, first = group(profiles * len(raw) + codes, len(lengths) * len(raw))
    return class_histograms(
        quasi_identifiers,
        name,
        profiles=profiles[first],
        codes=codes[first],
        counts=np.bincount(members, minlength=len(first)).astype(np.int64),
        raw_values=raw,
        repeats=whole_numbers(found.column("repeats")).astype(np.int64),
    )
