"""Full-domain generalization as an anonymizer: one level for each quasi-identifier, found by `generalize`."""

from collections.abc import Sequence
from typing import Any

from privacy_plugin.anonymizers.base import Progress, RecodingMethod
from privacy_plugin.generalization.generalize import generalize
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.generalization.shaped_classes import OBSERVED_NOTE, SEARCH_NOTE, looks_at_values
from privacy_plugin.sources import Source


class GeneralizingMethod(RecodingMethod):
    """A method whose search finds a plan by the hierarchies and requirements of the policy."""

    treats_columns = True

    def arguments(self, population: Any, progress: Progress | None) -> dict[str, Any]:
        """Return the arguments of the search, apart from the data."""
        return {
            **self.options,
            "hierarchies": self.hierarchies,
            "requirements": self.aims,
            "attributes": (*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive")),
            "population": population,
            "unit": self.rules.counted,
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
        *("data", "hierarchies", "requirements", "sensitive", "attributes", "population", "unit"),
        *("progress", "reveal"),
    )
    makes = "plan"
    doing = "searching for the least generalization that meets the policy"
    done = "generalized until it meets its privacy policy"
    plan_type = Plan

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Plan:
        """Search the lattice of levels."""
        return generalize(source, **self.arguments(population, progress))
