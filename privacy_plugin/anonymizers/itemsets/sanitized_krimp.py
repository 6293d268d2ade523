"""Sanitized Krimp: the code table of a released table, at no further cost.

Dorrestijn 2018, section 3.4.1, runs Krimp on randomized cells. Post-processing of a release costs nothing, so the code
table may be published under the release's own account. It describes the released rows: of randomized cells, including
the noise; of a synthetic table, what its model kept. Rows are not generated from it: see `code_tree`.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from privacy_plugin.anonymizers.accounting import ReleaseLedger
from privacy_plugin.anonymizers.base import DomainMethod
from privacy_plugin.anonymizers.coded_rows import CodedRows, RowItems
from privacy_plugin.anonymizers.itemsets.itemset_table import ItemsetMethod, itemset_table, longest_itemsets
from privacy_plugin.anonymizers.options import read_option
from privacy_plugin.anonymizers.randomized_response import RandomizedCells, RandomizedResponseMethod
from privacy_plugin.anonymizers.synthesis.synthesize import Synthesis, SynthesizeMethod
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError, TooLargeError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import Value
from privacy_plugin.ledger.spending import Cost

_MADE_BY = {method.name: method for method in (SynthesizeMethod, RandomizedResponseMethod)}
_DECIMALS = 3  # of a code length


@dataclass(frozen=True, kw_only=True)
class SanitizedCodeTable(Described):
    """Itemsets of two items or more in cover order, the usage of each, and the account of the release.

    `ratio`: the size of the released rows with this code table over that with single items only. `items` and
    `item_usage` are the single items that cover the rest. `notes` state where the table is smaller than requested.
    """

    itemsets: tuple[Mapping[str, Value], ...] = field(repr=False)
    usage: tuple[int, ...] = field(repr=False)
    ratio: float
    ledger: ReleaseLedger
    items: tuple[Mapping[str, Value], ...] = field(default=(), repr=False)
    item_usage: tuple[int, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    @cached_property
    def frequencies(self) -> FrequencyTable:
        """The code table: the items as text, their number, how often it is used, and the length of its code in bits.

        The length is -log2(usage / all usage), rounded to three decimals.
        """
        usage = (*self.usage, *self.item_usage)
        everything = sum(usage)
        lengths = [round(math.log2(everything / each), _DECIMALS) for each in usage]
        return itemset_table((*self.itemsets, *self.items), usage=usage, code_length=lengths)

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account of the release that the code table was made from."""
        return self.ledger.to_dict()

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return {
            "itemsets": len(self.itemsets),
            "items": len(self.items),
            "ratio": self.ratio,
            "notes": list(self.notes),
            "ledger": self.ledger.to_dict(),
        }

    def describe(self) -> Description:
        """Return the size of the code table, how well it compresses, and the account."""
        return Description(
            title="Code table of a sanitized release",
            rows=(
                ("itemsets of two items or more", f"{len(self.itemsets):,}"),
                ("size compared with single items", f"{self.ratio:.1%}"),
                *self.ledger.rows(),
            ),
            notes=self.notes,
            facts={"itemsets": len(self.itemsets), "compression": self.ratio, "account": self.account},
            released_rows=self.frequencies.rows,
        )


def sanitized_krimp(released: Synthesis | RandomizedCells, *, support: Any = "1/100") -> SanitizedCodeTable:
    """Return Krimp's code table of a synthetic table or of randomized cells.

    Candidates are the closed itemsets that at least a share `support` of the released rows have; missing values are not
    items. Cost: Krimp.

    >>> from privacy_plugin.anonymizers.randomized_response import randomize_cells
    >>> from privacy_plugin.frequency import FrequencyTable
    >>> people = FrequencyTable.from_rows(["sex", "smokes"], [("f", "no"), ("m", "yes")] * 500)
    >>> found = sanitized_krimp(randomize_cells(people, epsilon=9), support="1/10")
    >>> sorted(sorted(itemset.values()) for itemset in found.itemsets), str(found.ledger)
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
    used = [item for item, usage in enumerate(found.item_usage.tolist()) if usage]
    return SanitizedCodeTable(
        itemsets=tuple(items.named(items.places(one)) for one in found.sets),
        usage=tuple(found.usage.tolist()),
        ratio=found.ratio,
        ledger=released.ledger,
        items=tuple(items.named(items.places([item])) for item in used),
        item_usage=tuple(int(found.item_usage[item]) for item in used),
    )


class SanitizedKrimpMethod(ItemsetMethod, DomainMethod):
    """The code table of a synthetic table or of randomized cells, which are drawn for it and not released."""

    name = "sanitized_krimp"
    function = sanitized_krimp
    table_columns = ("itemset", "size", "usage", "code_length")

    @classmethod
    def policy_options(cls) -> dict[str, inspect.Parameter]:
        """Return `from`, the support, and the options of the method that draws the rows."""
        # `from` is a keyword of Python, which only a positional parameter may be named after
        made_by = inspect.Parameter("from", inspect.Parameter.POSITIONAL_ONLY, annotation=Literal[*_MADE_BY])
        drawn = {name: option for method in _MADE_BY.values() for name, option in method.policy_options().items()}
        return {"from": made_by, "support": inspect.signature(sanitized_krimp).parameters["support"], **drawn}

    @classmethod
    def read_options(cls, given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """Check `from` and the support, and the other options by the method that draws the rows."""
        known = cls.policy_options()
        if "from" not in given:
            raise ParameterError(f"{cls.name} needs from: {' or '.join(_MADE_BY)}, the method that draws the rows")
        own = {
            name: read_option(name, given[name], known[name], columns) for name in ("from", "support") if name in given
        }
        rest = {name: value for name, value in given.items() if name not in own}
        drawing = _MADE_BY[own["from"]]
        for name in rest:
            if name not in drawing.policy_options():
                raise ParameterError(
                    unknown_name(f"option of {cls.name} from {drawing.name}", str(name), drawing.policy_options())
                )
        return {**own, **drawing.read_options(rest, columns)}

    @cached_property
    def drawing(self) -> SynthesizeMethod | RandomizedResponseMethod:
        """The method that draws the rows."""
        options = {name: value for name, value in self.options.items() if name not in ("from", "support")}
        return _MADE_BY[self.options["from"]](
            options=options, rules=self.rules, hierarchies=self.hierarchies, constant=self.constant
        )

    @cached_property
    def cost(self) -> Cost:
        """The cost of the rows; their code table costs nothing more."""
        return replace(self.drawing.cost, mechanism=f"sanitized Krimp of {self.drawing.cost.mechanism}")

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], SanitizedCodeTable]:
        """Refuse what the method that draws the rows refuses."""
        draw = self.drawing.prepare(table, generator)
        return lambda: _code_table(draw(), self.options.get("support", "1/100"))

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return every item, with a usage and a code length."""
        named = list(longest_itemsets(table, self.options["domains"]))
        yield itemset_table(named, usage=[table.rows] * len(named), code_length=[0.125] * len(named))


def _code_table(drawn: Synthesis | RandomizedCells, support: Any) -> SanitizedCodeTable:
    """Return the code table; a support that is too low for the drawn rows is doubled, because they are paid for."""
    share, asked = exact(support), exact(support)
    while True:
        try:
            found = sanitized_krimp(drawn, support=share)
        except TooLargeError:
            if share == 1:
                raise
            share = min(2 * share, exact(1))
            continue
        raised = f"too many itemsets have the support that was asked for; those with {float(share):.3g} were used"
        return found if share == asked else replace(found, notes=(*found.notes, raised))
