"""What the depth-first search of the privacy score reads and writes, laid out for compiled code."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float64]
Bytes = NDArray[np.uint8]

_UNIT = 2.3e-16  # above twice the rounding error of one addition

# Columns of `levels`: one line a node on the current path.
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
    """What is searched; nothing in it changes."""

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
    """Where the search stands; every array is written to."""

    best: Weights
    upper: Weights
    known: Codes  # the best K of each row, or nothing
    levels: Integers
    factors: Weights
    rows: Codes
    left: Weights  # beside `rows`: the most danger that can follow for an active row, rounded up
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
        """How much of the first level is done."""
        columns = len(self.closed)
        if columns == 0:
            return 1.0
        root = self.levels[0]
        waiting = root[GROUPS] - root[GROUP]
        of = max(root[GROUPS] - root[GROUPS_START], 1)
        return float((columns - root[COLUMN] - waiting / of) / columns)


@njit(cache=True)
def largest_danger(codes: Codes, offsets: Integers, own: Weights, bonus: Weights, inferable: Bytes) -> Weights:
    """The most danger that can follow for each row, rounded up by more than all later subtractions can lose."""
    columns, rows = codes.shape
    danger = np.zeros(rows)
    for column in range(columns):
        for row in range(rows):
            if codes[column, row] >= 0:
                attribute = offsets[column] + codes[column, row]
                danger[row] += own[attribute] * inferable[column, row] + bonus[attribute]
    danger *= 1 + _UNIT * (2 * columns + 2)
    return danger
