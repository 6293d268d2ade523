"""Anonymize data as a policy says, by whatever method, and write the result where the data lies: one way at every door.

Generalizing searches for the least change that meets the requirements. A randomized method spends privacy budget:
everything that can be refused is refused first, then the budget is reserved, the table drawn and written aside, and the
spend committed with the content of what was written; only then is the table put in place.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from privacy_plugin.budget import Budget
from privacy_plugin.errors import BudgetError, ColumnError, ParameterError, PolicyError
from privacy_plugin.generalization import generalize
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger_in_use import ledger_in_use
from privacy_plugin.methods import Draw
from privacy_plugin.plan import Plan
from privacy_plugin.policy import Policy
from privacy_plugin.sources import Source, open_source
from privacy_plugin.spending import Cost, spending

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Anonymized:
    """What was made (a frame, or the source of the target), how, and which columns were left out.

    A generalization has a `plan`. A randomized release has what was `drawn`, its `cost`, and what the dataset has
    `remaining`.
    """

    made: Any
    method: str
    left_out: tuple[str, ...]
    plan: Plan | None = None
    drawn: Any = None
    cost: Cost | None = None
    remaining: Budget | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that holds no value of the table."""
        found: dict[str, Any] = {"method": self.method, "left_out": list(self.left_out)}
        if self.plan is not None:
            found["plan"] = self.plan.summary()
        if self.cost is not None and self.remaining is not None:
            found["drawn"] = self.drawn.to_dict()
            found["spent"] = {**self.cost.budget.to_dict(), "unit": self.cost.unit, "mechanism": self.cost.mechanism}
            found["remaining"] = {**self.remaining.to_dict(), "unit": self.cost.unit}
        return found


def anonymize(
    data: Any,
    *,
    policy: Policy,
    target: str | None = None,
    population: Any = None,
    plan: Plan | None = None,
    constant: str | None = None,
    ledger: BudgetLedger | None = None,
    generator: Any = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Anonymize by the method that the policy names; a failure leaves the target as it was.

    Frames return a new frame; a database table or a file needs the `target` that is replaced. Identifiers, and columns
    without a role, are left out. `plan`: a saved generalization, instead of a search. `constant`: a column that has one
    value throughout (a partition's) and is not generalized. A randomized method spends from the `ledger` (default: the
    one in use, see `privacy_plugin.ledger_in_use`), under the policy's dataset; a `generator` is for tests, and what it
    draws passes no gate.
    """
    source = open_source(data)
    draw = policy.draw
    if draw is None:
        return _generalized(source, policy, target, population, plan, constant, progress)
    if plan is not None:
        raise ParameterError("a saved plan is a generalization; the policy draws at random instead")
    with _ledger(ledger) as books:
        return _drawn(source, policy, draw, target, books, generator, progress)


def _generalized(
    source: Source,
    policy: Policy,
    target: str | None,
    population: Any,
    plan: Plan | None,
    constant: str | None,
    progress: Progress | None,
) -> Anonymized:
    require_generalizable(policy, constant)
    needed = any(requirement.definition.needs_population for requirement in policy.requirements)
    others = population if needed else None
    if plan is None:
        plan = generalize(
            source,
            hierarchies=policy.hierarchies,
            requirements=policy.requirements,
            **policy.anonymize,
            attributes=(*policy.quasi_identifiers, *policy.sensitive),
            population=others,
            unit=policy.rules.unit,
            progress=progress,
        )
    elif set(plan.levels) != set(policy.hierarchies):
        raise ParameterError("the plan was made for other quasi-identifiers than those of the policy")
    _tell(progress, "generalizing")
    kept = tuple(name for name in source.columns if policy.roles.get(name, "identifier") != "identifier")
    made = plan.apply(source, target=target, keep=kept, population=others)
    return Anonymized(made=made, method=policy.method, left_out=_others(source, kept), plan=plan)


def _drawn(
    source: Source,
    policy: Policy,
    draw: Draw,
    target: str | None,
    ledger: BudgetLedger,
    generator: Any,
    progress: Progress | None,
) -> Anonymized:
    lacking = [name for name in draw.columns if name not in source.columns]
    if lacking:
        raise ColumnError(f"the policy releases columns that the table lacks: {', '.join(map(repr, lacking))}")
    ledger.require_apart(getattr(source, "bind", None))
    _tell(progress, "reading")
    table = source.frequencies(draw.columns)
    run = draw.prepared(table, generator)
    _require_within(policy, draw.cost, ledger)
    with spending(draw.cost, ledger=ledger, dataset=policy.dataset, private=generator is None) as spent:
        _tell(progress, "drawing")
        drawn = run()

        def record(staged: Source) -> None:
            spent.released(drawn.frequencies, staged, account=account_of(drawn))
            spent.commit()

        _tell(progress, "writing")
        drawn.frequencies.require_rows()
        made = source.write_rows(drawn.frequencies, target=target, verify=record)
    return Anonymized(
        made=made,
        method=policy.method,
        left_out=_others(source, draw.columns),
        drawn=drawn,
        cost=draw.cost,
        remaining=ledger.remaining(dataset=policy.dataset, unit=draw.cost.unit),
    )


def account_of(drawn: Any) -> dict[str, Any]:
    """Return the privacy account of what was drawn: with it, or in a ledger of its own."""
    ledger = getattr(drawn, "ledger", drawn)
    account: dict[str, Any] = ledger.to_dict()
    return account


def require_generalizable(policy: Policy, constant: str | None = None) -> None:
    """Refuse to generalize without a hierarchy for every quasi-identifier but a constant one, or in vain."""
    asked = [requirement for requirement in policy.requirements if requirement.definition.needs_ledger]
    if asked:
        raise PolicyError(f"{asked[0]}: no generalization meets it; name a randomized method under anonymize")
    lacking = [c for c in policy.quasi_identifiers if c not in policy.hierarchies and c != constant]
    if lacking:
        raise PolicyError(f"to generalize, these columns need a hierarchy in the policy: {', '.join(lacking)}")
    if constant in policy.hierarchies:
        raise PolicyError(f"{constant!r} says which partition a row is in; it cannot be generalized too")


def _require_within(policy: Policy, cost: Cost, ledger: BudgetLedger) -> None:
    """Refuse a draw whose table could not pass: nothing should be spent on it."""
    spent = ledger.spent(dataset=policy.dataset, unit=cost.unit)
    after = ledger.after(dataset=policy.dataset, unit=cost.unit, budget=cost.budget, neighbours=cost.neighbours)
    unmet = policy.unmet_budget(after, cost.unit)
    if unmet is not None:
        raise BudgetError(
            f"{policy.dataset!r} has spent {spent} a {cost.unit}; after {cost.budget} more the table could not pass "
            f"{unmet}. Nothing was drawn"
        )


@contextmanager
def _ledger(given: BudgetLedger | None) -> Iterator[BudgetLedger]:
    if given is not None:
        yield given
        return
    with ledger_in_use() as ledger:
        yield ledger


def _others(source: Source, kept: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in source.columns if name not in kept)


def _tell(progress: Progress | None, words: str) -> None:
    if progress is not None:
        progress(words)
