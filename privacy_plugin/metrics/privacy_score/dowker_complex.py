"""The Dowker complex of a relation and its holes: minimal sets of attributes that no person has together."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from privacy_plugin.compiled import njit
from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.metrics.privacy_score.relation import Attributes, Integers, Relation
from privacy_plugin.metrics.privacy_score.result import PrivacyScore

Words = NDArray[np.uint64]


def minimal_non_faces(relation: Relation, *, max_size: int, limit: int = 1_000_000) -> list[list[int]]:
    """List the holes M of 2 to `max_size` attributes.

    No person has all of M, but for each of its attributes a person has all others. These are the minimal non-faces of
    the Dowker complex (White 2021, chapter 6). Two values of one column are left out: no row could fill them. Ascending
    by size, then by attributes. Cost: one pass over the people, 64 at a time, for each set of fewer than `max_size`
    attributes that a person has and each attribute after it.

    >>> from privacy_plugin.metrics.privacy_score.relation import make_relation
    >>> triangle = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> people = make_relation(matrix=triangle, likelihood=[1] * 3, danger=[1] * 3)
    >>> minimal_non_faces(people, max_size=3)
    [[0, 1, 2]]
    """
    if max_size < 2:
        raise ParameterError(f"holes have at least 2 attributes; a max_size of {max_size} was given")
    extents, attributes, column = _extents(relation)
    found = np.empty((min(limit, 4096), max_size), dtype=np.int64)
    while True:
        count = _find_holes(extents, column, max_size, found)
        if count <= len(found):
            break
        if count > limit:
            raise TooLargeError(f"there are {count} holes of up to {max_size} attributes; at most {limit} are listed")
        found = np.empty((count, max_size), dtype=np.int64)
    holes = [[int(attributes[place]) for place in line if place >= 0] for line in found[:count]]
    return sorted(holes, key=lambda hole: (len(hole), hole))


def _extents(relation: Relation) -> tuple[Words, Integers, Integers]:
    """Return for each attribute that occurs: its people as bits, its number, its column."""
    lines, numbers, columns = [], [], []
    rows = len(relation.counts)
    padded = np.zeros(-(-rows // 64) * 64, dtype=np.bool_)
    for column, start in enumerate(relation.offsets[:-1]):
        for code in range(int(relation.offsets[column + 1] - start)):
            padded[:rows] = relation.codes[column] == code
            if padded.any():
                lines.append(np.packbits(padded).view(np.uint64))
                numbers.append(int(start) + code)
                columns.append(column)
    extents = np.stack(lines) if lines else np.zeros((0, 1), dtype=np.uint64)
    return extents, np.asarray(numbers, dtype=np.int64), np.asarray(columns, dtype=np.int64)


@njit()
def _meet(one: Words, other: Words, into: Words) -> bool:
    """AND two sets of people; return whether any person is left."""
    some = np.uint64(0)
    for word in range(len(one)):
        into[word] = one[word] & other[word]
        some |= into[word]
    return bool(some != np.uint64(0))


@njit()
def _held_without(extents: Words, chosen: Integers, size: int, left_out: int, last: int) -> bool:
    """Return whether a person has `last` and the chosen attributes except the one left out."""
    for word in range(extents.shape[1]):
        common = extents[last, word]
        for index in range(size):
            if index != left_out:
                common &= extents[chosen[index], word]
        if common != np.uint64(0):
            return True
    return False


@njit()
def _find_holes(extents: Words, column: Integers, max_size: int, found: Integers) -> int:
    """Extend each set that a person has by each later attribute; write and count the holes."""
    attributes = extents.shape[0]
    chosen = np.zeros(max_size, dtype=np.int64)
    upcoming = np.zeros(max_size + 1, dtype=np.int64)
    people = np.zeros((max_size + 1, extents.shape[1]), dtype=np.uint64)
    people[0] = ~np.uint64(0)
    count = 0
    size = 0
    while size >= 0:
        last = upcoming[size]
        if last == attributes or size == max_size:
            size -= 1
            continue
        upcoming[size] += 1
        apart = True
        for index in range(size):
            apart &= column[chosen[index]] != column[last]
        if not apart:
            continue
        if _meet(people[size], extents[last], people[size + 1]):
            chosen[size] = last
            size += 1
            upcoming[size] = last + 1
            continue
        hole = True
        for left_out in range(size):
            hole = hole and (size == 1 or _held_without(extents, chosen, size, left_out, last))
        if hole:
            if count < len(found):
                found[count] = -1
                found[count, :size] = chosen[:size]
                found[count, size] = last
            count += 1
    return count


Face = tuple[int, ...]

MOST_VERTICES = 12
_LARGEST_HOLE = 4


@dataclass(frozen=True, kw_only=True)
class DowkerComplex:
    """A complex whose vertices are attributes and whose faces are sets that at least one person has.

    Attributes are named by their column, and numbered where a column has several; values are not shown. `free_faces`
    are the smallest ones: a *proper* face inside exactly one maximal face (White 2021, definition 2.22 with its
    erratum), from which that face follows unless a person has exactly it. `inferring` are the smallest sets from which
    another attribute follows in this table. `holes` are sets that no person has although, for each of their attributes,
    a person has all others.
    """

    vertices: tuple[str, ...]
    maximal: tuple[Face, ...]
    free_faces: tuple[Face, ...]
    inferring: tuple[Face, ...]
    holes: tuple[Face, ...]

    def name(self, face: Face) -> str:
        """Return the names of the attributes of a face."""
        return ", ".join(self.vertices[vertex] for vertex in face) or "nothing"


def dowker_complex(found: PrivacyScore) -> DowkerComplex | None:
    """Return the complex of a measured table, or None where it has too many attributes.

    Cost: every set of at most 12 attributes.
    """
    relation = found.related.relation
    people = {frozenset(relation.held_by(row)) for row in range(len(relation.counts))}
    held = sorted(set().union(*people))
    if not held or len(held) > MOST_VERTICES:
        return None
    number = {attribute: vertex for vertex, attribute in enumerate(held)}
    maximal = [person for person in people if not any(person < other for other in people)]
    faces = [set(face) for size in range(len(held)) for face in combinations(held, size)]
    free = [face for face in faces if sum(face <= top for top in maximal) == 1 and face not in maximal]
    inferring = [face for face in faces if _closure(face, people) > face]
    holes = minimal_non_faces(relation, max_size=_LARGEST_HOLE)
    return DowkerComplex(
        vertices=_names(found.related, held),
        maximal=_numbered(maximal, number),
        free_faces=_numbered(_smallest(free), number),
        inferring=_numbered(_smallest(inferring), number),
        holes=_numbered(holes, number),
    )


def _closure(face: set[int], people: Iterable[frozenset[int]]) -> frozenset[int]:
    """Return what all people with the face have in common; the empty set where no person has it."""
    among = [person for person in people if face <= person]
    return frozenset.intersection(*among) if among else frozenset()


def _smallest(faces: list[set[int]]) -> list[set[int]]:
    return [face for face in faces if not any(other < face for other in faces)]


def _numbered(faces: Iterable[Iterable[int]], number: dict[int, int]) -> tuple[Face, ...]:
    return tuple(sorted((tuple(sorted(number[a] for a in face)) for face in faces), key=lambda face: (len(face), face)))


def _names(related: Attributes, held: list[int]) -> tuple[str, ...]:
    columns = [related.listed[attribute].column for attribute in held]
    alone = {column for column in columns if columns.count(column) == 1}
    return tuple(
        column if column in alone else f"{column} #{columns[: place + 1].count(column)}"
        for place, column in enumerate(columns)
    )
