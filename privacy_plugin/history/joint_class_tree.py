"""The tree of joint classes of a dataset: load it, move the people of a release, save or forget.

Node 0 stands for everybody who was in no release. A node's counts are the people who are there now.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from privacy_plugin.frequency.values import Value
from privacy_plugin.history.people import People, join_values
from privacy_plugin.history.tables import COUNTS, JOINT_CLASSES, PEOPLE, PLANS, ROWS
from privacy_plugin.metrics.joint_classes import ClassFacts, JointClasses

Facts = Mapping[str, Sequence[Any]]

CHANGED = "changed"  # in place of the hash of a value that differs between two releases


class Move(NamedTuple):
    """People of one joint class with the same values, who are in the same class of a release."""

    node: int
    before: str
    name: str
    values: str


class JointClassTree:
    """The joint classes of one dataset, with how many people of each have which sensitive values."""

    def __init__(self, dataset: str) -> None:
        """Begin without releases."""
        self.dataset = dataset
        self.parents: dict[int, int] = {}
        self.facts: dict[int, Facts] = {}
        self.counts: dict[int, Counter[str]] = {}
        self._new: dict[tuple[int, str], int] = {}
        self._release = 0
        self._touched: set[int] = set()
        self._next = 1

    @classmethod
    def load(cls, connection: sa.Connection, dataset: str) -> "JointClassTree":
        """Load the tree of a dataset."""
        tree = cls(dataset)
        own = JOINT_CLASSES.c.dataset == dataset
        columns = (JOINT_CLASSES.c.id, JOINT_CLASSES.c.parent, JOINT_CLASSES.c.facts)
        known: dict[str, Facts] = {}
        for row in connection.execute(sa.select(*columns).where(own)):
            tree.parents[row.id] = row.parent
            tree.facts[row.id] = known.setdefault(row.facts, json.loads(row.facts))
        joined = COUNTS.join(JOINT_CLASSES, JOINT_CLASSES.c.id == COUNTS.c.joint_class)
        query = sa.select(COUNTS.c.joint_class, COUNTS.c.hashes, COUNTS.c.people).select_from(joined).where(own)
        for number, values, people in connection.execute(query):
            tree.counts.setdefault(number, Counter())[values] = people
        tree._next = 1 + (connection.execute(sa.select(sa.func.max(JOINT_CLASSES.c.id))).scalar() or 0)
        return tree

    def copy(self) -> "JointClassTree":
        """Return a tree that can be moved on by itself."""
        made = JointClassTree(self.dataset)
        made.parents, made.facts, made._next = dict(self.parents), dict(self.facts), self._next
        made.counts = {number: Counter(held) for number, held in self.counts.items()}
        return made

    @property
    def origins(self) -> Mapping[int, tuple[int, str]]:
        """The joint class before, and the class, of the joint classes that the last release made."""
        return {number: origin for origin, number in self._new.items()}

    def child(self, parent: int, name: str) -> int:
        """Return the joint class of those who were in `parent` and are in this class of the new release."""
        return self._new[parent, name]

    def move(self, people: People, known: Mapping[str, tuple[int, str]], *, release: int) -> None:
        """Move the people of a release to their new joint classes."""
        moves: Counter[Move] = Counter()
        for person, name, values in zip(people.persons, people.classes, people.values, strict=True):
            node, before = known.get(person, (0, "{}"))
            moves[Move(node, before, name, values)] += 1
        self.apply(moves, people.facts, release=release)

    def apply(self, moves: Mapping[Move, int], facts: Mapping[str, Facts], *, release: int) -> None:
        """Move numbers of people; `facts` describes the classes of the release."""
        self._release = release
        for (node, before, name, values), count in moves.items():
            if (node, name) not in self._new:
                self._add(node, name, facts.get(name, {}))
            target = self._new[node, name]
            if node:
                self.counts[node][before] -= count
                self._touched.add(node)
            self.counts[target][merge_values(before, values)] += count

    def _add(self, parent: int, name: str, facts: Facts) -> None:
        number, self._next = self._next, self._next + 1
        self._new[parent, name] = number
        self.parents[number] = parent
        self.facts[number] = facts
        self.counts[number] = Counter()
        self._touched.add(number)

    def save(self, connection: sa.Connection) -> None:
        """Write the new joint classes and the counts that changed."""
        nodes = [
            {
                "id": number,
                "dataset": self.dataset,
                "parent": parent,
                "release": self._release,
                "label": name,
                "facts": json.dumps(self.facts[number]),
            }
            for (parent, name), number in self._new.items()
        ]
        if nodes:
            connection.execute(sa.insert(JOINT_CLASSES), nodes)
        _write_counts(connection, {number: self.counts[number] for number in self._touched})

    def result(self, people: People, *, releases: int, returning: int, number: int | None = None) -> JointClasses:
        """Return the joint classes that have people, with the names of values that the judged table knows.

        `number`: how many of the people are released; default: all.
        """
        classes: list[int] = []
        values: list[Mapping[str, Value]] = []
        counts: list[int] = []
        named: dict[str, Mapping[str, Value]] = {}
        hashed: dict[str, set[str]] = {}
        changed = 0
        for node, held in self.counts.items():
            for text, count in held.items():
                if count <= 0:
                    continue
                if text not in named:
                    named[text] = _name_values(json.loads(text), people.names, hashed)
                changed += count if CHANGED in named[text].values() else 0
                classes.append(node)
                values.append(named[text])
                counts.append(count)
        return JointClasses(
            releases=releases,
            people=len(people.persons) if number is None else number,
            returning=returning,
            changed=changed,
            classes=classes,
            values=values,
            counts=counts,
            paths={node: self._path(node) for node in set(classes)},
            current=frozenset(self._new.values()),
            hashed={column: len(unknown) for column, unknown in hashed.items()},
        )

    def _path(self, number: int) -> list[dict[str, ClassFacts]]:
        path = []
        while number:
            path.append(
                {
                    column: ClassFacts(people=size, different=different, signature=signature)
                    for column, (size, different, signature) in self.facts[number].items()
                }
            )
            number = self.parents[number]
        return path[::-1]


def merge_values(before: str, values: str) -> str:
    """Return what all releases disclose about a person: the hash of every column's value, or that it changed."""
    if before in ("{}", values):
        return values
    old, new = json.loads(before), json.loads(values)
    merged = {column: value if old.get(column, value) == value else CHANGED for column, value in new.items()}
    return join_values({**old, **merged})


