"""Counts of itemsets by randomized response: every row answers, with fresh randomness, for every itemset.

Dorrestijn 2018, section 3.3. A row answers whether it has the itemset, truthfully with p = e^epsilon / (1 + e^epsilon),
and with the opposite otherwise. The thesis leaves out that the answers of a row compose over the itemsets: a thousand
itemsets of epsilon 0.1 are epsilon 100 per row, or 21.6 at delta 1e-6 as zero-concentrated privacy, which is hardly
protection either. `randomized_response` randomizes a cell once and estimates any number of itemsets from it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.anonymizers.accounting import Part, ReleaseLedger
from privacy_plugin.anonymizers.itemsets.itemset_table import ItemsetMethod, itemset_table
from privacy_plugin.anonymizers.randomized_response import (
    Channel,
    Estimate,
    keep_probability,
    randomize_codes,
    unbiased_counts,
)
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError, PolicyError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import canonical, key
from privacy_plugin.ledger.spending import Cost, spending, table_to_release
from privacy_plugin.ledger.zero_concentrated import pure_rho, zcdp_epsilon

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger


@dataclass(frozen=True, kw_only=True)
class ItemsetCounts(Described):
    """One estimate for each given itemset, in order, and the account of all of them together."""

    estimates: tuple[Estimate, ...]
    ledger: ReleaseLedger
    itemsets: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @cached_property
    def frequencies(self) -> FrequencyTable:
        """The itemsets as a table: the items as text, their number, estimated support and its standard error.

        Both are rounded to whole rows, the error up. An estimate may be negative, or exceed the number of rows.
        """
        return itemset_table(
            [{name: canonical(value) for name, value in itemset.items()} for itemset in self.itemsets],
            support=[round(estimate.count) for estimate in self.estimates],
            standard_error=[math.ceil(estimate.standard_error) for estimate in self.estimates],
        )

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account as plain data."""
        return self.ledger.to_dict()

    def summary(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data without a value of the table."""
        error = self.estimates[0].standard_error
        return {"number": len(self.estimates), "standard_error": error, "ledger": self.ledger.to_dict()}

    def describe(self) -> Description:
        """Return the number of itemsets, the error of their supports, and the account."""
        one = self.estimates[0]
        share = one.standard_error / one.rows
        return Description(
            title="Supports of chosen itemsets, by randomized response",
            rows=(
                ("itemsets", f"{len(self.estimates):,}"),
                ("standard error of a support", f"{one.standard_error:,.0f} rows ({share:.1%} of all)"),
                *self.ledger.rows(),
            ),
            facts={
                "itemsets": len(self.estimates),
                "standard error": one.standard_error,
                "account": self.account,
            },
            released_rows=len(self.estimates),
        )


def randomized_itemset_counts(
    data: Any,
    *,
    itemsets: Sequence[Mapping[str, Any]],
    epsilon: Any,
    delta: Any = 0,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> ItemsetCounts:
    """Estimate the counts of itemsets by randomized response; `epsilon` is that of one row and one itemset.

    The module describes the mechanism. A row spends the total over all itemsets: the sum, or, with a `delta`, the
    smaller zero-concentrated total. That total is reserved from a budget `ledger`.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"smokes": ["no", "yes"] * 500})
    >>> found = randomized_itemset_counts(people, itemsets=[{"smokes": "yes"}, {"smokes": "no"}], epsilon=1)
    >>> str(found.ledger), round(found.estimates[0].standard_error)
    ('epsilon 2 a row', 30)
    """
    require_itemsets(itemsets)
    columns = list(dict.fromkeys(name for itemset in itemsets for name in itemset))
    table = table_to_release(data, columns=columns, role="the itemsets", ledger=ledger, dataset=dataset)
    require_countable(table, itemsets)
    total = row_epsilon(itemsets=len(itemsets), epsilon=epsilon, delta=delta)
    rho = len(itemsets) * exact(epsilon, what="epsilon") ** 2 / 2
    cost = Cost(mechanism="randomized itemset counts", epsilon=total, delta=delta, rho=rho)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        found = randomize_itemset_counts(table, itemsets, epsilon=epsilon, delta=delta, generator=generator)
        spent.released(account=found.ledger.to_dict())
    return found


class RandomizedItemsetCountsMethod(ItemsetMethod):
    """Estimated supports of the itemsets that the policy lists."""

    name = "randomized_itemset_counts"
    function = randomized_itemset_counts
    table_columns = ("itemset", "size", "support", "standard_error")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that an itemset names."""
        named = {name for itemset in self.options["itemsets"] for name in itemset}
        return tuple(name for name in self.rules.released if name in named)

    @cached_property
    def cost(self) -> Cost:
        """The total of a row over all itemsets."""
        number, delta = len(self.options["itemsets"]), self.options.get("delta", 0)
        total = row_epsilon(itemsets=number, epsilon=self.options["epsilon"], delta=delta)
        rho = number * exact(self.options["epsilon"], what="epsilon") ** 2 / 2
        return Cost(mechanism="randomized itemset counts", epsilon=total, delta=delta, rho=rho)

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse an itemset with the partition column, which has one public value."""
        super().require_usable(constant)
        if constant in self.columns:
            raise PolicyError(f"{constant!r} is the partition column, which is not drawn; leave it out of itemsets")

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], ItemsetCounts]:
        """Refuse a table without rows, or with several rows a person."""
        require_countable(table, self.options["itemsets"])
        return partial(randomize_itemset_counts, table, **self.options, generator=generator)

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return every itemset, with the smallest and the largest support."""
        itemsets = [{name: canonical(value) for name, value in itemset.items()} for itemset in self.options["itemsets"]]
        largest = 1_000 * table.rows
        for support in (-largest, largest):
            supports = [support] * len(itemsets)
            yield itemset_table(itemsets, support=supports, standard_error=[largest] * len(itemsets))


