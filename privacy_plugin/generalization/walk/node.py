"""The classes of one node of a generalization lattice, for a search that looks at few nodes."""

from collections.abc import Sequence

import numpy as np
from numba import njit

from privacy_plugin.errors import ParameterError
from privacy_plugin.generalization.walk.order import Codes, Integers

_LARGEST_KEY = 2**62
_DIRECT = 1 << 16  # keys below this, or below four times the rows, are looked up without hashing


@njit(cache=True)
def _add_groups(codes: Integers, positions: Integers, starts: Integers, groups: Integers, keys: Integers) -> None:
    """Add to every line's key the numbers of its groups in some attributes, listed in `groups` from `starts` on."""
    for row in range(len(codes)):
        key = keys[row]
        for place in range(len(positions)):
            key += groups[starts[place] + codes[row, positions[place]]]
        keys[row] = key


@njit(cache=True)
def _number_by_place(keys: Integers, counts: Integers, places: Integers, sizes: Integers) -> int:
    """Replace keys by class numbers in order of appearance, with a place for every key; return how many there are."""
    classes = 0
    for row in range(len(keys)):
        number = places[keys[row]]
        if number < 0:
            number = classes
            places[keys[row]] = number
            classes += 1
        keys[row] = number
        sizes[number] += counts[row]
    return classes


@njit(cache=True)
def _number_by_hash(
    keys: Integers, counts: Integers, places: Integers, owners: Integers, bits: int, sizes: Integers
) -> int:
    """Do the same with a hash table of 2^bits places; `owners` has their keys."""
    classes, last, shift = 0, len(places) - 1, np.uint64(64 - bits)
    for row in range(len(keys)):
        key = keys[row]
        place = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        while places[place] >= 0 and owners[place] != key:
            place = (place + 1) & last
        number = places[place]
        if number < 0:
            number = classes
            places[place] = number
            owners[place] = key
            classes += 1
        keys[row] = number
        sizes[number] += counts[row]
    return classes


def _number(keys: Integers, size: int, counts: Integers) -> tuple[Integers, Integers]:
    sizes = np.zeros(len(keys), dtype=np.int64)
    if size <= max(_DIRECT, 4 * len(keys)):
        classes = _number_by_place(keys, counts, np.full(size, -1, dtype=np.int64), sizes)
    else:
        bits = max(2 * len(keys), 2).bit_length()
        places = np.full(1 << bits, -1, dtype=np.int64)
        classes = _number_by_hash(keys, counts, places, np.empty_like(places), bits, sizes)
    return keys, sizes[:classes].copy()


def node_class_sizes(
    codes: Codes, counts: Integers, level_maps: Sequence[Codes], *, node: Sequence[int]
) -> tuple[Integers, Integers]:
    """For the node with these levels, the class of every line of `codes`, and the rows of every class.

    Classes are numbered in order of appearance. Cost: one look-up a cell and one hash a line.

    >>> codes, maps = np.array([[0], [2], [1]]), [np.array([[0, 1, 2], [0, 0, 1]])]
    >>> node_class_sizes(codes, np.array([1, 4, 1]), maps, node=(1,))
    (array([0, 1, 0]), array([2, 4]))
    """
    if len(node) != len(level_maps) or not all(0 <= n < len(m) for n, m in zip(node, level_maps, strict=False)):
        raise ParameterError(f"node {tuple(node)} is not a level of each of the {len(level_maps)} hierarchies")
    lines = np.ascontiguousarray(codes, dtype=np.int64)
    keys, size = np.zeros(len(lines), dtype=np.int64), 1
    positions: list[int] = []
    tables: list[Integers] = []

    def add_pending() -> None:
        starts = np.cumsum([0, *map(len, tables)])[:-1]
        if positions:
            _add_groups(lines, np.array(positions), starts, np.concatenate(tables), keys)
        positions.clear()
        tables.clear()

    for position, (level, level_map) in enumerate(zip(node, level_maps, strict=True)):
        names, groups = np.unique(level_map[level], return_inverse=True)
        if len(names) == 1:
            continue
        if size * len(names) > _LARGEST_KEY:
            add_pending()
            keys, sizes = _number(keys, size, counts)
            size = len(sizes)
        positions.append(position)
        tables.append(groups.ravel().astype(np.int64) * size)
        size *= len(names)
    add_pending()
    return _number(keys, size, counts)
