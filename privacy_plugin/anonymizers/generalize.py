"""Full-domain generalization as an anonymizer: one level for each quasi-identifier, found by `generalize`."""

from collections.abc import Sequence
from typing import Any

from privacy_plugin.anonymizers.base import Progress, RecodingMethod
from privacy_plugin.generalization.generalize import generalize
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.sources import Source


class GeneralizeMethod(RecodingMethod):
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
        return generalize(
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
        """Generalize, and suppress the classes that fail in this table."""
        return result.apply(source, target=target, keep=keep, population=population)
