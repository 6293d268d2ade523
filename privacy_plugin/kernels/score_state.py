"""What the depth-first search of the privacy score reads and writes, laid out for compiled code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Weights = NDArray[np.float64]
Bytes = NDArray[np.uint8]

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
