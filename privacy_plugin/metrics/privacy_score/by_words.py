"""The search of `by_search` on sets of people kept as machine words, for few people and confidence 1.

It is exact for the same reasons. The people who hold K, the active ones among them and the attributes they have in
common are bits of a few words: one AND per person finds all that follows. Attributes are numbered from the last column
to the first, so that the lowest waiting bit comes next and a child only adds a lower one. Two attributes of one column
have no holder in common, so no K has both.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.metrics.itemsets.itemsets import lowest
from privacy_plugin.metrics.privacy_score.by_search import (
    DONE,
    FACTOR_FIELDS,
    INFERRED,
    LEVEL,
    LIKELIHOOD,
    NODES,
    REGISTERS,
    RUNNING,
    STEPS,
    TIE,
    Codes,
    Integers,
    Weights,
    largest_danger,
)
from privacy_plugin.metrics.privacy_score.reduction import Columns, inferable_cells, packed_bits

Words = NDArray[np.uint64]


class WordTable(NamedTuple):
    """The input of the search; read only."""

    people: Words  # (rows, words): the attributes of each person
    holders: Words  # (attributes, words): the people who hold it
    inferable: Words  # (attributes, words): the people for whom it can ever follow
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
    """The state of the search; every array is written to.

    The first index is the depth, but for `best` to `known`.
    """

    best: Weights
    upper: Weights
    known: Codes  # the best K of each row: how many attributes, then the attributes; or nothing
    path: Integers  # K's last attribute, numbered as in the columns
    factors: Weights
    rows: Words  # the people who hold K
    active: Words  # the people whose score a larger K could raise
    closed: Words  # the attributes that all of them hold
    waiting: Words  # attributes still to be added to K
    left: Weights  # the most danger that can follow for an active row
    registers: Integers

    def share(self) -> float:
        """Return how much of the first level is done; its last attributes take the longest."""
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


@njit(error_model="numpy")
def _close(people: Words, inferred: Weights, rows: Words, closed: Words, level: int, added: int) -> float:
    """Find what all holders of K have in common.

    Returns the danger that newly follows (without that of `added`).
    """
    gained = 0.0
    for place in range(people.shape[1]):
        common = ~np.uint64(0)
        for word in range(rows.shape[1]):
            rest = rows[level, word]
            while rest:
                common &= people[64 * word + lowest(rest), place]
                rest &= rest - np.uint64(1)
        closed[level, place] = common
        fresh = common
        if level > 0:
            fresh &= ~closed[level - 1, place]
        if added >> 6 == place:
            fresh &= ~(np.uint64(1) << np.uint64(added & 63))
        while fresh:
            gained += inferred[64 * place + lowest(fresh)]
            fresh &= fresh - np.uint64(1)
    return gained


@njit(error_model="numpy")
def _offer(
    best: Weights,
    known: Codes,
    least: Weights,
    active: Words,
    left: Weights,
    path: Integers,
    level: int,
    chance: float,
    danger: float,
    likeliest: float,
    saturation: float,
) -> bool:
    """Offer the node's worth to its active rows; keep those active that a larger K could serve."""
    worth = chance * danger / (saturation + danger)
    wanted = False
    for word in range(active.shape[1]):
        rest = active[level, word]
        kept = np.uint64(0)
        while rest:
            bit = rest & (~rest + np.uint64(1))
            row = 64 * word + lowest(rest)
            rest ^= bit
            if worth > best[row]:
                best[row] = worth
                if len(known):
                    known[row, 0] = level
                    for depth in range(1, level + 1):
                        known[row, depth] = path[depth]
            more = left[level, row] - least[row]
            if chance * likeliest * more > (best[row] + TIE) * (saturation + more):
                kept |= bit
        active[level, word] = kept
        wanted |= kept != np.uint64(0)
    return wanted


@njit(error_model="numpy")
def _await(people: Words, active: Words, closed: Words, waiting: Words, level: int, below: int) -> bool:
    """List the open attributes below one that active rows hold; return whether any exist."""
    found = False
    for place in range(people.shape[1]):
        held = np.uint64(0)
        first = 64 * place
        if first < below:
            for word in range(active.shape[1]):
                rest = active[level, word]
                while rest:
                    held |= people[64 * word + lowest(rest), place]
                    rest &= rest - np.uint64(1)
            if below - first < 64:
                held &= (np.uint64(1) << np.uint64(below - first)) - np.uint64(1)
            held &= ~closed[level, place]
        waiting[level, place] = held
        found |= held != np.uint64(0)
    return found


