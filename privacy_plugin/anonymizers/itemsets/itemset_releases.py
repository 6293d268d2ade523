"""Itemsets and their counts, released from any data under a budget: reserve it, draw, commit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privacy_plugin.anonymizers.itemsets.itemset_counts import (
    ItemsetCounts,
    randomize_itemset_counts,
    require_countable,
    require_itemsets,
    row_epsilon,
)
from privacy_plugin.anonymizers.itemsets.private_itemsets import ItemsetDraws, PrivateItemsets
from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.spending import Cost, spending, table_to_release


def private_itemsets(
    data: Any,
    *,
    columns: Sequence[str],
    number: int,
    support: Any,
    epsilon: Any,
    delta: Any = 0,
    longest: int | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    generator: np.random.Generator | None = None,
    ledger: BudgetLedger | None = None,
    dataset: str | None = None,
) -> PrivateItemsets:
    """Draw `number` different itemsets, frequent ones preferred; epsilon protects a whole row, all draws together.

    The mechanism is in `anonymizers.itemsets.private_itemsets`. `support`: the share of the rows beyond which an
    itemset counts as frequent, chosen without looking at the data. `longest` limits the items of an itemset. A draw
    says something where its `.epsilon_draw` is above `.informative_epsilon()`. With a budget `ledger` (and the
    `dataset`'s name there) epsilon and delta are reserved before anything is drawn, in the unit "row"; TooLargeError,
    where too many itemsets stand in the way, comes before that.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": ["no", "yes"] * 500})
    >>> found = private_itemsets(people, columns=["sex", "smokes"], number=1, support="1/4", epsilon=1)
    >>> str(found.ledger), found.universe, found.epsilon_draw > found.informative_epsilon()
    ('epsilon 1 a row', 8, True)
    """
    table = table_to_release(data, columns=columns, domains=domains, ledger=ledger, dataset=dataset)
    draws = ItemsetDraws.of(
        table, number=number, support=support, epsilon=epsilon, delta=delta, longest=longest, domains=domains
    )
    draws.require_drawable()
    cost = Cost(mechanism="private itemsets", epsilon=draws.epsilon, delta=draws.delta)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        found = draws.drawn(generator)
        spent.released(account=found.ledger.to_dict())
    return found


def randomized_itemset_counts(
    data: Any,
    *,
    itemsets: Sequence[Mapping[str, Any]],
    epsilon: Any,
    delta: Any = 0,
    generator: np.random.Generator | None = None,
    ledger: BudgetLedger | None = None,
    dataset: str | None = None,
) -> ItemsetCounts:
    """Estimate the counts of itemsets by randomized response; `epsilon` is that of one row and one itemset.

    The mechanism is in `anonymizers.itemsets.itemset_counts`. All itemsets together are what a row spends: the
    sum, or with a `delta` the smaller zero-concentrated total. That is what a budget `ledger` is asked for.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"smokes": ["no", "yes"] * 500})
    >>> found = randomized_itemset_counts(people, itemsets=[{"smokes": "yes"}, {"smokes": "no"}], epsilon=1)
    >>> str(found.ledger), round(found.estimates[0].standard_error)
    ('epsilon 2 a row', 30)
    """
    require_itemsets(itemsets)
    columns = list(dict.fromkeys(name for itemset in itemsets for name in itemset))
    table = table_to_release(data, columns=columns, role="the itemsets", ledger=ledger, dataset=dataset)
    require_countable(table, itemsets)
    total = row_epsilon(itemsets=len(itemsets), epsilon=epsilon, delta=delta)
    cost = Cost(mechanism="randomized itemset counts", epsilon=total, delta=delta)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        found = randomize_itemset_counts(table, itemsets, epsilon=epsilon, delta=delta, generator=generator)
        spent.released(account=found.ledger.to_dict())
    return found
