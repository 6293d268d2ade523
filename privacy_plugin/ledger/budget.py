"""Amounts of privacy budget and their composition.

Budgets compose sequentially: epsilons and deltas add up, which is valid for any sequence of mechanisms on the same data
under one neighbour relation. Mechanisms under different relations (one row substituted; one row added or removed) are
first converted to a common one.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.numbers import exact, written


@dataclass(frozen=True, kw_only=True)
class Budget:
    """An amount of privacy budget, exact."""

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, epsilon: object, delta: object = 0) -> "Budget":
        """Return the amount, exact; raise ParameterError if it is not one."""
        amount = cls(epsilon=exact(epsilon, what="epsilon"), delta=exact(delta, what="delta"))
        if amount.epsilon < 0 or not 0 <= amount.delta <= 1:
            raise ParameterError(f"epsilon must be at least 0 and delta between 0 and 1; given {amount}")
        return amount

    def __add__(self, other: "Budget") -> "Budget":
        return Budget(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def __sub__(self, other: "Budget") -> "Budget":
        return Budget(epsilon=self.epsilon - other.epsilon, delta=self.delta - other.delta)

    def covers(self, other: "Budget") -> bool:
        """Return whether another amount fits into this one, in both parts."""
        return other.epsilon <= self.epsilon and other.delta <= self.delta

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"epsilon": written(self.epsilon), "delta": written(self.delta)}

    def __str__(self) -> str:
        return f"epsilon {written(self.epsilon)}, delta {written(self.delta)}"


_LARGEST_EPSILON = 700  # beyond it e^epsilon overflows, and delta is taken to be 1

SUBSTITUTED, ADDED_OR_REMOVED = "substituted", "added or removed"

Amount = tuple[Budget, str]


def composed(amounts: Iterable[Amount]) -> Budget:
    """Compose amounts, each with its neighbour relation, sequentially: epsilons and deltas add up.

    Together with mechanisms that protect a substituted row, a mechanism that protects a row added or removed counts as
    two steps, one of each: (2 epsilon, (1 + e^epsilon) delta), rounded up. The total then holds for a substituted row.

    >>> one, other = Budget.of(1, "1/1000"), Budget.of("1/2")
    >>> str(composed([(one, ADDED_OR_REMOVED), (one, ADDED_OR_REMOVED)]))
    'epsilon 2, delta 0.002'
    >>> composed([(one, ADDED_OR_REMOVED), (other, SUBSTITUTED)]).epsilon
    Fraction(5, 2)
    """
    listed = list(amounts)
    mixed = len({neighbours for _, neighbours in listed}) > 1
    twice = [mixed and neighbours == ADDED_OR_REMOVED for _, neighbours in listed]
    counted = [_two_steps(budget) if two else budget for (budget, _), two in zip(listed, twice, strict=True)]
    return sum(counted, Budget.of(0))


def _two_steps(budget: Budget) -> Budget:
    if not budget.delta or budget.epsilon > _LARGEST_EPSILON:
        return Budget(epsilon=2 * budget.epsilon, delta=Fraction(1 if budget.delta else 0))
    factor = 1 + Fraction(math.exp(float(budget.epsilon))) * (1 + Fraction(1, 10**12))
    return Budget(epsilon=2 * budget.epsilon, delta=min(factor * budget.delta, Fraction(1)))
