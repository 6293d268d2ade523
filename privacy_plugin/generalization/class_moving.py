"""Merge classes that fail, and move cells between classes where the loss falls.

Every loop works in slices and returns where it stopped, so that an interrupt is heard between two calls.
"""

import numpy as np

from privacy_plugin.compiled import njit
from privacy_plugin.generalization.local_classes import (
    BLOCKS,
    CLASSES,
    FORBIDDEN,
    NEXT_TO_NOTHING,
    Blocks,
    Cells,
    Classes,
    Codes,
    Floats,
    Integers,
    Rules,
    Trees,
    add_cell,
    cell_histogram,
    empty_class,
    find_lacking,
    lacking,
    leave_block,
    meet,
    new_class,
    passes,
    place_in_block,
    remove_cell,
    tight_label,
)


@njit()
def _find_bounds(trees: Trees, blocks: Blocks, classes: Classes, label: Codes, line: int) -> float:
    """Note for every block the least loss of a label's meeting with any class in it; return the label's own loss."""
    own, outside = 0.0, 0.0
    for column in range(label.shape[1]):
        outside += trees.loss[trees.first[column] + label[line, column]]
    for place in range(len(blocks.columns)):
        column = blocks.columns[place]
        own += trees.loss[trees.first[column] + label[line, column]]
    outside -= own
    for block in range(classes.registers[BLOCKS]):
        bound = outside
        if classes.block_head[block] >= 0:
            for place in range(len(blocks.columns)):
                at = blocks.bound_at[place] + label[line, blocks.columns[place]] * blocks.groups[place]
                bound += blocks.bound[at + classes.block_groups[block, place]]
        classes.bounds[block] = bound
    return own + outside


@njit()
def _meeting_loss(trees: Trees, label: Codes, line: int, other: Codes, other_line: int, limit: float) -> float:
    """Return the loss of the lowest common label, or `limit` where it is no less."""
    loss = 0.0
    for column in range(label.shape[1]):
        node = meet(trees, column, label[line, column], other[other_line, column])
        loss += trees.loss[trees.first[column] + node]
        if loss >= limit:
            return limit
    return loss


@njit()
def _partner(
    trees: Trees, rules: Rules, blocks: Blocks, classes: Classes, one: int, most: float, anyone: bool
) -> tuple[float, int, int]:
    """Return the class with which a class that fails comes nearest to passing at the least cost for each row it lacks.

    With `anyone` it is the class with which a union costs least, whatever it lacks then. Also returns how many classes
    were looked at.
    """
    best, partner, seen = np.inf, -1, 0
    size, loss, own_lack = classes.size[one], classes.loss[one], classes.lacking[one]
    own = _find_bounds(trees, blocks, classes, classes.label, one)
    sizes_only = len(rules.table) == 0
    for far in range(2):
        for block in range(classes.registers[BLOCKS]):
            bound = classes.bounds[block]
            if (bound > own + NEXT_TO_NOTHING) != (far == 1) or size * (bound - loss) >= best * max(
                own_lack + most, 1.0
            ):
                continue
            other = classes.block_head[block]
            while other >= 0:
                if other != one:
                    seen += 1
                    together = size + classes.size[other]
                    gained = own_lack + classes.lacking[other]
                    if anyone:
                        gained = 1.0
                    elif sizes_only:
                        gained -= max(0, rules.k - together)
                    before = size * loss + classes.size[other] * classes.loss[other]
                    if gained > 0 and together > 0:
                        limit = min((best * gained + before) / together, FORBIDDEN)
                        met = _meeting_loss(trees, classes.label, one, classes.label, other, limit)
                        if met < limit:
                            if not sizes_only and not anyone:
                                for symbol in range(classes.room.shape[1]):
                                    both = classes.histogram[one, symbol] + classes.histogram[other, symbol]
                                    classes.room[0, symbol] = both
                                gained -= lacking(classes.room, 0, together, rules)
                            if gained > NEXT_TO_NOTHING:
                                score = (together * met - before) / gained
                                if score < best:
                                    best, partner = score, other
                other = classes.block_after[other]
    return best, partner, seen


