"""Generalizations of tables in which people have several rows that differ: a class is counted in people, not in rows.

`count: sequences`: the class of a person is the set of the classes of their rows. Two people with the same set keep the
same set when classes merge, so that sequences only merge. Class sizes then stay met at every more general node, as long
as nothing is suppressed. Other metrics may get worse: attribute risk also covers an attacker who cannot link rows.

Suppression removes a person whole: with a row left out, the other rows of that person would be a shorter sequence,
which the requirements did not see. People who leave also leave the classes of others, so that the remaining table is
measured again until nobody fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError, ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.people_table import people_in_classes
from privacy_plugin.generalization.class_conditions import ClassConditions
from privacy_plugin.generalization.class_counts import Node, class_sizes
from privacy_plugin.generalization.lattice import Lattice, generalize_table
from privacy_plugin.generalization.node_search import Judged
from privacy_plugin.generalization.shaped_classes import FailedCheckError
from privacy_plugin.generalization.suppression import alone, most_suppressed
from privacy_plugin.generalization.unknown_values import Unknown, UnknownRows, known_table, unknown_lines
from privacy_plugin.measuring.measure import Tables
from privacy_plugin.requirements.requirement import Requirement, with_hierarchies
from privacy_plugin.sources import open_source

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleLattice(Lattice):
    """A lattice over rows with the unit in their last column; requirements and suppression are about people."""

    unit: str
    count: str
    unknown_rows: UnknownRows | None = None
    """As `unknown`, in rows instead of people."""
    unknown_people: frozenset[Any] = field(default_factory=frozenset, repr=False)
    """The people who are left out because of a value that no hierarchy covers."""

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.table.dictionaries[-1])

    @cached_property
    def most_suppressed(self) -> int:
        """How many people may be suppressed."""
        return most_suppressed(self.max_suppression, self.people)

    @cached_property
    def conditions(self) -> ClassConditions:
        """Nothing: compiled rules count rows."""
        return ClassConditions(decisive=False, conditions=(None,))

    @cached_property
    def monotone(self) -> bool:
        """Whether a requirement that is met stays met when classes merge, as long as nobody is suppressed."""
        return all(one.definition.monotone and one.definition.counts_people == "sizes" for one in self.requirements)

    def loss_of_all(self, loss: float, suppressed: int = 0) -> float:
        """Return the loss that also counts the rows of people who were left out because of unknown values."""
        if self.unknown_rows is None or not self.unknown_rows.removed:
            return loss
        return self.unknown_rows.loss_of_all(self.loss_name, loss, suppressed)

    def node_counts(self) -> "_RowCounts":
        """Return bounds of losses; nothing is known of people before they are counted."""
        return _RowCounts(codes=self.codes, counts=self.table.counts, maps=self.maps, shape=self.shape)

    def judged(self, node: Node) -> Judged:
        """Judge one node by every requirement; raises InfeasibleError with the reason where it fails."""
        gone = self.suppressed_people(node)
        lines = gone[self.table.codes[:, -1]]
        return Judged(node=node, loss=self.loss.of(node, lines), suppressed=int(gone.sum()))

    def suppressed_people(self, node: Node) -> Mask:
        """Return which people have to be suppressed; raises InfeasibleError where what is left fails."""
        return self.suppress_from(self._at(node), np.zeros(self.people, dtype=bool))

    def suppress_from(self, generalized: FrequencyTable, gone: Mask) -> Mask:
        """Return who has to be suppressed in rows as they are released, given who is gone already."""
        gone = gone.copy()
        if gone.all() or int(gone.sum()) > self.most_suppressed:
            raise InfeasibleError(
                f"{int(gone.sum()):,} of {self.people:,} people are in no region, more than the suppression limit of "
                f"{float(self.max_suppression):.1%}"
            )
        asked = [with_hierarchies(one, self.hierarchies) for one in self.requirements]
        if self.most_suppressed:
            for one in asked:
                self._suppress_for(alone(one), generalized, gone)
        while True:  # people who left for one requirement may have left classes that another one asks about
            before = int(gone.sum())
            for one in asked:
                self._suppress_for(one, generalized, gone)
            if int(gone.sum()) == before:
                return gone

    def _at(self, node: Node) -> FrequencyTable:
        return generalize_table(self.table, self.levels, dict(zip(self.columns, node, strict=True)))

    def _suppress_for(self, requirement: Requirement, generalized: FrequencyTable, gone: Mask) -> None:
        """Suppress people until the others meet a requirement."""
        while True:
            left = _without(generalized, gone)
            finding = self._judge(requirement, left)
            if finding.passed:
                return
            spread = None if finding.measurement is None else finding.measurement.spread
            if not self.most_suppressed or spread is None:
                raise InfeasibleError(finding.reason)
            linked = left.project([*self.columns, self.unit])
            failing = requirement.limit.failing(spread.values)
            found = people_in_classes(linked, failing, sequences=self.count == "sequences")
            if not len(found):
                raise InfeasibleError(finding.reason)
            gone[np.flatnonzero(~gone)[found]] = True  # everybody who is left has a row, and the order is the same
            suppressed = int(gone.sum())
            if suppressed > self.most_suppressed or suppressed == self.people:
                raise InfeasibleError(
                    f"{suppressed:,} of {self.people:,} people are in classes that fail {requirement}, or in classes "
                    f"that fail without them, more than the suppression limit of {float(self.max_suppression):.1%}"
                )

    def require_checked(self, node: Node, gone: Mask) -> None:
        """Judge what is released by every requirement: a failure refuses it."""
        left = _without(self._at(node), gone)
        for one in self.requirements:
            finding = self._judge(with_hierarchies(one, self.hierarchies), left)
            if not finding.passed:
                raise FailedCheckError(finding)

    def _judge(self, requirement: Requirement, left: FrequencyTable) -> Any:
        tables = Tables(open_source(left))
        return requirement.judge(tables, **self.roles, population=self.population, unit=self.unit, count=self.count)

    def people_of(self, gone: Mask) -> list[Any]:
        """Return the values of the unit of people who are left out, those with unknown values too."""
        dictionary = self.table.dictionaries[-1]
        return [*(dictionary[code] for code in np.flatnonzero(gone).tolist()), *self.unknown_people]


@dataclass(frozen=True, kw_only=True, eq=False)
class _RowCounts:
    """Lower bounds of what a node costs, whoever is suppressed."""

    codes: Codes
    counts: Integers
    maps: Sequence[Codes]
    shape: tuple[int, ...]

    @property
    def failing(self) -> Integers:
        """No row fails for certain."""
        return np.zeros(self.shape, dtype=np.int64)

    def classes(self) -> Integers:
        """At most how many classes are published: suppressing people adds none."""
        found = np.zeros(self.shape, dtype=np.int64)
        for node in np.ndindex(self.shape):
            found[node] = len(self._sizes(node))
        return found

    def discernibility(self) -> Integers:
        """At least the sum of squared sizes: rows that leave a class cost the table's size, less if it is a half."""
        found, rows = np.zeros(self.shape, dtype=np.int64), int(self.counts.sum())
        for node in np.ndindex(self.shape):
            sizes = self._sizes(node)
            found[node] = np.where(2 * sizes <= rows, sizes * sizes, rows * sizes - -(-rows * rows // 4)).sum()
        return found

    def _sizes(self, node: Node) -> Integers:
        return class_sizes(self.codes, self.counts, self.maps, node)


def people_lattice_over(
    linked: FrequencyTable,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    max_suppression: float,
    loss: str,
    sensitive: str | None,
    attributes: tuple[str, ...] | None,
    population: Tables | None,
    unit: str,
    count: str,
    unknown: Unknown,
) -> PeopleLattice:
    """Lay the hierarchies over the distinct rows of people, whose last column is the unit."""
    lines, dictionary = unknown_lines(linked, hierarchies), linked.dictionaries[-1]
    without = np.zeros(len(dictionary), dtype=bool)
    for mask in lines.values() if unknown == "suppress" else ():
        without[linked.codes[mask, -1]] = True
    removed = UnknownRows(
        by_column={name: len(np.unique(linked.codes[mask, -1])) for name, mask in lines.items()},
        removed=int(without.sum()),
        total=len(dictionary),
    )
    left = removed.left_to_suppress(max_suppression)
    known, _ = known_table(_without(linked, without), hierarchies, "refuse" if unknown == "suppress" else unknown)
    return PeopleLattice(
        table=known,
        hierarchies=dict(hierarchies),
        requirements=tuple(requirements),
        max_suppression=left,
        loss_name=loss,
        sensitive=sensitive,
        attributes=attributes,
        population=population,
        unknown=removed,
        unit=unit,
        count=count,
        unknown_rows=UnknownRows(
            by_column={}, removed=int(linked.counts[without[linked.codes[:, -1]]].sum()), total=linked.rows
        ),
        unknown_people=frozenset(dictionary[code] for code in np.flatnonzero(without).tolist()),
    )


def _without(table: FrequencyTable, gone: Mask) -> FrequencyTable:
    """Return the rows of everybody who is not gone."""
    if not gone.any():
        return table
    kept = ~gone[table.codes[:, -1]]
    return FrequencyTable.from_columns(
        table.columns, [table.codes[kept, c] for c in range(len(table.columns))], table.dictionaries, table.counts[kept]
    )


def require_dropping(suppression: str, keep: Sequence[str], unit: str) -> None:
    """Raise where whole people could not be left out."""
    if suppression != "drop":
        raise ParameterError("people with several rows are suppressed whole; use suppression='drop'")
    if unit not in keep:
        raise ParameterError(f"keep the unit column {unit!r}: people are suppressed by it; drop it afterwards")
