"""Local generalization as an anonymizer, and the default of a policy: every class gets labels of its own."""

from collections.abc import Sequence
from typing import Any

from privacy_plugin.anonymizers.base import Progress, RecodingMethod
from privacy_plugin.errors import PolicyError
from privacy_plugin.generalization.generalize_locally import generalize_locally
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.sources import Source


class GeneralizeLocallyMethod(RecodingMethod):
    """Classes of small loss, each as specific as the requirements allow; the columns' `weight` and `keep` steer it."""

    name = "generalize_locally"
    function = generalize_locally
    supplied = (
        *("data", "hierarchies", "requirements", "sensitive", "attributes", "population", "unit"),
        *("progress", "reveal"),
    )
    makes = "local_plan"
    doing = "searching for the most specific classes that meet the policy"
    done = "generalized class by class until it meets its privacy policy"
    plan_type = LocalPlan

    def require_policy(self) -> None:
        """Refuse a comparison with a population: local labels overlap, and the gate finds a person's class by label."""
        super().require_policy()
        compared = [one for one in self.rules.requirements if one.definition.second_table == "population"]
        if compared:
            raise PolicyError(
                f"{compared[0]} compares with a population, whose classes the gate cannot tell by labels that overlap; "
                "use method: generalize or method: multidimensional_presence"
            )

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> LocalPlan:
        """Search for regions."""
        return generalize_locally(
            source,
            hierarchies=self.hierarchies,
            requirements=self.aims,
            **self.options,
            attributes=(*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive")),
            population=population,
            unit=self.rules.counted,
            progress=progress,
        )

    def apply(self, result: Any, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Write the labels of every region, and suppress the classes that fail in this table."""
        return result.apply(source, target=target, keep=keep, population=population)
