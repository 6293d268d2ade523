"""The privacy score by depth-first search over the sets K that at least one person holds.

A node is a set K with the rows that hold it; columns are visited right to left and a child only adds a column to
the right of K's last one, so every subset of K is visited before K. Why each saving keeps the result exact, at any
confidence:

- *closed columns*: an attribute that all rows of the node hold is never added. K with it has the same rows, hence
  the same confidences, a likelihood that is not higher, and loses the attribute's own danger.
- *active rows*: confidences are at most 1, so no K' containing K is worth more to a row than
  l(K) * D / (saturation + D) with D the danger of all its attributes outside K. A row whose best is not below that
  (within `TIE`) is only kept as a witness against inferences; a node without an active row has no child.
- *never inferable* (confidence 1 only): D leaves out attributes that another row contradicts while agreeing on
  all else (`inferable_cells`); the danger folded onto one (`bonus`) stays in D, as it follows once that one is known.
- *one row left*: everything it holds follows with confidence 1; larger K have the same row, so are not better.
- *no new danger* (confidence 1 only): if nothing dangerous follows that the parent did not infer, K is worth no
  more than its parent, which every active row has been offered. At lower confidences every node is offered.

The search runs in slices, so that a caller can show progress and stop; once stopped, unvisited children only raise
`upper` by the same bound, which makes [best, upper] a guaranteed interval.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float64]
Bytes = NDArray[np.uint8]

TIE = 1e-13


CONFIDENCE_TOLERANCE = 1e-12


_UNIT = 2.3e-16  # above twice the rounding error of one addition

# Columns of `levels`: one line per node on the current path.
START, ACTIVE, END, COLUMN, LAST, ATTRIBUTE, GROUP, GROUPS, GROUPS_START, CLOSED, FREE = range(11)
LEVEL_FIELDS = 11
# Columns of `factors`: likelihood of K, danger that surely follows from K.
LIKELIHOOD, INFERRED = range(2)
FACTOR_FIELDS = 2
# Columns of `groups`: code, first row, first witness, end.
CODE, FIRST, WITNESS, STOP = range(4)
GROUP_FIELDS = 4
# Entries of `registers`.
LEVEL, STEPS, NODES = range(3)
REGISTERS = 3
# How a slice of the search ended.
DONE, RUNNING, FULL = range(3)


class Table(NamedTuple):
    """The input of the search; read only."""

    codes: Codes
    offsets: Integers
    likelihood: Weights
    own: Weights
    bonus: Weights
    inferred: Weights
    useful: Bytes  # columns with any danger
    inferable: Bytes  # (columns, rows): 0 where the row's attribute can never follow from the others
    counts: Integers

    def fresh_work(self, *, rows: Integers | None, record: bool) -> "Work":
        """Return the state before the first node; only `rows` are active, without it all."""
        columns, people = self.codes.shape
        capacity = 2 * people + 16
        codes = max(int(np.diff(self.offsets).max(initial=0)), 1)
        order = np.arange(people, dtype=np.int32)
        if rows is not None:
            order = np.concatenate([rows, np.delete(order, rows)]).astype(np.int32)
        work = Work(
            best=np.zeros(people),
            upper=np.zeros(people),
            known=np.zeros((people, columns + 1) if record else (0, 0), dtype=np.int32),
            levels=np.zeros((columns + 3, LEVEL_FIELDS), dtype=np.int64),
            factors=np.zeros((columns + 2, FACTOR_FIELDS)),
            rows=np.zeros(capacity, dtype=np.int32),
            left=np.zeros(capacity),
            groups=np.zeros((capacity, GROUP_FIELDS), dtype=np.int32),
            closed=np.zeros(columns, dtype=np.uint8),
            closed_columns=np.zeros(columns + 1, dtype=np.int64),
            tally=np.zeros(codes, dtype=np.int64),
            position=np.zeros(codes, dtype=np.int64),
            touched=np.zeros(codes, dtype=np.int32),
            flags=np.zeros(people, dtype=np.uint8),
            extra=np.zeros(people),
            registers=np.zeros(REGISTERS, dtype=np.int64),
        )
        work.rows[:people] = order
        work.left[:people] = largest_danger(self.codes, self.offsets, self.own, self.bonus, self.inferable)[order]
        root = work.levels[0]
        root[ACTIVE] = people if rows is None else len(rows)
        root[END] = root[FREE] = people
        root[COLUMN] = columns
        root[LAST] = -1
        work.factors[0, LIKELIHOOD] = 1.0
        return work


class Work(NamedTuple):
    """The state of the search; every array is written to."""

    best: Weights
    upper: Weights
    known: Codes  # the best K of each row, or nothing
    levels: Integers
    factors: Weights
    rows: Codes
    left: Weights  # aligned with `rows`: the most danger that can follow for an active row, rounded up
    groups: Codes
    closed: Bytes
    closed_columns: Integers
    tally: Integers
    position: Integers
    touched: Codes
    flags: Bytes
    extra: Weights
    registers: Integers

    def grown(self) -> "Work":
        """Double the row stack; it holds the rows of one path, at most rows * columns."""
        return self._replace(
            rows=np.concatenate([self.rows, np.zeros_like(self.rows)]),
            left=np.concatenate([self.left, np.zeros_like(self.left)]),
            groups=np.concatenate([self.groups, np.zeros_like(self.groups)]),
        )

    def share(self) -> float:
        """Return how much of the first level is done."""
        columns = len(self.closed)
        if columns == 0:
            return 1.0
        root = self.levels[0]
        waiting = root[GROUPS] - root[GROUP]
        of = max(root[GROUPS] - root[GROUPS_START], 1)
        return float((columns - root[COLUMN] - waiting / of) / columns)


@njit()
def largest_danger(codes: Codes, offsets: Integers, own: Weights, bonus: Weights, inferable: Bytes) -> Weights:
    """Return the most danger that can follow for each row, rounded up beyond all later errors."""
    columns, rows = codes.shape
    danger = np.zeros(rows)
    for column in range(columns):
        for row in range(rows):
            if codes[column, row] >= 0:
                attribute = offsets[column] + codes[column, row]
                danger[row] += own[attribute] * inferable[column, row] + bonus[attribute]
    danger *= 1 + _UNIT * (2 * columns + 2)
    return danger


@njit(error_model="numpy")
def _note(known: Codes, row: int, levels: Integers, level: int, last: int) -> None:
    """Remember the path to `level`, then attribute `last` if there is one, as the row's best K."""
    if len(known) == 0:
        return
    for depth in range(1, level + 1):
        known[row, depth] = levels[depth, ATTRIBUTE]
    size = level
    if last >= 0:
        size += 1
        known[row, size] = last
    known[row, 0] = size


