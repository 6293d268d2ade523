"""The privacy account of a randomized release: every mechanism with its sensitivity, and their composition."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from privacy_plugin.errors import ParameterError

_HALVINGS = 200


@dataclass(frozen=True, kw_only=True)
class Part:
    """One mechanism of a release: what it measured, its sensitivity, and what it spent.

    A part spends epsilon (pure) or rho (zero-concentrated), `times` times.
    """

    name: str
    mechanism: str
    sensitivity: str
    epsilon: float | None = None
    rho: float | None = None
    times: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "mechanism": self.mechanism,
            "sensitivity": self.sensitivity,
            "epsilon": self.epsilon,
            "rho": self.rho,
            "times": self.times,
        }


@dataclass(frozen=True, kw_only=True)
class ReleaseLedger:
    """The privacy account of one release; an epsilon always has a unit.

    `epsilon` and `delta` hold for one `unit` under `neighbours`; `epsilon_row` (with the same delta) for a whole row.
    `private` is False if a test generator drew instead of the secure source.
    """

    unit: str
    neighbours: str
    parts: tuple[Part, ...]
    epsilon: float
    epsilon_row: float
    delta: float
    assumptions: tuple[str, ...]
    private: bool

    def __str__(self) -> str:
        delta = f", delta {self.delta:g}" if self.delta else ""
        row = "" if self.unit == "row" else f" (epsilon {self.epsilon_row:.6g} a row)"
        drawn = "" if self.private else "; NOT PRIVATE: drawn from a test generator"
        return f"epsilon {self.epsilon:.6g}{delta} a {self.unit}{row}{drawn}"

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return what is protected and what is assumed, as rows of a description."""
        return account_rows(unit=self.unit, neighbours=self.neighbours, assumptions=self.assumptions)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        return {
            "unit": self.unit,
            "neighbours": self.neighbours,
            "epsilon": self.epsilon,
            "epsilon_row": self.epsilon_row,
            "delta": self.delta,
            "parts": [part.to_dict() for part in self.parts],
            "assumptions": list(self.assumptions),
            "private": self.private,
        }


def account_rows(*, unit: str, neighbours: str, assumptions: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the protected unit and every assumption as rows of a description."""
    return ((f"protects one {unit}", neighbours), *(("assumes", assumption) for assumption in assumptions))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the epsilon of rho-zero-concentrated differential privacy at a delta: rho + 2 sqrt(rho ln(1 / delta)).

    Bun and Steinke 2016, Proposition 1.3; rounded up. A thousand mechanisms of pure epsilon 0.1 are rho = 5:

    >>> round(zcdp_epsilon(1000 * pure_rho(0.1), 1e-6), 1)
    21.6
    """
    _require(rho >= 0 and 0 < delta < 1, "rho must be at least 0 and delta between 0 and 1")
    return (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + 1e-14)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return a delta for which rho-zCDP is (epsilon, delta)-differentially private (rounded up).

    delta <= exp((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1 / a)^a for every a > 1 (Canonne, Kamath, Steinke 2020,
    Proposition 12). Any a is valid; the best is found by golden section on ln(a - 1).
    """
    _require(rho > 0 and epsilon >= 0, "rho must be positive and epsilon at least 0")

    def logarithm(position: float) -> float:
        a = 1 + math.exp(position)
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    low, high = -10.0, 100.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(_HALVINGS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if logarithm(left) < logarithm(right) else (left, high)
    best = min(logarithm(low), logarithm(high))
    return 1.0 if best >= 0 else math.exp(best) * (1 + 1e-9)


def rho_within(epsilon: float, delta: float) -> float:
    """Return the largest rho (rounded down) whose zCDP is within (epsilon, delta).

    >>> rho = rho_within(1.0, 1e-6)
    >>> zcdp_delta(rho, 1.0) <= 1e-6 and 0.02 < rho < 0.03
    True
    """
    _require(epsilon > 0 and 0 < delta < 1, "epsilon must be positive and delta between 0 and 1")
    low, high = 0.0, float(epsilon)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_delta(middle, epsilon) <= delta else (low, middle)
        if high - low < 1e-12 * high:
            break
    return low


def pure_rho(epsilon: float) -> float:
    """Return epsilon^2 / 2, the rho of pure epsilon-differential privacy."""
    return epsilon * epsilon / 2


def exponential_rho(epsilon: float) -> float:
    """Return epsilon^2 / 8, the rho of the exponential mechanism: its bounded range costs a quarter of `pure_rho`."""
    return epsilon * epsilon / 8


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ParameterError(problem)
