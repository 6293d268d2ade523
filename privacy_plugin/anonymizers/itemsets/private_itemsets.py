"""Itemsets drawn with a preference for frequent ones: Dorrestijn 2018, theorem 7, corrected.

An itemset i of the universe is drawn with probability proportional to e^(epsilon/2 * min(threshold, support of i)). A
substituted row changes a support by at most 1 (the thesis states 2 and uses epsilon/4), so a weight changes by at most
e^(epsilon/2), and so does their sum: epsilon for one row, without delta. The universe is what the schema allows,
including itemsets that no row has, without the empty one. Threshold and domains must not come from the data.

Several itemsets are drawn one after the other, each from those not drawn yet. What is excluded is known from what was
released, so the budgets add up; with a delta, as zero-concentrated budgets of epsilon^2/8 each.

A draw is exact although the universe is never listed. Itemsets of support s0 and more are mined; the others are
represented by the upper bound |U| * e^(epsilon/2 * (s0 - 1)) of their weight. When that is drawn, an itemset is drawn
uniformly and, if it was not mined, accepted with the probability that corrects its weight; otherwise the draw starts
again. s0 changes the running time and nothing else. Mining draws nothing and comes first, so that a table which is too
large is refused before budget is spent. No budget covers that refusal, nor the running time: both depend on the rows
and must stay with people who may see the rows.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.anonymizers.accounting import Part, ReleaseLedger
from privacy_plugin.anonymizers.base import DomainMethod
from privacy_plugin.anonymizers.coded_rows import CodedRows, RowItems
from privacy_plugin.anonymizers.itemsets.exact_draws import Below, ExactChoice, happens, secure_below, seeded_below
from privacy_plugin.anonymizers.itemsets.itemset_table import ItemsetMethod, itemset_table, longest_itemsets
from privacy_plugin.description import Described, Description
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import Value
from privacy_plugin.ledger.spending import Cost, spending, table_to_release
from privacy_plugin.ledger.zero_concentrated import exponential_rho, rho_within
from privacy_plugin.metrics.itemsets.itemsets import frequent_itemsets

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger

_MOST_MINED = 2_000_000
_RESTARTS = math.log(32)  # logarithm of the mean number of starts per draw that mining aims for
_MOST_STARTS = 100_000  # of all draws together, where deeper mining needs too much memory
_ROUNDING = 1e-6
Chosen = tuple[tuple[int, int], ...]  # (column, code) pairs in the order of the columns


@dataclass(frozen=True, kw_only=True)
class PrivateItemsets(Described):
    """The drawn itemsets, in the order drawn, and the privacy account.

    `threshold` is the support, in rows, above which an itemset becomes no likelier; `epsilon_draw` what one draw spends
    of a row's epsilon; `universe` the number of itemsets that the schema allows. Supports are not included: releasing
    them would spend more.
    """

    itemsets: tuple[Mapping[str, Value], ...] = field(repr=False)
    threshold: int
    epsilon_draw: float
    universe: int
    ledger: ReleaseLedger

    def informative_epsilon(self, *, frequent: int = 1) -> float:
        """Return the least epsilon of an informative draw if at least this many itemsets are frequent."""
        return informative_epsilon(universe=self.universe, frequent=frequent, threshold=self.threshold)

    @cached_property
    def frequencies(self) -> FrequencyTable:
        """The itemsets as a table: the items as text, their number, and the position among the draws."""
        return itemset_table(self.itemsets, position=range(1, len(self.itemsets) + 1))

    @property
    def account(self) -> dict[str, Any]:
        """The privacy account as plain data."""
        return self.ledger.to_dict()

    def summary(self) -> dict[str, Any]:
        """Return plain data, without values."""
        return self.to_dict()

    def describe(self) -> Description:
        """Return the number of itemsets, what one draw spends, and whether that is enough to be informative."""
        least = self.informative_epsilon()
        few = () if self.epsilon_draw > least else (_few_frequent(least),)
        return Description(
            title="Itemsets drawn with a preference for frequent ones",
            rows=(
                ("itemsets", f"{len(self.itemsets):,} of {self.universe:,} that the columns allow"),
                ("frequent from", f"{self.threshold:,} rows"),
                *self.ledger.rows(),
            ),
            notes=few,
            facts={"itemsets": len(self.itemsets), "epsilon a draw": self.epsilon_draw, "account": self.account},
            released_rows=len(self.itemsets),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without values."""
        return {
            "number": len(self.itemsets),
            "threshold": self.threshold,
            "epsilon_draw": self.epsilon_draw,
            "unit": "row",
            "universe": self.universe,
            "informative_epsilon": self.informative_epsilon(),
            "ledger": self.ledger.to_dict(),
        }


