"""Spend privacy budget around a draw, as every randomized mechanism does.

    cost = Cost(mechanism="synthesis by row", epsilon=epsilon, delta=delta)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        made = draw()
        spent.released(made.frequencies, account=made.ledger.to_dict())

Refuse whatever can be refused before this block: once reserved, the budget is spent, whatever happens.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from privacy_plugin.errors import ParameterError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.composition import SUBSTITUTED, Sums, delta_of_steps
from privacy_plugin.sources import Fingerprint, open_source
from privacy_plugin.sources.fingerprint import content_fingerprint

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a mechanism will spend, known before it runs: epsilon, delta and the unit that they protect.

    `neighbours`: whether one step of the neighbour relation substitutes a unit, or adds or removes one. `rho`: the
    mechanism is rho-zero-concentrated, without a delta; None if only its epsilon and delta are known.
    """

    mechanism: str
    epsilon: object
    delta: object = 0
    unit: str = "row"
    neighbours: str = SUBSTITUTED
    rho: object = None

    @property
    def sums(self) -> Sums:
        """What it adds to the total of its dataset."""
        return Sums.of(self.budget, self.rho)

    @property
    def budget(self) -> Budget:
        """The amount, exact."""
        return Budget.of(self.epsilon, self.delta)

    def of_people(self, rows: int) -> "Cost":
        """Return the cost for a person with at most so many rows, where this is the cost for a row.

        Group privacy: tables that differ in all rows of a person are at most `rows` steps of the neighbour relation
        apart. (epsilon, delta) becomes (rows epsilon, delta (e^(rows epsilon) - 1) / (e^epsilon - 1)), and rho becomes
        rows^2 rho (Bun and Steinke 2016, Proposition 1.9). `frequency.drawn_people` shows why a draw of the rows keeps
        this.

        >>> str(Cost(mechanism="noise", epsilon="1/2").of_people(3))
        'epsilon 1.5, delta 0 a person'
        """
        each = self.budget
        return replace(
            self,
            epsilon=rows * each.epsilon,
            delta=delta_of_steps(each.epsilon, each.delta, rows),
            unit="person",
            rho=None if self.rho is None else rows**2 * exact(self.rho, what="rho"),
        )

    def __str__(self) -> str:
        return f"{self.budget} a {self.unit}"


@dataclass(kw_only=True)
class Spending:
    """A spend under way; with a ledger it collects what was made, to be recorded on commit."""

    private: bool
    ledger: "BudgetLedger | None" = None
    number: str | None = None
    fingerprints: list[Fingerprint] = field(default_factory=list)
    account: dict[str, Any] = field(default_factory=dict)

    def released(self, *tables: Any, account: Mapping[str, Any]) -> None:
        """Record the tables that were made (anything a source accepts, in every form written) and their account.

        `account` holds the neighbour relation and the assumptions, never a value of the data.
        """
        if self.number is None:
            return
        self.fingerprints += [content_fingerprint(table) for table in tables]
        self.account.update(account)

    def commit(self) -> None:
        """Commit now; otherwise the spend is committed when the block ends without an error."""
        if self.ledger is None or self.number is None:
            return
        from privacy_plugin.ledger import Release  # SQLAlchemy is loaded with the first ledger

        number, self.number = self.number, None
        release = Release(private=self.private, fingerprints=tuple(self.fingerprints), account=self.account)
        self.ledger.commit(number, release)


@contextmanager
def spending(cost: Cost, *, ledger: "BudgetLedger | None", dataset: str | None, private: bool) -> Iterator[Spending]:
    """Reserve the cost, run the block, and commit with what was made; without a ledger nothing is recorded.

    An error inside leaves the budget spent. `private` is False if a test generator draws.
    """
    require_together(ledger, dataset)
    if ledger is None or dataset is None:
        yield Spending(private=private)
        return
    amount = cost.budget
    number = ledger.reserve(
        dataset=dataset,
        unit=cost.unit,
        epsilon=amount.epsilon,
        delta=amount.delta,
        mechanism=cost.mechanism,
        neighbours=cost.neighbours,
        rho=cost.rho,
    )
    spent = Spending(private=private, ledger=ledger, number=number)
    yield spent
    spent.commit()


def table_to_release(
    data: Any,
    *,
    columns: Sequence[str],
    domains: Mapping[str, Sequence[Any]] | None = None,
    role: str = "columns",
    ledger: "BudgetLedger | None",
    dataset: str | None,
) -> FrequencyTable:
    """Return the columns to release; unknown names, and a ledger without a dataset, are refused first."""
    require_together(ledger, dataset)
    source = open_source(data)
    require_columns(columns, source.columns, role=role)
    for name in domains or {}:
        require_columns([name], list(columns), role="domains")
    return source.frequencies(list(columns))


def require_together(ledger: "BudgetLedger | None", dataset: str | None) -> None:
    """Raise ParameterError if only one of ledger and dataset is given."""
    if (ledger is None) != (dataset is None):
        raise ParameterError("give both ledger and dataset, or neither: a ledger keeps budgets by dataset")
