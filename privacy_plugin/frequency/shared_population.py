"""A population of which an engine has kept only what a table shares with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.table import FrequencyTable


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedPopulation:
    """The groups of a population that a table has rows in too, and how many people are elsewhere."""

    groups: FrequencyTable
    other_people: int
    other_groups: int
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """What said which of the table's values the people's own values stand for, where they were joined by meaning."""

    @property
    def rows(self) -> int:
        """How many people the population has."""
        return self.groups.rows + self.other_people


Population: TypeAlias = FrequencyTable | SharedPopulation
