"""Sanitized Krimp: the code table of a released table, at no further cost.

Dorrestijn 2018, section 3.4.1, runs Krimp on randomized cells. Post-processing of a release costs nothing, so the code
table may be published under the release's own account. It describes the released rows: of randomized cells, including
the noise; of a synthetic table, what its model kept. Rows are not generated from it: see `code_tree`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privacy_plugin.anonymizers.accounting import ReleaseLedger
from privacy_plugin.anonymizers.coded_rows import CodedRows, RowItems
from privacy_plugin.anonymizers.randomized_response import RandomizedCells
from privacy_plugin.anonymizers.synthesis.synthesize import Synthesis
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import Value


@dataclass(frozen=True, kw_only=True)
class SanitizedCodeTable:
    """Itemsets of two items or more in cover order, the usage of each, and the account of the release.

    `ratio`: the size of the released rows with this code table over that with single items only.
    """

    itemsets: tuple[Mapping[str, Value], ...] = field(repr=False)
    usage: tuple[int, ...] = field(repr=False)
    ratio: float
    ledger: ReleaseLedger


def sanitized_krimp(released: Synthesis | RandomizedCells, *, support: Any = "1/100") -> SanitizedCodeTable:
    """Return Krimp's code table of a synthetic table or of randomized cells.

    Candidates are the closed itemsets that at least a share `support` of the released rows have; missing values are not
    items. Cost: Krimp.

    >>> from privacy_plugin.anonymizers.randomized_response import randomize_cells
    >>> from privacy_plugin.frequency import FrequencyTable
    >>> people = FrequencyTable.from_rows(["sex", "smokes"], [("f", "no"), ("m", "yes")] * 500)
    >>> found = sanitized_krimp(randomize_cells(people, epsilon=9), support="1/10")
    >>> [sorted(itemset.values()) for itemset in found.itemsets], str(found.ledger)
    ([['f', 'no'], ['m', 'yes']], 'epsilon 9 a cell (epsilon 18 a row)')
    """
    from privacy_plugin.metrics.itemsets.itemsets import closed_itemsets
    from privacy_plugin.metrics.itemsets.krimp import krimp

    if not isinstance(released, Synthesis | RandomizedCells):
        raise ParameterError(
            f"sanitized_krimp takes a result of synthesize or randomized_response, not {type(released).__name__}"
        )
    share = exact(support, what="support")
    if not 0 < share <= 1:
        raise ParameterError("support must be a share of the rows, above 0 and at most 1")
    rows = CodedRows.of(released.frequencies, given=None, domains=None)
    items = RowItems(rows=rows)
    least = -(-share.numerator * rows.rows // share.denominator)
    found = krimp(**items.transactions, candidates=closed_itemsets(**items.transactions, support=least))
    return SanitizedCodeTable(
        itemsets=tuple(items.named(items.places(one)) for one in found.sets),
        usage=tuple(found.usage.tolist()),
        ratio=found.ratio,
        ledger=released.ledger,
    )