@njit(error_model="numpy")
def _offer(
    best: Weights, known: Codes, rows: Codes, levels: Integers, level: int, factors: Weights, saturation: float
) -> None:
    """Offer the node's worth, the same for all, to its active rows."""
    danger = factors[level, INFERRED]
    worth = factors[level, LIKELIHOOD] * danger / (saturation + danger)
    for place in range(levels[level, START], levels[level, ACTIVE]):
        row = rows[place]
        if worth > best[row]:
            best[row] = worth
            _note(known, row, levels, level, -1)


@njit(error_model="numpy")
def _offer_partial(table: Table, work: Work, level: int, saturation: float, confidence: float) -> int:
    """Offer l(K) * D / (saturation + D) to each active row, with its own D."""
    codes, counts, levels, rows = table.codes, table.counts, work.levels, work.rows
    tally, touched, extra, best = work.tally, work.touched, work.extra, work.best
    start, active, end = levels[level, START], levels[level, ACTIVE], levels[level, END]
    total = 0
    for place in range(start, end):
        total += counts[rows[place]]
    needed = (confidence - CONFIDENCE_TOLERANCE) * total
    extra[: active - start] = work.factors[level, INFERRED]
    steps: int = end - start
    for column in range(codes.shape[0]):
        if work.closed[column] or not table.useful[column]:
            continue
        used = 0
        largest = 0
        rest = total
        for place in range(start, end):
            code = codes[column, rows[place]]
            weight = counts[rows[place]]
            rest -= weight
            steps += 1
            if code >= 0:
                if tally[code] == 0:
                    touched[used] = code
                    used += 1
                tally[code] += weight
                largest = max(largest, tally[code])
            if largest + rest < needed:
                break
        if largest >= needed:
            for place in range(start, active):
                code = codes[column, rows[place]]
                if code >= 0 and tally[code] >= needed:
                    extra[place - start] += table.inferred[table.offsets[column] + code] * tally[code] / total
            steps += active - start
        for index in range(used):
            tally[touched[index]] = 0
    for place in range(start, active):
        danger = extra[place - start]
        worth = work.factors[level, LIKELIHOOD] * danger / (saturation + danger)
        if worth > best[rows[place]]:
            best[rows[place]] = worth
            _note(work.known, rows[place], levels, level, -1)
    return steps


