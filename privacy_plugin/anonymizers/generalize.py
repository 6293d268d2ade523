"""Full-domain generalization as an anonymizer: one level for each quasi-identifier, found by `generalize`."""

import inspect
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

from privacy_plugin.anonymizers.base import Anonymized, Progress, RecodingMethod, Request
from privacy_plugin.anonymizers.continued_release import release_together, require_continuing
from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.generalization.generalize import generalize
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.generalization.shaped_classes import (
    OBSERVED_NOTE,
    SEARCH_NOTE,
    looks_at_values,
    require_choosable,
    require_ladder,
)
from privacy_plugin.sources import Source

_RELEASES = inspect.Parameter(
    "releases",
    inspect.Parameter.KEYWORD_ONLY,
    default="separately",
    annotation=Literal["separately", "together"],
)


class GeneralizingMethod(RecodingMethod):
    """A method whose search finds a plan by the hierarchies and requirements of the policy."""

    treats_columns = True

    @classmethod
    def policy_options(cls) -> dict[str, inspect.Parameter]:
        """Return the options of the search, and whether a release continues the earlier ones."""
        return {**super().policy_options(), "releases": _RELEASES}

    @property
    def continues(self) -> bool:
        """Whether a release applies the plan of the last one, and publishes only whole joint classes."""
        return self.options.get("releases") == "together"

    def require_policy(self) -> None:
        """Refuse also to continue releases of unknown people, and to look at values where only class sizes decide."""
        super().require_policy()
        if self.continues:
            require_continuing(self)
        choose_by, ladder = self.options.get("choose_by", "everything"), self.options.get("k")
        try:
            if choose_by == "quasi_identifiers":
                require_choosable(self.aims, self.hierarchies, self.options.get("useful_for"))
            require_ladder(ladder, self.aims, choose_by)
        except ParameterError as problem:
            raise PolicyError(f"anonymize: {problem}") from None

    def run(self, source: Source, request: Request) -> Anonymized:
        """Search and apply, or continue the releases of the history in use."""
        if not self.continues:
            return super().run(source, request)
        made, plan, continuation = release_together(self, source, request)
        return Anonymized(
            made=made,
            method=self.name,
            makes=self.makes,
            left_out=tuple(name for name in source.columns if self.rules.roles[name] == "identifier"),
            result=plan,
            plan=plan,
            continuation=continuation,
        )

    @abstractmethod
    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Plan | LocalPlan:
        """Find a plan."""

    def arguments(self, population: Any, progress: Progress | None) -> dict[str, Any]:
        """Return the arguments of the search, apart from the data."""
        return {
            **{name: value for name, value in self.options.items() if name != "releases"},
            "hierarchies": self.hierarchies,
            "requirements": self.aims,
            "attributes": (*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive")),
            "population": population,
            "unit": self.rules.counted,
            "count": self.rules.count,
            "progress": progress,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What labels and classes tell, as far as the policy alone says it."""
        observed = self.options.get("labels") == "observed"
        looks = self.options.get("choose_by", "everything") == "everything" and looks_at_values(self.aims)
        return (*((OBSERVED_NOTE,) if observed else ()), *((SEARCH_NOTE,) if looks else ()))

    def notes_on(self, plan: Any) -> tuple[str, ...]:
        """Return the notes of the plan, which counts the classes that follow from sensitive values."""
        return tuple(plan.notes) if isinstance(plan, Plan | LocalPlan) else self.notes

    def apply(self, result: Any, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Write the labels of the plan, and suppress the classes that fail in this table."""
        return result.apply(source, target=target, keep=keep, population=population)


class GeneralizeMethod(GeneralizingMethod):
    """The least generalization and suppression that meets every requirement."""

    name = "generalize"
    function = generalize
    supplied = (
        *("data", "hierarchies", "requirements", "sensitive", "attributes", "population", "unit", "count"),
        *("progress", "reveal"),
    )
    makes = "plan"
    doing = "searching for the least generalization that meets the policy"
    done = "generalized until it meets its privacy policy"
    plan_type = Plan

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Plan:
        """Search the lattice of levels."""
        return generalize(source, **self.arguments(population, progress))