@njit()
def find_partners(
    trees: Trees,
    rules: Rules,
    blocks: Blocks,
    classes: Classes,
    failing: Integers,
    begin: int,
    anyone: bool,
    scores: Floats,
    partners: Integers,
    most: int,
) -> int:
    """Find a partner for each of the classes that fail, from place `begin` on; return where it stopped."""
    lack = 0.0
    for one in range(classes.registers[CLASSES]):
        lack = max(lack, classes.lacking[one])
    place, seen = begin, 0
    while place < len(failing) and seen < most:
        scores[place], partners[place], looked = _partner(trees, rules, blocks, classes, failing[place], lack, anyone)
        seen += looked + classes.registers[BLOCKS]
        place += 1
    return place


@njit()
def merge_pairs(
    trees: Trees,
    cells: Cells,
    rules: Rules,
    blocks: Blocks,
    classes: Classes,
    failing: Integers,
    partners: Integers,
    order: Integers,
) -> int:
    """Merge classes with their partners, the best pair first; a class takes part in one merger. Return how many."""
    touched = np.zeros(classes.registers[CLASSES], dtype=np.bool_)
    merged = 0
    for place in order:
        one, other = failing[place], partners[place]
        if other < 0 or touched[one] or touched[other]:
            continue
        touched[one] = touched[other] = True
        if classes.size[other] > classes.size[one]:
            one, other = other, one
        cell = classes.head[other]
        empty_class(classes, other)
        while cell >= 0:
            after = classes.after[cell]
            add_cell(trees, cells, classes, cell, one)
            cell = after
        find_lacking(classes, rules, one)
        place_in_block(classes, blocks, one)
        merged += 1
    return merged


@njit()
def _move(trees: Trees, cells: Cells, classes: Classes, cell: int, one: int) -> None:
    remove_cell(trees, cells, classes, cell)
    add_cell(trees, cells, classes, cell, one)


@njit()
def _cheapest_class(
    trees: Trees, cells: Cells, rules: Rules, blocks: Blocks, classes: Classes, cell: int, most: float
) -> tuple[float, int, int]:
    """Return the other class that a cell joins at the least cost below `most`, and how many were looked at."""
    best, found, seen = most, -1, 0
    size, own = cells.rows[cell], classes.of[cell]
    _find_bounds(trees, blocks, classes, cells.leaf, cell)
    for far in range(2):
        for block in range(classes.registers[BLOCKS]):
            bound = classes.bounds[block]
            if (bound > NEXT_TO_NOTHING) != (far == 1) or size * bound >= best:
                continue
            other = classes.block_head[block]
            while other >= 0:
                if other != own and classes.size[other] + size > 0:
                    seen += 1
                    before = classes.size[other] * classes.loss[other]
                    together = size + classes.size[other]
                    limit = min((best + before) / together, FORBIDDEN)
                    met = _meeting_loss(trees, classes.label, other, cells.leaf, cell, limit)
                    if met < limit and _takes(cells, rules, classes, cell, other):
                        best, found = together * met - before, other
                other = classes.block_after[other]
    return best, found, seen


@njit()
def _takes(cells: Cells, rules: Rules, classes: Classes, cell: int, one: int) -> bool:
    if len(rules.table) == 0:
        return bool(classes.size[one] + cells.rows[cell] >= rules.k)
    classes.room[0] = classes.histogram[one]
    cell_histogram(cells, cell, 1, classes.room, 0)
    return passes(classes.room, 0, classes.size[one] + cells.rows[cell], rules)


@njit()
def _spares(cells: Cells, rules: Rules, classes: Classes, cell: int) -> bool:
    """Tell whether a cell's class passes without it."""
    one = classes.of[cell]
    size = classes.size[one] - cells.rows[cell]
    if size < rules.k or size == 0:
        return False
    if len(rules.table) == 0:
        return True
    classes.room[0] = classes.histogram[one]
    cell_histogram(cells, cell, -1, classes.room, 0)
    return passes(classes.room, 0, size, rules)