@njit(error_model="numpy")
def _close(
    codes: Codes,
    offsets: Integers,
    inferred: Weights,
    useful: Bytes,
    rows: Codes,
    levels: Integers,
    level: int,
    closed: Bytes,
    closed_columns: Integers,
) -> tuple[float, bool, int]:
    """Close K's last column and all that are constant on the node's rows.

    Returns the danger that newly follows, whether a column to branch on is left, and the steps taken.
    """
    first, end, last = levels[level, START], levels[level, END], levels[level, LAST]
    top = levels[level, CLOSED]
    if last >= 0:
        closed[last] = 1
        closed_columns[top] = last
        top += 1
    gained, branches, steps = 0.0, False, 0
    for column in range(codes.shape[0]):
        if closed[column] or (column < last and not useful[column]):
            continue
        code = codes[column, rows[first]]
        place = first
        if code >= 0:
            place += 1
            while place < end and codes[column, rows[place]] == code:
                place += 1
        steps += place - first + 1
        if place == end:
            closed[column] = 1
            closed_columns[top] = column
            top += 1
            gained += inferred[offsets[column] + code]
        elif column > last:
            branches = True
    levels[level + 1, CLOSED] = top
    return gained, branches, steps


@njit(error_model="numpy")
def _reopen(levels: Integers, level: int, closed: Bytes, closed_columns: Integers) -> None:
    for index in range(levels[level, CLOSED], levels[level + 1, CLOSED]):
        closed[closed_columns[index]] = 0


@njit(error_model="numpy")
def _danger_alone(codes: Codes, offsets: Integers, inferred: Weights, closed: Bytes, column: int, row: int) -> float:
    """Return the danger of all that the row holds outside the closed columns and `column`."""
    danger = 0.0
    for other in range(codes.shape[0]):
        code = codes[other, row]
        if other != column and not closed[other] and code >= 0:
            danger += inferred[offsets[other] + code]
    return danger


@njit(error_model="numpy")
def _mark(
    codes: Codes,
    inferable: Bytes,
    likelihood: Weights,
    own: Weights,
    best: Weights,
    rows: Codes,
    left: Weights,
    flags: Bytes,
    tally: Integers,
    touched: Codes,
    start: int,
    active: int,
    column: int,
    offset: int,
    known: float,
    saturation: float,
) -> int:
    """Flag the rows for which a K with their attribute in `column` could be better; list the codes."""
    used = 0
    for place in range(start, active):
        row = rows[place]
        code = codes[column, row]
        flags[place - start] = 0
        if code < 0:
            continue
        danger = left[place]
        if inferable[column, row]:
            danger -= own[offset + code]
        if known * likelihood[offset + code] * danger > (best[row] + TIE) * (saturation + danger):
            flags[place - start] = 1
            if tally[code] == 0:
                touched[used] = code
                used += 1
            tally[code] += 1
    return used


