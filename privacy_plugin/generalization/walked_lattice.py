"""What one compiled walk knows of every node: failing rows, and sums over the classes that pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.order import places
from privacy_plugin.frequency.values import Value, key

if TYPE_CHECKING:
    from privacy_plugin.generalization.class_conditions import ClassConditions


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkedLattice:
    """Counts of every node by compiled walks, each done when it is first asked for."""

    shape: tuple[int, ...]
    codes: Codes
    counts: Integers
    maps: Sequence[Codes]
    conditions: "ClassConditions"
    others: Mapping[str, Any]

    @cached_property
    def failing(self) -> Integers:
        """Rows of every node in classes that are too small or break a rule."""
        if self.conditions.k == 1 and not self.conditions.rules:
            return np.zeros(self.shape, dtype=np.int64)
        from privacy_plugin.generalization.walk.counts import failing_counts, suppressed_counts

        if not self.conditions.rules:
            return suppressed_counts(self.codes, self.counts, self.maps, k=self.conditions.k)
        rules = self.conditions.rules
        return failing_counts(self.codes, self.counts, self.maps, k=self.conditions.k, rules=rules, **self.others)

    @cached_property
    def uncovered(self) -> Integers:
        """People of the population, at every node, in classes without a row of the table."""
        from privacy_plugin.generalization.walk.counts import uncovered_population

        return uncovered_population(self.codes, self.counts, self.maps, population=self.others["population"])

    def classes(self) -> Integers:
        """How many classes of every node pass."""
        from privacy_plugin.generalization.walk.counts import passing_classes

        rules = self.conditions.rules
        return passing_classes(self.codes, self.counts, self.maps, k=self.conditions.k, rules=rules, **self.others)

    def discernibility(self) -> Integers:
        """The sum of their squared sizes, plus all rows for every row that fails."""
        from privacy_plugin.generalization.walk.counts import discernibility

        rules = self.conditions.rules
        return discernibility(self.codes, self.counts, self.maps, k=self.conditions.k, rules=rules, **self.others)


def sensitive_codes(table: FrequencyTable, columns: Sequence[str]) -> dict[str, Any]:
    """Return the sensitive columns as the walk wants them: codes in the order that values are meant to have."""
    if not columns:
        return {}
    placed = [places(table.dictionary(name))[table.column_codes(name)] for name in columns]
    codes = np.column_stack(placed).astype(np.int32)
    return {"sensitive": codes, "sensitive_sizes": [len(table.dictionary(name)) for name in columns]}


def with_population(
    table: FrequencyTable, population: FrequencyTable, hierarchies: Mapping[str, Hierarchy], others: dict[str, Any]
) -> tuple[Codes, Integers, list[Codes], dict[str, Any]]:
    """Append the population to the table's lines: they count no rows of the table, but people.

    Both get one set of codes; a hierarchy has to cover the values of both.
    """
    columns, maps = [], []
    for name, hierarchy in hierarchies.items():
        values: dict[Any, Value] = {key(value): value for value in table.dictionary(name)}
        values |= {key(value): value for value in population.dictionary(name) if key(value) not in values}
        numbers = {found: number for number, found in enumerate(values)}
        there = np.array([numbers[key(value)] for value in population.dictionary(name)], dtype=np.int32)
        here = table.column_codes(name)
        columns.append(np.concatenate([here, there[population.column_codes(name)]]))
        maps.append(hierarchy.levels(tuple(values.values()), column=name).maps)
    counts = np.concatenate([table.counts, np.zeros(population.distinct, dtype=np.int64)])
    people = np.concatenate([np.zeros(table.distinct, dtype=np.int64), population.counts])
    extended = dict(others)
    if "sensitive" in others:  # lines without rows have no sensitive value; any code stands for none
        nothing = np.zeros((population.distinct, others["sensitive"].shape[1]), dtype=others["sensitive"].dtype)
        extended["sensitive"] = np.concatenate([others["sensitive"], nothing])
    return np.column_stack(columns), counts, maps, {**extended, "population": people}
