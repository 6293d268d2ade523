"""The thesis' own algorithm for the privacy score, for comparison only (White 2021, chapter 4 and appendix A).

Algorithm 3 builds the intersection poset row by row from all pairs, with parent and child tables and the removal of
redundant parents; algorithms 6 and 7 enumerate the minimal K of every set from the complements of its children;
weights go up from the bottom. Repaired where the printed program fails: parents are found wherever they stand,
people inside other people keep their score, the empty K counts, numbers have double precision. Compiled, with sets
as machine words and tables of numbers where the thesis hashes bit strings: the comparison favours it.
"""

import numpy as np
from numba import njit


def thesis_scores(
    matrix: np.ndarray, likelihood: np.ndarray, danger: np.ndarray, saturation: float = 1.0
) -> np.ndarray:
    """The score of each row of a boolean matrix."""
    rows, attributes = matrix.shape
    words = max(1, -(-attributes // 64))
    padded = np.zeros((rows, 64 * words), dtype=np.uint8)
    padded[:, :attributes] = matrix
    packed = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    distinct, inverse = np.unique(packed, axis=0, return_inverse=True)
    weights = _poset_weights(np.ascontiguousarray(distinct), attributes, likelihood, danger, saturation)
    return weights[inverse.reshape(-1)]


@njit(cache=True)
def _slot_of_set(sets, table, words):
    """Where a set stands in the hash table, or the free place for it."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in words:
        mixed = (mixed ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    place = np.int64(mixed & np.uint64(len(table) - 1))
    while table[place] >= 0:
        same = True
        for index in range(len(words)):
            same &= sets[table[place], index] == words[index]
        if same:
            break
        place = (place + 1) & (len(table) - 1)
    return place


@njit(cache=True)
def _slot_of_edge(edges, parent, child):
    key = (np.uint64(parent) << np.uint64(32)) | np.uint64(child)
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    place = np.int64(mixed & np.uint64(len(edges) - 1))
    while edges[place] != np.uint64(0xFFFFFFFFFFFFFFFF) and edges[place] != key:
        place = (place + 1) & (len(edges) - 1)
    return place


@njit(cache=True)
def _grown_sets(sets, table, count):
    """Twice the room for sets, and their hash table anew."""
    larger = np.zeros((2 * len(sets), sets.shape[1]), dtype=np.uint64)
    larger[: len(sets)] = sets
    slots = np.full(2 * len(table), -1, dtype=np.int64)
    for index in range(count):
        slots[_slot_of_set(larger, slots, larger[index])] = index
    return larger, slots


@njit(cache=True)
def _grown_edges(edges, alive):
    """Twice the room for parent-child relations."""
    larger = np.full(2 * len(edges), np.uint64(0xFFFFFFFFFFFFFFFF), dtype=np.uint64)
    state = np.zeros(2 * len(edges), dtype=np.uint8)
    for place in range(len(edges)):
        if edges[place] != np.uint64(0xFFFFFFFFFFFFFFFF):
            parent = np.int64(edges[place] >> np.uint64(32))
            child = np.int64(edges[place] & np.uint64(0xFFFFFFFF))
            spot = _slot_of_edge(larger, parent, child)
            larger[spot] = edges[place]
            state[spot] = alive[place]
    return larger, state


@njit(cache=True)
def _doubled(array):
    larger = np.full(2 * len(array), -1, dtype=np.int64)
    larger[: len(array)] = array
    return larger


@njit(cache=True)
def _poset_weights(people, attributes, likelihood, danger, saturation):
    """Algorithm 3, then the weights of its sets from the lowest row up; returns those of the people."""
    width = people.shape[1]
    sets = np.zeros((max(2 * len(people), 1024), width), dtype=np.uint64)
    table = np.full(1 << 12, -1, dtype=np.int64)
    while len(table) < 4 * len(sets):
        table = np.full(2 * len(table), -1, dtype=np.int64)
    count = 0
    for person in people:
        sets[count] = person
        table[_slot_of_set(sets, table, sets[count])] = count
        count += 1
    edges = np.full(1 << 16, np.uint64(0xFFFFFFFFFFFFFFFF), dtype=np.uint64)
    alive = np.zeros(1 << 16, dtype=np.uint8)
    used = 0
    # One list a set of its parents, one of its children: first entry, next entry, the other end.
    first_parent = np.full(len(sets), -1, dtype=np.int64)
    first_child = np.full(len(sets), -1, dtype=np.int64)
    next_parent = np.full(1024, -1, dtype=np.int64)
    next_child = np.full(1024, -1, dtype=np.int64)
    edge_parent = np.full(1024, -1, dtype=np.int64)
    edge_child = np.full(1024, -1, dtype=np.int64)
    row_of = np.full(len(sets), -1, dtype=np.int64)
    row = np.arange(count)
    order = np.zeros(0, dtype=np.int64)  # finished rows of the poset, one after the other
    number = 0
    meet = np.zeros(width, dtype=np.uint64)
    while len(row) > 0:
        row_of[row] = number
        fresh = np.zeros(1024, dtype=np.int64)
        fresh_count = 0
        flagged = np.zeros(count + 1, dtype=np.uint8)
        for one in range(len(row)):
            for other in range(one + 1, len(row)):
                for word in range(width):
                    meet[word] = sets[row[one], word] & sets[row[other], word]
                place = _slot_of_set(sets, table, meet)
                if table[place] < 0:
                    if count == len(sets):
                        sets, table = _grown_sets(sets, table, count)
                        first_parent, first_child = _doubled(first_parent), _doubled(first_child)
                        row_of = _doubled(row_of)
                        place = _slot_of_set(sets, table, meet)
                    sets[count] = meet
                    table[place] = count
                    row_of[count] = number + 1
                    if fresh_count == len(fresh):
                        fresh = _doubled(fresh)
                    fresh[fresh_count] = count
                    fresh_count += 1
                    count += 1
                child = table[place]
                if row_of[child] == number:
                    flagged[child] = 1
                for parent in (row[one], row[other]):
                    if parent == child:
                        continue
                    if 2 * used > len(edges):
                        edges, alive = _grown_edges(edges, alive)
                    spot = _slot_of_edge(edges, parent, child)
                    if edges[spot] != np.uint64(0xFFFFFFFFFFFFFFFF):
                        continue
                    edges[spot] = (np.uint64(parent) << np.uint64(32)) | np.uint64(child)
                    alive[spot] = 1
                    if used == len(edge_parent):
                        edge_parent, edge_child = _doubled(edge_parent), _doubled(edge_child)
                        next_parent, next_child = _doubled(next_parent), _doubled(next_child)
                    edge_parent[used], edge_child[used] = parent, child
                    next_parent[used], first_parent[child] = first_parent[child], used
                    next_child[used], first_child[parent] = first_child[parent], used
                    used += 1
        lower = np.zeros(len(row), dtype=np.int64)
        lower_count = 0
        kept = np.zeros(len(row), dtype=np.int64)
        kept_count = 0
        for child in row:
            if not flagged[child]:
                kept[kept_count] = child
                kept_count += 1
                continue
            # A parent of the set that is also a parent of one of its parents is not a direct parent.
            middle = first_parent[child]
            while middle >= 0:
                if alive[_slot_of_edge(edges, edge_parent[middle], child)]:
                    top = first_parent[child]
                    while top >= 0:
                        above = _slot_of_edge(edges, edge_parent[top], edge_parent[middle])
                        if edges[above] != np.uint64(0xFFFFFFFFFFFFFFFF):
                            alive[_slot_of_edge(edges, edge_parent[top], child)] = 0
                        top = next_parent[top]
                middle = next_parent[middle]
            lower[lower_count] = child
            lower_count += 1
        order = np.concatenate((order, kept[:kept_count]))
        row = np.concatenate((fresh[:fresh_count], lower[:lower_count]))
        number += 1
    weights = np.zeros(count)
    for index in range(len(order) - 1, -1, -1):
        owner = order[index]
        children = 0
        entry = first_child[owner]
        while entry >= 0:
            children += alive[_slot_of_edge(edges, owner, edge_child[entry])]
            entry = next_child[entry]
        below = np.zeros(children, dtype=np.int64)
        children = 0
        entry = first_child[owner]
        while entry >= 0:
            if alive[_slot_of_edge(edges, owner, edge_child[entry])]:
                below[children] = edge_child[entry]
                children += 1
            entry = next_child[entry]
        best = _best_minimal_set(sets, owner, below, attributes, likelihood, danger, saturation)
        for child in below:
            best = max(best, weights[child])
        weights[owner] = best
    return weights[: len(people)]


@njit(cache=True)
def _best_minimal_set(sets, owner, below, attributes, likelihood, danger, saturation):
    """Algorithms 6 and 7: the largest w(K) of the minimal K that meet the complement of every child."""
    members = np.zeros(attributes, dtype=np.int64)
    size = 0
    total = 0.0
    for attribute in range(attributes):
        if sets[owner, attribute >> 6] >> np.uint64(attribute & 63) & np.uint64(1):
            members[size] = attribute
            total += danger[attribute]
            size += 1
    rows = len(below)
    if rows == 0:
        return total / (saturation + total)
    missing = np.zeros((rows, size), dtype=np.uint8)
    for line in range(rows):
        for index in range(size):
            attribute = members[index]
            missing[line, index] = 1 - (sets[below[line], attribute >> 6] >> np.uint64(attribute & 63)) & np.uint64(1)
    sums = np.zeros((size + 2, size), dtype=np.int64)
    traversal = np.zeros((size + 2, size), dtype=np.int64)
    position = np.zeros(size + 2, dtype=np.int64)
    matched = np.zeros((size + 2, rows), dtype=np.uint8)
    chosen = np.zeros(size + 2, dtype=np.int64)
    for index in range(size):
        sums[0, index] = missing[:, index].sum()
    traversal[0] = np.argsort(-sums[0])
    best = 0.0
    depth = 0
    while depth >= 0:
        spot = position[depth]
        if spot == size or sums[depth, traversal[depth, spot]] <= 0:
            depth -= 1
            if depth >= 0:
                sums[depth, chosen[depth]] = 0
            continue
        element = traversal[depth, spot]
        position[depth] += 1
        chosen[depth] = element
        complete = True
        sums[depth + 1] = sums[depth]
        for line in range(rows):
            matched[depth + 1, line] = matched[depth, line] | missing[line, element]
            if matched[depth + 1, line] and not matched[depth, line]:
                for index in range(size):
                    sums[depth + 1, index] -= missing[line, index]
            complete &= matched[depth + 1, line] == 1
        if complete:
            known = 1.0
            left = total
            for index in range(depth + 1):
                known *= likelihood[members[chosen[index]]]
                left -= danger[members[chosen[index]]]
            left = max(left, 0.0)
            best = max(best, known * left / (saturation + left))
            sums[depth, element] = 0
            continue
        depth += 1
        position[depth] = 0
        traversal[depth] = np.argsort(-sums[depth])
    return best
