"""The privacy account of a randomized release: every mechanism with its sensitivity, and their composition."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
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

    Epsilon compares tables that differ in the unit alone. If a row and all other rows are themselves epsilon-dependent
    with `row_dependence` (a belief of the caller about the population; `epsilon_dependence` of their joint distribution
    computes it), a row and everything else, the release and the other rows, are dependent with at most `epsilon_row` +
    `row_dependence`: Dorrestijn 2018, theorem 4 (erratum: the dependence counts once, not twice). Without delta only.
    """

    unit: str
    neighbours: str
    parts: tuple[Part, ...]
    epsilon: float
    epsilon_row: float
    delta: float
    assumptions: tuple[str, ...]
    private: bool
    row_dependence: Fraction | None = None

    @property
    def epsilon_dependent_rows(self) -> float | None:
        """The epsilon-dependence of a row and everything else, where rows depend on each other as stated."""
        if self.row_dependence is None:
            return None
        return nextafter(float(Fraction(self.epsilon_row) + self.row_dependence), inf)

    def __str__(self) -> str:
        delta = f", delta {self.delta:g}" if self.delta else ""
        row = "" if self.unit == "row" else f" (epsilon {self.epsilon_row:.6g} a row)"
        drawn = "" if self.private else "; NOT PRIVATE: drawn from a test generator"
        return f"epsilon {self.epsilon:.6g}{delta} a {self.unit}{row}{drawn}"

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return what is protected and what is assumed, as rows of a description."""
        rows = account_rows(unit=self.unit, neighbours=self.neighbours, assumptions=self.assumptions)
        if self.row_dependence is None:
            return rows
        stated = (
            f"a row and everything else, the release included, are at most {self.epsilon_dependent_rows:.6g}-dependent"
        )
        return (*rows, (f"if rows are {float(self.row_dependence):g}-dependent on each other", stated))

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
            **(
                {}
                if self.row_dependence is None
                else {
                    "row_dependence": float(self.row_dependence),
                    "epsilon_dependent_rows": self.epsilon_dependent_rows,
                }
            ),
        }


def account_rows(*, unit: str, neighbours: str, assumptions: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the protected unit and every assumption as rows of a description."""
    return ((f"protects one {unit}", neighbours), *(("assumes", assumption) for assumption in assumptions))
