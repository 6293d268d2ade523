"""The privacy account of a randomized release: every mechanism with its sensitivity, and their composition."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


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
