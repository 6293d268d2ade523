"""Form classes node by node: the cheapest generalization that gives a combination a class, takes it.

The loop works in slices and returns where it stopped, so that an interrupt is heard between two calls.
"""

from privacy_plugin.compiled import njit
from privacy_plugin.generalization.local_classes import Cells, Codes, Integers, Rules, passes

PATIENCE = 250  # nodes that may pass without a new class, where classes need more than rows


@njit()
def form_classes(
    levels: Codes,
    keys: Integers,
    key_at: Integers,
    index: Codes,
    cells: Cells,
    rules: Rules,
    of: Integers,
    left: Integers,
    registers: Integers,
    slots: Integers,
    groups: Integers,
    histograms: Integers,
    most: int,
) -> bool:
    """Go through nodes of the lattice by rising loss; cells that form a class which passes leave the others.

    `registers`: the next node, cells left, classes so far, cells looked at since the last class. A few columns together
    are a part: `index` has the number of a cell's values in it, `levels` that of the part's levels at a node. A cell's
    key at a node is the sum over the parts; cells whose keys collide would form one class, whose labels cover both.
    Returns whether it is done; after `most` cells it pauses.
    """
    node, remaining, classes, idle = registers[0], registers[1], registers[2], registers[3]
    parts, seen, with_rules = index.shape[1], 0, len(rules.table) > 0
    patience = PATIENCE if with_rules else len(levels) + 1
    while node < len(levels) and remaining > 0 and seen < most and idle < patience * remaining:
        mask = len(slots) - 1
        while mask > 8 * remaining + 16:
            mask >>= 1
        found = 0
        for place in range(remaining):
            cell = left[place]
            key = 0
            for part in range(parts):
                key += keys[key_at[part, levels[node, part]] + index[cell, part]]
            slot = (key ^ (key >> 31)) & mask
            while slots[slot, 0] == node + 1 and slots[slot, 1] != key:
                slot = (slot + 1) & mask
            if slots[slot, 0] != node + 1:
                slots[slot, 0], slots[slot, 1], slots[slot, 2] = node + 1, key, found
                groups[found, 0] = 0
                found += 1
            groups[place, 1] = slots[slot, 2]
            groups[slots[slot, 2], 0] += cells.rows[cell]
        seen += remaining
        idle += remaining
        large = 0
        for group in range(found):
            groups[group, 2] = -1
            if groups[group, 0] >= rules.k and groups[group, 0] > 0:
                groups[group, 2] = large
                large += 1
        formed = large
        if with_rules and large > 0:
            formed = 0
            for begin in range(0, large, len(histograms)):
                end = min(begin + len(histograms), large)
                histograms[: end - begin] = 0
                for place in range(remaining):
                    line = groups[groups[place, 1], 2] - begin
                    if 0 <= line < end - begin:
                        cell = left[place]
                        for entry in range(cells.start[cell], cells.start[cell + 1]):
                            histograms[line, cells.symbol[entry]] += cells.amount[entry]
                for group in range(found):
                    line = groups[group, 2] - begin
                    if 0 <= line < end - begin:
                        groups[group, 3] = 1 if passes(histograms, line, groups[group, 0], rules) else 0
                        formed += groups[group, 3]
        if formed > 0:
            for group in range(found):
                if groups[group, 2] >= 0 and (not with_rules or groups[group, 3] == 1):
                    groups[group, 2] = classes
                    classes += 1
                else:
                    groups[group, 2] = -1
            kept = 0
            for place in range(remaining):
                cell, group = left[place], groups[place, 1]
                if groups[group, 2] >= 0:
                    of[cell] = groups[group, 2]
                else:
                    left[kept] = cell
                    kept += 1
            remaining, idle = kept, 0
        node += 1
    registers[0], registers[1], registers[2], registers[3] = node, remaining, classes, idle
    return bool(node >= len(levels) or remaining == 0 or idle >= patience * remaining)
