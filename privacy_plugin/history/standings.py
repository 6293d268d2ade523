"""Where the people of a table stand in the history: their joint class so far, and the class they would be in now."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from privacy_plugin.frequency.values import Value
from privacy_plugin.history.joint_class_tree import CHANGED, JointClassTree, Move, merge_values
from privacy_plugin.history.people import People
from privacy_plugin.metrics.joint_classes import JointClasses

Group = tuple[int, str]
"""People of one joint class so far (0: newcomers) who would be in the same class now."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Standings:
    """The people of a table, one entry each in the order of its lines, as they stand before it is released.

    `groups[i]` is the group of person i, None for those who cannot be released: `erased` people, whose joint class is
    not known any more, and people whose sensitive value `changed` since an earlier release.
    """

    people: People = field(repr=False)
    tree: JointClassTree = field(repr=False)
    moves: Sequence[Move | None] = field(repr=False)
    releases: int
    returning: int
    erased: int
    changed: int
    _values: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    @property
    def groups(self) -> list[Group | None]:
        """The group of everybody."""
        return [None if move is None else (move.node, move.name) for move in self.moves]

    def value(self, move: Move, column: str) -> Value:
        """Return the sensitive value of a move's people in this table."""
        hashed = self._values.get(move.values)
        if hashed is None:
            hashed = self._values[move.values] = json.loads(move.values)
        return self.people.names[column][hashed[column]]

    def joint_classes(self, chosen: Collection[Group]) -> tuple[JointClasses, Mapping[int, Group]]:
        """Return the joint classes as they would be after a release of these groups, and whence the new ones come."""
        released = [move for move in self.moves if move is not None and (move.node, move.name) in chosen]
        tree = self.tree.copy()
        tree.apply(Counter(released), self.people.facts, release=0)
        returning = sum(move.node != 0 for move in released)
        found = tree.result(self.people, releases=self.releases, returning=returning, number=len(released))
        return found, tree.origins


def stand(
    people: People,
    tree: JointClassTree,
    known: Mapping[str, tuple[int, str]],
    *,
    erased: Collection[str],
    releases: int,
) -> Standings:
    """Return where the people of a table stand."""
    moves: list[Move | None] = []
    changed = 0
    for person, name, values in zip(people.persons, people.classes, people.values, strict=True):
        node, before = known.get(person, (0, "{}"))
        differs = CHANGED in merge_values(before, values)
        changed += differs and person not in erased
        moves.append(None if differs or person in erased else Move(node, before, name, values))
    return Standings(
        people=people,
        tree=tree,
        moves=moves,
        releases=releases,
        returning=len(known),
        erased=len(erased),
        changed=changed,
    )
