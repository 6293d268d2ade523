"""One table and the lattice over it: what the nodes are, what is known of all of them, and how one is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, pack
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.frequency.order import places
from privacy_plugin.frequency.table import Dictionary
from privacy_plugin.frequency.values import key
from privacy_plugin.generalization.class_conditions import ClassConditions, class_conditions
from privacy_plugin.generalization.losses import Counted, Loss, make_loss
from privacy_plugin.generalization.node_search import Judged
from privacy_plugin.generalization.node_sizes import (
    Mask,
    Node,
    Passes,
    SmallLattice,
    all_large,
    all_present,
    small_class_lines,
)
from privacy_plugin.generalization.plan import generalize_table, lay_over
from privacy_plugin.generalization.suppression import failing_rows, most_suppressed
from privacy_plugin.generalization.walked_lattice import WalkedLattice, sensitive_codes, with_population
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.requirements.requirement import Requirement, with_hierarchies

_FEW_VISITS = 3_000_000  # distinct rows * nodes: below, grouping node by node beats loading compiled code


@dataclass(frozen=True, kw_only=True, eq=False)
class LatticeTask:
    """A table, hierarchies and requirements: the question that a search answers."""

    table: FrequencyTable
    hierarchies: Mapping[str, Hierarchy]
    requirements: tuple[Requirement, ...]
    max_suppression: float
    loss_name: str
    sensitive: str | None = None
    attributes: tuple[str, ...] | None = None
    population: Tables | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of the hierarchies."""
        return tuple(self.hierarchies)

    @cached_property
    def levels(self) -> dict[str, Levels]:
        """The hierarchies laid over the table's values; raises where they do not cover them."""
        return lay_over(self.table, self.hierarchies)

    @cached_property
    def maps(self) -> tuple[Codes, ...]:
        """The value of every leaf on every level, one array a column."""
        return tuple(laid.maps for laid in self.levels.values())

    @cached_property
    def codes(self) -> Codes:
        """The quasi-identifiers of every distinct row."""
        return np.column_stack([self.table.column_codes(name) for name in self.columns])

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of every column."""
        return tuple(self.hierarchies[name].height + 1 for name in self.columns)

    @property
    def nodes(self) -> int:
        """How many generalizations there are."""
        return prod(self.shape)

    @property
    def top(self) -> Node:
        """The most general node."""
        return tuple(levels - 1 for levels in self.shape)

    @cached_property
    def loss(self) -> Loss:
        """What a generalization costs."""
        return make_loss(self.loss_name, self.table, self.levels, self.hierarchies)

    @cached_property
    def most_suppressed(self) -> int:
        """How many rows may be suppressed."""
        return most_suppressed(self.max_suppression, self.table.rows)

    def pruning(self) -> tuple[tuple[Codes, Integers, Sequence[Codes]], Passes]:
        """Return the lines to be counted, and the question that decides a node if nothing is suppressed."""
        bounds = self.conditions.presence_bounds
        if not bounds or self.population is None:
            return (self.codes, self.table.counts, self.maps), all_large(self.conditions.k)
        everybody = self.population.frequencies(self.columns)
        codes, rows, maps, others = with_population(self.table, everybody, self.hierarchies, {})
        lines = codes, np.column_stack([rows, others["population"]]), maps
        return lines, all_present(self.conditions.k, bounds)

    @cached_property
    def monotone(self) -> bool:
        """Whether a requirement that is met stays met when classes merge, as long as nothing is suppressed."""
        return all(requirement.definition.monotone for requirement in self.requirements)

    @cached_property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The sensitive columns that requirements look at."""
        asked = {r.sensitive or self.sensitive for r in self.requirements if "sensitive" in r.definition.roles}
        return tuple(sorted(str(name) for name in asked))

    @cached_property
    def conditions(self) -> ClassConditions:
        """What the requirements ask of every class."""
        dictionaries = {name: _in_order(self.table.dictionary(name)) for name in self.sensitive_columns}
        return class_conditions(
            self.requirements,
            dictionaries=dictionaries,
            sensitive=self.sensitive,
            suppression=self.most_suppressed > 0,
            rows=self.table.rows,
        )

    def counted(self) -> Counted:
        """Count the failing rows of every node, as far as a walk can know them."""
        small = self.nodes * self.table.distinct <= _FEW_VISITS
        if small and not self.conditions.rules:
            return SmallLattice(self.codes, self.table.counts, self.maps, k=self.conditions.k)
        return self._walked()

    def _walked(self) -> WalkedLattice:
        codes, counts, maps = self.codes, self.table.counts, list(self.maps)
        others = sensitive_codes(self.table, self.sensitive_columns) if self.conditions.rules else {}
        if self.conditions.needs_population and self.population is not None:
            everybody = self.population.frequencies(self.columns)
            codes, counts, maps, others = with_population(self.table, everybody, self.hierarchies, others)
        return WalkedLattice(
            shape=self.shape, codes=codes, counts=counts, maps=maps, conditions=self.conditions, others=others
        )

    def eligible(self, counted: Counted) -> Mask:
        """Tell which nodes may meet the requirements: all that do, and with local requirements no others."""
        failing = counted.failing
        if not self.conditions.repairable:
            assert isinstance(counted, WalkedLattice)  # only the walk knows of populations
            mask: Mask = (failing == 0) & (counted.uncovered == 0)
        else:
            mask = (failing <= self.most_suppressed) & (failing < self.table.rows)
        if self.conditions.averages and self.conditions.decisive:
            mask &= self._average_risks_hold(counted)
        return mask

    def _average_risks_hold(self, counted: Counted) -> Mask:
        """Compare classes / rows of what is left with the limits, in whole numbers."""
        classes, left = counted.classes(), self.table.rows - counted.failing
        holds = np.ones(self.shape, dtype=bool)
        for limit in self.conditions.averages:
            bound = limit.bounds[0]
            if self.table.rows * max(bound.numerator, bound.denominator) >= 2**62:
                classes, left = classes.astype(object), left.astype(object)
            risks, most = classes * bound.denominator, left * bound.numerator
            holds &= (risks < most if limit.kind == "below" else risks <= most).astype(bool)
        return holds

    def judge(self, node: Node) -> Judged | None:
        """Judge one node by every requirement; None where it fails."""
        try:
            return self.judged(node)
        except InfeasibleError:
            return None

    def judged(self, node: Node) -> Judged:
        """Judge one node by every requirement; raises InfeasibleError with the reason where it fails."""
        generalized = generalize_table(self.table, self.levels, dict(zip(self.columns, node, strict=True)))
        failing = failing_rows(
            generalized,
            [with_hierarchies(requirement, self.hierarchies) for requirement in self.requirements],
            quasi_identifiers=self.columns,
            sensitive=self.sensitive,
            attributes=self.attributes,
            population=self.population,
            max_suppression=self.max_suppression,
        )
        gone = self._lines_in(generalized, failing, node)
        return Judged(node=node, loss=self.loss.of(node, gone), suppressed=int(self.table.counts[gone].sum()))

    def _lines_in(self, generalized: FrequencyTable, failing: Integers, node: Node) -> Mask:
        """Tell which of the table's own rows are in the classes that fail."""
        if not len(failing):
            return np.zeros(self.table.distinct, dtype=bool)
        lines = []
        for position, (name, level) in enumerate(zip(self.columns, node, strict=True)):
            numbers = {key(value): number for number, value in enumerate(generalized.dictionary(name))}
            laid = self.levels[name]
            codes = np.array([numbers[key(value)] for value in laid.dictionaries[level]], dtype=np.int64)
            own = codes[laid.maps[level][self.codes[:, position]]]
            lines.append(np.concatenate([own, generalized.column_codes(name)[failing]]))
        packed, _ = pack(lines, [len(generalized.dictionary(name)) for name in self.columns])
        found: Mask = np.isin(packed[: self.table.distinct], packed[self.table.distinct :])
        return found

    def by_sizes(self, node: Node) -> Judged:
        """Judge a node as if only the classes that are too small had to be suppressed."""
        gone = small_class_lines(self.codes, self.table.counts, self.maps, node, k=self.conditions.k)
        return Judged(node=node, loss=self.loss.of(node, gone), suppressed=int(self.table.counts[gone].sum()))

    def judge_quickly(self, node: Node) -> Judged | None:
        """Judge a node by the class sizes alone where nothing else is asked, by every requirement otherwise."""
        if not self.conditions.sizes_only:
            return self.judge(node)
        return self.large_enough(node)

    def large_enough(self, node: Node) -> Judged | None:
        """Judge a node by the class sizes alone, whatever else is asked; None where too many rows are in small ones."""
        found = self.by_sizes(node)
        return found if found.suppressed <= self.most_suppressed and found.suppressed < self.table.rows else None

    @property
    def bounds_are_losses(self) -> bool:
        """Whether the bounds of a loss are the losses themselves, if nothing but the failing rows is suppressed."""
        return self.most_suppressed == 0 or self.loss_name not in ("entropy", "loss_metric")


def _in_order(dictionary: Dictionary) -> Dictionary:
    """Sort values as `sensitive_codes` numbers them."""
    return tuple(dictionary[position] for position in np.argsort(places(dictionary)))
