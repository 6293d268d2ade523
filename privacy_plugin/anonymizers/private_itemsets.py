"""Itemsets drawn with a preference for frequent ones: Dorrestijn 2018, theorem 7, corrected.

An itemset i of the universe is drawn with probability proportional to e^(epsilon/2 * min(threshold, support of i)). A
substituted row changes a support by at most 1 (the thesis says 2 and has epsilon/4), so a weight changes by at most
e^(epsilon/2), and so does their sum: epsilon for one row, without delta. The universe is what the schema allows, also
itemsets that no row has; the empty one is left out. The threshold and the domains must not come from the data.

Several itemsets are drawn one after the other, each from those not drawn yet: what is left out is known from what was
released, so the budgets add up; with a delta, as zero-concentrated ones of epsilon^2/8 each.

A draw is exact although the universe is never listed: itemsets of support s0 and more are mined; beside them stands the
upper bound |U| * e^(epsilon/2 * (s0 - 1)) of all others. Where it is drawn, an itemset is drawn evenly and kept, if it
was not mined, with the probability that corrects its weight; what is not kept starts again. s0 changes how long a draw
takes, and nothing else. How long it takes depends on the rows: an attacker should neither measure that nor learn that a
draw was given up as too large.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.accounting import Part, ReleaseLedger, exponential_rho, rho_within
from privacy_plugin.anonymizers.coded_rows import CodedRows
from privacy_plugin.anonymizers.exact_draws import Below, ExactChoice, happens, secure_below, seeded_below
from privacy_plugin.anonymizers.itemset_universe import Chosen, ItemsetUniverse
from privacy_plugin.anonymizers.row_items import RowItems
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.frequency.values import Value
from privacy_plugin.kernels.itemsets import frequent_itemsets

_MOST_MINED = 2_000_000
_RESTARTS = math.log(32)  # mine until a draw starts no more often than about this, on average
_HOPELESS = math.log(1e7)


@dataclass(frozen=True, kw_only=True)
class PrivateItemsets:
    """The itemsets that were drawn, first one first, and the privacy account.

    `threshold` is the support, in rows, beyond which more makes no itemset likelier; `epsilon_draw` what one draw
    spends of a row's epsilon; `universe` how many itemsets the schema allows. Supports are not told: they cost extra.
    """

    itemsets: tuple[Mapping[str, Value], ...] = field(repr=False)
    threshold: int
    epsilon_draw: float
    universe: int
    ledger: ReleaseLedger

    def informative_epsilon(self, *, frequent: int = 1) -> float:
        """Return the epsilon of a draw from which on it says something, if at least so many itemsets are frequent."""
        return informative_epsilon(universe=self.universe, frequent=frequent, threshold=self.threshold)

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


def informative_epsilon(*, universe: int, frequent: int, threshold: int) -> float:
    """Return 2 ln(universe / frequent) / threshold: below it, itemsets that no row has outweigh the frequent ones.

    `frequent` is a guess about the data, never a count of it: that would have to be paid for.

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
        """What one draw may spend: its part, or more where zero-concentrated budgets add up to less."""
        if self.delta == 0:
            return self.epsilon / self.number
        rho = rho_within(float(self.epsilon), float(self.delta))
        together = math.sqrt(8 * rho / self.number) * (1 - 1e-12)  # rounded down: the parts stay within the whole
        return max(self.epsilon / self.number, Fraction(together))

    def drawn(self, generator: np.random.Generator | None = None) -> PrivateItemsets:
        """Draw different itemsets. Cost: mining, and a look at the rows for each draw that starts."""
        items = RowItems(rows=self.rows)
        drawing = _Drawing(self, items, below=secure_below if generator is None else seeded_below(generator))
        found = [drawing.draw() for _ in range(self.number)]
        return PrivateItemsets(
            itemsets=tuple(items.named(itemset) for itemset in found),
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


class _Drawing:
    """Draws itemsets that were not drawn before, and mines deeper when that saves restarts."""

    def __init__(self, wanted: ItemsetDraws, items: RowItems, *, below: Below) -> None:
        self._universe, self._threshold, self._below = wanted.universe, wanted.threshold, below
        self._rate = wanted.epsilon_draw / 2
        self._items = items
        self._drawn: set[Chosen] = set()
        self._least = wanted.threshold + 1  # itemsets of this support and more are mined: none yet
        self._levels: dict[int, list[Chosen]] = {}  # by min(threshold, support)
        self._mining = True

    def draw(self) -> Chosen:
        """Draw one itemset."""
        self._mine()
        levels = sorted(self._levels, reverse=True)
        multiples = [len(self._levels[level]) for level in levels]
        exponents = [self._rate * (self._threshold - level) for level in levels]
        bound = self._least - 1  # the largest support of those that are not mined
        multiples.append(self._universe.size)
        exponents.append(self._rate * (self._threshold - bound))
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

    def _mine(self) -> None:
        """Mine as deep as few restarts need, or as the itemsets can be held."""
        wanted = self._threshold if self._least > self._threshold else self._deep_enough()
        while wanted < self._least and self._mining:
            try:
                self._levels, self._least = self._mined(wanted), wanted
                wanted = self._deep_enough()
            except TooLargeError:
                wanted = (wanted + self._least + 1) // 2
                self._mining = wanted < self._least
        if self._logarithm_unmined() - self._logarithm_at_least() > _HOPELESS:
            raise TooLargeError("there are too many itemsets to draw from; raise the support or the epsilon of a draw")

    def _deep_enough(self) -> int:
        """Return the least support to mine for restarts to be few, from what is known now."""
        spare = _RESTARTS + self._logarithm_at_least() - math.log(self._universe.size)
        return min(max(math.floor(self._threshold + spare / float(self._rate)) + 1, 1), self._least)

    def _logarithm_unmined(self) -> float:
        """Return the logarithm of the weight that those not mined are given, for weight 1 at the threshold."""
        return math.log(self._universe.size) - float(self._rate) * (self._threshold - self._least + 1)

    def _logarithm_at_least(self) -> float:
        """Return the logarithm of a weight that all together have at least."""
        known = [
            math.log(len(members)) - float(self._rate) * (self._threshold - level)
            for level, members in self._levels.items()
            if members
        ]
        known.append(math.log(self._universe.size) - float(self._rate) * self._threshold)
        largest = max(known)
        return largest + math.log(math.fsum(math.exp(each - largest) for each in known))

    def _mined(self, least: int) -> dict[int, list[Chosen]]:
        found = frequent_itemsets(**self._items.transactions, support=least, most=_MOST_MINED)
        levels: dict[int, list[Chosen]] = {}
        places = self._items.places(found.items)
        ends = found.offsets.tolist()
        for number, support in enumerate(found.support.tolist()):
            chosen = tuple(places[ends[number] : ends[number + 1]])
            if len(chosen) <= self._universe.longest and chosen not in self._drawn:
                levels.setdefault(min(support, self._threshold), []).append(chosen)
        return levels

    def _support(self, chosen: Chosen) -> int:
        codes = self._items.codes
        held = np.ones(len(codes), dtype=bool)
        for column, place in chosen:
            held &= codes[:, column] == place
        return int(self._items.rows.counts[held].sum())


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _require(holds: bool, words: str) -> None:
    if not holds:
        raise ParameterError(words)
