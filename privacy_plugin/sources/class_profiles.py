"""Count the classes of a large table by their profile in its engine: a few rows come back instead of one a class.

Both ways give the same measurements. Splitting a class never makes a class-wise metric safer: if an engine tells values
of a quasi-identifier apart that look alike, the result errs to the unsafe side.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from privacy_plugin.frequency.class_profiles import ClassProfiles, class_histograms
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.sources.protocol import Source

LARGE = 200_000
"""From this many distinct rows on, an engine counts profiles instead of returning its groups."""

MOST_VALUES = 1_000
"""With more sensitive values than this, classes have nearly as many profiles as there are classes."""

_SAMPLED_ROWS = 20_000
_COMPARED_ROWS = 1_000
_ASKED_COLUMNS = 200


def profile_classes(
    source: Source, quasi_identifiers: Sequence[str], sensitive: str | None = None
) -> ClassProfiles | None:
    """Return the profiles of the classes; None if the engine cannot count them."""
    profile = getattr(source, "class_profiles", None)
    return None if profile is None else profile(quasi_identifiers, sensitive)


def is_large(source: Source, columns: Sequence[str], rows: int | None) -> bool:
    """Estimate from the first rows whether the columns have at least `LARGE` distinct rows."""
    profile = getattr(source, "class_profiles", None)
    if profile is None or (rows is not None and rows < LARGE):
        return False
    sample = profile(columns, None, first_rows=_SAMPLED_ROWS)
    return sample is not None and estimate_distinct(sample) >= LARGE


def has_one_value(source: Source, column: str) -> bool:
    """Return whether the first rows have only one value of a column."""
    profile = getattr(source, "class_profiles", None)
    sample = None if profile is None else profile([column], None, first_rows=_COMPARED_ROWS)
    return sample is not None and int(sample.repeats.sum()) == 1


def find_unique_columns(source: Source, columns: Sequence[str], rows: int) -> list[str]:
    """Return the columns in which every row has a value of its own; first rows with a repetition decide at once.

    An engine with `unique_columns` is asked for many columns at a time.
    """
    ask = getattr(source, "unique_columns", None)
    if ask is None:
        return [name for name in columns if _has_unique_values(source, name, rows)]
    found: list[str] = []
    for start in range(0, len(columns), _ASKED_COLUMNS):
        asked = ask(list(columns[start : start + _ASKED_COLUMNS]), first_rows=_COMPARED_ROWS)
        found += ask(asked) if asked and rows > _COMPARED_ROWS else asked
    return found


def _has_unique_values(source: Source, column: str, rows: int) -> bool:
    profile = getattr(source, "class_profiles", None)
    sample = None if profile is None else profile([column], None, first_rows=_COMPARED_ROWS)
    if profile is not None and sample is not None:
        if (sample.counts > 1).any():
            return False
        whole = sample if sample.rows == rows else profile([column], None)
        if whole is not None:
            return bool((whole.counts == 1).all())
    return source.frequencies([column]).distinct == rows


def choose_unique(columns: Sequence[str], rows: int, counts: Sequence[int]) -> list[str]:
    """Return the columns without a repetition; `counts` are the present and the distinct values of each column.

    One missing value is a value of its own; two of them repeat.
    """
    pairs = zip(columns, counts[::2], counts[1::2], strict=True)
    return [name for name, present, distinct in pairs if present == distinct and rows - present <= 1]


def estimate_distinct(sample: ClassProfiles) -> float:
    """Estimate the number of distinct rows of a table from the sizes of the groups of a sample (Chao 1984).

    d + f1 (f1 - 1) / (2 (f2 + 1)), with d groups in the sample, f1 of them of one row and f2 of two.
    """
    if not len(sample.counts):
        return 0.0
    once, twice = (float(sample.repeats[sample.counts == size].sum()) for size in (1, 2))
    return float(sample.repeats.sum()) + once * (once - 1) / (2 * (twice + 1))


def parse_histograms(
    quasi_identifiers: Sequence[str], sensitive: str, rows: Sequence[Sequence[Any]], raw_values: Sequence[Any]
) -> ClassProfiles | None:
    """Build profiles from rows (text, size, repeats); the text lists `code:count` of every value, by commas.

    Return None if a text is incomplete: a database may cut long texts.
    """
    profiles: list[int] = []
    codes: list[int] = []
    counts: list[int] = []
    for number, (text, size, _) in enumerate(rows):
        pairs = [pair.split(":") for pair in str(text).split(",")]
        if any(len(pair) != 2 or not all(part.isdecimal() for part in pair) for pair in pairs):
            return None
        if sum(int(count) for _, count in pairs) != int(size):
            return None
        profiles += [number] * len(pairs)
        codes += [int(code) for code, _ in pairs]
        counts += [int(count) for _, count in pairs]
    return class_histograms(
        quasi_identifiers,
        sensitive,
        profiles=_whole(profiles),
        codes=_whole(codes),
        counts=_whole(counts),
        raw_values=raw_values,
        repeats=_whole([int(row[2]) for row in rows]),
    )


def _whole(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, dtype=np.int64)
