"""The partition recursion: a number for every node of a full-domain generalization lattice, in one compiled walk.

A *part* is a sorted stretch of rows that agree in the attributes decided so far, each at its chosen level. The walk
decides one more attribute: at level 0 the part falls into runs of equal digits; a level up, neighbouring runs of one
group are merged (both are sorted), and each run is a part for the next attribute. What makes this fast, and exact:

- a part smaller than k fails as a whole: its rows are added to one cell that stands for its whole sub-lattice;
- a part whose distinct rows all pass is left: merging passing classes gives passing classes (see rules.py);
  when that holds for every run of a level, the coarser levels of the attribute are left too;
- an attribute that is constant on a part is not decided: cells stand for "all levels from this one on";
- the last few attributes are not decided one by one: a table says for every distinct tail which class it is in at
  every node of the tail's own small lattice.

A node's number is the sum of the cells that stand for it (`PackedLattice.unfold`). Sizes and sums are whole numbers;
only entropies need floating point (rules.py).

numba keeps compiled code until the file of the outermost function changes: after a change in rules.py, parts.py
or packing.py, touch this one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.generalization.walk.packing import (
    BUFFER,
    CAPACITY,
    LEAVES,
    LEVELS,
    LINK,
    LINK_BUFFER,
    MAPS,
    MASK,
    POOL,
    POOL_CAPACITY,
    PREFIX,
    RUNS,
    SHIFT,
    STRIDE,
    Plan,
)
from privacy_plugin.generalization.walk.parts import (
    PASSES,
    WHOLE,
    Worth,
    copy_class,
    copy_details,
    count_tail_classes,
    count_tail_sizes,
    join_classes,
    judge_classes,
    judge_sizes,
)

Integers = NDArray[np.int64]
Carried = Any  # what a walk with rules carries along (see parts.py), and None in a walk without

# Fields of a frame, of which every leading attribute that is being decided has one: the level, the number of runs, the
# next run to visit, the half of the buffer the runs are in (-1: still in the part itself), the cell offsets of the part
# and of a run, whether a run of the level did not pass, and the attribute decided before.
_LEVEL, _RUNS, _RUN, _HALF, _PLACE, _RUN_PLACE, _OPEN, _ABOVE = range(8)
FRAME_FIELDS = 8
# Where a paused walk goes on: start, end and cell offset of the next part, and the attribute it is a run of.
_START, _END, _OFFSET, _DECIDED = range(4)


@njit()
def find_runs(
    keys: Integers,
    start: int,
    end: int,
    shift: int,
    mask: int,
    base: int,
    run_start: Integers,
    run_leaf: Integers,
) -> int:
    """List the runs of equal digits of a part, from place `base` on; a run ends where the next one starts."""
    run, current = base, -1
    for place in range(start, end):
        leaf = (keys[place] >> shift) & mask
        if leaf != current:
            run_start[run] = place
            run_leaf[run] = leaf
            run += 1
            current = leaf
    run_start[run] = end
    return run - base


@njit()
def _copy(
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    mask: int,
    target: int,
    free: int,
    details: Carried,
    pool: Carried,
) -> tuple[int, int]:
    """Copy a run, without the digits the mask takes away; return the ends of the copy and of its lists."""
    for place in range(start, end):
        keys[target] = keys[place] & mask
        counts[target] = counts[place]
        if details is not None:
            free = copy_class(details, pool, place, target, free)
        target += 1
    return target, free


@njit()
def _merge(
    keys: Integers,
    counts: Integers,
    left: int,
    middle: int,
    end: int,
    mask: int,
    target: int,
    free: int,
    details: Carried,
    pool: Carried,
) -> tuple[int, int]:
    """Merge two neighbouring sorted runs, adding up what has equal keys; return like `_copy`."""
    right = middle
    left_key, right_key = keys[left] & mask, keys[right] & mask
    while True:
        if left_key < right_key:
            keys[target] = left_key
            counts[target] = counts[left]
            if details is not None:
                free = copy_class(details, pool, left, target, free)
            target += 1
            left += 1
            if left == middle:
                break
            left_key = keys[left] & mask
        elif right_key < left_key:
            keys[target] = right_key
            counts[target] = counts[right]
            if details is not None:
                free = copy_class(details, pool, right, target, free)
            target += 1
            right += 1
            if right == end:
                break
            right_key = keys[right] & mask
        else:
            size = counts[left] + counts[right]
            keys[target] = left_key
            counts[target] = size
            if details is not None:
                free = join_classes(details, pool, left, right, target, free)
            target += 1
            left += 1
            right += 1
            if left == middle or right == end:
                break
            left_key, right_key = keys[left] & mask, keys[right] & mask
    target, free = _copy(keys, counts, left, middle, mask, target, free, details, pool)
    return _copy(keys, counts, right, end, mask, target, free, details, pool)


@njit()
def _merge_neighbours(
    keys: Integers,
    counts: Integers,
    groups: Integers,
    mask: int,
    target: int,
    free: int,
    base: int,
    runs: int,
    run_start: Integers,
    run_leaf: Integers,
    details: Carried,
    pool: Carried,
) -> tuple[int, bool]:
    """Copy the runs, merging two by two those of one group; return how many are left, and whether to do it again."""
    pending, run, end, kept = False, base, base + runs, base
    while run < end:
        begin, leaf, first, middle = target, run_leaf[run], run_start[run], run_start[run + 1]
        group = groups[leaf]
        if run + 1 < end and groups[run_leaf[run + 1]] == group:
            last = run_start[run + 2]
            target, free = _merge(keys, counts, first, middle, last, mask, target, free, details, pool)
            run += 2
            pending = pending or (run < end and groups[run_leaf[run]] == group)
        else:
            target, free = _copy(keys, counts, first, middle, mask, target, free, details, pool)
            run += 1
        run_start[kept] = begin
        run_leaf[kept] = leaf
        kept += 1
    run_start[kept] = target
    return kept - base, pending


@njit()
def roll_up(
    plan: Plan,
    keys: Integers,
    counts: Integers,
    attribute: int,
    level: int,
    runs: int,
    half: int,
    run_start: Integers,
    run_leaf: Integers,
    details: Carried,
    pool: Carried,
) -> tuple[int, int]:
    """Make one run of those that are one group at a level; return how many are left and where they are."""
    row = plan.attributes[attribute]
    base, mask = row[RUNS], (1 << row[SHIFT]) - 1
    first = row[MAPS] + level * row[LEAVES]
    groups = plan.maps[first : first + row[LEAVES]]
    pending = False
    for run in range(base + 1, base + runs):
        pending = pending or groups[run_leaf[run - 1]] == groups[run_leaf[run]]
    while pending:
        half = 1 if half == 0 else 0
        target, free = row[BUFFER] + half * row[CAPACITY], row[POOL] + half * row[POOL_CAPACITY]
        runs, pending = _merge_neighbours(
            keys, counts, groups, mask, target, free, base, runs, run_start, run_leaf, details, pool
        )
    return runs, half


@njit()
def _follow_link(
    plan: Plan,
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    attribute: int,
    details: Carried,
) -> tuple[int, int]:
    """Copy a part with the next segment of its keys, which the current segment only has the rank of."""
    target, mask = plan.attributes[attribute, LINK_BUFFER], (1 << plan.attributes[attribute - 1, SHIFT]) - 1
    for place in range(start, end):
        keys[target] = plan.link_values[plan.attributes[attribute, LINK] + (keys[place] & mask)]
        counts[target] = counts[place]
        if details is not None:
            copy_details(details, place, target)  # the list stays where it is while this part is looked at
        target += 1
    return plan.attributes[attribute, LINK_BUFFER], target


@njit()
def _next_attribute(
    plan: Plan,
    keys: Integers,
    counts: Integers,
    start: int,
    end: int,
    attribute: int,
    details: Carried,
) -> tuple[int, int, int]:
    """Find the first attribute from the given one on that is not constant on a part, or the tail."""
    while True:
        if plan.attributes[attribute, LINK] >= 0:
            start, end = _follow_link(plan, keys, counts, start, end, attribute, details)
        if attribute == plan.tail or attribute < plan.plain:
            break
        if (keys[start] ^ keys[end - 1]) >> plan.attributes[attribute, SHIFT] != 0:
            break
        attribute += 1
    return attribute, start, end


@njit()
def _run_place(plan: Plan, attribute: int, place: int, level: int, runs: int) -> int:
    """The cell offset below an attribute's level; a single run stays one, so it stands for all levels from here on."""
    levels = plan.attributes[attribute, LEVELS]
    if attribute >= plan.plain:
        alone = runs > 1 and level < levels - 1
        return int(place + plan.attributes[attribute, STRIDE] * (levels + level if alone else level))
    prefix = place * levels + level
    return int(plan.block_start + prefix * plan.block if attribute + 1 == plan.plain else prefix)


