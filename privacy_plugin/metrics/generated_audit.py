"""What a generated table has in common with the original: records it repeats, itemsets it keeps, loses and makes up.

None of this is a guarantee. Few common records do not show privacy: columns shuffled independently of each other
already repeat many, which is why that share is stated beside. Itemsets say how useful the table is.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import key
from privacy_plugin.metrics.measurement import plain

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RepeatedRecords:
    """How many generated rows are rows of the original, and how many of those that only one person has.

    `repeated`: share of generated rows that occur in the original. `repeating_unique`: share of generated rows that
    equal a row which occurs once in the original. `unique_repeated`: share of those once-only rows that are generated.
    `if_independent`: the share that rows of independent columns would repeat.
    """

    repeated: Fraction
    repeating_unique: Fraction
    unique_repeated: Fraction
    if_independent: float
    original_rows: int
    generated_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class KeptItemsets:
    """Frequent itemsets of both tables (kept), of the original only (lost), of the generated one only (false).

    Each normalized frequency difference (NFD) is the mean over its itemsets of |support in the original - support in
    the generated table| / support in the original, supports as shares of the rows; None where there are no itemsets.
    `nfd` is over the original's frequent itemsets. A false itemset that the original does not have at all makes its
    difference infinite.
    """

    support: Fraction
    kept: int
    lost: int
    false: int
    nfd: float | None
    nfd_kept: float | None
    nfd_lost: float | None
    nfd_false: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: "infinite" if value == math.inf else plain(value) for name, value in vars(self).items()}


def repeated_records(original: FrequencyTable, generated: FrequencyTable) -> RepeatedRecords:
    """Compare the rows of two tables over the same columns, whatever their order.

    Exact, but for `if_independent` = sum over distinct original rows of the product of the values' shares.

    >>> one = FrequencyTable.from_rows(["x"], [("a",), ("a",), ("b",)])
    >>> two = FrequencyTable.from_rows(["x"], [("a",), ("b",), ("c",), ("c",)])
    >>> found = repeated_records(one, two)
    >>> str(found.repeated), str(found.repeating_unique), str(found.unique_repeated)
    ('1/2', '1/4', '1')
    """
    _require_alike(original, generated)
    known, made = _rows(original), _rows(generated)
    unique = {row for row, count in known.items() if count == 1}
    shares = np.ones(original.distinct)
    for position in range(len(original.columns)):
        codes = original.codes[:, position]
        shares *= np.bincount(codes, weights=original.counts)[codes] / original.rows
    return RepeatedRecords(
        repeated=Fraction(sum(count for row, count in made.items() if row in known), generated.rows),
        repeating_unique=Fraction(sum(count for row, count in made.items() if row in unique), generated.rows),
        unique_repeated=Fraction(sum(row in made for row in unique), len(unique)) if unique else Fraction(0),
        if_independent=float(shares.sum()),
        original_rows=original.rows,
        generated_rows=generated.rows,
    )


def kept_itemsets(original: FrequencyTable, generated: FrequencyTable, *, support: Any = "1/10") -> KeptItemsets:
    """Compare the itemsets that at least a share `support` of the rows hold; an item is a column with a value.

    Dorrestijn 2018, section 5. A missing value is no item. Supports are shares, so tables of different size compare.
    Cost: mining both tables.

    >>> one = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("a", 1), ("b", 2), ("b", 1)])
    >>> two = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("a", 2), ("b", 2), ("b", 1)])
    >>> found = kept_itemsets(one, two, support="1/2")
    >>> found.kept, found.lost, found.false, found.nfd
    (3, 1, 1, 0.20833333333333331)
    """
    from privacy_plugin.kernels.itemset_search import item_bitsets, supports
    from privacy_plugin.kernels.itemsets import frequent_itemsets

    share = exact(support, what="support")
    if not 0 < share <= 1:
        raise ParameterError("support must be a share of the rows, above 0 and at most 1")
    _require_alike(original, generated)
    numbers: dict[Any, int] = {}
    tables = [(table, _items(table, numbers)) for table in (original, generated)]
    found = []
    for table, data in tables:
        least = max(-(-share.numerator * table.rows // share.denominator), 1)
        found.append(frequent_itemsets(items=data.items, offsets=data.offsets, counts=table.counts, support=least))
    ours, theirs = (set(itemsets.sets()) for itemsets in found)
    every = [*found[0].sets(), *(items for items in found[1].sets() if items not in ours)]
    flat = np.array([item for items in every for item in items], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(items) for items in every], dtype=np.int64)]).astype(np.int64)
    held = [
        supports(
            item_bitsets(data.items, data.offsets, np.arange(len(numbers)), len(numbers)),
            table.counts,
            flat,
            offsets,
        )
        / table.rows
        for table, data in tables
    ]
    with np.errstate(divide="ignore"):
        apart = np.abs(held[0] - held[1]) / held[0]
    in_ours = np.arange(len(every)) < len(ours)
    in_theirs = np.array([items in theirs for items in every], dtype=bool)
    return KeptItemsets(
        support=share,
        kept=len(ours & theirs),
        lost=len(ours - theirs),
        false=len(theirs - ours),
        nfd=_mean(apart[in_ours]),
        nfd_kept=_mean(apart[in_ours & in_theirs]),
        nfd_lost=_mean(apart[in_ours & ~in_theirs]),
        nfd_false=_mean(apart[~in_ours]),
    )


def _mean(values: npt.NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _rows(table: FrequencyTable) -> dict[tuple[Any, ...], int]:
    keys = [[key(value) for value in dictionary] for dictionary in table.dictionaries]
    listed = zip(*([keys[p][c] for c in table.codes[:, p].tolist()] for p in range(len(keys))), strict=True)
    return dict(zip(listed, table.counts.tolist(), strict=True))


class _Items(NamedTuple):
    items: Integers
    offsets: Integers


def _items(table: FrequencyTable, numbers: dict[Any, int]) -> _Items:
    """Number the items of a table, going on from those already known, and list them a row."""
    coded = np.full((table.distinct, len(table.columns)), -1, dtype=np.int64)
    for position, dictionary in enumerate(table.dictionaries):
        items = [
            -1 if value is None else numbers.setdefault((position, key(value)), len(numbers)) for value in dictionary
        ]
        coded[:, position] = np.array(items, dtype=np.int64)[table.codes[:, position]]
    present = coded >= 0
    offsets = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return _Items(coded[present], offsets)


def _require_alike(original: FrequencyTable, generated: FrequencyTable) -> None:
    if original.columns != generated.columns:
        raise ParameterError("the original and the generated table must have the same columns, in the same order")
    for table in (original, generated):
        table.require_rows()
        table.require_one_row_a_person("an audit of a generated table")