@njit(error_model="numpy")
def _next(waiting: Words, level: int) -> Any:
    """Take the lowest waiting attribute; -1 when there is none."""
    for place in range(waiting.shape[1]):
        word = waiting[level, place]
        if word:
            waiting[level, place] = word & (word - np.uint64(1))
            return 64 * place + lowest(word)
    return -1


@njit(error_model="numpy")
def _activate(
    holders: Words,
    inferable: Words,
    best: Weights,
    active: Words,
    left: Weights,
    level: int,
    attribute: int,
    own: float,
    chance: float,
    saturation: float,
) -> int:
    """Find the rows for which a K with the attribute could beat their best; returns how many there are."""
    found = 0
    for word in range(active.shape[1]):
        rest = active[level, word] & holders[attribute, word]
        kept = np.uint64(0)
        while rest:
            bit = rest & (~rest + np.uint64(1))
            row = 64 * word + lowest(rest)
            rest ^= bit
            danger = left[level, row]
            if inferable[attribute, word] & bit:
                danger -= own
            if chance * danger > (best[row] + TIE) * (saturation + danger):
                kept |= bit
                left[level + 1, row] = danger
                found += 1
        active[level + 1, word] = kept
    return found


@njit(error_model="numpy")
def enter_root(table: WordTable, work: WordWork, saturation: float, confidence: float) -> None:
    """Visit the empty K: the attributes of every row follow from it."""
    danger = _close(table.people, table.inferred, work.rows, work.closed, 0, -1)
    work.factors[0, INFERRED] = danger
    likeliest = table.likelihood.max() if len(table.likelihood) else 0.0
    wanted = _offer(
        work.best, work.known, table.least, work.active, work.left, work.path, 0, 1.0, danger, likeliest, saturation
    )
    if wanted:
        _await(table.people, work.active, work.closed, work.waiting, 0, len(table.holders))
    work.registers[STEPS] += len(table.people)
    work.registers[NODES] += 1


@njit(error_model="numpy")
def advance(table: WordTable, work: WordWork, saturation: float, confidence: float, limit: int) -> int:
    """Search until done or until `limit` steps are spent."""
    # Taken out of the tuples once: each access inside the loop would count references.
    people, holders, inferable, least = table.people, table.holders, table.inferable, table.least
    likelihood, own, bonus, inferred = table.likelihood, table.own, table.bonus, table.inferred
    best, known, path, factors, rows = work.best, work.known, work.path, work.factors, work.rows
    active, closed, waiting, left = work.active, work.closed, work.waiting, work.left
    level, steps, nodes = work.registers[LEVEL], work.registers[STEPS], work.registers[NODES]
    likeliest = likelihood.max() if len(likelihood) else 0.0
    state = RUNNING
    while steps < limit:
        attribute = _next(waiting, level)
        if attribute < 0:
            if level == 0:
                state = DONE
                break
            level -= 1
            continue
        child = level + 1
        chance = factors[level, LIKELIHOOD] * likelihood[attribute]
        found = _activate(holders, inferable, best, active, left, level, attribute, own[attribute], chance, saturation)
        steps += 1
        if found == 0:
            continue
        for word in range(rows.shape[1]):
            rows[child, word] = rows[level, word] & holders[attribute, word]
        path[child] = len(holders) - 1 - attribute
        danger = factors[level, INFERRED] + bonus[attribute]
        danger += _close(people, inferred, rows, closed, child, attribute)
        factors[child, LIKELIHOOD], factors[child, INFERRED] = chance, danger
        steps += found + 2 * (1 + people.shape[1] * rows.shape[1])
        nodes += 1
        wanted = _offer(best, known, least, active, left, path, child, chance, danger, likeliest, saturation)
        if wanted and _await(people, active, closed, waiting, child, attribute):
            level = child
    work.registers[LEVEL], work.registers[STEPS], work.registers[NODES] = level, steps, nodes
    return state


@njit(error_model="numpy")
def bound_rest(table: WordTable, work: WordWork, saturation: float) -> None:
    """Bound everything the stopped search has not visited: the waiting attributes of the current path."""
    for level in range(work.registers[LEVEL] + 1):
        attribute = _next(work.waiting, level)
        while attribute >= 0:
            chance = work.factors[level, LIKELIHOOD] * table.likelihood[attribute]
            for row in range(len(work.best)):
                word, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
                if work.active[level, word] & table.holders[attribute, word] & bit:
                    danger = work.left[level, row]
                    if table.inferable[attribute, word] & bit:
                        danger -= table.own[attribute]
                    work.upper[row] = max(work.upper[row], chance * danger / (saturation + danger))
            attribute = _next(work.waiting, level)