def private_itemsets(
    data: Any,
    *,
    columns: Sequence[str],
    number: int,
    support: Any,
    epsilon: Any,
    delta: Any = 0,
    longest: int | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> PrivateItemsets:
    """Draw `number` different itemsets, frequent ones preferred; epsilon protects a whole row, all draws together.

    The module describes the mechanism. `support`: the share of the rows above which an itemset counts as frequent,
    chosen without looking at the data. `longest` limits the items of an itemset. A draw is informative if its
    `.epsilon_draw` is above `.informative_epsilon()`. With a budget `ledger` (and the `dataset`'s name there) epsilon
    and delta are reserved before anything is drawn, in the unit "row". TooLargeError, for too many itemsets, is raised
    before that.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": ["no", "yes"] * 500})
    >>> found = private_itemsets(people, columns=["sex", "smokes"], number=1, support="1/4", epsilon=1)
    >>> str(found.ledger), found.universe, found.epsilon_draw > found.informative_epsilon()
    ('epsilon 1 a row', 8, True)
    """
    table = table_to_release(data, columns=columns, domains=domains, ledger=ledger, dataset=dataset)
    draws = ItemsetDraws.of(
        table, number=number, support=support, epsilon=epsilon, delta=delta, longest=longest, domains=domains
    )
    draws.require_drawable()
    cost = itemsets_cost(draws.epsilon, draws.delta, number)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        found = draws.drawn(generator)
        spent.released(account=found.ledger.to_dict())
    return found


def itemsets_cost(epsilon: Fraction, delta: Fraction, number: int) -> Cost:
    """Return what all draws together spend: epsilon and delta as given, and epsilon^2 / 8 of each draw as rho."""
    rho = None
    if epsilon > 0 and 0 <= delta < 1 and _whole(number) and number >= 1:  # otherwise refused with the reason later
        rho = number * draw_epsilon(epsilon, delta, number) ** 2 / 8
    return Cost(mechanism="private itemsets", epsilon=epsilon, delta=delta, rho=rho)


def draw_epsilon(epsilon: Fraction, delta: Fraction, number: int) -> Fraction:
    """Return the epsilon of one of `number` draws that together spend epsilon and delta."""
    if delta == 0:
        return epsilon / number
    rho = rho_within(float(epsilon), float(delta))
    together = math.sqrt(8 * rho / number) * (1 - 1e-12)  # rounded down: the parts stay within the whole
    return max(epsilon / number, Fraction(together))


class PrivateItemsetsMethod(ItemsetMethod, DomainMethod):
    """Itemsets of the released columns, frequent ones preferred; supports are not released."""

    name = "private_itemsets"
    function = private_itemsets
    table_columns = ("itemset", "size", "position")

    @cached_property
    def cost(self) -> Cost:
        """The cost of all draws together."""
        amounts = {name: exact(self.options.get(name, 0), what=name) for name in ("epsilon", "delta")}
        return itemsets_cost(**amounts, number=self.options["number"])

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], PrivateItemsets]:
        """Mine the likeliest itemsets, which refuses tables that are too large."""
        table.require_one_row_a_person(self.name)
        table.require_rows()
        draws = ItemsetDraws.of(table, **self.options)
        draws.require_drawable()
        return lambda: draws.drawn(generator)

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return every item, and the largest numbers."""
        named = list(longest_itemsets(table, self.options["domains"]))
        yield itemset_table(named, position=range(1, len(named) + 1))


def _few_frequent(least: float) -> str:
    return (
        f"a draw spends less than epsilon {least:.3g}: unless many itemsets are frequent, most of what was drawn is "
        "noise; ask for fewer itemsets, name fewer columns, or raise support or epsilon"
    )


@dataclass(frozen=True, kw_only=True)
class ItemsetUniverse:
    """The itemsets of 1 to `longest` items over columns with `sizes` values: counted and drawn without a list.

    >>> ItemsetUniverse(sizes=(2, 3), longest=2).size  # (2 + 1) * (3 + 1), without the empty one
    11
    """

    sizes: tuple[int, ...]
    longest: int

    @property
    def size(self) -> int:
        """The number of itemsets."""
        return self._ways[0][self.longest] - 1

    def draw(self, below: Below) -> Chosen:
        """Draw an itemset uniformly."""
        ways = self._ways
        while True:
            left, chosen = self.longest, []
            for column in range(len(self.sizes)):
                number = below(ways[column][left])
                without = ways[column + 1][left]
                if number >= without:
                    left -= 1
                    chosen.append((column, (number - without) // ways[column + 1][left]))
            if chosen:
                return tuple(chosen)

    @cached_property
    def _ways(self) -> list[list[int]]:
        """ways[c][k]: the number of itemsets of at most k items over columns c and later, the empty one included."""
        found = [[1] * (self.longest + 1)]
        for size in reversed(self.sizes):
            after = found[0]
            found.insert(0, [after[k] + (size * after[k - 1] if k else 0) for k in range(self.longest + 1)])
        return found


def informative_epsilon(*, universe: int, frequent: int, threshold: int) -> float:
    """Return 2 ln(universe / frequent) / threshold: below it, itemsets that no row has outweigh the frequent ones.

    `frequent` is a guess about the data, never a count of it, which would spend budget.

    >>> round(informative_epsilon(universe=10**12, frequent=1_000, threshold=4_885), 4)
    0.0085
    """
    if not 1 <= frequent <= universe or threshold < 1:
        raise ParameterError("frequent must be from 1 to the universe, and threshold at least 1")
    return 2 * math.log(universe / frequent) / threshold


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemsetDraws:
    """What is to be drawn, looked through before any budget is spent."""

    rows: CodedRows = field(repr=False)
    universe: ItemsetUniverse
    number: int
    threshold: int
    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(
        cls,
        table: FrequencyTable,
        *,
        number: int,
        support: Any,
        epsilon: Any,
        delta: Any = 0,
        longest: int | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
    ) -> "ItemsetDraws":
        """Read what is wanted, and refuse what makes no sense.

        `support`: the threshold as a share of the rows, whose number is public. An item is a column with a value; a
        missing value is none. `longest` limits an itemset's items. `epsilon` and `delta` are those of all draws.
        """
        total, failing = exact(epsilon, what="epsilon"), exact(delta, what="delta")
        share = exact(support, what="support")
        _require(total > 0 and 0 <= failing < 1, "epsilon must be positive and delta from 0 to below 1")
        _require(0 < share <= 1, "support must be a share of the rows, above 0 and at most 1")
        _require(_whole(number) and number >= 1, "number must be a whole number of at least 1")
        _require(longest is None or (_whole(longest) and longest >= 1), "longest must be a whole number of at least 1")
        rows = CodedRows.of(table, given=None, domains=domains)
        values = RowItems(rows=rows).values
        universe = ItemsetUniverse(sizes=tuple(map(len, values)), longest=min(longest or rows.columns, rows.columns))
        _require(number <= universe.size, f"the columns allow only {universe.size} itemsets")
        threshold = -(-share.numerator * rows.rows // share.denominator)
        return cls(rows=rows, universe=universe, number=number, threshold=threshold, epsilon=total, delta=failing)

    @property
    def epsilon_draw(self) -> Fraction:
        """The epsilon of one draw: an equal part, or more where zero-concentrated budgets compose to less."""
        return draw_epsilon(self.epsilon, self.delta, self.number)

    @cached_property
    def items(self) -> RowItems:
        """The rows as items."""
        return RowItems(rows=self.rows)

    @cached_property
    def mined(self) -> "Mined":
        """The likeliest itemsets; raises TooLargeError if memory allows too few for quick draws."""
        return _Mining(self).mined()

    def require_drawable(self) -> None:
        """Raise TooLargeError, before budget is spent, if the draws would take too long."""
        _ = self.mined  # cached for the draws

    def drawn(self, generator: np.random.Generator | None = None) -> PrivateItemsets:
        """Draw different itemsets. Cost: mining, and one pass over the rows for each start of a draw."""
        drawing = _Drawing(self, below=secure_below if generator is None else seeded_below(generator))
        found = [drawing.draw() for _ in range(self.number)]
        return PrivateItemsets(
            itemsets=tuple(self.items.named(itemset) for itemset in found),
            threshold=self.threshold,
            epsilon_draw=float(self.epsilon_draw),
            universe=self.universe.size,
            ledger=self._ledger(private=generator is None),
        )

    def _ledger(self, *, private: bool) -> ReleaseLedger:
        each = float(self.epsilon_draw)
        part = Part(
            name="itemsets, one after the other",
            mechanism="exponential mechanism",
            sensitivity="1 in the support, for one substituted row",
            epsilon=each,
            rho=exponential_rho(each),
            times=self.number,
        )
        return ReleaseLedger(
            unit="row",
            neighbours="tables of the same number of rows that differ in one row",
            parts=(part,),
            epsilon=float(self.epsilon),
            epsilon_row=float(self.epsilon),
            delta=float(self.delta),
            assumptions=(*self.rows.assumptions, "the support was chosen without looking at the data"),
            private=private,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Mined:
    """All itemsets of support `least` or more, by min(threshold, support)."""

    least: int
    levels: Mapping[int, Sequence[Chosen]] = field(repr=False)


class _Mining:
    """Mines until draws restart rarely, or until the itemsets fill the memory.

    It plans for the last draw, after the likeliest itemsets were drawn: no earlier draw restarts more often.
    """

    def __init__(self, wanted: ItemsetDraws) -> None:
        self._universe, self._threshold, self._number = wanted.universe, wanted.threshold, wanted.number
        self._rate = float(wanted.epsilon_draw / 2)
        self._items = wanted.items
        self._found = Mined(least=wanted.threshold + 1, levels={})  # none yet

    def mined(self) -> Mined:
        """Return the mined itemsets; raise TooLargeError if they cannot be mined deep enough."""
        wanted, too_deep = self._threshold, 0
        while wanted < self._found.least:
            try:
                self._found = Mined(least=wanted, levels=self._levels(wanted))
            except TooLargeError:
                too_deep = wanted
            deep = self._deep_enough()
            wanted = deep if deep > too_deep else (too_deep + self._found.least + 1) // 2
        most = max(_RESTARTS, math.log(_MOST_STARTS / self._number)) + _ROUNDING
        if self._logarithm_unmined() - self._logarithm_at_least() > most:
            raise TooLargeError(
                "there are too many itemsets to draw from; raise support or epsilon, name fewer columns, or limit the "
                "length of itemsets with longest="
            )
        return self._found

    def _deep_enough(self) -> int:
        """Return the support to mine down to so that restarts are few, from what was mined so far."""
        spare = _RESTARTS + self._logarithm_at_least() - math.log(self._universe.size)
        return min(max(math.floor(self._threshold + spare / self._rate) + 1, 1), self._found.least)

    def _logarithm_unmined(self) -> float:
        """Return the logarithm of the weight of all itemsets not mined, for weight 1 at the threshold."""
        return math.log(self._universe.size) - self._rate * (self._threshold - self._found.least + 1)

    def _logarithm_at_least(self) -> float:
        """Return the logarithm of a lower bound on the total weight of the itemsets left for the last draw."""
        gone = self._number - 1
        known = [math.log(self._universe.size - gone) - self._rate * self._threshold]
        for level, members in sorted(self._found.levels.items(), reverse=True):
            left, gone = max(len(members) - gone, 0), max(gone - len(members), 0)
            if left:
                known.append(math.log(left) - self._rate * (self._threshold - level))
        largest = max(known)
        return largest + math.log(math.fsum(math.exp(each - largest) for each in known))

    def _levels(self, least: int) -> dict[int, list[Chosen]]:
        found = frequent_itemsets(**self._items.transactions, support=least, most=_MOST_MINED)
        levels: dict[int, list[Chosen]] = {}
        places = self._items.places(found.items)
        ends = found.offsets.tolist()
        for number, support in enumerate(found.support.tolist()):
            chosen = tuple(places[ends[number] : ends[number + 1]])
            if len(chosen) <= self._universe.longest:
                levels.setdefault(min(support, self._threshold), []).append(chosen)
        return levels


class _Drawing:
    """Draws itemsets that were not drawn before."""

    def __init__(self, wanted: ItemsetDraws, *, below: Below) -> None:
        self._universe, self._threshold, self._below = wanted.universe, wanted.threshold, below
        self._rate = wanted.epsilon_draw / 2
        self._items = wanted.items
        self._drawn: set[Chosen] = set()
        self._bound = wanted.mined.least - 1  # the largest support of those that are not mined
        self._levels = {level: list(wanted.mined.levels[level]) for level in sorted(wanted.mined.levels, reverse=True)}

    def draw(self) -> Chosen:
        """Draw one itemset."""
        levels, bound = list(self._levels), self._bound
        multiples = [*(len(members) for members in self._levels.values()), self._universe.size]
        exponents = [self._rate * (self._threshold - support) for support in (*levels, bound)]
        choice = ExactChoice(multiples, exponents)
        while True:
            index = choice.draw(self._below)
            if index < len(levels):
                members = self._levels[levels[index]]
                found = members.pop(self._below(len(members)))
                break
            found = self._universe.draw(self._below)
            support = min(self._support(found), self._threshold)
            if support <= bound and found not in self._drawn and happens(self._rate * (bound - support), self._below):
                break
        self._drawn.add(found)
        return found

    def _support(self, chosen: Chosen) -> int:
        codes = self._items.codes
        held = np.ones(len(codes), dtype=bool)
        for column, place in chosen:
            held &= codes[:, column] == place
        return int(self._items.rows.counts[held].sum())


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ParameterError(problem)
