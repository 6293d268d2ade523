"""What a generalization loses: one number for a node of the lattice, or a bound for all nodes at once.

*Cell losses* (precision, entropy, loss_metric) add up over the cells of the table: a cell loses something when it is
generalized and all of it when its row is suppressed; the loss is the share lost of what there was, from 0 to 1. *Class
losses* (discernibility, average_class_size) look at the classes that are published and count rows.

Losses are compared to twelve decimals. Ties go to the lower sum of levels, then to the levels that come first in the
order of the hierarchies.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, TooLargeError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.generalization.class_counts import Mask, Node, class_sizes

Floats = npt.NDArray[np.float64]
Laid = Mapping[str, Levels]
Hierarchies = Mapping[str, Hierarchy]
DECIMALS = 12


class NodeCounts(Protocol):
    """What is known of every node: rows that must be suppressed, and sums over the classes that are left."""

    @property
    def failing(self) -> Integers:
        """Rows that are suppressed at least."""

    def classes(self) -> Integers:
        """How many classes are left."""

    def discernibility(self) -> Integers:
        """The sum of the squared sizes of the classes that are left, plus all rows for every suppressed one."""


class Loss(Protocol):
    """A loss over the nodes of one lattice."""

    def bounds(self, counts: NodeCounts) -> Floats:
        """Return, for every node, its loss if exactly the failing rows are suppressed, or something below it.

        Whatever else has to be suppressed only adds to a loss, so this bounds it from below.
        """

    def of(self, node: Node, suppressed: Mask) -> float:
        """Return the loss of one node, given which distinct rows of the table are suppressed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellLoss:
    """A loss that adds up over cells: of a cell's `full[a][leaf]`, generalization loses `cells[a][level, leaf]`.

    loss = (sum over the cells that stay of what they lose + sum over suppressed cells of all they had) / all there was.
    """

    codes: npt.NDArray[np.integer[Any]]
    counts: Integers
    cells: tuple[Floats, ...]
    full: tuple[Floats, ...]

    @cached_property
    def _people(self) -> tuple[Floats, ...]:
        """How many rows have each leaf, a column at a time."""
        return tuple(self._leaves(self.codes, self.counts))

    @cached_property
    def _total(self) -> float:
        """All there was; where there was nothing to lose, one, so that nothing of it is lost."""
        return sum(float((n * full).sum()) for n, full in zip(self._people, self.full, strict=True)) or 1.0

    def _leaves(self, codes: npt.NDArray[np.integer[Any]], counts: Integers) -> Iterator[Floats]:
        for attribute, full in enumerate(self.full):
            people = np.bincount(codes[:, attribute], weights=counts, minlength=len(full))
            yield people.astype(np.float64)

    def bounds(self, counts: NodeCounts) -> Floats:
        """Exact for precision; otherwise as if the suppressed rows were those that lose the least by it."""
        failing = counts.failing
        some = bool(failing.any())
        result = np.zeros(failing.shape)
        for attribute, (cells, full, people) in enumerate(zip(self.cells, self.full, self._people, strict=True)):
            target, rows = np.moveaxis(result, attribute, 0), np.moveaxis(failing, attribute, 0)
            for level, lost in enumerate(cells):
                target[level] += float((people * lost).sum())
                if some:
                    target[level] += _least_extra(rows[level], people, np.maximum(full - lost, 0.0))
        return result / self._total

    def of(self, node: Node, suppressed: Mask) -> float:
        """Sum over the leaves; of the lines, only the suppressed ones are looked at."""
        lines = np.flatnonzero(suppressed)
        gone = list(self._leaves(self.codes[lines], self.counts[lines])) if len(lines) else [0.0] * len(node)
        lost = 0.0
        for attribute, level in enumerate(node):
            cells, full = self.cells[attribute][level], self.full[attribute]
            lost += float(((self._people[attribute] - gone[attribute]) * cells + gone[attribute] * full).sum())
        return lost / self._total


