"""The depth-first search of the privacy score where there are few people: sets of people are machine words.

The same search as `score_search`, exact for the same reasons, at confidence 1. Who holds K and who of them is active
are bits of a few words, and so are the attributes that everybody in a node has: one AND a person finds all that
follows. Attributes are numbered from the last column to the first, so that the lowest waiting bit comes next and a
child only adds a lower one. Two attributes of one column have nobody in common, so no K has both.
"""

from typing import Any

import numpy as np
from numba import njit

from privacy_plugin.metrics.itemsets.machine_words import lowest
from privacy_plugin.metrics.privacy_score.search import TIE
from privacy_plugin.metrics.privacy_score.state import (
    DONE,
    INFERRED,
    LEVEL,
    LIKELIHOOD,
    NODES,
    RUNNING,
    STEPS,
    Codes,
    Integers,
    Weights,
)
from privacy_plugin.metrics.privacy_score.word_state import Words, WordTable, WordWork


@njit(cache=True, error_model="numpy")
def _close(people: Words, inferred: Weights, rows: Words, closed: Words, level: int, added: int) -> float:
    """Find what everybody who holds K has; returns the danger that newly follows (not that of `added` itself)."""
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


@njit(cache=True, error_model="numpy")
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
    """Offer the node's worth to its active rows; only those whom a larger K could serve better stay active."""
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


@njit(cache=True, error_model="numpy")
def _await(people: Words, active: Words, closed: Words, waiting: Words, level: int, below: int) -> bool:
    """List the attributes below one that active rows hold and that do not follow from K; whether there are any."""
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


@njit(cache=True, error_model="numpy")
def _next(waiting: Words, level: int) -> Any:
    """Take the lowest waiting attribute; -1 when there is none."""
    for place in range(waiting.shape[1]):
        word = waiting[level, place]
        if word:
            waiting[level, place] = word & (word - np.uint64(1))
            return 64 * place + lowest(word)
    return -1


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def enter_root(table: WordTable, work: WordWork, saturation: float, confidence: float) -> None:
    """Visit the empty K: what everybody has follows from nothing."""
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


@njit(cache=True, error_model="numpy")
def advance(table: WordTable, work: WordWork, saturation: float, confidence: float, limit: int) -> int:
    """Go on until the search is done or `limit` steps are spent."""
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


@njit(cache=True, error_model="numpy")
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
