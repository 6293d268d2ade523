"""Synthetic tables from any data: reserve the budget, draw, commit."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privacy_plugin.anonymizers.accounting import rho_within
from privacy_plugin.anonymizers.base import DomainMethod
from privacy_plugin.anonymizers.coded_rows import CodedRows
from privacy_plugin.anonymizers.noise import opendp
from privacy_plugin.anonymizers.randomized_response import require_randomizable
from privacy_plugin.anonymizers.synthesis.synthesis import (
    Model,
    Synthesis,
    chosen_model,
    require_estimable,
    require_mode,
    synthesize_cells,
    synthesize_rows,
)
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.ledger.spending import Cost, spending, table_to_release

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger


def synthesize(
    data: Any,
    *,
    columns: Sequence[str],
    epsilon: Any,
    delta: Any = 1e-6,
    unit: Literal["row", "cell"] = "row",
    model: Model | None = None,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> Synthesis:
    """Draw a synthetic table that keeps how columns depend on each other, with a stated privacy budget.

    `unit="row"`: epsilon and delta protect a whole row (one row a person). `unit="cell"`: epsilon protects one cell,
    there is no delta, and a row has the sum over its columns; the result's `ledger` states both. The mechanisms are in
    `anonymizers.synthesis.synthesis`. `model`: "code tree", a decision tree for every column over those before
    it, or "pairs", tables of two columns; the second goes with `given`: a column to cross every table with, usually the
    one to predict; choose it without looking at the data. "literal tree" is the thesis' own, for cells and few columns:
    where noise alone would make it too large, TooLargeError comes before anything is spent; where the rows do, its
    longest itemsets are left out, and the result's `notes` say so. `domains` declares values; where it does not, those
    that occur are assumed public. With a budget `ledger` (and the `dataset`'s name there) the row's whole epsilon and
    delta are reserved before anything is drawn, in the unit "row". Numbers with many values should be grouped into
    intervals first.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": ["no", "yes"] * 500})
    >>> made = synthesize(people, columns=["sex", "smokes"], epsilon=1, delta=1e-6)
    >>> len(made.table), str(made.ledger)
    (1000, 'epsilon 1, delta 1e-06 a row')
    """
    table = table_to_release(data, columns=columns, domains=domains, ledger=ledger, dataset=dataset)
    require_synthesis(table, epsilon=epsilon, delta=delta, unit=unit, model=model, given=given, domains=domains)
    cost = synthesis_cost(epsilon=epsilon, delta=delta, unit=unit, columns=len(columns))
    common: dict[str, Any] = {"model": chosen_model(model, given, unit=unit), "given": given, "domains": domains}
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        if unit == "cell":
            made = synthesize_cells(table, epsilon=epsilon, generator=generator, **common)
        else:
            made = synthesize_rows(table, epsilon=epsilon, delta=delta, generator=generator, **common)
        spent.released(made.frequencies, account=made.ledger.to_dict())
    return made


class SynthesizeMethod(DomainMethod):
    """A synthetic table of all released columns."""

    name = "synthesize"
    function = synthesize

    @cached_property
    def cost(self) -> Cost:
        """What a row costs, whatever unit is protected."""
        given = {"delta": 1e-6, "unit": "row", **self.options}
        chosen_model(given.get("model"), given.get("given"), unit=given["unit"])
        return synthesis_cost(
            epsilon=given["epsilon"], delta=given["delta"], unit=given["unit"], columns=len(self.columns)
        )

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], Synthesis]:
        """Refuse values outside their declared domain, and tables that are too large."""
        require_synthesis(table, **self.options)
        return partial(synthesize, table, columns=list(self.columns), **self.options, generator=generator)


def require_synthesis(
    table: FrequencyTable,
    *,
    epsilon: Any,
    delta: Any = 1e-6,
    unit: str = "row",
    model: str | None = None,
    given: str | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Refuse what synthesis could refuse of this table, before anything is drawn or spent."""
    require_mode(unit)
    chosen = chosen_model(model, given, unit=unit)
    if unit == "row":
        rho_within(float(exact(epsilon, what="epsilon")), float(exact(delta, what="delta")))
        opendp()
    else:
        require_randomizable(table, epsilon=epsilon, domains=domains)
    rows = CodedRows.of(table, given=given, domains=domains)
    if unit == "cell":
        require_estimable(rows, epsilon=epsilon, model=chosen)


def synthesis_cost(*, epsilon: Any, delta: Any, unit: str, columns: int) -> Cost:
    """Return what synthesis spends a row: of cells, their epsilons added up over the columns, and no delta."""
    require_mode(unit)
    amount = exact(epsilon, what="epsilon")
    if amount <= 0:
        raise ParameterError("epsilon must be positive")
    if unit == "cell":
        return Cost(mechanism="synthesis by cell", epsilon=amount * columns)
    return Cost(mechanism="synthesis by row", epsilon=amount, delta=delta)
