"""Amounts of privacy budget, exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.numbers import exact, shown, written


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
        return f"epsilon {shown(self.epsilon)}, delta {shown(self.delta)}"
