"""The methods that recode: they find out what every value becomes, by the data alone, and spend nothing."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from privacy_plugin.anonymizers.base import Method
from privacy_plugin.anonymizers.multidimensional_presence import PresenceGeneralization, multidimensional_presence
from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.generalization.generalize import generalize
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.sources import Source

Progress = Callable[[str], None]
Found = Plan | PresenceGeneralization


class Recoder(Method):
    """A deterministic method: every quasi-identifier has a hierarchy, and its values become more general ones."""

    @abstractmethod
    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Found:
        """Find what every value becomes."""

    @abstractmethod
    def apply(self, found: Found, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Recode the table where it lies."""

    def require_policy(self) -> None:
        """Refuse to generalize in vain."""
        if self.budgets:
            raise PolicyError(f"{self.budgets[0]}: no generalization meets it; name a method that draws at random")

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse to generalize without a hierarchy for every quasi-identifier but a constant one, or in vain."""
        self.require_policy()
        lacking = [
            name for name in self.rules.columns("quasi_identifier") if name not in self.hierarchies and name != constant
        ]
        if lacking:
            raise PolicyError(
                f"to generalize, these columns need a hierarchy in the policy: {', '.join(lacking)}. For example "
                f"`{lacking[0]}: {{role: quasi_identifier, hierarchy: {{tree: {{group: [value, ...]}}}}}}`, with the "
                "column's own groups and values; `privacy-plugin init --reveal` lists the values of short columns"
            )
        if constant in self.hierarchies:
            raise PolicyError(f"{constant!r} says which partition a row is in; it cannot be generalized too")


class LevelRecoder(Recoder):
    """One level a column: the least generalization and suppression that meets every requirement."""

    name = "generalize"
    function = generalize
    supplied = (
        *("data", "hierarchies", "requirements", "sensitive", "attributes", "population", "unit"),
        *("search", "progress", "reveal"),
    )
    doing = "searching for the least generalization that meets the policy"
    done = "generalized until it meets its privacy policy"
    plans = True

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Plan:
        """Search the lattice of levels."""
        return generalize(
            source,
            hierarchies=self.hierarchies,
            requirements=self.rules.requirements,
            **self.options,
            attributes=(*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive")),
            population=population,
            unit=self.rules.unit,
            progress=progress,
        )

    def apply(self, found: Found, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Generalize, and suppress what fails; a plan that was made for other columns is refused."""
        if not isinstance(found, Plan) or set(found.levels) != set(self.hierarchies):
            raise ParameterError("the plan was made for other quasi-identifiers than those of the policy")
        return found.apply(source, target=target, keep=keep, population=population)


class RegionRecoder(Recoder):
    """Regions with levels of their own, as fine as leaves everybody of the population delta-present (MPALM)."""

    name = "multidimensional_presence"
    function = multidimensional_presence
    supplied = ("research", "population", "hierarchies", "delta")
    doing = "looking for regions within the bounds of presence"
    done = "generalized region by region within its bounds of presence"

    @cached_property
    def delta(self) -> tuple[Fraction, Fraction]:
        """The bounds of every requirement on delta-presence at once."""
        asked = [r for r in self.rules.requirements if r.metric == "delta_presence"]
        if not asked:
            raise PolicyError(
                f"{self.name} keeps everybody's probability of presence between two bounds; say which, with a "
                "requirement such as delta_presence: {between: [0.01, 0.2]}"
            )
        low, high = max(r.limit.bounds[0] for r in asked), min(r.limit.bounds[1] for r in asked)
        if low > high:
            raise PolicyError(f"no table meets both {' and '.join(map(str, asked))}")
        return low, high

    def require_policy(self) -> None:
        """Ask for the bounds, and for one row a person."""
        super().require_policy()
        if self.rules.unit is not None:
            raise PolicyError(f"{self.name} needs one row a person; it cannot count people by {self.rules.unit!r}")
        _ = self.delta  # refuses bounds that are lacking, or contradict each other

    def require_usable(self, constant: str | None = None) -> None:
        """Refuse a partition by a quasi-identifier: everybody of other partitions would be known to be absent."""
        if constant in self.rules.columns("quasi_identifier"):
            raise PolicyError(
                f"{self.name} compares with the whole population; {constant!r}, which says what partition a row is in, "
                "cannot be a quasi_identifier too"
            )
        super().require_usable(constant)

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> PresenceGeneralization:
        """Split the population top-down."""
        if population is None:
            raise ParameterError(f"{self.name} compares with the population; name it")
        return multidimensional_presence(source, population=population, hierarchies=self.hierarchies, delta=self.delta)

    def apply(self, found: Found, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Give every row what its region says; measured again for what is there now."""
        return found.apply(source, target=target, keep=keep)
