"""Regions for people whose rows differ: one level for each column, written with the most specific label of each class.

Which classes meet the requirements is decided by counting people at every combination of levels. A class is then
written with the lowest labels that cover its rows, which are often below those levels; that changes no class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import InfeasibleError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.generalization.label_trees import label_trees
from privacy_plugin.generalization.local_cells import Combinations, combinations
from privacy_plugin.generalization.node_search import Judged
from privacy_plugin.generalization.people_lattice import PeopleLattice
from privacy_plugin.generalization.regions import Regions, make_regions

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleRegions:
    """The regions of a table, the people who are suppressed, and the loss metric of every column."""

    regions: Regions
    suppressed: int
    losses: Mapping[str, float]


def regions_of_people(lattice: PeopleLattice, best: Judged, *, observed: bool) -> PeopleRegions:
    """Make a region of every class at a node, and judge people by what is written."""
    table, gone = lattice.table, lattice.suppressed_people(best.node)
    kept = ~gone[table.codes[:, -1]]
    found = combinations(table, lattice.columns)
    dictionaries = dict(zip(lattice.columns, found.dictionaries, strict=True))
    trees = label_trees(dictionaries, lattice.hierarchies, {})
    nodes = [tree.nodes[level][found.codes[:, c]] for c, (tree, level) in enumerate(zip(trees, best.node, strict=True))]
    classes, _ = group(*pack(nodes, [tree.nowhere + 1 for tree in trees]))
    rows = sum_by(found.lines[kept], table.counts[kept], len(found))
    _, numbers = np.unique(classes[rows > 0], return_inverse=True)
    classes = np.full(len(found), -1, dtype=np.int64)
    classes[rows > 0] = numbers
    regions = make_regions(found, classes, trees, lattice.hierarchies, observed=observed)
    assigned = regions.assign(found, lattice.hierarchies)
    regions = replace(regions, rows=sum_by(assigned[rows > 0], rows[rows > 0], len(regions)))
    suppressed = lattice.suppress_from(labelled(table, found, regions, assigned), gone)
    if int(suppressed.sum()) > best.suppressed:  # classes that are written alike are one
        raise InfeasibleError("classes that are written alike fail together; use method: generalize")
    lost = regions.rows @ regions.column_losses + int(table.counts[~kept].sum())
    losses = {
        name: lattice.loss_of_all(float(loss) / table.rows) for name, loss in zip(lattice.columns, lost, strict=True)
    }
    return PeopleRegions(regions=regions, suppressed=best.suppressed, losses=losses)


def labelled(table: FrequencyTable, found: Combinations, regions: Regions, region_of: Integers) -> FrequencyTable:
    """Return the rows with the labels of their regions; rows in no region belong to people who are left out."""
    return regions.released(table, np.maximum(region_of[found.lines], 0))


def people_outside(table: FrequencyTable, found: Combinations, region_of: Integers) -> Mask:
    """Return which people have a row in no region."""
    gone = np.zeros(len(table.dictionaries[-1]), dtype=bool)
    gone[table.codes[region_of[found.lines] < 0, -1]] = True
    return gone