def _least_extra(failing: Integers, people: Floats, extra: Floats) -> Floats:
    """The least that suppressing so many rows adds: those go first that lose the least by it."""
    if np.ptp(extra) == 0:
        return failing.astype(np.float64) * float(extra[0])
    order = np.argsort(extra, kind="stable")
    rows = np.concatenate([[0.0], np.cumsum(people[order])])
    sums = np.concatenate([[0.0], np.cumsum((people * extra)[order])])
    least: Floats = np.interp(failing.astype(np.float64), rows, sums)
    return least


@dataclass(frozen=True, kw_only=True, eq=False)
class _ClassLoss:
    table: FrequencyTable
    levels: Laid

    def _sizes(self, node: Node, suppressed: Mask) -> Integers:
        """Return the sizes of the classes that are published."""
        codes = np.column_stack([self.table.column_codes(name) for name in self.levels])[~suppressed]
        if not len(codes):
            return np.zeros(0, dtype=np.int64)
        return class_sizes(codes, self.table.counts[~suppressed], [laid.maps for laid in self.levels.values()], node)


class Discernibility(_ClassLoss):
    """DM: a row costs the size of its class, a suppressed row the size of the table; the sum over all rows.

    Sum of |class|^2 over the published classes + |T| * suppressed rows: rows, squared, not a share. Bayardo and
    Agrawal 2005.
    """

    def bounds(self, counts: NodeCounts) -> Floats:
        """Exact where nothing but the failing rows is suppressed."""
        return counts.discernibility().astype(np.float64)

    def of(self, node: Node, suppressed: Mask) -> float:
        """Sum over the classes."""
        sizes = self._sizes(node, suppressed)
        return float((sizes * sizes).sum() + self.table.rows * self.table.counts[suppressed].sum())


class AverageClassSize(_ClassLoss):
    """Rows of the whole table for every published class: |T| / classes.

    Suppressed rows burden the classes that are left; where none is left the loss is |T|. LeFevre, DeWitt, Ramakrishnan
    2006, whose C_avg divides by k too, which is the same for all nodes.
    """

    def bounds(self, counts: NodeCounts) -> Floats:
        """Exact where nothing but the failing rows is suppressed."""
        bounds: Floats = self.table.rows / np.maximum(counts.classes(), 1)
        return bounds

    def of(self, node: Node, suppressed: Mask) -> float:
        """Count the classes."""
        return self.table.rows / max(len(self._sizes(node, suppressed)), 1)


def make_loss(name: str, table: FrequencyTable, levels: Laid, hierarchies: Hierarchies) -> Loss:
    """Return a loss by name, for the lattice that hierarchies laid over a table span."""
    require_loss(name)
    return _MAKERS[name](table, levels, hierarchies)


def require_loss(name: str) -> None:
    """Raise for a name that is not a loss."""
    if name not in _MAKERS:
        raise ParameterError(unknown_name("loss", str(name), _MAKERS))


def precision(table: FrequencyTable, levels: Laid, hierarchies: Hierarchies) -> CellLoss:
    """1 - precision: a generalized cell loses level / height, a suppressed one 1; the mean over all cells.

    Sweeney 2002; El Emam et al. 2009; Li 2019, equation 3.2, with the erratum that suppressed rows are total loss.
    A root that is written out on several levels counts once: all is lost from the first on. A column without levels
    above its values loses nothing by generalization.
    """
    cells = []
    for name, laid in levels.items():
        shares = np.minimum(np.arange(laid.height + 1) / max(hierarchies[name].top, 1), 1.0)
        cells.append(np.repeat(shares[:, None], laid.maps.shape[1], axis=1))
    return _cell_loss(table, levels, cells, [np.ones(cell.shape[1]) for cell in cells])


