"""Reduction of a relation to fewer columns with the same scores, for the lattice and the search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.metrics.privacy_score.relation import Codes, Flags, Integers, Relation, Weights, distinct_rows

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

_OPEN_COLUMNS = 64


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Distinct rows of the attributes that can matter, least likely column first."""

    codes: Codes  # (columns, rows)
    counts: Integers
    rows: Integers  # distinct row of the relation -> row here
    offsets: Integers
    likelihood: Weights
    own: Weights  # danger lost when the attribute itself is known
    bonus: Weights  # danger of the attributes that always come with it and are not searched themselves
    origin: Integers  # attribute number in the relation

    @property
    def inferred(self) -> Weights:
        """Danger gained when the attribute follows."""
        return self.own + self.bonus


def search_columns(relation: Relation, *, merge: bool = True) -> Columns:
    """Drop attributes that cannot matter, fold equal ones, pack disjoint ones, order the columns.

    Attributes held by exactly the same people follow from each other, so a set K needs at most one of them, and of
    two the likelier and less dangerous one serves at least as well: the other only adds its danger to it (`bonus`).
    Attributes that no person holds together can share a column, as no K holds both. None of this changes a score, at
    any confidence. Cost: a few passes over the table.
    """
    everything = np.ones(relation.attributes, dtype=np.bool_)
    kept, bonus = _fold_equal(relation) if merge else (everything, np.zeros(relation.attributes))
    matters = (relation.likelihood > 0) | (relation.danger + bonus > 0)
    home, code, members = _layout(relation, kept & matters, pack=merge)
    codes = np.full((len(members), len(relation.counts)), -1, dtype=np.int32)
    _relay(relation.codes, relation.offsets, home, code, codes)
    rows = np.arange(len(relation.counts))
    counts = relation.counts
    if not matters[kept].all():  # rows may differ only in what was dropped; folding keeps them apart
        first, rows = distinct_rows(codes)
        codes = np.ascontiguousarray(codes[:, first])
        counts = np.bincount(rows, weights=relation.counts).astype(np.int64)
    origin = np.concatenate([*members, []]).astype(np.int64)
    return Columns(
        codes=codes,
        counts=counts,
        rows=rows,
        offsets=np.cumsum([0, *map(len, members)]),
        likelihood=relation.likelihood[origin],
        own=relation.danger[origin],
        bonus=bonus[origin],
        origin=origin,
    )


def _fold_equal(relation: Relation) -> tuple[Flags, Weights]:
    """Return which attributes stay, and the danger of the folded ones on the one they were folded into."""
    leader = _equal_leaders(relation)
    order = np.lexsort((relation.danger, -relation.likelihood, leader))
    heads = order[np.diff(leader[order], prepend=-1) != 0]
    head_of = np.zeros(relation.attributes, dtype=np.int64)
    head_of[leader[heads]] = heads
    head = head_of[leader]
    folded = (relation.danger >= relation.danger[head]) & (head != np.arange(relation.attributes))
    bonus = np.bincount(head[folded], weights=relation.danger[folded], minlength=relation.attributes)
    return ~folded, bonus.astype(np.float64)


def _equal_leaders(relation: Relation) -> Integers:
    """For each attribute, one attribute held by exactly the same people (often itself)."""
    noise = np.random.default_rng(20210101).random(len(relation.counts))
    support, signature = _signatures(relation.codes, relation.offsets, noise)
    order = np.lexsort((np.arange(relation.attributes), signature, support))
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (np.diff(support[order]) != 0) | (np.diff(signature[order]) != 0)
    leader = np.arange(relation.attributes)
    leader[order] = order[np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))]
    column_of = np.repeat(np.arange(len(relation.offsets) - 1), np.diff(relation.offsets))
    _undo_unequal(relation.codes, relation.offsets, column_of, leader)
    return leader


@njit()
def _signatures(codes: Codes, offsets: Integers, noise: Weights) -> tuple[Integers, Weights]:
    """Return how many rows hold each attribute, and the sum of their noise.

    The sums are equal for equal rows, because they are added in order.
    """
    support = np.zeros(offsets[-1], dtype=np.int64)
    signature = np.zeros(offsets[-1])
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            if codes[column, row] >= 0:
                support[offsets[column] + codes[column, row]] += 1
                signature[offsets[column] + codes[column, row]] += noise[row]
    return support, signature


@njit()
def _undo_unequal(codes: Codes, offsets: Integers, column_of: Integers, leader: Integers) -> None:
    """Make an attribute its own leader where its people differ from the leader's (they are equally many)."""
    unequal = np.zeros(len(leader), dtype=np.uint8)
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            if codes[column, row] >= 0:
                attribute = offsets[column] + codes[column, row]
                other = column_of[leader[attribute]]
                if offsets[other] + codes[other, row] != leader[attribute]:
                    unequal[attribute] = 1
    for attribute in range(len(leader)):
        if unequal[attribute]:
            leader[attribute] = attribute


