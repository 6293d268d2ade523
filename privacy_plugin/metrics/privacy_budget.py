"""The privacy budget of a table's dataset, as recorded in the ledger.

Differential privacy belongs to a mechanism, not to a table: nothing in a table shows that it was drawn with noise. So
the gate looks up in the ledger whether exactly this content was recorded as a private release, and compares the budget
of the whole dataset, because an attacker can combine everything that was released about it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact, shown
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.metrics.registry import metric


@dataclass(frozen=True, kw_only=True)
class Account:
    """The ledger entry of a recorded table: how it was made, and what its whole dataset has spent.

    `spends` counts all of the dataset's, `unfinished` those of them that never reported their end and `tests` those
    that a test generator drew; `mixed`: they differ in their neighbour relation; `removed`: they all protect a unit
    added or removed. `composition` names the bound that epsilon and delta are, `added` is the sum of the epsilons.
    """

    dataset: str
    epsilon: Fraction
    delta: Fraction
    spends: int
    composition: str = "sequential"
    added: Fraction | None = None
    unfinished: int = 0
    tests: int = 0
    mixed: bool = False
    removed: bool = False
    mechanism: str = ""
    neighbours: str = ""
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BudgetMeasurement(Measurement):
    """The budget of a dataset, with what was spent and for which unit."""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was spent, by which mechanism, for which unit, and how it is composed."""
        details, unfinished = self.details, self.details["unfinished"]
        seen = f", {unfinished} of them without a known end" if unfinished else ""
        return (
            ("Budget", str(details["words"])),
            ("Drawn by", str(details["mechanism"])),
            (
                "Protects",
                f"one {details['privacy_unit']}: {details['neighbours'] or 'the neighbour relation is not recorded'}",
            ),
            (
                "Composed",
                f"over every spend ({details['spends']}) of dataset {details['dataset']!r}{seen}: "
                f"{_COMPOSED[details['composition']]}, for every reader of the releases and however they are put "
                "together",
            ),
        )


_COMPOSED = {
    "sequential": "epsilons and deltas add up",
    "zero-concentrated": "zero-concentrated budgets add up, which is less than the sum of the epsilons",
}

AccountOf = Callable[[FrequencyTable, str, str | None, Fraction], Account]


def require_budget(privacy_unit: Any, delta: Any = 0, dataset: Any = None) -> None:
    """Raise if a unit or a dataset is not a name, or delta is not a probability below 1."""
    for name, text in {"privacy_unit": privacy_unit, "dataset": dataset}.items():
        if (not isinstance(text, str) or not text) and (text is not None or name == "privacy_unit"):
            raise ParameterError(f"{name} must be a name, such as row, not {type(text).__name__}")
    if not 0 <= exact(delta, what="delta") < 1:
        raise ParameterError("delta must be at least 0 and below 1")


