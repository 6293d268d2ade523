"""The privacy score by depth-first search over the sets K that somebody holds.

A node is a set K with the rows that hold it; columns are visited right to left and a child only adds a column to
the right of K's last one, so every subset of K is visited before K. Why each saving keeps the result exact, at any
confidence:

- *closed columns*: an attribute that all rows of the node hold is never added. K with it has the same rows, hence
  the same confidences, a likelihood that is not higher, and loses the attribute's own danger.
- *active rows*: confidences are at most 1, so no K' containing K is worth more to a row than
  l(K) * D / (saturation + D) with D the danger of all its attributes outside K. A row whose best is not below that
  (within `TIE`) is only kept as a witness against inferences; without an active row there is no child.
- *never inferable* (confidence 1 only): D leaves out attributes that another row contradicts while agreeing on
  all else (`inferable_cells`); the danger folded onto one (`bonus`) stays in D, as it follows once that one is known.
- *one row left*: everything it holds follows with confidence 1; larger K have the same row, so are not better.
- *no new danger* (confidence 1 only): if nothing dangerous follows that the parent did not infer, K is worth no
  more than its parent, which every active row has been offered. At lower confidences every node is offered.

The search runs in slices, so that a caller can show progress and stop; once stopped, unvisited children only raise
`upper` by the same bound, which makes [best, upper] a guaranteed interval.
"""

from numba import njit

from privacy_plugin.metrics.privacy_score import state as at
from privacy_plugin.metrics.privacy_score.state import DONE, FULL, RUNNING, Bytes, Codes, Integers, Table, Weights, Work

TIE = 1e-13
CONFIDENCE_TOLERANCE = 1e-12


@njit(cache=True, error_model="numpy")
def _note(known: Codes, row: int, levels: Integers, level: int, last: int) -> None:
    """Remember the path to `level`, then attribute `last` if there is one, as the row's best K."""
    if len(known) == 0:
        return
    for depth in range(1, level + 1):
        known[row, depth] = levels[depth, at.ATTRIBUTE]
    size = level
    if last >= 0:
        size += 1
        known[row, size] = last
    known[row, 0] = size


@njit(cache=True, error_model="numpy")
def _offer(
    best: Weights, known: Codes, rows: Codes, levels: Integers, level: int, factors: Weights, saturation: float
) -> None:
    """Offer the node's worth, the same for all, to its active rows."""
    danger = factors[level, at.INFERRED]
    worth = factors[level, at.LIKELIHOOD] * danger / (saturation + danger)
    for place in range(levels[level, at.START], levels[level, at.ACTIVE]):
        row = rows[place]
        if worth > best[row]:
            best[row] = worth
            _note(known, row, levels, level, -1)


@njit(cache=True, error_model="numpy")
def _offer_partial(table: Table, work: Work, level: int, saturation: float, confidence: float) -> int:
    """Offer l(K) * D / (saturation + D) to each active row, with its own D."""
    codes, counts, levels, rows = table.codes, table.counts, work.levels, work.rows
    tally, touched, extra, best = work.tally, work.touched, work.extra, work.best
    start, active, end = levels[level, at.START], levels[level, at.ACTIVE], levels[level, at.END]
    total = 0
    for place in range(start, end):
        total += counts[rows[place]]
    needed = (confidence - CONFIDENCE_TOLERANCE) * total
    extra[: active - start] = work.factors[level, at.INFERRED]
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
        worth = work.factors[level, at.LIKELIHOOD] * danger / (saturation + danger)
        if worth > best[rows[place]]:
            best[rows[place]] = worth
            _note(work.known, rows[place], levels, level, -1)
    return steps


@njit(cache=True, error_model="numpy")
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
    first, end, last = levels[level, at.START], levels[level, at.END], levels[level, at.LAST]
    top = levels[level, at.CLOSED]
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
    levels[level + 1, at.CLOSED] = top
    return gained, branches, steps


