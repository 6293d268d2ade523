"""The lattice of generalizations over one table: its nodes, what counting classes decides, and how a node is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from privacy_plugin.errors import ColumnError, InfeasibleError, ParameterError, require_columns
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, pack
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.frequency.numbers import rank_values
from privacy_plugin.frequency.people_table import require_count
from privacy_plugin.frequency.table import Dictionary
from privacy_plugin.frequency.values import key
from privacy_plugin.generalization.class_conditions import ClassConditions, class_conditions
from privacy_plugin.generalization.class_counts import (
    GroupedCounts,
    Mask,
    Node,
    Passes,
    WalkedCounts,
    all_large,
    all_present,
    sensitive_codes,
    small_class_lines,
    with_population,
)
from privacy_plugin.generalization.losses import Loss, NodeCounts, make_loss
from privacy_plugin.generalization.node_search import Judged
from privacy_plugin.generalization.suppression import failing_rows, most_suppressed
from privacy_plugin.generalization.unknown_values import Unknown, UnknownRows, known_table
from privacy_plugin.measuring.measure import Tables, measure
from privacy_plugin.requirements.requirement import Requirement, with_hierarchies
from privacy_plugin.sources import Source, open_source
from privacy_plugin.sources.protocol import count_people

_FEW_VISITS = 3_000_000  # distinct rows * nodes: below, grouping node by node beats loading compiled code


@dataclass(frozen=True, kw_only=True, eq=False)
class Lattice:
    """A table, hierarchies and requirements: all generalizations, and which of them are allowed."""

    table: FrequencyTable
    hierarchies: Mapping[str, Hierarchy]
    requirements: tuple[Requirement, ...]
    max_suppression: float | Fraction
    loss_name: str
    sensitive: str | None = None
    attributes: tuple[str, ...] | None = None
    population: Tables | None = None
    unknown: UnknownRows | None = None
    """The rows whose values no hierarchy covers; those that are removed are not in the table any more."""
    taken_as_monotone: bool = False
    """Whether the search takes requirements for monotone that are not; what it finds is judged all the same."""

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
        """The value of every leaf on every level, as an array for every column."""
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

    def loss_of_all(self, loss: float, suppressed: int = 0) -> float:
        """Return a loss that also counts the rows that were removed because of unknown values."""
        if self.unknown is None or not self.unknown.removed:
            return loss
        return self.unknown.loss_of_all(self.loss_name, loss, suppressed)

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
        dictionaries = {name: in_order(self.table.dictionary(name)) for name in self.sensitive_columns}
        return class_conditions(
            self.requirements,
            dictionaries=dictionaries,
            sensitive=self.sensitive,
            suppression=self.most_suppressed > 0,
            rows=self.table.rows,
        )

    def node_counts(self) -> NodeCounts:
        """Count the failing rows of every node, as far as class conditions say."""
        small = self.nodes * self.table.distinct <= _FEW_VISITS
        if small and not self.conditions.rules:
            return GroupedCounts(self.codes, self.table.counts, self.maps, k=self.conditions.k)
        return self._walked_counts()

    def size_counts(self) -> NodeCounts:
        """Count the rows of every node in classes that are too small, whatever else is asked of a class."""
        return WalkedCounts(
            shape=self.shape,
            codes=self.codes,
            counts=self.table.counts,
            maps=self.maps,
            conditions=replace(self.conditions, rules=()),
            others={},
        )

    def _walked_counts(self) -> WalkedCounts:
        codes, counts, maps = self.codes, self.table.counts, list(self.maps)
        others = sensitive_codes(self.table, self.sensitive_columns) if self.conditions.rules else {}
        if self.conditions.needs_population and self.population is not None:
            everybody = self.population.frequencies(self.columns)
            codes, counts, maps, others = with_population(self.table, everybody, self.hierarchies, others)
        return WalkedCounts(
            shape=self.shape, codes=codes, counts=counts, maps=maps, conditions=self.conditions, others=others
        )

    def eligible(self, counts: NodeCounts) -> Mask:
        """Return the nodes that may meet the requirements: all that do, and where counting is decisive no others."""
        failing = counts.failing
        if not self.conditions.repairable:
            assert isinstance(counts, WalkedCounts)  # only the walk knows of populations
            mask: Mask = (failing == 0) & (counts.uncovered == 0)
        else:
            mask = (failing <= self.most_suppressed) & (failing < self.table.rows)
        if self.conditions.averages and self.conditions.decisive:
            mask &= self._average_risks_hold(counts)
        return mask

    def _average_risks_hold(self, counts: NodeCounts) -> Mask:
        """Compare classes / rows of what is left with the limits, in whole numbers."""
        classes, left = counts.classes(), self.table.rows - counts.failing
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
        if self._is_refuted(node):
            return None
        try:
            return self.judged(node)
        except InfeasibleError:
            return None

    def _is_refuted(self, node: Node) -> bool:
        """Return whether a node surely fails a requirement that has a quicker test than measuring all classes."""
        tested = [one for one in self.requirements if one.definition.refutes is not None]
        if not tested or self.most_suppressed:
            return False
        generalized = generalize_table(self.table, self.levels, dict(zip(self.columns, node, strict=True)))
        for requirement in tested:
            roles = {name: value for name, value in self.roles.items() if name in requirement.definition.roles}
            options = with_hierarchies(requirement, self.hierarchies).options
            assert requirement.definition.refutes is not None
            if requirement.definition.refutes(generalized, requirement.limit.bounds[0], **roles, **options):
                return True
        return False

    def judged(self, node: Node) -> Judged:
        """Judge one node by every requirement; raises InfeasibleError with the reason where it fails."""
        generalized, failing = self.failing_classes(node)
        gone = self._lines_in(generalized, failing, node)
        return Judged(node=node, loss=self.loss.of(node, gone), suppressed=int(self.table.counts[gone].sum()))

    @property
    def roles(self) -> dict[str, Any]:
        """The columns that requirements look at."""
        return {"quasi_identifiers": self.columns, "sensitive": self.sensitive, "attributes": self.attributes}

    @cached_property
    def _last_passed(self) -> dict[tuple[Node, bool], tuple[FrequencyTable, Integers]]:
        """The last node that passed: the best one is asked for again when the plan is made."""
        return {}

    def failing_classes(self, node: Node, *, masked: bool = False) -> tuple[FrequencyTable, Integers]:
        """Return the table at a node, and one of its distinct rows for each class that has to be suppressed.

        Raises InfeasibleError where the table without those classes (or with them `masked`) fails a requirement.
        """
        if (node, masked) in self._last_passed:
            return self._last_passed[node, masked]
        generalized = generalize_table(self.table, self.levels, dict(zip(self.columns, node, strict=True)))
        failing = failing_rows(
            generalized,
            [with_hierarchies(requirement, self.hierarchies) for requirement in self.requirements],
            quasi_identifiers=self.columns,
            sensitive=self.sensitive,
            attributes=self.attributes,
            population=self.population,
            max_suppression=self.max_suppression,
            masked=masked,
        )
        self._last_passed.clear()
        self._last_passed[node, masked] = generalized, failing
        return generalized, failing

    def _lines_in(self, generalized: FrequencyTable, failing: Integers, node: Node) -> Mask:
        """Return which of the table's own rows are in the classes that fail."""
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