@metric(
    title="privacy budget",
    symbols={"epsilon": "at_most"},
    safer="lower",
    attacker="who sees everything that was released about this dataset can change a belief about one unit of it by "
    "a factor of more than e to the power of {limit}",
    remedy="spent budget cannot be recovered: release less about this dataset in future, with a smaller epsilon, or "
    "have the owner of the dataset accept a larger budget",
    paper="Dwork, McSherry, Nissim, Smith 2006; Dwork et al. 2006 for delta",
    axis="epsilon",
    shows="This very table was drawn by a recorded, private mechanism, and all that was drawn about its dataset "
    "together changes what an attacker can conclude about one unit by at most a factor of e to the power of epsilon, "
    "except with probability about delta.",
    hides="A larger unit than the one stated (a person with several rows, a household); the same people in other "
    "datasets; assumptions that do not hold; a ledger that was written to by hand. Where a unit added or removed is "
    "protected, the content of one that is known to be there is protected with twice the epsilon only. A conclusion "
    "about a whole group may still hold for its members.",
    smallest=0,
    check=require_budget,
)
def privacy_budget(
    table: FrequencyTable, *, account: AccountOf, privacy_unit: str, delta: Any = 0, dataset: str | None = None
) -> Measurement:
    """Return the epsilon that all releases of the table's dataset come to, for one privacy unit.

    value = the smaller of two bounds at the accepted `delta`, infinite if neither holds there: the sum of the epsilons
    of all spends of the dataset, if their deltas sum to at most `delta` (Dwork, McSherry, Nissim, Smith 2006; with
    delta: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006), exact; and the epsilon of the sum of their
    zero-concentrated budgets (Bun, Steinke 2016; Canonne, Kamath, Steinke 2020), rounded up. `ledger.composition` has
    the proof and its limit. A spend that protects a unit added or removed counts as two steps among others that protect
    one substituted. Reserved spends count like committed ones.
    `privacy_unit` is what the budget protects ("row"): budgets of different units cannot be compared.
    `account` looks up all columns of the table by content; it raises for a table that no private release made, so
    that such a table is never evaluated. `dataset`: the table must have been released under this name. Missing values
    are values. Cost: one digest of the distinct rows.

    >>> table = FrequencyTable.from_rows(["sex"], [("f",), ("m",)])
    >>> found = Account(dataset="visits", epsilon=Fraction(3, 2), delta=0, spends=2)
    >>> ledger = lambda table, unit, dataset, delta: found
    >>> privacy_budget(table, account=ledger, privacy_unit="row").value
    Fraction(3, 2)
    """
    table.require_rows()
    require_budget(privacy_unit, delta, dataset)
    allowed = exact(delta)
    found = account(table, privacy_unit, dataset, allowed)
    exceeded = found.delta > allowed
    stated = f"epsilon {shown(found.epsilon)}, delta {shown(found.delta)} a {privacy_unit}"
    return BudgetMeasurement(
        metric="privacy_budget",
        value=math.inf if exceeded else found.epsilon,
        parameters={"attributes": list(table.columns), "privacy_unit": privacy_unit, "delta": allowed},
        rows=table.rows,
        classes=table.distinct,
        details={
            "dataset": found.dataset,
            "composed_epsilon": found.epsilon,
            "composed_delta": found.delta,
            "privacy_unit": privacy_unit,
            "spends": found.spends,
            "composition": found.composition,
            "unfinished": found.unfinished,
            "mechanism": found.mechanism,
            "neighbours": found.neighbours,
            "assumptions": list(found.assumptions),
            "words": f"{stated}; composed over {found.spends} {'spend' if found.spends == 1 else 'spends'}",
        },
        reason=f"All spends together have {stated}; a delta of at most {shown(allowed)} is accepted."
        if exceeded
        else "",
        notes=_notes(found),
    )


def _notes(found: Account) -> tuple[str, ...]:
    notes = ["the budgets of all spends of the dataset add up, for any use of their results"]
    if found.composition != "sequential":
        added = "" if found.added is None else f"; added up, the epsilons are {shown(found.added)}"
        notes.append(
            f"composed as zero-concentrated privacy, which is the smaller bound{added}. If the amounts of later draws "
            "were chosen after looking at earlier results, it holds with twice the delta"
        )
    if found.assumptions:
        notes.append(f"its guarantee rests on assumptions that cannot be checked here: {'; '.join(found.assumptions)}")
    if found.mixed:
        notes.append(
            "some of them protect a row substituted and some a row added or removed; the latter count as two steps, so "
            "that the total holds for a row substituted"
        )
    if found.removed:
        notes.append(
            "it limits what the presence or absence of a row reveals; the content of a row that is known to be present "
            "is protected with twice the epsilon"
        )
    if found.unfinished:
        notes.append(f"{found.unfinished} of them never reported their end, and count in full")
    if found.tests:
        notes.append(f"{found.tests} of them were drawn by a test generator: their results must not be published")
    return tuple(notes)
