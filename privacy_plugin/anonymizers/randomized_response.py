"""Randomized response for any data: reserve the budget, randomize, commit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.randomized_cells import (
    RandomizedCells,
    cell_epsilon,
    randomize_cells,
    require_randomizable,
)
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.spending import Cost, spending, table_to_release


def randomized_response(
    data: Any,
    *,
    columns: Sequence[str],
    epsilon: Any,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
    ledger: BudgetLedger | None = None,
    dataset: str | None = None,
) -> RandomizedCells:
    """Randomize every cell of some columns; `epsilon` is that of one cell, and a row has as many as columns.

    The mechanism, its estimates and what it assumes are in `privacy_plugin.anonymizers.randomized_cells`. With a
    budget `ledger` (and the `dataset`'s name there) the whole row's epsilon is reserved first, in the unit "row".

    >>> import pandas as pd
    >>> shown = randomized_response(pd.DataFrame({"smokes": ["yes", "no"] * 50}), columns=["smokes"], epsilon=1)
    >>> str(shown.ledger)
    'epsilon 1 a cell (epsilon 1 a row)'
    """
    table = table_to_release(data, columns=columns, domains=domains, ledger=ledger, dataset=dataset)
    require_randomizable(table, epsilon=epsilon, domains=domains)
    cost = response_cost(epsilon=epsilon, columns=len(columns))
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        made = randomize_cells(table, epsilon=epsilon, domains=domains, generator=generator)
        spent.released(made.frequencies, account=made.ledger.to_dict())
    return made


def response_cost(*, epsilon: Any, columns: int) -> Cost:
    """Return what randomized response spends a row: the epsilons of its cells, added up."""
    return Cost(mechanism="randomized response", epsilon=cell_epsilon(epsilon) * columns)
