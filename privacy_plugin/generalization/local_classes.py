"""Cells and classes of the local search, as compiled code sees them.

A *cell* is one combination of quasi-identifiers with its rows; a *class* is a set of cells, whose label in a column is
the lowest common node of its cells in the label tree. What a class costs is its size times the summed loss of its
labels.

Classes lie in *blocks* by the coarse group of their labels in a few columns: the meeting of a label with anything in a
block costs at least a bound that two table lookups give, so most blocks are never looked into.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.generalization.walk.rules import (
    CLOSENESS,
    DENOMINATOR,
    DISTINCT,
    END,
    ENTROPY,
    FIRST,
    GROUND,
    GROUND_END,
    GROUP,
    HIGHEST,
    HIGHEST_DENOMINATOR,
    KIND,
    MEMBERS,
    NEEDED,
    NUMERATOR,
    ORDERED,
    PRESENCE,
    REFERENCE,
    ROWS,
    meets_all,
)

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

FORBIDDEN = 1e9  # loss of the node above all labels: a class that would need it does not exist
NEXT_TO_NOTHING = 1e-9
CLASSES, BLOCKS, FREE = range(3)  # registers of `Classes`: ids in use, blocks in use, ids that are free again


class Trees(NamedTuple):
    """The label trees of all columns. Lowest common nodes come from a table, or level by level where it is too big."""

    loss: Floats  # of every node, weighted; one column after the other
    first: Integers  # where a column begins in `loss`
    nodes: Integers  # how many nodes a column has; the last one is above all labels
    table: Codes
    table_at: Integers  # where a column begins in `table`, -1 where it has none
    ancestors: Codes
    ancestors_at: Integers
    height: Integers


class Cells(NamedTuple):
    """Combinations of quasi-identifiers: leaves, rows, and the counts of their symbols as lists."""

    leaf: Codes
    rows: Integers
    start: Integers
    symbol: Integers
    amount: Integers


class Rules(NamedTuple):
    """What every class has to meet: at least k rows, and the rules of the table."""

    k: int
    table: Integers
    ground: Integers


class Blocks(NamedTuple):
    """Columns by which classes lie in blocks, and bounds of a label's loss with any label of a group."""

    columns: Integers
    bound: Floats
    bound_at: Integers
    groups: Integers  # how many groups a column has
    group: Integers  # group of every node
    group_at: Integers


class Classes(NamedTuple):
    """Classes, their cells as linked lists, and the blocks they lie in."""

    label: Codes
    size: Integers
    loss: Floats
    histogram: Integers
    lacking: Floats
    head: Integers
    of: Integers  # the class of a cell
    after: Integers
    before: Integers
    block: Integers  # the block of a class
    block_after: Integers
    block_before: Integers
    block_head: Integers
    block_groups: Integers
    block_of_key: Integers
    free: Integers
    registers: Integers
    bounds: Floats  # room: the bound of every block
    room: Integers  # room: one histogram


@njit()
def meet(trees: Trees, column: int, one: int, other: int) -> int:
    """Return the lowest common node of two nodes of a column."""
    at = trees.table_at[column]
    if at >= 0:
        return int(trees.table[at + one * trees.nodes[column] + other])
    at, height = trees.ancestors_at[column], trees.height[column]
    for level in range(height):
        found = trees.ancestors[at + one * height + level]
        if found == trees.ancestors[at + other * height + level]:
            return int(found)
    return int(trees.nodes[column] - 1)


@njit()
def passes(histograms: Integers, line: int, size: int, rules: Rules) -> bool:
    """Tell whether a class meets everything; one without rows does not exist."""
    if size < rules.k or size == 0:
        return False
    return len(rules.table) == 0 or meets_all(histograms, line, rules.table, rules.ground, size)


