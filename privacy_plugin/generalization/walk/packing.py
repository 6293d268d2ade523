"""Pack coded rows into the sorted integer keys and tables that the partition recursion walks over.

Attributes get their leaves in hierarchy order, and an order among themselves that makes the recursion fast. A key holds
the digits of the leading attributes, then the rank of what the row has in the last few attributes (the *tail*, whose
nodes are counted together by table). Where this exceeds 62 bits the key is cut into segments: the rest of a row is
replaced by its rank among the distinct rests (a *link*), which keeps the order, and the recursion looks the rest up
when it gets there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.errors import HierarchyError, TooLargeError

Integers = NDArray[np.int64]
Codes = NDArray[np.integer]

_SMALL_DOMAIN = 16
_KEY_BITS = 62
_TAIL_NODES = 48  # with more, the table costs more than the recursion it saves (measured on census rows)
_TAIL_CELLS = 1_000_000  # classes of all nodes, with their histograms, so that they stay in the cache
_FEW_CELLS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One attribute in hierarchy order, with only the levels that differ on the rows at hand."""

    digits: Integers  # of every row
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
    """Return the positions of the attributes that have a choice of level, in the order of the recursion.

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


# Columns of `Plan.attributes`, which has a line for every leading attribute and one more for the tail: position and
# mask of the digit in its segment's key; number of leaves and levels; first place in `maps`; the largest part the
# attribute can get (its distinct suffixes); the first place of its working space (two halves as large as that) and of
# its runs; where a segment begins, the first place in `link_values` (elsewhere -1) and of the space for the looked-up
# keys; the distance of two cells along the attribute; for plain attributes, the first cell of what holds below a
# prefix. With rules, also the largest number of list entries of a part, and where its lists are kept.
SHIFT, MASK, LEAVES, LEVELS, MAPS, CAPACITY, BUFFER, RUNS, LINK, LINK_BUFFER, STRIDE, PREFIX = range(12)
POOL_CAPACITY, POOL = 12, 13
PLAN_FIELDS = 14


class Plan(NamedTuple):
    """What the compiled walk reads. Few arrays: every one of them costs time to compile and to hand on."""

    attributes: Integers
    maps: Integers  # all level maps of the leading attributes, one after the other
    link_values: Integers
    tail_table: NDArray[np.uint32]  # (distinct tails, nodes of the tail): classes, numbered through all nodes
    tail_nodes: Integers  # see parts.py
    becomes: Integers
    tail: int  # number of leading attributes
    tail_mask: int
    plain: int  # attributes before this one have a cell for every level, later ones 2 * levels - 1
    block: int  # cells below the plain attributes
    block_start: int


@dataclass(frozen=True, kw_only=True)
class PackedLattice:
    """A table ready to be walked, and how the walk's cells become one number for every node."""

    plan: Plan
    keys: Integers  # the sorted distinct keys, then working space
    counts: Integers
    rows: int
    row_of: Integers  # the place of every line given
    cells: int
    runs: int
    tail_classes: int
    free: tuple[int, ...]  # the caller's attributes in the order of the cells' axes
    level_of: tuple[Integers, ...]
    tail_shape: tuple[int, ...]

    def unfold(self, cells: Integers) -> Integers:
        """Sum, for every node, the cells that hold for it; put attributes and levels back as the caller had them.

        Along a leading attribute with L levels, cell l < L holds for all levels from l on, cell L + l for l alone.
        """
        plan, levels = self.plan, self.plan.attributes[:-1, LEVELS].tolist()
        shape = [n if i < plan.plain else 2 * n - 1 for i, n in enumerate(levels)]
        nodes = cells[plan.block_start :].reshape(*shape, -1)
        for axis in range(plan.plain, plan.tail):
            moved, count = np.moveaxis(nodes, axis, 0), levels[axis]
            summed = np.cumsum(moved[:count], axis=0)
            summed[: count - 1] += moved[count:]
            nodes = np.moveaxis(summed, 0, axis)
        result = nodes[..., 1:] + nodes[..., :1]
        for depth, start in enumerate(plan.attributes[: plan.plain, PREFIX].tolist()):
            prefix = cells[start : start + prod(levels[:depth])]
            result += prefix.reshape(*levels[:depth], *[1] * (plan.tail - depth + 1))
        result = result.reshape([n for n in levels if n > 1] + list(self.tail_shape))
        fixed = [axis for axis in range(len(self.level_of)) if axis not in self.free]
        axes = np.argsort([*fixed, *self.free])
        ordered = result.reshape([1] * len(fixed) + list(result.shape)).transpose(axes)
        return np.ascontiguousarray(ordered[np.ix_(*self.level_of)])


