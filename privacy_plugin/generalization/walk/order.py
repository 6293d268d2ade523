"""Attributes as the partition recursion wants them: leaves in hierarchy order, attributes in a fast order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.errors import HierarchyError

Integers = NDArray[np.int64]
Codes = NDArray[np.integer]

_SMALL_DOMAIN = 16


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute in hierarchy order, with only the levels that differ on the rows at hand."""

    digits: Integers  # one a row
    maps: Integers  # (levels, leaves); every line starts at 0 and never falls
    level_of: Integers  # the caller's level -> line of maps

    @property
    def levels(self) -> int:
        """How many levels differ."""
        return int(self.maps.shape[0])

    @property
    def leaves(self) -> int:
        """How many leaves occur."""
        return int(self.maps.shape[1])


def arrange_attribute(*, codes: Codes, level_map: Codes) -> Attribute:
    """Recode an attribute so that every group of every level is a range of leaves.

    Only leaves that occur are kept; leaves that level 0 does not tell apart become one; a level that groups the
    leaves like the level below is left out. A level that splits a group of the level below is an error, because a
    class would then shrink by generalizing.
    """
    present = np.flatnonzero(np.bincount(codes, minlength=level_map.shape[1]))
    maps = level_map[:, present]
    order = np.lexsort(tuple(maps))  # the top level decides first
    changes = np.diff(maps[:, order], axis=1) != 0
    for level in range(len(maps)):
        scattered = np.count_nonzero(changes[level]) + 1 != len(np.unique(maps[level]))  # by what a level above splits
        if scattered or (level > 0 and (changes[level] & ~changes[level - 1]).any()):
            raise HierarchyError(f"a hierarchy of {len(maps)} levels splits a group again at a higher level")
    kept = [n for n in range(len(maps)) if n == 0 or not np.array_equal(changes[n], changes[n - 1])]
    monotone = np.zeros((len(kept), len(present)), dtype=np.int64)
    np.cumsum(changes[kept], axis=1, out=monotone[:, 1:])
    leaf_of = np.zeros(level_map.shape[1], dtype=np.int64)
    leaf_of[present[order]] = monotone[0]
    first = np.flatnonzero(np.concatenate([[True], changes[0]]))
    level_of = np.searchsorted(np.array(kept), np.arange(len(maps)), side="right") - 1
    return Attribute(digits=leaf_of[codes], maps=monotone[:, first], level_of=level_of)


def join_fixed(attributes: Sequence[Attribute]) -> Attribute:
    """Join attributes that leave no choice of level into one, whose leaves are the combinations that occur."""
    digits = attributes[0].digits
    for attribute in attributes[1:]:
        digits = np.unique(digits * attribute.leaves + attribute.digits, return_inverse=True)[1].ravel()
    leaves = int(digits.max()) + 1
    return Attribute(digits=digits, maps=np.arange(leaves)[None, :], level_of=np.zeros(1, dtype=np.int64))


def recursion_order(attributes: Sequence[Attribute]) -> list[int]:
    """Positions of the attributes that have a choice of level, in the order of the recursion.

    Descending number of leaves; last, of those with a small domain, the one with the most levels. The order decides
    the time (bad ones cost twice as much), never the result.
    """
    free = [position for position, attribute in enumerate(attributes) if attribute.levels > 1]
    free.sort(key=lambda position: -attributes[position].leaves)
    small = [position for position in free if attributes[position].leaves <= _SMALL_DOMAIN] or free[-1:]
    if small:
        last = max(small, key=lambda position: (attributes[position].levels, -attributes[position].leaves))
        free.remove(last)
        free.append(last)
    return free
