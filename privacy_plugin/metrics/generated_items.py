"""Both tables as transactions: an item is a column with a value, a missing value is none."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.generated_pair import NO_ITEM, CodedRows, GeneratedPair


@dataclass(frozen=True, kw_only=True, eq=False)
class Transactions:
    """Distinct row r holds items[offsets[r] : offsets[r + 1]], numbered alike in both tables, counts[r] times."""

    items: Integers
    offsets: Integers
    counts: Integers

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def least(self, support: Fraction) -> int:
        """Return the smallest number of rows that is at least so large a share of all."""
        return max(-(-support.numerator * self.rows // support.denominator), 1)


def read_support(support: Any) -> Fraction:
    """Read a share of the rows exactly as it is written."""
    share = exact(support, what="support")
    if not 0 < share <= 1:
        raise ParameterError("support must be a share of the rows, above 0 and at most 1")
    return share


def transactions(pair: GeneratedPair) -> tuple[Transactions, Transactions, int]:
    """Return the original's and the generated table's transactions, and how many items there are in either."""
    missing = np.array(pair.missing)
    first = np.concatenate([[0], np.cumsum(np.array(pair.cardinalities) - (missing != NO_ITEM))])
    return _listed(pair, pair.original, first), _listed(pair, pair.generated, first), int(first[-1])


def _listed(pair: GeneratedPair, table: CodedRows, first: Integers) -> Transactions:
    missing = np.array(pair.missing)
    present = table.codes != missing
    after_missing = (missing != NO_ITEM) & (table.codes > missing)
    items = (table.codes - after_missing + first[:-1])[present]
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return Transactions(items=items.astype(np.int64), offsets=offsets, counts=table.counts)