def row_epsilon(*, itemsets: int, epsilon: Any, delta: Any = 0) -> Fraction:
    """Return the epsilon of a row for a number of itemsets: the sum, or the zero-concentrated total if smaller.

    >>> float(row_epsilon(itemsets=1000, epsilon=0.1))
    100.0
    >>> round(float(row_epsilon(itemsets=1000, epsilon=0.1, delta=1e-6)), 1)
    21.6
    """
    each, failing = exact(epsilon, what="epsilon"), exact(delta, what="delta")
    if not 0 < each <= 40 or not 0 <= failing < 1:
        raise ParameterError("epsilon of an itemset must be above 0 and at most 40, delta from 0 to below 1")
    if float(keep_probability(float(each), 2)) == 0.5:
        raise ParameterError("epsilon of an itemset is too small: answers would be pure noise; raise epsilon")
    if isinstance(itemsets, bool) or itemsets < 1:
        raise ParameterError("itemsets is empty; give at least one itemset to count")
    added = each * itemsets
    if failing == 0:
        return added
    return min(added, Fraction(zcdp_epsilon(itemsets * pure_rho(float(each)), float(failing))))


def randomize_itemset_counts(
    table: FrequencyTable,
    itemsets: Sequence[Mapping[str, Any]],
    *,
    epsilon: Any,
    delta: Any = 0,
    generator: np.random.Generator | None = None,
) -> ItemsetCounts:
    """Estimate how many rows hold each itemset; `epsilon` is that of one row and one itemset.

    With s of n rows answering yes, the estimate (s - n (1 - p)) / (2 p - 1) is unbiased and its standard error is
    sqrt(n p (1 - p)) / (2 p - 1), whatever the true count. The itemsets must be chosen without looking at the rows.
    Cost: a random number for every row and itemset.
    """
    total = row_epsilon(itemsets=len(itemsets), epsilon=epsilon, delta=delta)
    require_countable(table, itemsets)
    each = float(exact(epsilon))
    keep = keep_probability(each, 2)
    channel = Channel(keep=float(keep), other=float(1 - keep))
    deviation = math.sqrt(table.rows * channel.keep * channel.other) / (channel.keep - channel.other)
    estimates = []
    for itemset in itemsets:
        answers = randomize_codes(np.repeat(_held(table, itemset), table.counts), 2, keep, generator)
        count = unbiased_counts(np.bincount(answers, minlength=2), [channel])[1]
        estimates.append(Estimate(count=float(count), standard_error=deviation, rows=table.rows))
    part = Part(
        name="answers of a row, an itemset each",
        mechanism=f"randomized response of yes or no, keeping with {channel.keep:.6g}",
        sensitivity="one row's answer",
        epsilon=each,
        rho=pure_rho(each),
        times=len(itemsets),
    )
    ledger = ReleaseLedger(
        unit="row",
        neighbours="tables of the same number of rows that differ in one row",
        parts=(part,),
        epsilon=float(total),
        epsilon_row=float(total),
        delta=float(exact(delta)),
        assumptions=("the number of rows is public", "the itemsets were chosen without looking at the data"),
        private=generator is None,
    )
    return ItemsetCounts(estimates=tuple(estimates), ledger=ledger, itemsets=tuple(itemsets))


def require_itemsets(itemsets: object) -> None:
    """Raise ParameterError unless itemsets is a list of mappings from columns to values."""
    listed = isinstance(itemsets, Sequence) and all(isinstance(itemset, Mapping) and itemset for itemset in itemsets)
    if not listed or not itemsets:
        raise ParameterError("itemsets must be a non-empty list of mappings, each from a column or more to a value")


def require_countable(table: FrequencyTable, itemsets: Sequence[Mapping[str, Any]]) -> None:
    """Raise, before budget is spent, if the table or the itemsets cannot be counted."""
    require_itemsets(itemsets)
    table.require_rows()
    table.require_one_row_a_person("randomized response")
    for itemset in itemsets:
        require_columns(list(itemset), list(table.columns), role="the itemset")


def _held(table: FrequencyTable, itemset: Mapping[str, Any]) -> Integers:
    """Return 1 for every distinct row that has the itemset, else 0."""
    held = np.ones(table.distinct, dtype=np.int64)
    for column, value in itemset.items():
        wanted = key(canonical(value))
        has = np.array([key(known) == wanted for known in table.dictionary(column)], dtype=np.int64)
        held *= has[table.column_codes(column)]
    return held