@njit(error_model="numpy")
def _split(
    codes: Codes,
    inferable: Bytes,
    own: Weights,
    rows: Codes,
    left: Weights,
    groups: Codes,
    flags: Bytes,
    tally: Integers,
    position: Integers,
    touched: Codes,
    levels: Integers,
    level: int,
    used: int,
    column: int,
    offset: int,
) -> None:
    """Sort the node's rows by their code in `column` into `used` groups, active rows first."""
    start, active, end = levels[level, START], levels[level, ACTIVE], levels[level, END]
    if used > 1:  # with a single group its end is known once it is filled
        for place in range(start, end):
            code = codes[column, rows[place]]
            if code >= 0 and tally[code] > 0:
                position[code] += 1
    free, group = levels[level, FREE], levels[level, GROUPS_START]
    for index in range(used):
        code = touched[index]
        size = position[code]
        groups[group, CODE] = code
        groups[group, FIRST] = free
        groups[group, WITNESS] = free + tally[code]
        groups[group, STOP] = free + size
        position[code] = free + tally[code]
        tally[code] = free + 1  # one too many: above zero marks a wanted code
        free += size
        group += 1
    for place in range(start, end):
        row = rows[place]
        code = codes[column, row]
        if code >= 0 and tally[code] > 0:
            if place < active and flags[place - start]:
                spot = tally[code] - 1
                rows[spot] = row
                left[spot] = left[place] - own[offset + code] if inferable[column, row] else left[place]
                tally[code] += 1
            else:
                rows[position[code]] = row
                position[code] += 1
    if used == 1:
        free = position[touched[0]]
        groups[group - 1, STOP] = free
    for index in range(used):
        tally[touched[index]] = 0
        position[touched[index]] = 0
    levels[level, GROUP] = levels[level, GROUPS_START]
    levels[level, GROUPS] = group
    levels[level + 1, FREE] = free


@njit(error_model="numpy")
def enter_root(table: Table, work: Work, saturation: float, confidence: float) -> None:
    """Visit the empty K: the attributes of every row follow from it."""
    gained, _, steps = _close(
        table.codes, table.offsets, table.inferred, table.useful, work.rows, work.levels, 0, work.closed,
        work.closed_columns,
    )  # fmt: skip
    work.factors[0, INFERRED] = gained
    if confidence < 1.0:
        steps += _offer_partial(table, work, 0, saturation, confidence)
    else:
        _offer(work.best, work.known, work.rows, work.levels, 0, work.factors, saturation)
    work.registers[STEPS] += steps
    work.registers[NODES] += 1


