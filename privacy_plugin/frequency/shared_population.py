"""A population of which an engine has kept only what a table shares with it."""

from dataclasses import dataclass
from typing import TypeAlias

from privacy_plugin.frequency.table import FrequencyTable


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedPopulation:
    """The groups of a population that a table has rows in too, and how many people are elsewhere."""

    groups: FrequencyTable
    other_people: int
    other_groups: int

    @property
    def rows(self) -> int:
        """How many people the population has."""
        return self.groups.rows + self.other_people


Population: TypeAlias = FrequencyTable | SharedPopulation
