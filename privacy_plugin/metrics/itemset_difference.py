"""Itemset difference: frequent itemsets of the original that a generated table keeps or loses."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.generated_pair import Transactions, pair_tables, read_support, transactions
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement, Quantity
from privacy_plugin.metrics.presence.population_join import require_hierarchies
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.usability.compared_tables import Hierarchies, require_ungeneralized

VARIANTS = ("nfd", "lost", "false")
_COMPARED = {"kept": "frequent in both: kept", "lost": "in the original only: lost", "false": "made up: false"}
_ROUNDING = 1e-9  # a mean of float ratios, each right to a few units in the last place


def require_itemsets(support: Any = "1/10", variant: Any = "nfd", hierarchies: Hierarchies | None = None) -> None:
    """Raise if the support is not a share of the rows, or the variant is not one of `VARIANTS`."""
    read_support(support)
    require_hierarchies(hierarchies)
    if variant not in VARIANTS:
        raise ParameterError(unknown_name("variant of itemset_difference", str(variant), VARIANTS))


@dataclass(frozen=True, kw_only=True)
class ItemsetDifference(Measurement):
    """Frequent itemsets of both tables (kept), the original only (lost), the generated only (false).

    Each normalized frequency difference (NFD) is the mean over its itemsets of |support in the original - support in
    the generated table| / support in the original, supports as shares of the rows; None where there are no itemsets.
    `nfd` is over the original's frequent itemsets; `details` holds those of the kept, lost and false ones. A false
    itemset that the original does not have at all makes its difference infinite.
    """

    @property
    def kept(self) -> int:
        """How many itemsets are frequent in both."""
        return int(self.details["kept"])

    @property
    def lost(self) -> int:
        """How many are frequent in the original only: false negatives."""
        return int(self.details["lost"])

    @property
    def false(self) -> int:
        """How many are frequent in the generated table only: false positives."""
        return int(self.details["false"])

    @property
    def nfd(self) -> float:
        """The normalized frequency difference over the original's frequent itemsets."""
        return float(self.details["nfd"])

    def _nfd_of(self, name: str) -> float | str:
        found = self.details[f"nfd_{name}"]
        return "no itemsets" if found is None else float(found)

    @property
    def comparison(self) -> Comparison:
        """How many itemsets are kept, lost and made up, and how far their supports differ."""
        support = f"{float(self.parameters['support']):.3g} of the rows"
        return Comparison(
            caption=f"Itemsets that at least {support} hold",
            values=(
                ComparedValue(name=_COMPARED["kept"], value=self.kept, role="good", unit="count"),
                ComparedValue(name=_COMPARED["lost"], value=self.lost, role="bad", unit="count"),
                ComparedValue(name=_COMPARED["false"], value=self.false, role="bad", unit="count"),
            ),
            limited=False,
            table_caption="Mean difference of support over support in the original",
            table_heads=("itemsets", "NFD"),
            table_rows=tuple((words, self._nfd_of(name)) for name, words in _COMPARED.items()),
        )


@metric(
    title="itemset difference",
    safer="lower",
    kind="utility",
    attacker="finds frequent combinations of {attributes} that differ from the original's by more than {limit}",
    remedy="generate the table with a larger budget, or from more rows",
    paper="Dorrestijn 2018, tables 2 and 3",
    axis="difference of itemsets",
    shows="What is frequent in the original is about as frequent in the generated table.",
    hides="Anything about privacy: an exact copy scores best. Nor rare combinations, nor how good a model learned from "
    "the table would be.",
    smallest=0,
    check=require_itemsets,
)
def itemset_difference(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    original: FrequencyTable,
    support: Any = "1/10",
    variant: str = "nfd",
    hierarchies: Hierarchies | None = None,
) -> ItemsetDifference:
    """Return how the itemsets that at least a share `support` of the rows hold differ.

    "nfd" = mean over the original's frequent itemsets of |supp_o - supp_g| / supp_o; "lost" = false negatives /
    frequent itemsets of the original; "false" = false positives / frequent itemsets of the generated table (0 where it
    has none). Dorrestijn 2018, section 4. A missing value is not an item. Supports are shares, so tables of different
    size compare. An original without a frequent itemset is an error: nothing could be lost. Counts are exact; `nfd` is
    right to 1e-9. With `hierarchies`, generalized labels are recognized and refused: an item is one value, and a label
    of several would count as a made-up item. Cost: mining both tables.

    >>> real = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("a", 1), ("b", 2), ("b", 1)])
    >>> made = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("a", 2), ("b", 2), ("b", 1)])
    >>> found = itemset_difference(made, attributes=["x", "y"], original=real, support="1/2")
    >>> found.kept, found.lost, found.false, found.nfd
    (3, 1, 1, 0.20833333333333331)
    """
    share = read_support(support)
    require_ungeneralized(table, original, attributes=attributes, hierarchies=hierarchies)
    real, made, items = transactions(pair_tables(table, original, attributes=attributes))
    every, in_real, in_made = _frequent_in_either(real, made, share)
    if not in_real.any():
        raise ParameterError(f"no itemset of the original has a support of {float(share):g}; ask for a lower one")
    apart = _apart(real, made, every, items)
    kept, lost, false = in_real & in_made, in_real & ~in_made, ~in_real
    counts = {"kept": int(kept.sum()), "lost": int(lost.sum()), "false": int(false.sum())}
    differences = {"nfd_kept": _mean(apart[kept]), "nfd_lost": _mean(apart[lost]), "nfd_false": _mean(apart[false])}
    nfd = float(apart[in_real].mean())
    values: dict[str, Quantity] = {
        "nfd": nfd,
        "lost": Fraction(counts["lost"], int(in_real.sum())),
        "false": Fraction(counts["false"], max(int(in_made.sum()), 1)),
    }
    return ItemsetDifference(
        metric="itemset_difference",
        value=values[variant],
        error=_ROUNDING if variant == "nfd" else 0.0,
        parameters={"attributes": list(attributes), "support": share, "variant": variant},
        rows=table.rows,
        classes=len(every),
        details={**counts, "nfd": nfd, **differences, "original_rows": original.rows},
        notes=("a missing value is not an item", "an exact copy of the original scores best"),
    )


def _frequent_in_either(
    real: Transactions, made: Transactions, support: Fraction
) -> tuple[list[tuple[int, ...]], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the itemsets that are frequent in one of the tables at least, and in which."""
    from privacy_plugin.metrics.itemsets.itemsets import frequent_itemsets

    ours, theirs = (
        frequent_itemsets(items=t.items, offsets=t.offsets, counts=t.counts, support=t.least(support)).sets()
        for t in (real, made)
    )
    known, others = set(ours), set(theirs)
    every = [*ours, *(itemset for itemset in theirs if itemset not in known)]
    in_made = np.array([itemset in others for itemset in every], dtype=bool)
    return every, np.arange(len(every)) < len(ours), in_made


def _apart(real: Transactions, made: Transactions, every: list[tuple[int, ...]], items: int) -> npt.NDArray[np.float64]:
    """Return for every itemset the difference of its supports over its support in the original."""
    from privacy_plugin.metrics.itemsets.itemsets import item_bitsets, supports

    flat = np.array([item for itemset in every for item in itemset], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(itemset) for itemset in every], dtype=np.int64)]).astype(np.int64)
    ours, theirs = (
        supports(item_bitsets(t.items, t.offsets, np.arange(items), items), t.counts, flat, offsets) / t.rows
        for t in (real, made)
    )
    with np.errstate(divide="ignore"):
        return np.asarray(np.abs(ours - theirs) / ours)


def _mean(values: npt.NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None
