"""Look up the account of a table: the release that made it, and the total spend of its dataset."""

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privacy_plugin.errors import BudgetError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.ledger.in_use import ledger_in_use
from privacy_plugin.metrics.privacy_budget import Account
from privacy_plugin.sources.fingerprint import content_fingerprint

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger, Spend


def account_of(table: FrequencyTable, privacy_unit: str, dataset: str | None, delta: Fraction) -> Account:
    """Return the account of the release that made this table, at an accepted delta; raise BudgetError without one.

    If the same content was released for several datasets, the account has the largest epsilon and the largest delta of
    any of them: the dataset with less epsilon may be the one whose delta is not accepted.
    """
    with ledger_in_use() as ledger:
        made = _private_releases(ledger.releases_of(content_fingerprint(table)), privacy_unit, dataset)
        accounts = [_account(ledger, spend, delta) for spend in made]
    most = max(accounts, key=lambda account: account.epsilon)
    return replace(most, delta=max(account.delta for account in accounts))


def _private_releases(found: "tuple[Spend, ...]", privacy_unit: str, dataset: str | None) -> "list[Spend]":
    """Return the private releases of this dataset and unit; raise BudgetError with the reason if there is none."""
    if not found:
        raise BudgetError(
            "the budget ledger has no record of this table: no mechanism made it that spends from this ledger, "
            "or it was changed afterwards"
        )
    private = [spend for spend in found if spend.private is True]
    if not private:
        raise BudgetError("this table was drawn by a test generator; it is not private at any epsilon")
    named = [spend for spend in private if dataset is None or spend.dataset == dataset]
    if not named:
        raise BudgetError(f"this table is a release of another dataset than {dataset!r}")
    of_unit = [spend for spend in named if spend.unit == privacy_unit]
    if not of_unit:
        units = ", ".join(sorted({spend.unit for spend in named}))
        raise BudgetError(
            f"the budget of this table is kept per {units}, not per {privacy_unit}; require the unit that was spent"
        )
    return of_unit


def _account(ledger: "BudgetLedger", made: "Spend", delta: Fraction) -> Account:
    others = [unit for unit in ledger.units(made.dataset) if unit != made.unit]
    if others:
        raise BudgetError(
            f"{made.dataset!r} was also drawn from per {', '.join(others)}, which the account per {made.unit} does not "
            "count; spend from a dataset by one unit only"
        )
    place = {"dataset": made.dataset, "unit": made.unit}
    total, (spends, unfinished, tests) = ledger.total(**place), ledger.counts(**place)
    spent, bound = total.within(delta)
    return Account(
        dataset=made.dataset,
        epsilon=spent.epsilon,
        delta=spent.delta,
        spends=spends,
        composition=bound,
        added=total.added.epsilon,
        unfinished=unfinished,
        tests=tests,
        mixed=total.mixed,
        removed=total.counts[0] == 0,
        mechanism=made.mechanism,
        neighbours=str(made.account.get("neighbours", "")),
        assumptions=tuple(str(text) for text in made.account.get("assumptions", ())),
    )