@njit(cache=True, error_model="numpy")
def _reopen(levels: Integers, level: int, closed: Bytes, closed_columns: Integers) -> None:
    for index in range(levels[level, at.CLOSED], levels[level + 1, at.CLOSED]):
        closed[closed_columns[index]] = 0


@njit(cache=True, error_model="numpy")
def _danger_alone(codes: Codes, offsets: Integers, inferred: Weights, closed: Bytes, column: int, row: int) -> float:
    """The danger of all the row holds outside the closed columns and `column`."""
    danger = 0.0
    for other in range(codes.shape[0]):
        code = codes[other, row]
        if other != column and not closed[other] and code >= 0:
            danger += inferred[offsets[other] + code]
    return danger


@njit(cache=True, error_model="numpy")
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
    """Flag the rows for which a K with their attribute in `column` could beat their best; list those codes."""
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


@njit(cache=True, error_model="numpy")
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
    """Sort the node's rows by their code in `column` into groups, active rows first; `used` codes have any."""
    start, active, end = levels[level, at.START], levels[level, at.ACTIVE], levels[level, at.END]
    if used > 1:  # with a single group its end is known once it is filled
        for place in range(start, end):
            code = codes[column, rows[place]]
            if code >= 0 and tally[code] > 0:
                position[code] += 1
    free, group = levels[level, at.FREE], levels[level, at.GROUPS_START]
    for index in range(used):
        code = touched[index]
        size = position[code]
        groups[group, at.CODE] = code
        groups[group, at.FIRST] = free
        groups[group, at.WITNESS] = free + tally[code]
        groups[group, at.STOP] = free + size
        position[code] = free + tally[code]
        tally[code] = free + 1  # one too many, so that it stays above zero and still says: wanted
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
        groups[group - 1, at.STOP] = free
    for index in range(used):
        tally[touched[index]] = 0
        position[touched[index]] = 0
    levels[level, at.GROUP] = levels[level, at.GROUPS_START]
    levels[level, at.GROUPS] = group
    levels[level + 1, at.FREE] = free


@njit(cache=True, error_model="numpy")
def enter_root(table: Table, work: Work, saturation: float, confidence: float) -> None:
    """Visit the empty K: what everybody has follows from nothing."""
    gained, _, steps = _close(
        table.codes, table.offsets, table.inferred, table.useful, work.rows, work.levels, 0, work.closed,
        work.closed_columns,
    )  # fmt: skip
    work.factors[0, at.INFERRED] = gained
    if confidence < 1.0:
        steps += _offer_partial(table, work, 0, saturation, confidence)
    else:
        _offer(work.best, work.known, work.rows, work.levels, 0, work.factors, saturation)
    work.registers[at.STEPS] += steps
    work.registers[at.NODES] += 1