def _layout(relation: Relation, keep: Flags, *, pack: bool) -> tuple[Integers, Integers, list[Integers]]:
    """Return the new column and code of each kept attribute, and the attributes of each column.

    -1 for attributes that are dropped.
    """
    members: list[Integers] = []
    homes = np.repeat(np.arange(len(relation.codes)), np.diff(relation.offsets))
    sizes = np.bincount(homes[keep], minlength=len(relation.codes))
    single = sizes == 1 if pack else np.zeros(len(sizes), dtype=np.bool_)
    for column in np.flatnonzero((sizes > 0) & ~single):
        start, end = relation.offsets[column], relation.offsets[column + 1]
        members.append(np.flatnonzero(keep[start:end]) + start)
    alone = np.flatnonzero(keep & single[homes])
    if len(alone):
        held = relation.codes[homes[alone]] == (alone - relation.offsets[homes[alone]])[:, None]
        group = _first_fit(packed_bits(held))
        members.extend(alone[group == number] for number in range(int(group.max()) + 1))
    members.sort(key=lambda inside: (relation.likelihood[inside].max(), len(inside), inside[0]))
    home = np.full(relation.attributes, -1, dtype=np.int64)
    code = np.full(relation.attributes, -1, dtype=np.int64)
    for number, inside in enumerate(members):
        home[inside] = number
        code[inside] = np.arange(len(inside))
    return home, code, members


def packed_bits(held: Flags) -> Words:
    """Return one line of words per attribute; row r is bit r % 64 of word r // 64."""
    padded = np.zeros((len(held), -(-held.shape[1] // 64) * 64), dtype=np.bool_)
    padded[:, : held.shape[1]] = held
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


@njit()
def _first_fit(held: Words) -> Integers:
    """Group each attribute with the first earlier ones that no row holds together with it."""
    attributes, words = held.shape
    group = np.zeros(attributes, dtype=np.int64)
    taken = np.zeros((attributes, words), dtype=np.uint64)
    opened = 0
    for attribute in range(attributes):
        chosen = max(0, opened - _OPEN_COLUMNS)
        while chosen < opened:
            common = np.uint64(0)
            for word in range(words):
                common |= taken[chosen, word] & held[attribute, word]
            if common == np.uint64(0):
                break
            chosen += 1
        opened = max(opened, chosen + 1)
        group[attribute] = chosen
        taken[chosen] |= held[attribute]
    return group


@njit()
def _relay(codes: Codes, offsets: Integers, home: Integers, code: Integers, into: Codes) -> None:
    """Write each row's kept attributes to their new columns."""
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            if codes[column, row] >= 0:
                attribute = offsets[column] + codes[column, row]
                if home[attribute] >= 0:
                    into[home[attribute], row] = code[attribute]


def inferable_cells(columns: Columns) -> Bytes:
    """Return for each (column, row) whether the row's attribute can ever follow for it with certainty.

    It cannot when another row agrees with it in every other column but not in this one: any K that the row has
    without the attribute, the other row has too. Cost: one hash lookup per cell; a hit is compared in full.
    """
    dangerous = np.add.reduceat(columns.inferred, columns.offsets[:-1]) > 0 if len(columns.codes) else np.zeros(0)
    cells = np.ones(columns.codes.shape, dtype=np.uint8)
    _clear_uninferable(columns.codes, dangerous.astype(np.uint8), cells)
    return cells


@njit()
def _mixed(number: int) -> np.uint64:
    """Spread a whole number over 64 bits (splitmix64)."""
    z = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit()
def _agree_elsewhere(codes: Codes, one: int, other: int, column: int) -> bool:
    same = True
    for place in range(codes.shape[0]):
        same &= place == column or codes[place, one] == codes[place, other]
    return same


@njit()
def _clear_uninferable(codes: Codes, dangerous: Bytes, cells: Bytes) -> None:
    columns, rows = codes.shape
    whole = np.zeros(rows, dtype=np.uint64)
    for column in range(columns):
        for row in range(rows):
            whole[row] += _mixed((column << 32) + codes[column, row] + 1)
    size = 4
    while size < 2 * rows:
        size *= 2
    slots = np.empty(size, dtype=np.int64)
    rests = np.empty(size, dtype=np.uint64)
    for column in range(columns):
        if not dangerous[column]:
            continue
        slots[:] = -1
        for row in range(rows):
            rest = whole[row] - _mixed((column << 32) + codes[column, row] + 1)
            slot = np.int64(_mixed(rest) & np.uint64(size - 1))
            while slots[slot] >= 0 and not (rests[slot] == rest and _agree_elsewhere(codes, slots[slot], row, column)):
                slot = (slot + 1) % size
            if slots[slot] < 0:
                slots[slot] = row
                rests[slot] = rest
            else:
                cells[column, row] = 0
                cells[column, slots[slot]] = 0