@njit(error_model="numpy")
def advance(table: Table, work: Work, saturation: float, confidence: float, limit: int) -> int:
    """Search until done, until `limit` steps are spent, or until the row stack has to grow."""
    # Taken out of the tuples once: each access inside the loop would count references.
    codes, offsets, likelihood, own, bonus = table.codes, table.offsets, table.likelihood, table.own, table.bonus
    inferred, useful, inferable = table.inferred, table.useful, table.inferable
    best, known, levels, factors, rows = work.best, work.known, work.levels, work.factors, work.rows
    left, groups, closed, closed_columns = work.left, work.groups, work.closed, work.closed_columns
    tally, position, touched, flags = work.tally, work.position, work.touched, work.flags
    level, steps, nodes = work.registers[LEVEL], work.registers[STEPS], work.registers[NODES]
    state = RUNNING
    while steps < limit:
        group, column = levels[level, GROUP], levels[level, COLUMN]
        if group < levels[level, GROUPS]:
            levels[level, GROUP] = group + 1
            nodes += 1
            attribute = offsets[column] + groups[group, CODE]
            chance = factors[level, LIKELIHOOD] * likelihood[attribute]
            if groups[group, STOP] - groups[group, FIRST] == 1:
                row = rows[groups[group, FIRST]]
                danger = factors[level, INFERRED] + bonus[attribute]
                danger += _danger_alone(codes, offsets, inferred, closed, column, row)
                worth = chance * danger / (saturation + danger)
                steps += 1
                if worth > best[row]:
                    best[row] = worth
                    _note(known, row, levels, level, attribute)
                continue
            child = level + 1
            levels[child, START] = groups[group, FIRST]
            levels[child, ACTIVE] = groups[group, WITNESS]
            levels[child, END] = groups[group, STOP]
            levels[child, LAST] = column
            levels[child, ATTRIBUTE] = attribute
            gained, branches, looked = _close(
                codes, offsets, inferred, useful, rows, levels, child, closed, closed_columns
            )
            gained += bonus[attribute]
            factors[child, LIKELIHOOD] = chance
            factors[child, INFERRED] = factors[level, INFERRED] + gained
            if confidence < 1.0:
                steps += _offer_partial(table, work, child, saturation, confidence)
            elif gained > 0.0:
                _offer(best, known, rows, levels, child, factors, saturation)
            steps += looked
            if branches:
                levels[child, COLUMN] = codes.shape[0]
                levels[child, GROUP] = levels[child, GROUPS] = 0
                levels[child, GROUPS_START] = levels[level, GROUPS]
                level = child
            else:
                _reopen(levels, child, closed, closed_columns)
            continue
        column -= 1
        while column > levels[level, LAST] and closed[column]:
            column -= 1
        if column > levels[level, LAST]:
            start, active, end = levels[level, START], levels[level, ACTIVE], levels[level, END]
            if max(levels[level, FREE], levels[level, GROUPS_START]) + end - start > len(rows):
                state = FULL
                break
            levels[level, COLUMN] = column
            used = _mark(
                codes, inferable, likelihood, own, best, rows, left, flags, tally, touched, start, active, column,
                offsets[column], factors[level, LIKELIHOOD], saturation,
            )  # fmt: skip
            steps += active - start
            if used > 0:
                _split(
                    codes, inferable, own, rows, left, groups, flags, tally, position, touched, levels, level, used,
                    column, offsets[column],
                )  # fmt: skip
                steps += 2 * (end - start)
            continue
        _reopen(levels, level, closed, closed_columns)
        if level == 0:
            state = DONE
            break
        level -= 1
    work.registers[LEVEL], work.registers[STEPS], work.registers[NODES] = level, steps, nodes
    return state


@njit(error_model="numpy")
def bound_rest(table: Table, work: Work, saturation: float) -> None:
    """Bound all that the stopped search has not visited: waiting groups and columns of the path."""
    levels, rows, upper = work.levels, work.rows, work.upper
    for level in range(work.registers[LEVEL], -1, -1):
        likelihood = work.factors[level, LIKELIHOOD]
        for group in range(levels[level, GROUP], levels[level, GROUPS]):
            known = likelihood * table.likelihood[table.offsets[levels[level, COLUMN]] + work.groups[group, CODE]]
            for place in range(work.groups[group, FIRST], work.groups[group, WITNESS]):
                worth = known * work.left[place] / (saturation + work.left[place])
                upper[rows[place]] = max(upper[rows[place]], worth)
        for column in range(levels[level, LAST] + 1, levels[level, COLUMN]):
            if work.closed[column]:
                continue
            for place in range(levels[level, START], levels[level, ACTIVE]):
                row = rows[place]
                if table.codes[column, row] >= 0:
                    attribute = table.offsets[column] + table.codes[column, row]
                    danger = work.left[place] - table.inferable[column, row] * table.own[attribute]
                    worth = likelihood * table.likelihood[attribute] * danger / (saturation + danger)
                    upper[row] = max(upper[row], worth)
        _reopen(levels, level, work.closed, work.closed_columns)
