"""Anonymize data as a policy says, by whatever method, and write the result where the data lies: one way at every door.

A method that recodes searches for the least change it can, and applies it. A method that draws spends privacy budget:
everything that can be refused is refused first, then the budget is reserved, the table drawn and written aside, and the
spend committed with the content of what was written; only then is the table put in place.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from privacy_plugin.anonymizers.base import Method
from privacy_plugin.anonymizers.randomized_methods import Draw
from privacy_plugin.anonymizers.recoding_methods import Found, Progress, Recoder
from privacy_plugin.errors import BudgetError, PolicyError, SourceError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.in_use import ledger_in_use
from privacy_plugin.ledger.spending import Cost, spending
from privacy_plugin.requirements.rules import structure_problems
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.protocol import Rehearsed


@dataclass(frozen=True, kw_only=True)
class Anonymized:
    """What was made (a frame, or the source of the target), how, and which columns were left out.

    A recoded table has what was `found`: a plan, or regions. A randomized release has what was `drawn`, its `cost`, and
    what the dataset has `remaining`.
    """

    made: Any
    method: str
    left_out: tuple[str, ...]
    found: Found | None = None
    drawn: Any = None
    cost: Cost | None = None
    remaining: Budget | None = None

    @property
    def plan(self) -> Plan | None:
        """The plan that can be saved and applied again, if there is one."""
        return self.found if isinstance(self.found, Plan) else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that holds no value of the table."""
        told: dict[str, Any] = {"method": self.method, "left_out": list(self.left_out)}
        if self.plan is not None:
            told["plan"] = self.plan.summary()
        elif self.found is not None:
            told["regions"] = self.found.to_dict()
        if self.cost is not None and self.remaining is not None:
            told["drawn"] = self.drawn.to_dict()
            told["spent"] = {**self.cost.budget.to_dict(), "unit": self.cost.unit, "mechanism": self.cost.mechanism}
            told["remaining"] = {**self.remaining.to_dict(), "unit": self.cost.unit}
        return told


class HasAnonymizer(Protocol):
    """A policy, as anonymizing sees it: a method, with the rules it has to serve."""

    @property
    def anonymizer(self) -> Method:
        """The method that the policy names."""


def anonymize(
    data: Any,
    *,
    policy: HasAnonymizer,
    target: str | None = None,
    final: str | None = None,
    population: Any = None,
    plan: Plan | None = None,
    constant: str | None = None,
    ledger: BudgetLedger | None = None,
    generator: Any = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Anonymize by the method that the policy names; a failure leaves the target as it was.

    Frames return a new frame; a database table or a file needs the `target` that is replaced; `final` is where the
    table will be put from there, which is tried before anything is spent. Identifiers are left out,
    and a column without a role is refused: nobody said whether it may leave. `plan`: a saved generalization, instead of
    a search. `constant`: a column that has one value throughout (a partition's) and is not generalized. A randomized
    method spends from the `ledger` (default: the one in use, see `privacy_plugin.ledger.in_use`), under the policy's
    dataset; a `generator` is for tests, and what it draws passes no gate.
    """
    source, method = open_source(data), policy.anonymizer
    method.require_usable(constant)
    require_roles(policy, source)
    if plan is not None:
        method.require_plan()
    if isinstance(method, Recoder):
        return _recoded(source, policy, method, target, population, plan, progress)
    assert isinstance(method, Draw)
    with _ledger(ledger) as books:
        return _drawn(source, policy, method, target, books, generator, progress, final)


def require_roles(policy: HasAnonymizer, source: Source) -> None:
    """Refuse a table whose columns are not those of the policy; identifiers may be there, they are left out."""
    identifiers = policy.anonymizer.rules.columns("identifier")
    problems = structure_problems(policy.anonymizer.rules, [name for name in source.columns if name not in identifiers])
    if problems:
        raise PolicyError("; ".join(problems))


def _recoded(
    source: Source,
    policy: HasAnonymizer,
    method: Recoder,
    target: str | None,
    population: Any,
    plan: Plan | None,
    progress: Progress | None,
) -> Anonymized:
    others = population if policy.anonymizer.rules.compares else None
    found = method.search(source, population=others, progress=progress) if plan is None else plan
    _tell(progress, "generalizing")
    kept = tuple(name for name in source.columns if policy.anonymizer.rules.roles[name] != "identifier")
    made = method.apply(found, source, target=target, keep=kept, population=others)
    return Anonymized(made=made, method=policy.anonymizer.name, left_out=_others(source, kept), found=found)


def _drawn(
    source: Source,
    policy: HasAnonymizer,
    draw: Draw,
    target: str | None,
    ledger: BudgetLedger,
    generator: Any,
    progress: Progress | None,
    final: str | None,
) -> Anonymized:
    ledger.require_apart(getattr(source, "bind", None))
    _tell(progress, "reading")
    table = source.frequencies(draw.columns)
    run = draw.prepared(table, generator)
    _require_within(policy, draw, ledger)
    for rehearsal in draw.rehearsals(table):
        for place in dict.fromkeys((target, target if final is None else final)):
            _require_writable(source, rehearsal, place)
    with spending(
        draw.cost, ledger=ledger, dataset=policy.anonymizer.rules.dataset, private=generator is None
    ) as spent:
        _tell(progress, "drawing")
        drawn = run()

        def record(staged: Source) -> None:
            spent.released(drawn.frequencies, staged, account=account_of(drawn))
            spent.commit()

        _tell(progress, "writing")
        drawn.frequencies.require_rows()
        try:
            made = source.write_rows(drawn.frequencies, target=target, verify=record)
        except SourceError as problem:  # to try again would spend again
            raise BudgetError(f"{problem}; nothing was put in place, and what the draw cost stays spent") from None
    return Anonymized(
        made=made,
        method=policy.anonymizer.name,
        left_out=_others(source, draw.columns),
        drawn=drawn,
        cost=draw.cost,
        remaining=ledger.remaining(dataset=policy.anonymizer.rules.dataset, unit=draw.cost.unit),
    )


def account_of(drawn: Any) -> dict[str, Any]:
    """Return the privacy account of what was drawn: with it, or in a ledger of its own."""
    ledger = getattr(drawn, "ledger", drawn)
    account: dict[str, Any] = ledger.to_dict()
    return account


def _require_within(policy: HasAnonymizer, draw: Draw, ledger: BudgetLedger) -> None:
    """Refuse a draw whose table could not pass: nothing should be spent on it."""
    cost = draw.cost
    spent = ledger.spent(dataset=policy.anonymizer.rules.dataset, unit=cost.unit)
    after = ledger.after(
        dataset=policy.anonymizer.rules.dataset, unit=cost.unit, budget=cost.budget, neighbours=cost.neighbours
    )
    unmet = draw.unmet(after)
    if unmet is not None:
        raise BudgetError(
            f"{policy.anonymizer.rules.dataset!r} has spent {spent} a {cost.unit}; after {cost.budget} more the table "
            f"could not pass {unmet}. Nothing was drawn"
        )


def _require_writable(source: Source, rehearsal: FrequencyTable, target: str | None) -> None:
    """Refuse a target, or values, that cannot be written, by writing some: nothing should be spent on it."""
    rehearse = getattr(source, "rehearse_rows", None)
    if rehearse is not None:
        rehearse(rehearsal, target=target)
        return

    def stop(_: Source) -> None:
        raise Rehearsed

    with suppress(Rehearsed):
        source.write_rows(rehearsal, target=target, verify=stop)


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