@njit()
def _lacking_closeness(histogram: Integers, line: int, rules: Rules, rule: int, size: int) -> float:
    table, ground = rules.table, rules.ground
    rows, values, distance = float(table[rule, ROWS]), table[rule, END] - table[rule, FIRST], 0.0
    if table[rule, KIND] == ORDERED:
        surplus = 0.0
        for value in range(values - 1):
            surplus += histogram[line, table[rule, FIRST] + value]
            surplus -= ground[table[rule, GROUND], value, REFERENCE] * size / rows
            distance += abs(surplus)
        distance /= max(values - 1, 1)
    else:
        for level in range(table[rule, GROUND], table[rule, GROUND_END]):
            for value in range(values):
                ground[level, ground[level, value, GROUP], MEMBERS] += histogram[line, table[rule, FIRST] + value]
            for group in range(values):
                distance += abs(ground[level, group, MEMBERS] - ground[level, group, REFERENCE] * size / rows)
                ground[level, group, MEMBERS] = 0
        distance /= 2 * (table[rule, GROUND_END] - table[rule, GROUND])
    return float(max(0.0, distance - size * (table[rule, NUMERATOR] / table[rule, DENOMINATOR])))


@njit()
def _lacking_values(histogram: Integers, line: int, rules: Rules, rule: int, size: int) -> float:
    table = rules.table
    first, end, kind = table[rule, FIRST], table[rule, END], table[rule, KIND]
    values, most, weighted = 0, 0, 0.0
    for symbol in range(first, end):
        count = histogram[line, symbol]
        if count > 0:
            values += 1
            most = max(most, count)
            if kind == ENTROPY:
                weighted += count * np.log(float(count))
    if values < table[rule, NEEDED] or kind == DISTINCT:
        return max(0.0, float(table[rule, NEEDED] - values))
    ratio = table[rule, NUMERATOR] / table[rule, DENOMINATOR]
    if kind == ENTROPY:
        return float(max(0.0, size * (np.log(ratio) - np.log(float(size))) + weighted))
    rest, bound, above = size, size + 1, 0
    while above < table[rule, NEEDED] - 1:
        highest, times = 0, 0
        for symbol in range(first, end):
            count = histogram[line, symbol]
            if highest < count < bound:
                highest, times = count, 1
            elif count == highest:
                times += 1
        bound = highest
        rest -= highest * min(times, table[rule, NEEDED] - 1 - above)
        above += times
    return float(max(0.0, (most - ratio * rest + NEXT_TO_NOTHING) / max(ratio, NEXT_TO_NOTHING)))


@njit()
def lacking(histogram: Integers, line: int, size: int, rules: Rules) -> float:
    """Return about how many rows a class lacks to meet everything: only the search's choice depends on it."""
    worst, table = float(max(rules.k - size, 0)), rules.table
    for rule in range(len(table)):
        kind = table[rule, KIND]
        if kind == PRESENCE:
            people = histogram[line, histogram.shape[1] - 1]
            high = table[rule, HIGHEST] / table[rule, HIGHEST_DENOMINATOR]
            found = max(0.0, size / high - people) if high > 0 else float(size)
            found = max(found, table[rule, NUMERATOR] / table[rule, DENOMINATOR] * people - size)
        elif kind in (CLOSENESS, ORDERED):
            found = _lacking_closeness(histogram, line, rules, rule, size)
        else:
            found = _lacking_values(histogram, line, rules, rule, size)
        worst = max(worst, found)
    return worst


@njit()
def cell_histogram(cells: Cells, cell: int, sign: int, histograms: Integers, line: int) -> None:
    """Add a cell's counts to a histogram, or take them away."""
    for entry in range(cells.start[cell], cells.start[cell + 1]):
        histograms[line, cells.symbol[entry]] += sign * cells.amount[entry]


@njit()
def place_in_block(classes: Classes, blocks: Blocks, one: int) -> None:
    """Put a class into the block of its labels."""
    key = 0
    for place in range(len(blocks.columns)):
        group = blocks.group[blocks.group_at[place] + classes.label[one, blocks.columns[place]]]
        key = key * blocks.groups[place] + group
    block = classes.block_of_key[key]
    if block < 0:
        block = classes.registers[BLOCKS]
        classes.block_of_key[key] = block
        classes.registers[BLOCKS] += 1
        for place in range(len(blocks.columns)):
            group = blocks.group[blocks.group_at[place] + classes.label[one, blocks.columns[place]]]
            classes.block_groups[block, place] = group
    if classes.block[one] == block:
        return
    leave_block(classes, one)
    first = classes.block_head[block]
    classes.block_after[one], classes.block_before[one] = first, -1
    if first >= 0:
        classes.block_before[first] = one
    classes.block_head[block], classes.block[one] = one, block


