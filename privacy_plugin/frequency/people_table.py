"""Tables with one row a person, made from tables with several: classes, sequences of classes and sets of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.grouping import Integers, group, pack
from privacy_plugin.frequency.table import Dictionary, FrequencyTable
from privacy_plugin.frequency.values import key, require_unambiguous_values

Members = tuple[tuple[int, ...], ...]

_NEAR = 1e-9  # floats this near to the largest one are compared exactly
_COMPARED = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleTable(FrequencyTable):
    """One row a person; the last column holds the set of a person's values.

    `members[code]` are the numbers of the values that the code of the last column stands for. `unlinked` is the largest
    probability with which a person of several classes has a value in one of their rows, for an attacker who cannot link
    the rows; `row_risks` is that probability for every distinct row of the table, 0 for people of one class.
    """

    members: Members = field(repr=False)
    unlinked: Fraction = Fraction(0)
    row_risks: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def people_with_several_values(self) -> int:
        """The number of people who have more than one value."""
        several = np.array([len(each) > 1 for each in self.members], dtype=bool)
        return int(self.counts[several[self.codes[:, -1]]].sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedValues(FrequencyTable):
    """How many people of every class have each value; a person counts for every value of theirs.

    `class_people` are the people of every class, in the order of the classes.
    """

    class_people: Integers = field(repr=False)


def link_people(linked: FrequencyTable, *, sequences: bool, sensitive: bool) -> FrequencyTable:
    """Turn distinct (quasi-identifiers, value, person) rows into one row a person.

    The last column is the unit; with `sensitive` the one before it is the sensitive column. With `sequences` the class
    of a person is the set of the classes of their rows; otherwise a person counts once in every class.
    """
    width = len(linked.columns) - 1 - sensitive
    for position in range(width, width + sensitive):
        require_unambiguous_values(linked.dictionaries[position], linked.columns[position])
    found = _link_classes(linked, width, sequences=sequences)
    owner, owned_classes, class_sets, row_class = found.owner, found.classes, found.sets, found.row_class
    columns, dictionaries = found.columns, found.dictionaries
    if not sensitive:
        return FrequencyTable.from_columns(linked.columns[:width], columns, dictionaries)
    value = linked.codes[:, width].astype(np.int64)
    owned_values, value_sets = number_sets(owner, value)
    known: list[Any] = list(linked.dictionaries[width])
    labels = _unused_labels(known, "several values, number", len(value_sets))
    named_sets = [known[each[0]] if len(each) == 1 else labels[number] for number, each in enumerate(value_sets)]
    table = FrequencyTable.from_columns(linked.columns[:-1], [*columns, owned_values], [*dictionaries, named_sets])
    places = {key(name): number for number, name in enumerate(named_sets)}
    members = tuple(tuple(value_sets[places[key(name)]]) for name in table.dictionaries[-1])
    risks = _unlinked_risks(owner, owned_classes, class_sets, row_class, value)
    row_risks = None
    if risks:
        of_first = {
            label: risks[1].get(number, 0.0)
            for number, label in enumerate(
                _unused_labels(linked.dictionaries[0], "several classes, number", len(class_sets))
            )
        }
        by_code = np.array(
            [of_first.get(name, 0.0) if isinstance(name, str) else 0.0 for name in table.dictionaries[0]]
        )
        row_risks = by_code[table.codes[:, 0]]
    return PeopleTable(
        columns=table.columns,
        codes=table.codes,
        counts=table.counts,
        dictionaries=table.dictionaries,
        members=members,
        unlinked=risks[0] if risks else Fraction(0),
        row_risks=row_risks,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitedTable(FrequencyTable):
    """One row a person with the values of all their rows.

    Of a column in which people have several values, `sets` holds the values and, for every code of the column, the
    numbers of the values that it stands for.
    """

    sets: Mapping[str, tuple[Dictionary, Members]] = field(repr=False)


def unite_people(linked: FrequencyTable) -> FrequencyTable:
    """Turn distinct (values, person) rows into one row a person, who has the values of all their rows.

    >>> visits = FrequencyTable.from_rows(["disease", "who"], [("flu", 1), ("gout", 1), ("flu", 2)])
    >>> people = unite_people(visits)
    >>> people.rows, people.sets["disease"]
    (2, (('flu', 'gout'), ((0,), (0, 1))))
    """
    require_unambiguous_values(linked.dictionaries[-1], linked.columns[-1])
    person = linked.codes[:, -1].astype(np.int64)
    columns, dictionaries, found = [], [], {}
    for position, name in enumerate(linked.columns[:-1]):
        require_unambiguous_values(linked.dictionaries[position], name)
        numbers, sets = number_sets(person, linked.codes[:, position].astype(np.int64))
        values = linked.dictionaries[position]
        labels = _unused_labels(values, "several values, number", len(sets))
        named = [values[each[0]] if len(each) == 1 else labels[number] for number, each in enumerate(sets)]
        columns.append(numbers)
        dictionaries.append(named)
        if any(len(each) > 1 for each in sets):
            found[name] = {key(label): each for label, each in zip(named, sets, strict=True)}
    table = FrequencyTable.from_columns(linked.columns[:-1], columns, dictionaries)
    if not found:
        return table
    return UnitedTable(
        columns=table.columns,
        codes=table.codes,
        counts=table.counts,
        dictionaries=table.dictionaries,
        sets={
            name: (
                linked.dictionary(name),
                tuple(members[key(value)] for value in table.dictionary(name)),
            )
            for name, members in found.items()
        },
    )


@dataclass(frozen=True, kw_only=True)
class _LinkedClasses:
    """The class of every owner: of every person (sequences), or of every person in every class of theirs."""

    owner: Integers  # of every row
    people: Integers  # the person of every owner
    classes: Integers  # the number of the class of every owner
    sets: list[tuple[int, ...]]  # the classes of rows that each class stands for
    row_class: Integers
    columns: list[Integers]  # the quasi-identifiers of every owner, as codes
    dictionaries: list[list[Any]]


def _link_classes(linked: FrequencyTable, width: int, *, sequences: bool) -> _LinkedClasses:
    require_unambiguous_values(linked.dictionaries[-1], linked.columns[-1])
    for position in range(width):
        require_unambiguous_values(linked.dictionaries[position], linked.columns[position])
    quasi = [linked.codes[:, position] for position in range(width)]
    row_class, example = group(*pack(quasi, linked.cardinalities[:width]))
    person = linked.codes[:, -1].astype(np.int64)
    owner, people = person, np.arange(linked.cardinalities[-1])
    if not sequences:
        owner, first = group(*pack([person, row_class], [linked.cardinalities[-1], len(example)]))
        people = person[first]
    owned_classes, class_sets = number_sets(owner, row_class)
    columns, dictionaries = [], []
    for position in range(width):
        firsts = linked.codes[example, position].astype(np.int64)
        raw: list[Any] = list(linked.dictionaries[position])
        named = position == 0
        codes = [
            firsts[each[0]] if len(each) == 1 else len(raw) + (number if named else 0)
            for number, each in enumerate(class_sets)
        ]
        labels = _unused_labels(raw, "several classes, number", len(class_sets)) if named else [None]
        columns.append(np.array(codes, dtype=np.int64)[owned_classes])
        dictionaries.append([*raw, *labels])
    return _LinkedClasses(
        owner=owner,
        people=people,
        classes=owned_classes,
        sets=class_sets,
        row_class=row_class,
        columns=columns,
        dictionaries=dictionaries,
    )


def people_in_classes(linked: FrequencyTable, classes: npt.NDArray[np.bool_], *, sequences: bool) -> Integers:
    """Return the people who are in some classes, given a flag for every class of the table that `link_people` makes.

    `linked` has the quasi-identifiers and, last, the unit; people are numbered as its codes. Flags beyond the classes
    of the table, such as those of a population's classes, are ignored.
    """
    found = _link_classes(linked, len(linked.columns) - 1, sequences=sequences)
    number = "number"
    while number in linked.columns:
        number += "."
    ordered = FrequencyTable.from_columns(
        [*linked.columns[:-1], number],
        [*found.columns, found.classes],
        [*found.dictionaries, list(range(len(found.sets)))],
    )
    numbers = np.array(ordered.dictionaries[-1], dtype=np.int64)[ordered.codes[:, -1]]  # of each class, in their order
    chosen = np.zeros(len(found.sets), dtype=bool)
    chosen[numbers] = classes[: len(numbers)]
    return np.unique(found.people[chosen[found.classes]])


def several_classes(linked: FrequencyTable) -> int:
    """Return the number of people in several classes, from distinct (quasi-identifiers, person) rows."""
    return int((np.bincount(linked.codes[:, -1]) > 1).sum())


def _unused_labels(known: Sequence[Any], text: str, number: int) -> list[str]:
    """Return labels that are no value of a column."""
    texts = {str(value) for value in known}
    while any(each.startswith(text) for each in texts):
        text = f"({text})"
    return [f"{text} {each}" for each in range(number)]


def number_sets(owners: Integers, items: Integers) -> tuple[Integers, list[tuple[int, ...]]]:
    """Return for every owner (0, 1, ...) the number of the set of their items, and the sets."""
    size = int(items.max(initial=0)) + 1
    pairs = np.column_stack(np.divmod(np.unique(owners * size + items), size))
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    lengths = np.diff(np.append(starts, len(pairs)))
    numbers = np.empty(len(starts), dtype=np.int64)
    firsts = pairs[starts, 1]
    alone, places = np.unique(firsts[lengths == 1], return_inverse=True)
    numbers[lengths == 1] = places
    sets: list[tuple[int, ...]] = [(int(item),) for item in alone]
    for length in np.unique(lengths[lengths > 1]).tolist():
        longer = np.flatnonzero(lengths == length)
        members = pairs[starts[longer][:, None] + np.arange(length), 1]
        groups, first = group(*pack(list(members.T), [size] * length))
        numbers[longer] = len(sets) + groups
        sets.extend(map(tuple, members[first].tolist()))
    return numbers, sets


def _unlinked_risks(
    owner: Integers, owned: Integers, class_sets: list[tuple[int, ...]], row_class: Integers, value: Integers
) -> tuple[Fraction, dict[int, float]] | None:
    """Return the largest risk of people of several classes, and that of every set of classes, without links of rows.

    In a class of n people, m of whom have the value, a person has it with probability m / n. Rows of different classes
    are dealt independently, so that a person has it in one of them with probability 1 - product of (1 - m / n). m and n
    are counted once among everybody of the class, and once among the people with the same set of classes.
    """
    several = {number for number, each in enumerate(class_sets) if len(each) > 1}
    if not several:
        return None
    everybody = np.unique(np.column_stack([row_class, owner]), axis=0)[:, 0]
    sizes = np.bincount(everybody)
    triples = np.unique(np.column_stack([row_class, owner, value]), axis=0)
    having: dict[int, dict[int, int]] = {}
    pairs, counts = np.unique(triples[:, [0, 2]], axis=0, return_counts=True)
    for (place, item), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        having.setdefault(place, {})[item] = count
    inside: dict[tuple[int, int], dict[int, int]] = {}
    quads, counts = np.unique(
        np.column_stack([owned[triples[:, 1]], triples[:, 0], triples[:, 2]]), axis=0, return_counts=True
    )
    for (sequence, place, item), count in zip(quads.tolist(), counts.tolist(), strict=True):
        if sequence in several:
            inside.setdefault((sequence, place), {})[item] = count
    people = np.bincount(owned, minlength=len(class_sets)).tolist()
    risks: dict[int, float] = {}
    candidates: list[tuple[float, list[tuple[int, int]]]] = []
    for sequence in several:
        for item, shares in _shares(sequence, class_sets[sequence], people, sizes, having, inside):
            risk = 1.0 - float(np.prod([1 - part / whole for part, whole in shares]))
            del item
            risks[sequence] = max(risks.get(sequence, 0.0), risk)
            candidates.append((risk, shares))
    largest = max(risk for risk, _ in candidates)
    near = {tuple(shares) for risk, shares in candidates if risk >= largest - _NEAR}
    if len(near) > _COMPARED:
        return min(Fraction(1), Fraction(largest + 2 * _NEAR)), risks
    return max(_exact_risk(shares) for shares in near), risks


def _shares(
    sequence: int,
    classes: tuple[int, ...],
    people: list[int],
    sizes: npt.NDArray[np.int64],
    having: dict[int, dict[int, int]],
    inside: dict[tuple[int, int], dict[int, int]],
) -> list[tuple[int, list[tuple[int, int]]]]:
    found = []
    for item in {item for place in classes for item in having[place]}:
        found.append((item, [(having[place].get(item, 0), int(sizes[place])) for place in classes]))
        within = [(inside.get((sequence, place), {}).get(item, 0), people[sequence]) for place in classes]
        if any(part for part, _ in within):
            found.append((item, within))
    return found


def _exact_risk(shares: tuple[tuple[int, int], ...]) -> Fraction:
    left = Fraction(1)
    for part, whole in shares:
        left *= 1 - Fraction(part, whole)
    return 1 - left


def require_count(count: Any) -> str:
    """Return how people are counted, or raise."""
    if count not in COUNTS:
        raise ParameterError(f"count must be {' or '.join(COUNTS)}, got {type(count).__name__}")
    return str(count)


COUNTS = ("sequences", "people")