def _name_values(
    hashes: Mapping[str, str], names: Mapping[str, Mapping[str, Value]], hashed: dict[str, set[str]]
) -> dict[str, Value]:
    """Replace hashes by the values of the judged table; others stay hashes, which are text of their own kind."""
    found: dict[str, Value] = {}
    for column, value in hashes.items():
        known = names.get(column, {})
        if value == CHANGED:
            found[column] = CHANGED
            continue
        if value not in known:
            hashed.setdefault(column, set()).add(value)
        found[column] = known.get(value, f"hash {value}")
    return found


def _write_counts(connection: sa.Connection, counts: Mapping[int, Counter[str]]) -> None:
    chosen = COUNTS.c.joint_class == sa.bindparam("n")
    connection.execute(sa.delete(COUNTS).where(chosen), [{"n": number} for number in counts])
    rows = [
        {"joint_class": number, "hashes": values, "people": people}
        for number, held in counts.items()
        for values, people in held.items()
        if people > 0
    ]
    if rows:
        connection.execute(sa.insert(COUNTS), rows)


def forget_release(connection: sa.Connection, dataset: str, release: int) -> None:
    """Remove a release from the sequence of everybody's classes; joint classes that become equal are merged."""
    for table in (ROWS, PLANS):
        connection.execute(sa.delete(table).where(table.c.release == release))
    query = sa.select(JOINT_CLASSES).where(JOINT_CLASSES.c.dataset == dataset).order_by(JOINT_CLASSES.c.id)
    becomes: dict[int, int] = {0: 0}
    kept: dict[tuple[int, int, str], int] = {}
    moved: list[tuple[int, int]] = []
    for row in connection.execute(query).all():  # a parent has a smaller number than its children
        parent = becomes[row.parent]
        if row.release == release:
            becomes[row.id] = parent
            continue
        becomes[row.id] = kept.setdefault((parent, row.release, row.label), row.id)
        if becomes[row.id] == row.id and parent != row.parent:
            moved.append((row.id, parent))
    for number, parent in moved:
        connection.execute(sa.update(JOINT_CLASSES).where(JOINT_CLASSES.c.id == number).values(parent=parent))
    gone = {number: target for number, target in becomes.items() if number != target}
    _merge_people(connection, JointClassTree.load(connection, dataset).counts, gone)


def _merge_people(connection: sa.Connection, counts: Mapping[int, Counter[str]], gone: Mapping[int, int]) -> None:
    merged: dict[int, Counter[str]] = {}
    for number, target in gone.items():
        own = PEOPLE.c.joint_class == number
        if target:
            merged.setdefault(target, Counter(counts.get(target, {}))).update(counts.get(number, {}))
            connection.execute(sa.update(PEOPLE).where(own).values(joint_class=target))
        else:
            connection.execute(sa.delete(PEOPLE).where(own))
        connection.execute(sa.delete(COUNTS).where(COUNTS.c.joint_class == number))
        connection.execute(sa.delete(JOINT_CLASSES).where(JOINT_CLASSES.c.id == number))
    if merged:
        _write_counts(connection, merged)