@njit()
def _has_next_level(plan: Plan, frames: Integers, attribute: int) -> bool:
    frame = frames[attribute]
    if frame[_OPEN] == 0 or frame[_LEVEL] + 1 == plan.attributes[attribute, LEVELS]:
        return False
    return frame[_RUNS] > 1 or attribute < plan.plain


@njit()
def walk(
    plan: Plan,
    keys: Integers,
    counts: Integers,
    k: int,
    worth: Worth | None,
    details: Carried,
    pool: Carried,
    table: Carried,
    ground: Carried,
    histograms: Carried,
    empty_fails: Carried,
    run_start: Integers,
    run_leaf: Integers,
    sums: Integers,
    members: Integers,
    listed: Integers,
    listed_end: Integers,
    frames: Integers,
    registers: Integers,
    cells: Integers,
    limit: int,
) -> bool:
    """Walk on until done (true) or until `limit` rows were looked at; call again to go on."""
    start, end = registers[_START], registers[_END]
    place, decided = registers[_OFFSET], registers[_DECIDED]
    classes_of = plan.tail_table
    while limit > 0:
        limit -= end - start
        if details is None:
            verdict, amount = judge_sizes(counts, start, end, k, worth)
        else:
            verdict, amount = judge_classes(
                counts, start, end, k, worth, details, pool, table, ground, histograms, empty_fails
            )
        if verdict != PASSES and decided >= 0:
            frames[decided, _OPEN] = 1
        if verdict == WHOLE:
            depth = decided + 1
            cells[place + plan.attributes[depth, PREFIX] if depth < plan.plain else place] += amount
        elif verdict != PASSES:
            attribute, start, end = _next_attribute(plan, keys, counts, start, end, decided + 1, details)
            if attribute == plan.tail:
                target, mask = cells[place + 1 : place + 1 + classes_of.shape[1]], plan.tail_mask
                if details is None:
                    count_tail_sizes(keys, counts, start, end, mask, classes_of, k, worth, sums, target)
                else:
                    count_tail_classes(
                        keys,
                        counts,
                        start,
                        end,
                        mask,
                        classes_of,
                        plan.tail_nodes,
                        plan.becomes,
                        k,
                        worth,
                        details,
                        pool,
                        table,
                        ground,
                        histograms,
                        empty_fails,
                        members,
                        listed,
                        listed_end,
                        target,
                    )
            else:
                row = plan.attributes[attribute]
                runs = find_runs(keys, start, end, row[SHIFT], row[MASK], row[RUNS], run_start, run_leaf)
                frame = frames[attribute]
                frame[_LEVEL], frame[_RUNS], frame[_RUN], frame[_HALF], frame[_OPEN] = 0, runs, 0, -1, 0
                frame[_PLACE], frame[_RUN_PLACE] = place, _run_place(plan, attribute, place, 0, runs)
                frame[_ABOVE] = decided
                decided = attribute
        while decided >= 0 and frames[decided, _RUN] == frames[decided, _RUNS]:
            frame = frames[decided]
            if not _has_next_level(plan, frames, decided):
                decided = frame[_ABOVE]
                continue
            level = frame[_LEVEL] + 1
            runs, half = roll_up(
                plan,
                keys,
                counts,
                decided,
                level,
                frame[_RUNS],
                frame[_HALF],
                run_start,
                run_leaf,
                details,
                pool,
            )
            frame[_LEVEL], frame[_RUNS], frame[_RUN], frame[_HALF], frame[_OPEN] = level, runs, 0, half, 0
            frame[_RUN_PLACE] = _run_place(plan, decided, frame[_PLACE], level, runs)
        if decided < 0:
            return True
        run = plan.attributes[decided, RUNS] + frames[decided, _RUN]
        frames[decided, _RUN] += 1
        start, end, place = run_start[run], run_start[run + 1], frames[decided, _RUN_PLACE]
    registers[_START], registers[_END], registers[_OFFSET], registers[_DECIDED] = start, end, place, decided
    return False
