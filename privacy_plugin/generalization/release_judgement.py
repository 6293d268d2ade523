"""Judge a table as it is released by regions: by its labels, and a population by membership in the regions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.local_cells import Combinations
from privacy_plugin.generalization.regions import Regions
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.requirements.requirement import Finding, Requirement, with_hierarchies
from privacy_plugin.sources import open_source


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A table in regions, ready to be judged. `lines`: the region of every line of the table, negative in none."""

    table: FrequencyTable
    population: FrequencyTable | None
    regions: Regions
    lines: Integers
    population_lines: Integers
    sensitive: str | None
    attributes: tuple[str, ...] | None
    hierarchies: dict[str, Hierarchy]

    @property
    def released(self) -> FrequencyTable:
        """The rows that are released, with their labels."""
        return self.regions.released(self.table, self.lines)

    @property
    def judged_population(self) -> Tables | None:
        """The population with the labels of the regions that people are members of."""
        if self.population is None:
            return None
        return Tables(open_source(self.regions.released_population(self.population, self.population_lines)))

    def requirement(self, requirement: Requirement) -> Requirement:
        """Return the requirement as it is judged: a population has labels already and needs no hierarchies."""
        if not requirement.definition.needs_population:
            return with_hierarchies(requirement, self.hierarchies)
        options = {name: value for name, value in requirement.options.items() if name != "hierarchies"}
        return replace(requirement, options=options)

    @property
    def roles(self) -> dict[str, Any]:
        """What requirements look at."""
        return {
            "quasi_identifiers": self.regions.columns,
            "sensitive": self.sensitive,
            "attributes": self.attributes,
        }

    def judge(self, requirements: Sequence[Requirement]) -> list[Finding]:
        """Judge the released rows by every requirement."""
        released, population = self.released, self.judged_population
        return [self.requirement(one).judge(released, **self.roles, population=population) for one in requirements]

    def failing_regions(self, findings: Sequence[Finding]) -> npt.NDArray[np.bool_] | None:
        """Tell which regions fail; None where a requirement fails that no region can be blamed for."""
        failing = np.zeros(len(self.regions), dtype=bool)
        released = self.released
        for finding in findings:
            if finding.passed:
                continue
            if finding.measurement is None or finding.measurement.spread is None:
                return None
            classes = released.classes(self.regions.columns)
            values = finding.measurement.spread.values[: len(classes)]
            blamed = classes.example_rows[finding.limit.failing(values)]
            if not len(blamed):
                return None
            failing |= self._regions_of(released, blamed)
        return failing

    def _regions_of(self, released: FrequencyTable, rows: Integers) -> npt.NDArray[np.bool_]:
        wanted = {tuple(released.values(row)[: len(self.regions.columns)]) for row in rows.tolist()}
        texts = self.regions.texts(np.arange(len(self.regions)))
        return np.array([one in wanted for one in texts], dtype=bool)


def lines_in_regions(found: Combinations, regions: Integers) -> tuple[Integers, Integers]:
    """Return the region of every line of the table and of the population."""
    return regions[found.lines], regions[found.population_lines]
