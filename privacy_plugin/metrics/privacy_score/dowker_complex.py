"""The Dowker complex of a small table: attributes that occur together, free faces, holes."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from privacy_plugin.metrics.privacy_score.relation import Attributes
from privacy_plugin.metrics.privacy_score.result import PrivacyScore

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
    from privacy_plugin.metrics.privacy_score.holes import minimal_non_faces

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