def in_order(dictionary: Dictionary) -> Dictionary:
    """Sort values as `sensitive_codes` numbers them."""
    return tuple(dictionary[position] for position in np.argsort(rank_values(dictionary)))


def lattice_over(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    max_suppression: float,
    loss: str,
    sensitive: str | None = None,
    attributes: Sequence[str] | None = None,
    population: Any = None,
    unit: str | None = None,
    count: str | None = None,
    unknown: Unknown = "refuse",
) -> Lattice:
    """Group the data and lay the hierarchies over it; raise before the search for what cannot be answered.

    Where rows of a person differ in these columns, people are counted by `count`.
    """
    source = open_source(data)
    columns = tuple(hierarchies)
    seen = _attributes(columns, requirements, sensitive) if attributes is None else tuple(attributes)
    wanted = needed_columns(columns, requirements, sensitive=sensitive, attributes=seen)
    table = group_source(source, wanted, unit, requirements)
    table.require_rows()
    everybody = None if population is None else Tables(open_source(population))
    if unit is not None and table.columns[-1] == unit:
        from privacy_plugin.generalization.people_lattice import people_lattice_over  # it imports this file

        people = people_lattice_over(
            table,
            hierarchies=hierarchies,
            requirements=requirements,
            max_suppression=max_suppression,
            loss=loss,
            sensitive=sensitive,
            attributes=seen,
            population=everybody,
            unit=unit,
            count=require_count(count or "sequences"),
            unknown=unknown,
        )
        assert people.levels
        _require_population(people, measured=False)
        return people
    known, rows = known_table(table, hierarchies, unknown, counted="rows" if unit is None else "people")
    lattice = Lattice(
        table=known,
        hierarchies=dict(hierarchies),
        requirements=tuple(requirements),
        max_suppression=rows.left_to_suppress(max_suppression),
        loss_name=loss,
        sensitive=sensitive,
        attributes=seen,
        population=everybody,
        unknown=rows,
    )
    assert lattice.levels  # laid over now, so that a level that does not coarsen raises before anything else is done
    _require_population(lattice)
    return lattice


