"""Audit the channel between two columns of any data."""

from typing import Any

from privacy_plugin.errors import ColumnError, require_columns
from privacy_plugin.metrics.dependence.paired_columns import PairedColumns, paired_columns
from privacy_plugin.sources import open_source


def audit_channel(data: Any, *, original: str, released: str, confidence: float = 0.95) -> PairedColumns:
    """Bound from below how much a released column tells about the original of the same rows.

    The definition, the bounds and what they assume are in `metrics.dependence.paired_columns`; the pairs are
    counted where the data lies. A small bound is no proof of privacy.
    """
    source = open_source(data)
    if not isinstance(original, str) or not isinstance(released, str):
        raise ColumnError("original and released must each be the name of one column")
    require_columns([original, released], source.columns, role="original and released")
    pairs = source.frequencies([original, released])
    return paired_columns(pairs, original=original, released=released, confidence=confidence)
