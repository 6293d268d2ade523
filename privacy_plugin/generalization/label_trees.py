"""Label trees: the labels a hierarchy has for the values at hand, what they cost, and the lowest common one of two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from privacy_plugin.frequency.grouping import Codes
from privacy_plugin.frequency.hierarchy import Hierarchy, Levels
from privacy_plugin.frequency.values import Value, label
from privacy_plugin.generalization.losses import Floats, covered_leaves

_LARGEST_TABLE = 1500  # nodes; with more, lowest common nodes are looked for level by level


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTree:
    """The labels of one column. Nodes 0, 1, ... are the values; the last node is above all labels and not a label.

    Labels that cover the same values are one node, which has the most specific of them.
    """

    column: str
    nodes: Codes
    """The node of every value on every level; above the highest level that may be used, the last node."""
    losses: Floats
    """Loss metric of every node: (leaves that its label covers - 1) / (leaves - 1)."""
    levels: tuple[int, ...]
    """The level of every node's label."""
    labels: tuple[Value, ...] = field(repr=False)

    @property
    def nowhere(self) -> int:
        """The node above all labels."""
        return len(self.labels)

    @property
    def texts(self) -> list[str | None]:
        """What is written for every node; a missing value stays missing."""
        return [None if value is None else label(value) for value in self.labels]

    def meeting_table(self) -> Codes | None:
        """Return the lowest common node of every two, or None where the table would be too large."""
        size = self.nowhere + 1
        if size > _LARGEST_TABLE:
            return None
        table, ancestors = np.full((size, size), self.nowhere, dtype=np.int32), self.ancestors()
        for level in range(len(self.nodes) - 1, -1, -1):
            above = ancestors[:, level]
            same = (above[:, None] == above[None, :]) & (above[:, None] != self.nowhere)
            table = np.where(same, above[:, None], table)
        return table.astype(np.int32)

    def ancestors(self) -> Codes:
        """Return the node that every node is below of on every level; up to its own level a node is itself."""
        size = self.nowhere + 1
        found = np.repeat(np.arange(size, dtype=np.int32)[:, None], len(self.nodes), axis=1)
        example = np.zeros(size, dtype=np.int64)
        for level in range(len(self.nodes) - 1, -1, -1):
            example[self.nodes[level]] = np.arange(self.nodes.shape[1])
        for node in range(self.nowhere):
            for level in range(self.levels[node], len(self.nodes)):
                found[node, level] = self.nodes[level, example[node]]
        return found


def label_tree(column: str, laid: Levels, hierarchy: Hierarchy, highest: int | None = None) -> LabelTree:
    """Build the tree of the labels up to a level."""
    covered, leaves = covered_leaves(laid, hierarchy)
    count, top = laid.maps.shape[1], laid.height if highest is None else highest
    nodes = np.empty((laid.height + 1, count), dtype=np.int32)
    nodes[0] = np.arange(count)
    losses, levels, labels = [0.0] * count, [0] * count, list(laid.dictionaries[0])
    for level in range(1, top + 1):
        groups = laid.maps[level]
        number_below = np.zeros(len(laid.dictionaries[level]), dtype=np.int64)
        pairs = np.unique(np.column_stack([groups, nodes[level - 1]]), axis=0)
        np.add.at(number_below, pairs[:, 0], 1)
        only = np.zeros(len(number_below), dtype=np.int64)
        only[pairs[:, 0]] = pairs[:, 1]
        example = np.zeros(len(number_below), dtype=np.int64)
        example[groups] = np.arange(count)
        named = np.empty(len(number_below), dtype=np.int32)
        for group, below in enumerate(number_below.tolist()):
            if below == 1:  # the same values as the label below
                named[group] = only[group]
                continue
            named[group] = len(labels)
            losses.append((float(covered[level][example[group]]) - 1) / max(leaves - 1, 1))
            levels.append(level)
            labels.append(laid.dictionaries[level][group])
        nodes[level] = named[groups]
    nodes[top + 1 :] = len(labels)
    return LabelTree(column=column, nodes=nodes, losses=np.array(losses), levels=tuple(levels), labels=tuple(labels))


def label_trees(
    dictionaries: Mapping[str, Sequence[Value]], hierarchies: Mapping[str, Hierarchy], highest: Mapping[str, int]
) -> tuple[LabelTree, ...]:
    """Build the trees of all columns over the values at hand."""
    return tuple(
        label_tree(name, hierarchy.levels(tuple(dictionaries[name]), column=name), hierarchy, highest.get(name))
        for name, hierarchy in hierarchies.items()
    )