def _attributes(
    columns: tuple[str, ...], requirements: Sequence[Requirement], sensitive: str | None
) -> tuple[str, ...] | None:
    """Return what a requirement on attributes looks at: the columns of its roles, or all that are named anywhere."""
    asking = [r for r in requirements if "attributes" in r.definition.roles]
    if not asking:
        return None
    named = {name for r in asking for name in r.options.get("roles") or ()}
    named |= {name for r in requirements if (name := r.sensitive or sensitive)}
    return (*columns, *sorted(named - {*columns}))


def _require_population(lattice: Lattice, *, measured: bool = True) -> None:
    """Raise where the population is missing or lacks people of the table; the latter only if it is `measured`."""
    for requirement in lattice.requirements:
        if not requirement.definition.needs_population:
            continue
        if lattice.population is None:
            raise ParameterError(
                f"{requirement.metric} compares with a population; give it with population=, or name it in the policy "
                "(population:) or on the command line (--population)"
            )
        for name, hierarchy in lattice.hierarchies.items():
            known = lattice.population.frequencies(lattice.columns).dictionary(name)
            hierarchy.levels(known, column=f"{name} of the population")
        if not measured:
            continue
        options = with_hierarchies(requirement, lattice.hierarchies).options
        roles = {"quasi_identifiers": lattice.columns, "sensitive": requirement.sensitive or lattice.sensitive}
        given: dict[str, Any] = {role: roles[role] for role in requirement.definition.roles if role in roles}
        measure(requirement.definition, lattice.table, population=lattice.population, **given, **options)


def needed_columns(
    quasi_identifiers: Sequence[str],
    requirements: Sequence[Requirement],
    *,
    sensitive: str | None,
    attributes: Sequence[str] | None,
) -> list[str]:
    """Return the columns that have to be grouped: quasi-identifiers first, then what requirements look at besides."""
    asked = {r.sensitive or sensitive for r in requirements if "sensitive" in r.definition.roles}
    if None in asked:
        raise ParameterError("a requirement looks at a sensitive column; name it with sensitive=")
    for name in asked & {*quasi_identifiers}:
        raise ColumnError(f"column {name!r} cannot be both a quasi-identifier and the sensitive column")
    asked |= {*(attributes or ())} if any("attributes" in r.definition.roles for r in requirements) else set()
    return [*quasi_identifiers, *sorted(str(name) for name in asked if name not in quasi_identifiers)]


def group_source(
    source: Source, columns: Sequence[str], unit: str | None, requirements: Sequence[Requirement]
) -> FrequencyTable:
    """Group a source; with a unit count people, or return also the unit, last, where a person is in several groups.

    Numbers of people add up when classes merge only if no person is in two of them. That is so exactly when the numbers
    of all groups add up to the number of people.
    """
    require_columns(columns, source.columns)
    if unit is None:
        return source.frequencies(columns)
    require_columns([*columns, unit], source.columns, role="columns and unit")
    for requirement in requirements:
        if not requirement.definition.counts_people:
            raise ParameterError(
                f"{requirement.metric} is defined for one row per person and cannot count people by the unit column "
                f"{unit!r}; make one row a person with people: in the policy"
            )
    people = source.frequencies(columns, unit=unit)
    people.require_rows()
    if people.rows != count_people(source, unit):
        return source.frequencies([*columns, unit])
    return replace(people, unit=None)


def lay_over(table: FrequencyTable, hierarchies: Mapping[str, Hierarchy]) -> dict[str, Levels]:
    """Lay the hierarchies over the values of a table."""
    return {name: hierarchy.levels(table.dictionary(name), column=name) for name, hierarchy in hierarchies.items()}


def generalize_table(table: FrequencyTable, levels: Mapping[str, Levels], node: Mapping[str, int]) -> FrequencyTable:
    """Roll a table up to a node of the lattice."""
    return table.recode(
        {name: (levels[name].maps[level], levels[name].dictionaries[level]) for name, level in node.items() if level}
    )
