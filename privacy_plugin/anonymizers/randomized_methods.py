"""The methods that draw at random: what they cost, what they refuse while nothing is spent, and how they draw."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from privacy_plugin.anonymizers.base import Method
from privacy_plugin.anonymizers.coded_rows import declared_domain
from privacy_plugin.anonymizers.epsilon_safe.draw import prepare
from privacy_plugin.anonymizers.epsilon_safe.epsilon_safe_lattice import epsilon_safe_lattice, lattice_cost
from privacy_plugin.anonymizers.options import DOMAINS
from privacy_plugin.anonymizers.randomized_cells import randomize_cells, require_randomizable
from privacy_plugin.anonymizers.randomized_response import randomized_response, response_cost
from privacy_plugin.anonymizers.synthesis.synthesis import chosen_model
from privacy_plugin.anonymizers.synthesis.synthesize import require_synthesis, synthesis_cost, synthesize
from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.ledger.budget import Budget
from privacy_plugin.ledger.spending import Cost
from privacy_plugin.metrics.measurement import Measurement
from privacy_plugin.requirements.requirement import Requirement


class Draw(Method):
    """A randomized method, ready to be checked against data and drawn; every draw spends privacy budget."""

    supplied = ("data", "hierarchies", "columns", "generator", "ledger", "dataset")
    doing = "preparing the draw"
    done = "drawn at random within its privacy budget"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are drawn: all that are released."""
        return self.rules.released

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What the draw is going to spend."""

    @abstractmethod
    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Refuse whatever the draw would refuse, while no budget is spent, and return what draws.

        What is drawn has `frequencies` and tells about itself with `to_dict`.
        """

    @abstractmethod
    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Return tables to write aside before anything is spent: together they hold all values that may be drawn."""

    def unmet(self, total: Budget) -> Requirement | None:
        """Return the requirement on the privacy budget that a total would not meet, if there is one."""
        for requirement in self.budgets:
            if requirement.options["privacy_unit"] == self.cost.unit:
                allowed = exact(requirement.options.get("delta", 0))
                value = total.epsilon if total.delta <= allowed else math.inf
                stated = Measurement(metric=requirement.metric, value=value, parameters={}, rows=0, classes=0)
                if not requirement.limit.holds(stated):
                    return requirement
        return None

    def require_policy(self) -> None:
        """Hold the method and the requirement on the privacy budget together, before anything is spent."""
        if self.rules.unit is not None:
            raise PolicyError(f"{self.name} protects one row; it cannot count people by {self.rules.unit!r}")
        try:
            cost = self.cost
            budget = cost.budget
        except ParameterError as problem:
            raise PolicyError(f"anonymize: {problem}") from None
        if not any(requirement.options["privacy_unit"] == cost.unit for requirement in self.budgets):
            raise PolicyError(
                f"{self.name} spends privacy budget ({cost}); require it to stay within one, such as "
                f"privacy_budget: {{at_most: {written(budget.epsilon)}, delta: {written(budget.delta)}, "
                f"privacy_unit: {cost.unit}}}"
            )
        unmet = self.unmet(budget)
        if unmet is not None:
            raise PolicyError(f"anonymize: {self.name} spends {cost}, which alone does not meet {unmet}")


class LatticeDraw(Draw):
    """epsilon-safe lattice anonymization: every published column is generalized, so every one has a hierarchy."""

    name = "epsilon_safe"
    function = epsilon_safe_lattice

    @cached_property
    def cost(self) -> Cost:
        """The choice of the generalization, and the sampling."""
        lacking = [name for name in self.columns if name not in self.hierarchies]
        if lacking:
            raise ParameterError(
                f"epsilon_safe publishes generalized columns only; {', '.join(map(repr, lacking))} must be a "
                "quasi_identifier with a hierarchy, or an identifier, which is left out"
            )
        told = ("k", "beta", "epsilon", "interpolation")
        return lattice_cost(**{name: value for name, value in self.options.items() if name in told})

    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Look for values that no hierarchy covers, too few rows, and the rest."""
        chosen = {name: self.hierarchies[name] for name in self.columns}
        return prepare(table, hierarchies=chosen, **self.options, generator=generator).draw

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Every level of every column: which of them is drawn decides what type the column needs."""
        levels = [self.hierarchies[name].levels(table.dictionary(name), column=name) for name in self.columns]
        for level in range(max(column.height for column in levels) + 1):
            yield _every_value(self.columns, [column.dictionaries[min(level, column.height)] for column in levels])


class DomainDraw(Draw):
    """A draw of any values of the columns' domains.

    A value that is in its domain only because somebody has it tells that somebody has it, whatever the noise: no budget
    covers that. So a policy says where domains come from, and whoever signs it answers for that.
    """

    signed: ClassVar[Mapping[str, str]] = {"domains": DOMAINS}

    def rehearsals(self, table: FrequencyTable) -> Iterator[FrequencyTable]:
        """Every value of the domains."""
        known = [declared_domain(table, name, self.options["domains"]) for name in table.columns]
        yield _every_value(table.columns, known)


class SynthesisDraw(DomainDraw):
    """A synthetic table of all released columns."""

    name = "synthesize"
    function = synthesize

    @cached_property
    def cost(self) -> Cost:
        """What a row costs, whatever unit is protected."""
        told = {"delta": 1e-6, "unit": "row", **self.options}
        chosen_model(told.get("model"), told.get("given"), unit=told["unit"])
        return synthesis_cost(
            epsilon=told["epsilon"], delta=told["delta"], unit=told["unit"], columns=len(self.columns)
        )

    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Look for values outside their declared domain, tables that are too large, and the rest."""
        require_synthesis(table, **self.options)
        return partial(synthesize, table, columns=list(self.columns), **self.options, generator=generator)


class ResponseDraw(DomainDraw):
    """Randomized response in every cell of all released columns: one column as it is would undo the row's epsilon."""

    name = "randomized_response"
    function = randomized_response

    @cached_property
    def cost(self) -> Cost:
        """What a row costs: the epsilons of its cells."""
        return response_cost(epsilon=self.options["epsilon"], columns=len(self.columns))

    def prepared(self, table: FrequencyTable, generator: Any) -> Callable[[], Any]:
        """Look for values outside their declared domain."""
        require_randomizable(table, epsilon=self.options["epsilon"], domains=self.options["domains"])
        return partial(randomize_cells, table, **self.options, generator=generator)


def _every_value(columns: Sequence[str], known: Sequence[Sequence[Any]]) -> FrequencyTable:
    """Return as few rows as hold all values of all columns; which of them stand together says nothing."""
    rows = range(max(map(len, known)))
    return FrequencyTable.from_rows(columns, [[values[row % len(values)] for values in known] for row in rows])
