"""What every node of a lattice is worth to the exponential mechanism: more, the less is generalized and suppressed."""

from collections.abc import Mapping

import numpy as np

from privacy_plugin.anonymizers.epsilon_safe.interpolation import Utilities
from privacy_plugin.errors import TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Levels

_MOST_NODES = 5_000_000


def lattice_shape(levels: Mapping[str, Levels]) -> tuple[int, ...]:
    """Return how many levels every column has; refuse lattices whose nodes cannot all be weighed."""
    shape = tuple(level.height + 1 for level in levels.values())
    nodes = int(np.prod(shape, dtype=np.float64))
    if nodes > _MOST_NODES:
        raise TooLargeError(f"the lattice has {nodes:,} nodes, more than {_MOST_NODES:,}; give fewer columns or levels")
    return shape


def node_utilities(
    table: FrequencyTable, levels: Mapping[str, Levels], kept: Integers, *, k: int, penalty: float, expected: int
) -> Utilities:
    """Return -(gen + penalty * suppressed / expected) for every node of the lattice."""
    suppressed = suppressed_at_all(table, levels, kept, k=k)
    return -(generalization_of_all(lattice_shape(levels)) + penalty * suppressed / expected)


def suppressed_at_all(table: FrequencyTable, levels: Mapping[str, Levels], kept: Integers, *, k: int) -> Integers:
    """Return how many rows of the sample every node suppresses."""
    from privacy_plugin.generalization.walk.counts import suppressed_counts  # compiled code is loaded where it is used

    present = kept > 0
    return suppressed_counts(table.codes[present], kept[present], [level.maps for level in levels.values()], k=k)


def generalization_of_all(shape: tuple[int, ...]) -> Utilities:
    """Return the mean of level / height for every node."""
    total = np.zeros(shape)
    for axis, levels in enumerate(shape):
        share = np.arange(levels) / max(levels - 1, 1)
        total += share.reshape([-1 if position == axis else 1 for position in range(len(shape))])
    return total / len(shape)


def generalization_of(node: Mapping[str, int], levels: Mapping[str, Levels]) -> float:
    """Return the mean of level / height for one node."""
    shares = [level / max(levels[name].height, 1) for name, level in node.items()]
    return sum(shares) / len(shares)