@njit()
def move_cells(
    trees: Trees, cells: Cells, rules: Rules, blocks: Blocks, classes: Classes, begin: int, most: int
) -> tuple[int, int]:
    """Move each cell, from place `begin` on, to the class where it costs least, if both classes pass then.

    Returns where it stopped and how many cells moved.
    """
    label = np.zeros(cells.leaf.shape[1], dtype=np.int32)
    cell, seen, moved = begin, 0, 0
    while cell < len(cells.rows) and seen < most:
        one = classes.of[cell]
        seen += 1
        if one >= 0 and classes.loss[one] > 0 and _spares(cells, rules, classes, cell):
            rest = classes.size[one] - cells.rows[cell]
            after = tight_label(trees, cells, classes, one, cell, label)
            gain = classes.size[one] * classes.loss[one] - rest * after
            if gain > NEXT_TO_NOTHING:
                cost, other, looked = _cheapest_class(
                    trees, cells, rules, blocks, classes, cell, gain - NEXT_TO_NOTHING
                )
                seen += looked + classes.registers[BLOCKS]
                if (other < 0 or cost > 0) and _stands_alone(cells, rules, classes, cell):
                    other = new_class(classes)
                if other >= 0:
                    _move(trees, cells, classes, cell, other)
                    place_in_block(classes, blocks, one)
                    place_in_block(classes, blocks, other)
                    moved += 1
        cell += 1
    return cell, moved


@njit()
def _stands_alone(cells: Cells, rules: Rules, classes: Classes, cell: int) -> bool:
    if cells.rows[cell] < rules.k or cells.rows[cell] == 0:
        return False
    classes.room[0] = 0
    cell_histogram(cells, cell, 1, classes.room, 0)
    return passes(classes.room, 0, cells.rows[cell], rules)


@njit()
def dissolve_classes(
    trees: Trees, cells: Cells, rules: Rules, blocks: Blocks, classes: Classes, begin: int, most: int, largest: int
) -> tuple[int, int]:
    """Dissolve each class, from id `begin` on, whose cells cost less in other classes; at most `largest` cells.

    Returns where it stopped and how many classes are gone.
    """
    members = np.empty(largest, dtype=np.int64)
    one, seen, dissolved = begin, 0, 0
    while one < classes.registers[CLASSES] and seen < most:
        seen += 1
        whole = classes.size[one] * classes.loss[one]
        number, cell = 0, classes.head[one]
        while cell >= 0 and number < largest:
            members[number] = cell
            number += 1
            cell = classes.after[cell]
        if cell < 0 and number > 0 and whole > 0:
            total, other = 0.0, -1
            for place in range(number):
                cost, other, looked = _cheapest_class(
                    trees, cells, rules, blocks, classes, members[place], whole - total - NEXT_TO_NOTHING
                )
                seen += looked + classes.registers[BLOCKS]
                total += cost
                if other < 0:
                    break
            if other >= 0 and total < whole - NEXT_TO_NOTHING:
                dissolved += _dissolve(trees, cells, rules, blocks, classes, one, members[:number], whole)
        one += 1
    return one, dissolved


@njit()
def _dissolve(
    trees: Trees,
    cells: Cells,
    rules: Rules,
    blocks: Blocks,
    classes: Classes,
    one: int,
    members: Integers,
    whole: float,
) -> int:
    """Move the cells one by one; if they fit less well together than alone, move all of them back."""
    leave_block(classes, one)
    targets = np.empty(len(members), dtype=np.int64)
    total, number = 0.0, 0
    for place in range(len(members)):
        limit = whole - total - NEXT_TO_NOTHING
        cost, other, _ = _cheapest_class(trees, cells, rules, blocks, classes, members[place], limit)
        if other < 0:
            break
        targets[place] = other
        total += cost
        number += 1
        _move(trees, cells, classes, members[place], other)
        place_in_block(classes, blocks, other)
    if number == len(members):
        return 1
    for place in range(number):
        _move(trees, cells, classes, members[place], one)
        place_in_block(classes, blocks, targets[place])
    place_in_block(classes, blocks, one)
    return 0
