"""Runs the depth-first search in slices: its memory, its budget, its progress."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacy_plugin.kernels import score_search as kernel
from privacy_plugin.kernels import score_state as state
from privacy_plugin.kernels.score_columns import Columns, inferable_cells
from privacy_plugin.kernels.score_relation import Codes, Integers, Weights

Progress = Callable[[float, int], None]

_SLICE = 1 << 23
_UNIT = 2.3e-16  # above the rounding error of one addition


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a search found: `best` is reached by a K, `upper` cannot be exceeded; equal when complete."""

    best: Weights
    upper: Weights
    known: Codes  # a line a row: how many attributes its best K has, then the attributes
    complete: bool
    steps: int
    nodes: int


def search_table(columns: Columns, *, confidence: float) -> state.Table:
    """Lay the columns out for the search; done once, whatever is asked afterwards."""
    inferred = columns.inferred
    useful = [bool(inferred[start:end].any()) for start, end in _spans(columns)]
    certain = confidence >= 1.0
    return state.Table(
        codes=columns.codes,
        offsets=columns.offsets,
        likelihood=columns.likelihood,
        own=columns.own,
        bonus=columns.bonus,
        inferred=inferred,
        useful=np.asarray(useful, dtype=np.uint8),
        # Below certainty an attribute can count although some rows contradict it.
        inferable=inferable_cells(columns) if certain else np.ones(columns.codes.shape, dtype=np.uint8),
        counts=columns.counts,
    )


def run_search(
    table: state.Table,
    *,
    saturation: float,
    confidence: float,
    budget: int | None = None,
    progress: Progress | None = None,
    rows: Integers | None = None,
    record: bool = False,
    bounded: bool = True,
) -> Outcome:
    """Search for all rows, or some, until done or until `budget` steps (rows looked at in a column) are spent.

    Without `bounded`, the upper ends of an incomplete search mean nothing.
    `progress` is called between slices with the share of the first-level branches done and the steps so far.
    """
    work = _fresh_work(table, rows=rows, record=record)
    kernel.enter_root(table, work, saturation, confidence)
    status = kernel.RUNNING
    while status != kernel.DONE:
        spent = int(work.registers[state.STEPS])
        if budget is not None and spent >= budget:
            break
        limit = spent + _SLICE if budget is None else min(spent + _SLICE, budget)
        status = kernel.advance(table, work, saturation, confidence, limit)
        if status == kernel.FULL:
            work = _grown(work)
        elif progress is not None:
            progress(_share(work, status), int(work.registers[state.STEPS]))
    np.maximum(work.upper, work.best, out=work.upper)
    if status != kernel.DONE and bounded:
        kernel.bound_rest(table, work, saturation)
    return Outcome(
        best=work.best,
        upper=work.upper,
        known=work.known,
        complete=status == kernel.DONE,
        steps=int(work.registers[state.STEPS]),
        nodes=int(work.registers[state.NODES]),
    )


def _spans(columns: Columns) -> list[tuple[int, int]]:
    return [(int(s), int(e)) for s, e in zip(columns.offsets[:-1], columns.offsets[1:], strict=True)]


def _row_danger(table: state.Table) -> Weights:
    """The most danger that can follow for each row, rounded up by more than all later subtractions can lose."""
    columns, rows = table.codes.shape
    danger = np.zeros(rows)
    for column in range(columns):
        held = table.codes[column] >= 0
        attribute = table.offsets[column] + table.codes[column][held]
        danger[held] += table.own[attribute] * table.inferable[column][held] + table.bonus[attribute]
    danger *= 1 + _UNIT * (2 * columns + 2)
    return danger


def _fresh_work(table: state.Table, *, rows: Integers | None, record: bool) -> state.Work:
    columns, people = table.codes.shape
    capacity = 2 * people + 16
    codes = max(int(np.diff(table.offsets).max(initial=0)), 1)
    order = np.arange(people, dtype=np.int32)
    if rows is not None:
        order = np.concatenate([rows, np.delete(order, rows)]).astype(np.int32)
    work = state.Work(
        best=np.zeros(people),
        upper=np.zeros(people),
        known=np.zeros((people, columns + 1) if record else (0, 0), dtype=np.int32),
        levels=np.zeros((columns + 3, state.LEVEL_FIELDS), dtype=np.int64),
        factors=np.zeros((columns + 2, state.FACTOR_FIELDS)),
        rows=np.zeros(capacity, dtype=np.int32),
        left=np.zeros(capacity),
        groups=np.zeros((capacity, state.GROUP_FIELDS), dtype=np.int32),
        closed=np.zeros(columns, dtype=np.uint8),
        closed_columns=np.zeros(columns + 1, dtype=np.int64),
        tally=np.zeros(codes, dtype=np.int64),
        position=np.zeros(codes, dtype=np.int64),
        touched=np.zeros(codes, dtype=np.int32),
        flags=np.zeros(people, dtype=np.uint8),
        extra=np.zeros(people),
        registers=np.zeros(state.REGISTERS, dtype=np.int64),
    )
    work.rows[:people] = order
    work.left[:people] = _row_danger(table)[order]
    root = work.levels[0]
    root[state.ACTIVE] = people if rows is None else len(rows)
    root[state.END] = root[state.FREE] = people
    root[state.COLUMN] = columns
    root[state.LAST] = -1
    work.factors[0, state.LIKELIHOOD] = 1.0
    return work


def _grown(work: state.Work) -> state.Work:
    """Double the row stack; it holds the rows of one path, at most rows * columns."""
    return work._replace(
        rows=np.concatenate([work.rows, np.zeros_like(work.rows)]),
        left=np.concatenate([work.left, np.zeros_like(work.left)]),
        groups=np.concatenate([work.groups, np.zeros_like(work.groups)]),
    )


def _share(work: state.Work, status: int) -> float:
    columns = len(work.closed)
    if status == kernel.DONE or columns == 0:
        return 1.0
    root = work.levels[0]
    waiting = root[state.GROUPS] - root[state.GROUP]
    of = max(root[state.GROUPS] - root[state.GROUPS_START], 1)
    return float((columns - root[state.COLUMN] - waiting / of) / columns)