@njit()
def leave_block(classes: Classes, one: int) -> None:
    """Take a class out of its block, so that no search finds it."""
    block = classes.block[one]
    if block < 0:
        return
    after, before = classes.block_after[one], classes.block_before[one]
    if before >= 0:
        classes.block_after[before] = after
    else:
        classes.block_head[block] = after
    if after >= 0:
        classes.block_before[after] = before
    classes.block[one] = -1


@njit()
def tight_label(trees: Trees, cells: Cells, classes: Classes, one: int, without: int, label: Codes) -> float:
    """Write the lowest common label of a class's cells but one, and return its loss."""
    empty, cell, columns = True, classes.head[one], cells.leaf.shape[1]
    while cell >= 0:
        if cell != without:
            for column in range(columns):
                leaf = cells.leaf[cell, column]
                label[column] = leaf if empty else meet(trees, column, label[column], leaf)
            empty = False
        cell = classes.after[cell]
    loss = 0.0
    if not empty:
        for column in range(columns):
            loss += trees.loss[trees.first[column] + label[column]]
    return loss


@njit()
def add_cell(trees: Trees, cells: Cells, classes: Classes, cell: int, one: int) -> None:
    """Put a cell into a class; its place among the blocks and what it lacks are left to the caller."""
    loss, head = 0.0, classes.head[one]
    for column in range(cells.leaf.shape[1]):
        leaf = cells.leaf[cell, column]
        node = leaf if head < 0 else meet(trees, column, classes.label[one, column], leaf)
        classes.label[one, column] = node
        loss += trees.loss[trees.first[column] + node]
    classes.loss[one] = loss
    classes.of[cell], classes.after[cell], classes.before[cell] = one, head, -1
    if head >= 0:
        classes.before[head] = cell
    classes.head[one] = cell
    classes.size[one] += cells.rows[cell]
    cell_histogram(cells, cell, 1, classes.histogram, one)


@njit()
def remove_cell(trees: Trees, cells: Cells, classes: Classes, cell: int) -> None:
    """Take a cell out of its class and tighten the labels; a class without cells leaves its block and is free."""
    one, after, before = classes.of[cell], classes.after[cell], classes.before[cell]
    if before >= 0:
        classes.after[before] = after
    else:
        classes.head[one] = after
    if after >= 0:
        classes.before[after] = before
    classes.of[cell] = -1
    classes.size[one] -= cells.rows[cell]
    cell_histogram(cells, cell, -1, classes.histogram, one)
    classes.loss[one] = tight_label(trees, cells, classes, one, -1, classes.label[one])
    if classes.head[one] < 0:
        empty_class(classes, one)


@njit()
def empty_class(classes: Classes, one: int) -> None:
    """Forget a class; its id is free for another one."""
    leave_block(classes, one)
    classes.head[one], classes.size[one], classes.loss[one], classes.lacking[one] = -1, 0, 0.0, 0.0
    classes.histogram[one] = 0
    classes.free[classes.registers[FREE]] = one
    classes.registers[FREE] += 1


@njit()
def new_class(classes: Classes) -> int:
    """Return the id of an empty class, -1 where there is no room for one."""
    if classes.registers[FREE] > 0:
        classes.registers[FREE] -= 1
        return int(classes.free[classes.registers[FREE]])
    one = int(classes.registers[CLASSES])
    if one == len(classes.size):
        return -1
    classes.registers[CLASSES] += 1
    return one


@njit()
def find_lacking(classes: Classes, rules: Rules, one: int) -> None:
    """Note what a class lacks: nothing exactly where it passes."""
    if passes(classes.histogram, one, classes.size[one], rules):
        classes.lacking[one] = 0.0
    else:
        classes.lacking[one] = max(1e-3, lacking(classes.histogram, one, classes.size[one], rules))


@njit()
def fill_classes(trees: Trees, cells: Cells, rules: Rules, blocks: Blocks, classes: Classes) -> None:
    """Build all classes from the class of every cell."""
    for cell in range(len(cells.rows) - 1, -1, -1):
        if classes.of[cell] >= 0:
            add_cell(trees, cells, classes, cell, classes.of[cell])
    for one in range(classes.registers[CLASSES]):
        if classes.head[one] < 0:
            classes.free[classes.registers[FREE]] = one
            classes.registers[FREE] += 1
        else:
            find_lacking(classes, rules, one)
            place_in_block(classes, blocks, one)
