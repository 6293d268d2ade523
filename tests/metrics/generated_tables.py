"""Pairs of small tables for the audits of generated ones."""

from typing import Any

from hypothesis import strategies as st

from privacy_plugin.frequency import FrequencyTable

COLUMNS = ["x", "y", "z"]
Row = tuple[Any, ...]

_rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2), st.sampled_from([True, None])),
    min_size=1,
    max_size=12,
)


def _comparable(pair: tuple[list[Row], list[Row]]) -> bool:
    """Whether every column has a value in common, missing only where a table has nothing else there."""
    columns = [tuple({row[c] for row in rows} for rows in pair) for c in range(3)]
    real = [tuple(values - {None} for values in pair) for pair in columns]
    return all(
        bool(a & b) if a and b else bool(one & other) for (a, b), (one, other) in zip(real, columns, strict=True)
    )


pairs = st.tuples(_rows, _rows).filter(_comparable)


def tables(first: list[Row], second: list[Row]) -> tuple[FrequencyTable, FrequencyTable]:
    """The original and the generated table."""
    return FrequencyTable.from_rows(COLUMNS, first), FrequencyTable.from_rows(COLUMNS, second)
