"""The utilities of all nodes of a lattice for the exponential mechanism, and their interpolation."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError, TooLargeError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.hierarchy import Levels

_MOST_NODES = 5_000_000
Utilities = npt.NDArray[np.float64]
Interpolation = None | Literal["levels"] | tuple[str, int]


def lattice_shape(levels: Mapping[str, Levels]) -> tuple[int, ...]:
    """Return the number of levels of every column; raise TooLargeError if the lattice has too many nodes."""
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
    """Return the number of rows of the sample that every node suppresses."""
    from privacy_plugin.generalization.walk.counts import suppressed_counts  # loads numba

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


def interpolated(utilities: Utilities, columns: tuple[str, ...], interpolation: Interpolation) -> Utilities:
    """Replace some nodes' utilities by the mean of their parents' and children's (Li 2019, section 3.3).

    "levels": the nodes on every other level of the lattice; (column, level): the nodes with that level. For
    comparison with Li 2019 only: computing every node is faster than this shortcut.
    """
    if interpolation is None:
        return utilities
    grid = np.ogrid[tuple(slice(levels) for levels in utilities.shape)]
    if interpolation == "levels":
        replaced = np.asarray(sum(grid) % 2 == 1)
    else:
        column, level = _dictionary_choice(interpolation, columns, utilities.shape)
        replaced = np.broadcast_to(grid[column] == level, utilities.shape)
    total = np.zeros_like(utilities)
    count = np.zeros(utilities.shape, dtype=np.int64)
    usable = np.where(replaced, 0.0, utilities)
    for axis in range(utilities.ndim):
        for step in (1, -1):
            neighbour, valid = _shifted(usable, ~replaced, axis, step)
            total += neighbour
            count += valid
    means = np.divide(total, count, out=utilities.copy(), where=count > 0)
    return np.where(replaced, means, utilities)


def require_interpolation(interpolation: Interpolation, columns: tuple[str, ...], shape: tuple[int, ...]) -> None:
    """Raise ParameterError if the interpolation does not fit this lattice."""
    if interpolation not in (None, "levels"):
        _dictionary_choice(interpolation, columns, shape)


def _dictionary_choice(given: Any, columns: tuple[str, ...], shape: tuple[int, ...]) -> tuple[int, int]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise ParameterError("interpolation must be None, 'levels' or a pair (column, level)")
    name, level = given
    if name not in columns:
        raise ParameterError(unknown_name("column of interpolation", str(name), columns))
    position = columns.index(name)
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < shape[position]:
        raise ParameterError(f"the level of {name!r} must be a whole number from 0 to {shape[position] - 1}")
    return position, level


def _shifted(
    values: Utilities, valid: npt.NDArray[np.bool_], axis: int, step: int
) -> tuple[Utilities, npt.NDArray[np.bool_]]:
    """Return the values of the neighbour one level up or down along an axis; zero and not valid without one."""
    moved, there = np.zeros_like(values), np.zeros(values.shape, dtype=bool)
    source, target = [slice(None)] * values.ndim, [slice(None)] * values.ndim
    source[axis], target[axis] = (slice(1, None), slice(None, -1)) if step == 1 else (slice(None, -1), slice(1, None))
    moved[tuple(target)], there[tuple(target)] = values[tuple(source)], valid[tuple(source)]
    return moved, there
