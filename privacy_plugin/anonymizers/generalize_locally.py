"""Local generalization as an anonymizer, and the default of a policy: every class gets labels of its own."""

from typing import Any

from privacy_plugin.anonymizers.base import Progress
from privacy_plugin.anonymizers.generalize import GeneralizingMethod
from privacy_plugin.generalization.generalize_locally import generalize_locally
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.sources import Source


class GeneralizeLocallyMethod(GeneralizingMethod):
    """Classes of small loss, each as specific as the requirements allow; the columns' `weight` and `keep` steer it."""

    name = "generalize_locally"
    function = generalize_locally
    supplied = (
        *("data", "hierarchies", "requirements", "sensitive", "attributes", "population", "unit", "count"),
        *("progress", "reveal"),
    )
    makes = "local_plan"
    doing = "searching for the most specific classes that meet the policy"
    done = "generalized class by class until it meets its privacy policy"
    plan_type = LocalPlan

    @property
    def gate_needs_plan(self) -> bool:
        """Labels of local classes overlap: the gate counts a population by the regions of the plan."""
        return any(one.definition.second_table == "population" for one in self.rules.requirements)

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> LocalPlan:
        """Search for regions."""
        return generalize_locally(source, **self.arguments(population, progress))