@njit(cache=True, error_model="numpy")
def advance(table: Table, work: Work, saturation: float, confidence: float, limit: int) -> int:
    """Go on until the search is done, `limit` steps are spent, or the row stack has to grow."""
    # Taken out of the tuples once: each access inside the loop would count references.
    codes, offsets, likelihood, own, bonus = table.codes, table.offsets, table.likelihood, table.own, table.bonus
    inferred, useful, inferable = table.inferred, table.useful, table.inferable
    best, known, levels, factors, rows = work.best, work.known, work.levels, work.factors, work.rows
    left, groups, closed, closed_columns = work.left, work.groups, work.closed, work.closed_columns
    tally, position, touched, flags = work.tally, work.position, work.touched, work.flags
    level, steps, nodes = work.registers[at.LEVEL], work.registers[at.STEPS], work.registers[at.NODES]
    state = RUNNING
    while steps < limit:
        group, column = levels[level, at.GROUP], levels[level, at.COLUMN]
        if group < levels[level, at.GROUPS]:
            levels[level, at.GROUP] = group + 1
            nodes += 1
            attribute = offsets[column] + groups[group, at.CODE]
            chance = factors[level, at.LIKELIHOOD] * likelihood[attribute]
            if groups[group, at.STOP] - groups[group, at.FIRST] == 1:
                row = rows[groups[group, at.FIRST]]
                danger = factors[level, at.INFERRED] + bonus[attribute]
                danger += _danger_alone(codes, offsets, inferred, closed, column, row)
                worth = chance * danger / (saturation + danger)
                steps += 1
                if worth > best[row]:
                    best[row] = worth
                    _note(known, row, levels, level, attribute)
                continue
            child = level + 1
            levels[child, at.START] = groups[group, at.FIRST]
            levels[child, at.ACTIVE] = groups[group, at.WITNESS]
            levels[child, at.END] = groups[group, at.STOP]
            levels[child, at.LAST] = column
            levels[child, at.ATTRIBUTE] = attribute
            gained, branches, looked = _close(
                codes, offsets, inferred, useful, rows, levels, child, closed, closed_columns
            )
            gained += bonus[attribute]
            factors[child, at.LIKELIHOOD] = chance
            factors[child, at.INFERRED] = factors[level, at.INFERRED] + gained
            if confidence < 1.0:
                steps += _offer_partial(table, work, child, saturation, confidence)
            elif gained > 0.0:
                _offer(best, known, rows, levels, child, factors, saturation)
            steps += looked
            if branches:
                levels[child, at.COLUMN] = codes.shape[0]
                levels[child, at.GROUP] = levels[child, at.GROUPS] = 0
                levels[child, at.GROUPS_START] = levels[level, at.GROUPS]
                level = child
            else:
                _reopen(levels, child, closed, closed_columns)
            continue
        column -= 1
        while column > levels[level, at.LAST] and closed[column]:
            column -= 1
        if column > levels[level, at.LAST]:
            start, active, end = levels[level, at.START], levels[level, at.ACTIVE], levels[level, at.END]
            if max(levels[level, at.FREE], levels[level, at.GROUPS_START]) + end - start > len(rows):
                state = FULL
                break
            levels[level, at.COLUMN] = column
            used = _mark(
                codes, inferable, likelihood, own, best, rows, left, flags, tally, touched, start, active, column,
                offsets[column], factors[level, at.LIKELIHOOD], saturation,
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
    work.registers[at.LEVEL], work.registers[at.STEPS], work.registers[at.NODES] = level, steps, nodes
    return state


@njit(cache=True, error_model="numpy")
def bound_rest(table: Table, work: Work, saturation: float) -> None:
    """Bound everything the stopped search has not visited: the waiting groups and columns of the current path."""
    levels, rows, upper = work.levels, work.rows, work.upper
    for level in range(work.registers[at.LEVEL], -1, -1):
        likelihood = work.factors[level, at.LIKELIHOOD]
        for group in range(levels[level, at.GROUP], levels[level, at.GROUPS]):
            known = likelihood * table.likelihood[table.offsets[levels[level, at.COLUMN]] + work.groups[group, at.CODE]]
            for place in range(work.groups[group, at.FIRST], work.groups[group, at.WITNESS]):
                worth = known * work.left[place] / (saturation + work.left[place])
                upper[rows[place]] = max(upper[rows[place]], worth)
        for column in range(levels[level, at.LAST] + 1, levels[level, at.COLUMN]):
            if work.closed[column]:
                continue
            for place in range(levels[level, at.START], levels[level, at.ACTIVE]):
                row = rows[place]
                if table.codes[column, row] >= 0:
                    attribute = table.offsets[column] + table.codes[column, row]
                    danger = work.left[place] - table.inferable[column, row] * table.own[attribute]
                    worth = likelihood * table.likelihood[attribute] * danger / (saturation + danger)
                    upper[row] = max(upper[row], worth)
        _reopen(levels, level, work.closed, work.closed_columns)