def entropy(table: FrequencyTable, levels: Laid, _: Hierarchies) -> CellLoss:
    """Non-uniform entropy: a cell loses -log2 Pr(value | generalized value) bits, a suppressed one -log2 Pr(value).

    Pr are shares of the whole table before suppression: n_v / n_g, n_g the rows whose value is generalized to the same,
    and n_v / n. The loss is the share of all bits that is lost. De Waal and Willenborg 1999; El Emam et al. 2009;
    Li 2019, equation 3.6 (which states the sum in bits; to divide by the bits there were does not change the order).
    A table with one value in every column has no bits to lose: 0.
    """
    cells, full = [], []
    for name, laid in levels.items():
        people = sum_by(table.column_codes(name).astype(np.int64), table.counts, laid.maps.shape[1])
        bits = np.log2(people.astype(np.float64))
        groups = [sum_by(m.astype(np.int64), people, int(m.max()) + 1)[m] for m in laid.maps]
        cells.append(np.array([np.log2(group.astype(np.float64)) - bits for group in groups]))
        full.append(np.log2(float(table.rows)) - bits)
    return _cell_loss(table, levels, cells, full)


def loss_metric(table: FrequencyTable, levels: Laid, hierarchies: Hierarchies) -> CellLoss:
    """LM: a cell generalized to a value that covers v of the column's A leaves loses (v - 1) / (A - 1).

    A suppressed cell loses 1; the loss is the mean over all cells. Iyengar 2002; Nergiz and Clifton 2008. The leaves
    are the values that the hierarchy lists and the table's; of a hierarchy that follows a rule, the table's alone. A
    column with one leaf loses nothing by generalization.
    """
    cells = []
    for name, laid in levels.items():
        covered, leaves = covered_leaves(laid, hierarchies[name])
        cells.append((covered - 1.0) / max(leaves - 1, 1))
    return _cell_loss(table, levels, cells, [np.ones(cell.shape[1]) for cell in cells])


def discernibility(table: FrequencyTable, levels: Laid, _: Hierarchies) -> Discernibility:
    """DM, in whole numbers: raises for more than three thousand million rows, whose square exceeds 63 bits."""
    if table.rows**2 >= 2**63:
        raise TooLargeError(
            f"discernibility squares class sizes, and {table.rows:,} rows are too many for 63 bits; choose another loss"
        )
    return Discernibility(table=table, levels=levels)


def covered_leaves(laid: Levels, hierarchy: Hierarchy) -> tuple[Floats, int]:
    """For every level and value of the table, how many leaves the generalized value covers; and all leaves."""
    listed = [path for path in map(hierarchy.path, getattr(hierarchy, "values", ())) if path is not None]
    extra = [code for code, value in enumerate(laid.dictionaries[0]) if not listed or hierarchy.path(value) is None]
    covered = [np.ones(laid.maps.shape[1])]
    for level in range(1, laid.height + 1):
        general = [laid.dictionaries[level][code] for code in laid.maps[level].tolist()]
        found = Counter(path[level - 1] for path in listed)
        found.update(general[code] for code in extra)
        covered.append(np.array([found[value] for value in general], dtype=np.float64))
    return np.array(covered), len(listed) + len(extra)


def _cell_loss(table: FrequencyTable, levels: Laid, cells: Sequence[Floats], full: Sequence[Floats]) -> CellLoss:
    codes = np.column_stack([table.column_codes(column) for column in levels])
    return CellLoss(codes=codes, counts=table.counts, cells=tuple(cells), full=tuple(full))


_MAKERS: dict[str, Callable[[FrequencyTable, Laid, Hierarchies], Loss]] = {
    "precision": precision,
    "entropy": entropy,
    "loss_metric": loss_metric,
    "discernibility": discernibility,
    "average_class_size": lambda table, levels, _: AverageClassSize(table=table, levels=levels),
}
LOSSES = tuple(_MAKERS)
SHARES = ("precision", "entropy", "loss_metric")  # on a scale from 0 to 1