def _bits(size: int) -> int:
    return (size - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class _Tail:
    first: int
    ranks: Integers  # of every row's tail among the distinct ones
    table: NDArray[np.uint32]
    nodes: Integers
    becomes: Integers
    classes: int


def _choose_tail(attributes: Sequence[Attribute], rows: int, width: int) -> _Tail:
    """Take attributes from the end while the nodes, and the classes times `width`, stay few."""
    first = len(attributes)
    ranks, tails = np.zeros(rows, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    while first > 0 and attributes[first - 1].levels > 1:
        attribute = attributes[first - 1]
        nodes = prod(a.levels for a in attributes[first - 1 :])
        if nodes > _TAIL_NODES:
            break
        distinct, wider = np.unique(attribute.digits * len(tails) + ranks, return_inverse=True)
        if nodes * len(distinct) * width > _TAIL_CELLS:
            break
        tails = np.column_stack([distinct // len(tails), tails[distinct % len(tails)]])
        ranks, first = wider.ravel(), first - 1
    return _tabulate_tail(attributes[first:], first, ranks, tails)


def _tabulate_tail(attributes: Sequence[Attribute], first: int, ranks: Integers, tails: Integers) -> _Tail:
    """Number the classes of the distinct tails at every node, and say which finer node's classes they are made from."""
    shape = [a.levels for a in attributes]
    columns: list[Integers] = []
    lines: list[tuple[int, int, int]] = []
    becomes: list[Integers] = []
    classes = 0
    for node in np.ndindex(*shape):
        groups = np.zeros(len(tails), dtype=np.int64)
        for attribute, level, digits in zip(attributes, node, tails.T, strict=True):
            mixed = groups * attribute.leaves + attribute.maps[level][digits]
            groups = np.unique(mixed, return_inverse=True)[1].ravel()
        finer = [
            np.ravel_multi_index(np.subtract(node, step), shape)
            for step in np.eye(len(shape), dtype=int)
            if (np.subtract(node, step) >= 0).all()
        ]
        source = min(finer, key=lambda n: int(columns[n].max() - columns[n].min()), default=-1)
        lines.append((int(source), classes, sum(map(len, becomes))))
        if source >= 0:
            start = lines[source][1]
            listing = np.empty(int(columns[source].max()) + 1 - start, dtype=np.int64)
            listing[columns[source] - start] = classes + groups
            becomes.append(listing)
        columns.append(classes + groups)
        classes += int(groups.max()) + 1
    return _Tail(
        first=first,
        ranks=ranks,
        table=np.ascontiguousarray(np.array(columns).T.astype(np.uint32)),
        nodes=np.array(lines, dtype=np.int64),
        becomes=np.concatenate([np.zeros(0, dtype=np.int64), *becomes]),
        classes=classes,
    )


@dataclass(frozen=True, kw_only=True)
class _Keys:
    keys: Integers
    tail_mask: int
    shift: list[int]
    capacity: list[int]
    link_start: list[int]
    link_values: Integers


def _pack_keys(leading: Sequence[Attribute], tail: _Tail) -> _Keys:
    """Pack from the tail up, cutting off a segment whenever the next digit does not fit."""
    count, used, rest = len(leading), _bits(len(tail.table)), tail.ranks.copy()
    tail_mask = (1 << used) - 1
    shift, capacity, link_start = [0] * count, [0] * (count + 1), [-1] * (count + 1)
    link_values = np.zeros(0, dtype=np.int64)
    capacity[count] = len(tail.table)
    for position in reversed(range(count)):
        attribute = leading[position]
        bits = _bits(attribute.leaves)
        if used + bits > _KEY_BITS:
            values, rest = np.unique(rest, return_inverse=True)
            rest = rest.ravel()
            link_start[position + 1] = len(link_values)
            link_values = np.concatenate([link_values, values])
            used = _bits(len(values))
            if used + bits > _KEY_BITS:
                raise TooLargeError(f"an attribute of {attribute.leaves:,} values does not fit a 62 bit key")
        shift[position] = used
        rest |= attribute.digits << used
        used += bits
        capacity[position] = len(np.unique(rest))
    return _Keys(
        keys=rest,
        tail_mask=tail_mask,
        shift=shift,
        capacity=capacity,
        link_start=link_start,
        link_values=link_values,
    )


@dataclass(frozen=True, kw_only=True)
class _Layout:
    stride: list[int]
    prefix_start: list[int]
    plain: int
    block: int
    block_start: int
    cells: int


def _lay_out(levels: Sequence[int], tail_nodes: int) -> _Layout:
    """Give as many attributes as memory allows the cells that hold for whole ranges of levels, from the tail up."""
    limit = max(_FEW_CELLS, 2 * prod(levels) * tail_nodes)
    for plain in range(len(levels) + 1):
        block = prod(2 * n - 1 for n in levels[plain:]) * (tail_nodes + 1)
        if prod(levels[:plain]) * block <= limit:
            break
    prefix_start = [sum(prod(levels[:n]) for n in range(depth)) for depth in range(plain)]
    block_start = sum(prod(levels[:n]) for n in range(plain))
    stride = [prod(2 * n - 1 for n in levels[i + 1 :]) * (tail_nodes + 1) for i in range(len(levels))]
    return _Layout(
        stride=stride,
        prefix_start=prefix_start,
        plain=plain,
        block=block,
        block_start=block_start,
        cells=block_start + prod(levels[:plain]) * block,
    )


def _starts(sizes: Sequence[int] | Integers, first: int = 0) -> Integers:
    """Where areas of these sizes begin, one after the other; the last element is where they end."""
    return first + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def pack_lattice(*, codes: Codes, counts: Integers, level_maps: Sequence[Codes], width: int = 1) -> PackedLattice:
    """Recode, order, pack, deduplicate and sort rows; cost: one sort of the rows for every attribute."""
    arranged = [arrange_attribute(codes=codes[:, i], level_map=m) for i, m in enumerate(level_maps)]
    free = recursion_order(arranged)
    fixed = [a for a in arranged if a.levels == 1 and a.leaves > 1]
    attributes = ([join_fixed(fixed)] if fixed else []) + [arranged[i] for i in free]
    tail = _choose_tail(attributes, len(codes), width)
    leading = attributes[: tail.first]
    packed = _pack_keys(leading, tail)
    layout = _lay_out([a.levels for a in leading], tail.table.shape[1])
    keys, row_of = np.unique(packed.keys, return_inverse=True)
    capacity, linked = np.array(packed.capacity), np.array(packed.link_start) >= 0
    buffers = _starts(2 * capacity[:-1], len(keys))
    link_buffers = _starts(np.where(linked, capacity, 0), int(buffers[-1]))
    runs = _starts([a.leaves + 1 for a in leading])
    table = np.zeros((len(leading) + 1, PLAN_FIELDS), dtype=np.int64)
    table[:-1, SHIFT], table[:, LINK], table[:, CAPACITY] = packed.shift, packed.link_start, packed.capacity
    table[:-1, MASK] = [(1 << _bits(a.leaves)) - 1 for a in leading]
    table[:-1, LEAVES] = [a.leaves for a in leading]
    table[:-1, LEVELS] = [a.levels for a in leading]
    table[:, MAPS] = _starts([a.maps.size for a in leading])
    table[:, BUFFER], table[:, RUNS], table[:, LINK_BUFFER] = buffers, runs, link_buffers[:-1]
    table[:-1, STRIDE], table[: layout.plain, PREFIX] = layout.stride, layout.prefix_start
    space, amounts = np.empty((2, int(link_buffers[-1])), dtype=np.int64)
    space[: len(keys)] = keys
    amounts[: len(keys)] = 0
    np.add.at(amounts, row_of.ravel(), counts)
    plan = Plan(
        attributes=table,
        maps=np.concatenate([np.zeros(0, dtype=np.int64), *[a.maps.ravel() for a in leading]]),
        link_values=packed.link_values,
        tail_table=tail.table,
        tail_nodes=tail.nodes,
        becomes=tail.becomes,
        tail=tail.first,
        tail_mask=packed.tail_mask,
        plain=layout.plain,
        block=layout.block,
        block_start=layout.block_start,
    )
    return PackedLattice(
        plan=plan,
        keys=space,
        counts=amounts,
        rows=len(keys),
        row_of=row_of.ravel(),
        cells=layout.cells,
        runs=int(runs[-1]),
        tail_classes=tail.classes,
        free=tuple(free),
        level_of=tuple(attribute.level_of for attribute in arranged),
        tail_shape=tuple(a.levels for a in attributes[tail.first :]),
    )
