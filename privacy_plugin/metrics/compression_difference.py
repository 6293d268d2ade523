"""Compression difference: extra bits of a table in the code table that Krimp finds for the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.generated_pair import Transactions, pair_tables, read_support, transactions
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement
from privacy_plugin.metrics.registry import metric

if TYPE_CHECKING:
    from privacy_plugin.metrics.itemsets.krimp import CodeTable

_MOST_CANDIDATES = 2_000_000
_ROUNDING = 1e-9


def require_candidates(support: Any = "1/100") -> None:
    """Raise if the support is not a share of the rows."""
    read_support(support)


@dataclass(frozen=True, kw_only=True)
class CompressionDifference(Measurement):
    """Compressed size over the size with single items only, for each table in each code table.

    The thesis' table 7 holds `original` and `generated_in_original_codes`, its table 8 `generated` and
    `original_in_generated_codes`.
    """

    @property
    def original(self) -> float:
        """The original in its own codes."""
        return float(self.details["original"])

    @property
    def generated(self) -> float:
        """The generated table in its own codes."""
        return float(self.details["generated"])

    @property
    def generated_in_original_codes(self) -> float:
        """The generated table in the original's codes."""
        return float(self.details["generated_in_original_codes"])

    @property
    def original_in_generated_codes(self) -> float:
        """The original in the generated table's codes."""
        return float(self.details["original_in_generated_codes"])

    @property
    def comparison(self) -> Comparison:
        """Each table in each code table."""
        return Comparison(
            caption="Compressed size over the size with single items only",
            values=(
                ComparedValue(name="original, in its own code table", value=self.original),
                ComparedValue(
                    name="original, in the generated table's", value=self.original_in_generated_codes, role="good"
                ),
                ComparedValue(name="generated table, in its own code table", value=self.generated),
                ComparedValue(
                    name="generated table, in the original's", value=self.generated_in_original_codes, role="good"
                ),
            ),
            limited=False,
        )


@metric(
    title="compression difference",
    safer="lower",
    kind="utility",
    attacker="finds patterns of {attributes} that describe the original worse than its own by more than {limit}",
    remedy="generate the table with a larger budget, or from more rows",
    paper="Dorrestijn 2018, tables 7 and 8; Vreeken, van Leeuwen, Siebes 2007",
    axis="difference of compression",
    shows="The patterns that describe one of the two tables briefly describe the other almost as briefly.",
    hides="Anything about privacy: an exact copy scores best. Krimp is a heuristic, so small differences mean nothing.",
    smallest=0,
    check=require_candidates,
)
def compression_difference(
    table: FrequencyTable, *, attributes: Sequence[str], original: FrequencyTable, support: Any = "1/100"
) -> CompressionDifference:
    """Return the relative growth of a table in the other table's code table, the larger of both.

    max over (x, y) of (bits of x in y's codes - bits of x in its own) / bits of x in its own, at least 0: the
    dissimilarity of Vreeken, van Leeuwen, Siebes, "Characterising the difference", KDD 2007, section 4, which the
    ratios of Dorrestijn 2018, tables 7 and 8, are parts of. Code tables are those that Krimp finds among the closed
    itemsets of at least a share `support` of the rows. Bits are those of the rows; every itemset and every item
    of either table counts as used once more than it is, as in that paper, so that all have a code. The ratios hold the
    code table too. A missing value is not an item. Right to 1e-9, but Krimp is a heuristic: tables of equal content
    have 0, and the value is not a distance in the strict sense. Cost: Krimp on both tables.

    >>> real = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("a", 1), ("b", 2), ("b", 2)])
    >>> made = FrequencyTable.from_rows(["x", "y"], [("a", 2), ("a", 2), ("b", 1), ("b", 1)])
    >>> compression_difference(real, attributes=["x", "y"], original=real).value
    0.0
    >>> compression_difference(made, attributes=["x", "y"], original=real).value > 0.5
    True
    """
    share = read_support(support)
    real, made, items = transactions(pair_tables(table, original, attributes=attributes))
    coded = {"original": _Coded.of(real, share, items), "generated": _Coded.of(made, share, items)}
    own = {name: one.bits_of(one.data) for name, one in coded.items()}
    other = {
        "original": coded["generated"].bits_of(coded["original"].data),
        "generated": coded["original"].bits_of(coded["generated"].data),
    }
    worse = {name: _grown(own[name], other[name]) for name in coded}
    ratios = {
        "original": coded["original"].ratio(own["original"], coded["original"]),
        "generated": coded["generated"].ratio(own["generated"], coded["generated"]),
        "generated_in_original_codes": coded["original"].ratio(other["generated"], coded["generated"]),
        "original_in_generated_codes": coded["generated"].ratio(other["original"], coded["original"]),
    }
    return CompressionDifference(
        metric="compression_difference",
        value=max(*worse.values(), 0.0),
        error=_ROUNDING,
        parameters={"attributes": list(attributes), "support": share},
        rows=table.rows,
        classes=len(coded["generated"].codes.sets),
        details={**ratios, "original_grows_by": worse["original"], "generated_grows_by": worse["generated"]},
        notes=("a missing value is not an item", "an exact copy of the original scores best"),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Coded:
    """A table and the code table that Krimp found for it; lengths of sets and items in bits."""

    data: Transactions
    codes: "CodeTable"
    sets: np.ndarray[Any, np.dtype[np.float64]]
    items: np.ndarray[Any, np.dtype[np.float64]]
    table_bits: float

    @classmethod
    def of(cls, data: Transactions, support: Fraction, items: int) -> "_Coded":
        from privacy_plugin.metrics.itemsets.itemsets import closed_itemsets
        from privacy_plugin.metrics.itemsets.krimp import krimp

        rows = {"items": data.items, "offsets": data.offsets, "counts": data.counts}
        candidates = closed_itemsets(**rows, support=data.least(support), most=_MOST_CANDIDATES)
        codes = krimp(**rows, candidates=candidates)
        single = np.zeros(items, dtype=np.int64)
        single[: len(codes.item_usage)] = codes.item_usage
        usage = np.concatenate([codes.usage, single])
        used = usage[usage > 0]
        data_bits = float((used * -np.log2(used / used.sum())).sum())
        lengths = -np.log2((usage + 1) / (usage + 1).sum())
        return cls(
            data=data,
            codes=codes,
            sets=lengths[: len(codes.sets)],
            items=lengths[len(codes.sets) :],
            table_bits=codes.length - data_bits,
        )

    def bits_of(self, data: Transactions) -> float:
        """Return how many bits the rows of a table need in this code table."""
        from privacy_plugin.metrics.itemsets.krimp import cover_usage

        usage, single = cover_usage(
            items=data.items,
            offsets=data.offsets,
            counts=data.counts,
            sets=self.codes.sets,
            universe=len(self.items),
        )
        return float(usage @ self.sets + single @ self.items)

    def ratio(self, bits: float, of: "_Coded") -> float:
        """Return the bits of some rows and of these codes over the rows' bits with single items only."""
        return (self.table_bits + bits) / of.codes.standard_length if of.codes.standard_length else 1.0


def _grown(own: float, other: float) -> float:
    """Return the relative growth from `own` to `other` bits; infinite when `own` is 0 and `other` is not."""
    if own:
        return other / own - 1
    return math.inf if other else 0.0
