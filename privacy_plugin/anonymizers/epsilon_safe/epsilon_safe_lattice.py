"""Randomized releases of any data: reserve the budget, draw, commit."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.anonymizers.base import RandomizedMethod, table_of_all_values
from privacy_plugin.anonymizers.epsilon_safe.draw import EpsilonSafeTable, guarantee, prepare
from privacy_plugin.anonymizers.epsilon_safe.interpolation import Interpolation
from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.ledger.budget import ADDED_OR_REMOVED
from privacy_plugin.ledger.spending import Cost, spending, table_to_release

if TYPE_CHECKING:
    from privacy_plugin.ledger import BudgetLedger


def epsilon_safe_lattice(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    beta: float,
    epsilon: float,
    penalty: float,
    interpolation: Interpolation = None,
    generator: np.random.Generator | None = None,
    ledger: "BudgetLedger | None" = None,
    dataset: str | None = None,
) -> EpsilonSafeTable:
    """Publish a random sample, generalized to a node that the exponential mechanism draws, without small classes.

    The guarantee, its unit and its assumptions are in the result and in `privacy_plugin.anonymizers.epsilon_safe.draw`;
    `privacy_plugin.anonymizers.epsilon_safe.draw.guarantee` says beforehand what it will be.
    `epsilon` is what the draw spends; the result's epsilon adds -ln(1 - beta) for the sampling. With a `ledger` (and
    the `dataset`'s name there) the whole is reserved before anything is drawn, and a draw beyond the cap is refused.
    """
    if not hierarchies:
        raise ParameterError("hierarchies is empty; give one for every column that is published")
    table = table_to_release(data, columns=list(hierarchies), ledger=ledger, dataset=dataset)
    release = prepare(
        table,
        hierarchies=hierarchies,
        k=k,
        beta=beta,
        epsilon=epsilon,
        penalty=penalty,
        interpolation=interpolation,
        generator=generator,
    )
    cost = lattice_cost(k=k, beta=beta, epsilon=epsilon, interpolation=interpolation)
    with spending(cost, ledger=ledger, dataset=dataset, private=generator is None) as spent:
        made = release.draw()
        spent.released(made.frequencies, account=made.to_dict())
    return made


class EpsilonSafeLatticeMethod(RandomizedMethod):
    """epsilon-safe lattice anonymization: every published column is generalized, so every one needs a hierarchy."""

    name = "epsilon_safe_lattice"
    function = epsilon_safe_lattice

    @cached_property
    def cost(self) -> Cost:
        """The choice of the generalization, and the sampling."""
        lacking = [name for name in self.columns if name not in self.hierarchies]
        if lacking:
            raise ParameterError(
                f"{self.name} publishes generalized columns only; {', '.join(map(repr, lacking))} must be a "
                "quasi_identifier with a hierarchy, or an identifier, which is left out"
            )
        parameters = ("k", "beta", "epsilon", "interpolation")
        return lattice_cost(**{name: value for name, value in self.options.items() if name in parameters})

    def prepare(self, table: FrequencyTable, generator: Any) -> Callable[[], EpsilonSafeTable]:
        """Refuse values that no hierarchy covers, and fewer rows than a class needs."""
        chosen = {name: self.hierarchies[name] for name in self.columns}
        return prepare(table, hierarchies=chosen, **self.options, generator=generator).draw

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return every level of every column: the drawn level decides which type the column needs."""
        levels = [self.hierarchies[name].levels(table.dictionary(name), column=name) for name in self.columns]
        for level in range(max(column.height for column in levels) + 1):
            values = [column.dictionaries[min(level, column.height)] for column in levels]
            yield table_of_all_values(self.columns, values)


def lattice_cost(*, k: int, beta: float, epsilon: float, interpolation: Interpolation = None) -> Cost:
    """Return what epsilon-safe lattice anonymization spends: the draw's epsilon and what sampling adds, a row."""
    stated = guarantee(k=k, beta=beta, epsilon=epsilon, interpolation=interpolation)
    return Cost(
        mechanism="epsilon-safe lattice anonymization",
        epsilon=stated.epsilon,
        delta=stated.delta,
        neighbours=ADDED_OR_REMOVED,
    )
