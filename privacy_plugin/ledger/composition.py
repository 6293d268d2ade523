"""What several spends of one dataset amount to together: the smaller of two valid bounds.

1. Sequential: epsilons and deltas add up (Dwork et al. 2006). Valid for any mechanisms.
2. Zero-concentrated (Bun and Steinke 2016): rhos add up, and so do the deltas of mechanisms that are only approximately
   zero-concentrated; rho becomes an epsilon at the part of the accepted delta that is left. The rho of a pure epsilon
   is epsilon^2 / 2 (Proposition 1.4); an (epsilon, delta) is the same but for an event of probability delta (Kairouz,
   Oh and Viswanath 2015: such a mechanism reveals all with probability delta, and is otherwise a randomized response).

Both hold for mechanisms that are chosen after looking at earlier results. If their amounts are, too, each bound still
holds for a limit that was fixed before (Whitehouse, Ramdas, Rogers and Wu 2023), but a dataset that may end within
either is (epsilon, 2 delta)-private: add the outcomes that end within the first and those that end within the second.

Mechanisms under different neighbour relations (one row substituted; one row added or removed) are first converted: a
row substituted is a row removed and a row added.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.zero_concentrated import epsilon_within, rounded_up

SUBSTITUTED, ADDED_OR_REMOVED = "substituted", "added or removed"
SEQUENTIAL, CONCENTRATED = "sequential", "zero-concentrated"

_LARGEST_EPSILON = 700  # beyond it e^epsilon overflows, and delta is taken to be 1
_FINEST = 10**400  # sums are rounded up to multiples of its inverse, so that they do not grow with their number


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Sums of spends under one neighbour relation: of their budgets, of rho, and of the deltas that rho leaves out."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    rho_delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, budget: Budget, rho: object = None) -> "Sums":
        """Return one spend; without a `rho` of its own it is that of its epsilon, and its delta stays."""
        if rho is None:
            concentrated, left_out = budget.epsilon**2 / 2, budget.delta
        else:
            concentrated, left_out = exact(rho, what="rho"), Fraction(0)
            if concentrated < 0:
                raise ParameterError("rho must be at least 0")
        return cls(epsilon=budget.epsilon, delta=budget.delta, rho=rounded_up(concentrated), rho_delta=left_out)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(**{one.name: _added(getattr(self, one.name), getattr(other, one.name)) for one in fields(self)})

    @property
    def two_steps(self) -> "Sums":
        """One spend, for a row substituted instead of one added or removed: two steps of its neighbour relation.

        (2 epsilon, (1 + e^epsilon) delta), rounded up. rho becomes 4 rho (Bun and Steinke, Proposition 1.9), and with
        a delta of its own what follows from the two steps.
        """
        delta = delta_of_steps(self.epsilon, self.delta, 2)
        left_out = delta if self.rho_delta else Fraction(0)
        return Sums(epsilon=2 * self.epsilon, delta=delta, rho=4 * self.rho, rho_delta=left_out)


@dataclass(frozen=True, kw_only=True)
class Total:
    """All spends of a dataset and unit, by neighbour relation; it takes the same space whatever their number."""

    substituted: Sums = field(default_factory=Sums)
    removed: Sums = field(default_factory=Sums)
    removed_twice: Sums = field(default_factory=Sums)
    counts: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, spends: Iterable[tuple[Sums, str]]) -> "Total":
        """Return the total of spends with their neighbour relations."""
        total = cls()
        for amount, neighbours in spends:
            total = total.after(amount, neighbours)
        return total

    def after(self, amount: Sums, neighbours: str) -> "Total":
        """Return the total after one more spend."""
        substituted, removed = self.counts
        if neighbours == SUBSTITUTED:
            return Total(
                substituted=self.substituted + amount,
                removed=self.removed,
                removed_twice=self.removed_twice,
                counts=(substituted + 1, removed),
            )
        return Total(
            substituted=self.substituted,
            removed=self.removed + amount,
            removed_twice=self.removed_twice + amount.two_steps,
            counts=(substituted, removed + 1),
        )

    @property
    def mixed(self) -> bool:
        """Whether spends differ in their neighbour relation; those for a row added or removed then count twice."""
        return all(self.counts)

    @property
    def sums(self) -> Sums:
        """The sums under one neighbour relation, the common one if there are two."""
        return self.substituted + (self.removed_twice if self.mixed else self.removed)

    @property
    def added(self) -> Budget:
        """The sequential bound: epsilons and deltas add up.

        >>> one, other = Sums.of(Budget.of(1, "1/1000")), Sums.of(Budget.of("1/2"))
        >>> str(Total.of([(one, ADDED_OR_REMOVED), (one, ADDED_OR_REMOVED)]).added)
        'epsilon 2, delta 0.002'
        >>> Total.of([(one, ADDED_OR_REMOVED), (other, SUBSTITUTED)]).added.epsilon
        Fraction(5, 2)
        """
        sums = self.sums
        return Budget(epsilon=sums.epsilon, delta=sums.delta)

    def within(self, delta: Fraction) -> tuple[Budget, str]:
        """Return the smaller of both bounds at an accepted delta, and its name; the sequential one if neither holds.

        >>> hundred = Total.of([(Sums.of(Budget.of("1/10")), SUBSTITUTED)] * 100)
        >>> hundred.added.epsilon
        Fraction(10, 1)
        >>> float(hundred.within(Fraction(1, 10**6))[0].epsilon)
        5.22153444474
        """
        sums, added = self.sums, self.added
        left = delta - sums.rho_delta
        concentrated = epsilon_within(sums.rho, left) if left > 0 and delta < 1 else None
        if concentrated is None or (added.delta <= delta and added.epsilon <= concentrated):
            return added, SEQUENTIAL
        return Budget(epsilon=concentrated, delta=delta), CONCENTRATED


def delta_of_steps(epsilon: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Return the delta of several steps of the neighbour relation, rounded up; their epsilons add up.

    P(S) <= e^epsilon P'(S) + delta at each step gives delta (1 + e^epsilon + ... + e^((steps - 1) epsilon)), which is
    delta (e^(steps epsilon) - 1) / (e^epsilon - 1).

    >>> delta_of_steps(Fraction(0), Fraction(1, 100), 3)
    Fraction(3, 100)
    """
    if not delta:
        return Fraction(0)
    if epsilon * (steps - 1) > _LARGEST_EPSILON:
        return Fraction(1)
    powers = [Fraction(math.exp(float(step * epsilon))) * (1 + Fraction(1, 10**12)) for step in range(1, steps)]
    if not epsilon:
        powers = [Fraction(1)] * (steps - 1)
    return min(rounded_up((1 + sum(powers, Fraction(0))) * delta, digits=40), Fraction(1))


def _added(one: Fraction, other: Fraction) -> Fraction:
    total = one + other
    return total if total.denominator <= _FINEST else Fraction(math.ceil(total * _FINEST), _FINEST)
