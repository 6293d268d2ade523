"""What the search over machine words looks at, and where it stands (see `score_words`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.metrics.privacy_score.columns import Columns, inferable_cells, packed_bits
from privacy_plugin.metrics.privacy_score.state import (
    FACTOR_FIELDS,
    LIKELIHOOD,
    REGISTERS,
    Codes,
    Integers,
    Weights,
    largest_danger,
)

Words = NDArray[np.uint64]


class WordTable(NamedTuple):
    """What is searched; nothing in it changes."""

    people: Words  # (rows, words): what somebody holds
    holders: Words  # (attributes, words): who holds it
    inferable: Words  # (attributes, words): for whom it can ever follow
    likelihood: Weights
    own: Weights
    bonus: Weights
    inferred: Weights
    danger: Weights  # the most that can follow for each row, rounded up
    least: Weights  # the least of it that a row loses with any attribute more in K
    columns: int

    def fresh_work(self, *, rows: Integers | None, record: bool) -> "WordWork":
        """Return the state before the first node; only `rows` are active, without it all."""
        people, depth = len(self.people), self.columns + 2
        everybody = np.ones((1, people), dtype=np.bool_)
        active = everybody.copy()
        if rows is not None:
            active[0] = False
            active[0, rows] = True
        work = WordWork(
            best=np.zeros(people),
            upper=np.zeros(people),
            known=np.zeros((people, self.columns + 1) if record else (0, 0), dtype=np.int32),
            path=np.zeros(depth, dtype=np.int64),
            factors=np.zeros((depth, FACTOR_FIELDS)),
            rows=np.zeros((depth, self.holders.shape[1]), dtype=np.uint64),
            active=np.zeros((depth, self.holders.shape[1]), dtype=np.uint64),
            closed=np.zeros((depth, self.people.shape[1]), dtype=np.uint64),
            waiting=np.zeros((depth, self.people.shape[1]), dtype=np.uint64),
            left=np.zeros((depth, people)),
            registers=np.zeros(REGISTERS, dtype=np.int64),
        )
        work.rows[0] = packed_bits(everybody)[0]
        work.active[0] = packed_bits(active)[0]
        work.left[0] = self.danger
        work.factors[0, LIKELIHOOD] = 1.0
        return work


class WordWork(NamedTuple):
    """Where the search stands; every array is written to. The first index is the depth, but for `best` to `known`."""

    best: Weights
    upper: Weights
    known: Codes  # the best K of each row: how many attributes, then the attributes; or nothing
    path: Integers  # K's last attribute, numbered as in the columns
    factors: Weights
    rows: Words  # who holds K
    active: Words  # whose score a K with more attributes could raise
    closed: Words  # what everybody of them holds
    waiting: Words  # attributes still to be added to K
    left: Weights  # the most danger that can follow for an active row
    registers: Integers

    def share(self) -> float:
        """How much of the first level is done; its last attributes take the longest."""
        left = int(np.bitwise_count(self.waiting[0]).sum())
        return float(1.0 - left / (64 * self.waiting.shape[1]))


def word_table(columns: Columns) -> WordTable:
    """Lay the columns out as words."""
    attributes, rows = len(columns.likelihood), columns.codes.shape[1]
    held = np.zeros((attributes, rows), dtype=np.bool_)
    follows = np.zeros((attributes, rows), dtype=np.bool_)
    column, row = np.nonzero(columns.codes >= 0)
    attribute = attributes - 1 - columns.offsets[column] - columns.codes[column, row]
    held[attribute, row] = True
    inferable = inferable_cells(columns)
    follows[attribute, row] = inferable[column, row]
    danger = largest_danger(columns.codes, columns.offsets, columns.own, columns.bonus, inferable)
    own = columns.own[::-1].copy()
    lost = np.where(held, own[:, None] * follows, np.inf)
    return WordTable(
        people=packed_bits(held.T),
        holders=packed_bits(held),
        inferable=packed_bits(follows),
        likelihood=columns.likelihood[::-1].copy(),
        own=own,
        bonus=columns.bonus[::-1].copy(),
        inferred=columns.inferred[::-1].copy(),
        danger=danger,
        least=np.minimum(lost.min(axis=0, initial=np.inf), danger),
        columns=len(columns.codes),
    )
