"""The people of a population in the classes of a research table: a join of grouped counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy_plugin.errors import ColumnError, HierarchyError, ParameterError, unknown_name
from privacy_plugin.frequency import Classes, FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.hierarchy_builders import MaskHierarchy
from privacy_plugin.frequency.population import CountedPopulation, Population, SharedPopulation
from privacy_plugin.frequency.values import KIND_WORDS, SUPPRESSED, Key, Value, key, kind, label

Hierarchies = Mapping[str, Hierarchy]


@dataclass(frozen=True, kw_only=True, eq=False)
class PopulationJoin:
    """The classes of the research table, the people of the population in each, and those in none of them."""

    table: FrequencyTable
    classes: Classes
    population: FrequencyTable
    """The population by quasi-identifiers; the table itself where the engine has counted classes by their profile."""
    people: Integers
    """People of the population in every class of the research table, never fewer than the class has rows."""
    class_of: Integers
    """For every distinct row of the population its class, -1 where it has none."""
    other_people: int
    """People of the population in no class of the research table."""
    other_groups: int
    """How many distinct rows those people have."""

    @property
    def everybody(self) -> int:
        """How many people the population has."""
        return int(self.all_people.sum()) + self.other_people

    @property
    def all_people(self) -> Integers:
        """People of the population in every class, or in all classes that it stands for."""
        return self.people if self.classes.repeats is None else self.people * self.classes.repeats


def require_hierarchies(hierarchies: Hierarchies | None = None) -> None:
    """Raise if `hierarchies` is not a mapping of columns to hierarchies."""
    if hierarchies is None:
        return
    if not isinstance(hierarchies, Mapping) or not all(isinstance(item, Hierarchy) for item in hierarchies.values()):
        raise ParameterError("hierarchies must be {column: hierarchy}")


def require_hierarchies_of(quasi_identifiers: Sequence[str], hierarchies: Hierarchies | None) -> None:
    """Raise if a hierarchy belongs to a column that is not a quasi-identifier."""
    for name in hierarchies or ():
        if name not in quasi_identifiers:
            raise ColumnError(unknown_name("column in hierarchies", name, quasi_identifiers))


def join_population(
    table: FrequencyTable,
    population: Population,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Hierarchies | None = None,
) -> PopulationJoin:
    """Find the class of every person of the population; everybody in the table must be in the population.

    Values match by meaning (`frequency.values.key`): types that differ between the two tables match nothing, and the
    error names them. With `hierarchies` a person also belongs to a class of more general values, so that a generalized
    table can be held against the original population; classes that overlap are refused. Cost: O(distinct rows of the
    population * columns * height of the hierarchies).
    """
    require_hierarchies(hierarchies)
    require_hierarchies_of(quasi_identifiers, hierarchies)
    elsewhere = (0, 0)
    if not isinstance(population, FrequencyTable) and dict(hierarchies or {}) != dict(population.hierarchies):
        raise ParameterError("a population that an engine has joined with the table cannot be generalized again")
    if isinstance(population, CountedPopulation):
        return PopulationJoin(
            table=table,
            classes=table.classes(quasi_identifiers),
            population=table,
            people=population.people,
            class_of=np.arange(len(population.people), dtype=np.int64),
            other_people=population.other_people,
            other_groups=population.other_groups,
        )
    if isinstance(population, SharedPopulation):
        hierarchies = None  # the engine has applied them: both tables use the same labels
        elsewhere = population.other_people, population.other_groups
        population = population.groups
    for each in (table, population):
        each.require_one_row_a_person("a comparison with the population")
    research = table.project(quasi_identifiers)
    everybody = population.project(quasi_identifiers)
    classes = research.classes(quasi_identifiers)
    matches = [_matches(research, everybody, name, (hierarchies or {}).get(name)) for name in quasi_identifiers]
    rows, found = _pairs(research, everybody, matches, classes)
    fits = np.bincount(rows, minlength=everybody.distinct)
    if (fits > 1).any():
        raise ParameterError(
            f"{int(everybody.counts[fits > 1].sum()):,} people of the population fit more than one class of the table, "
            "because a value and a more general one occur side by side; classes must not overlap"
        )
    class_of = np.full(everybody.distinct, -1, dtype=np.int64)
    class_of[rows] = found
    people = sum_by(found, everybody.counts[rows], len(classes))
    _require_subset(research, everybody, classes, people, matches)
    uncovered = everybody.counts[fits == 0]
    return PopulationJoin(
        table=research,
        classes=classes,
        population=everybody,
        people=people,
        class_of=class_of,
        other_people=int(uncovered.sum()) + elsewhere[0],
        other_groups=len(uncovered) + elsewhere[1],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Matches:
    """For every value of the population's column the codes of the table's values that stand for it."""

    column: str
    starts: Integers
    codes: Integers
    generalized: bool


def _matches(
    research: FrequencyTable, population: FrequencyTable, column: str, hierarchy: Hierarchy | None
) -> _Matches:
    found = _standing_for(research.dictionary(column), population.dictionary(column), column, hierarchy)
    starts = np.concatenate([[0], np.cumsum([len(codes) for codes in found])]).astype(np.int64)
    flat = np.array([code for codes in found for code in codes], dtype=np.int64)
    return _Matches(column=column, starts=starts, codes=flat, generalized=hierarchy is not None)


def _standing_for(
    used: Sequence[Value], originals: Sequence[Value], column: str, hierarchy: Hierarchy | None
) -> list[list[int]]:
    """Return for every original value the positions of those used in the table that stand for it."""
    require_whole_codes(originals, column, hierarchy)
    require_one_meaning(used, originals, column, hierarchy)
    known = {key(value): code for code, value in enumerate(used)}
    return [sorted({known[name] for name in _names(value, hierarchy) if name in known}) for value in originals]


def one_meaning(
    hierarchies: Hierarchies, column: str, used: Sequence[Value], originals: Sequence[Value]
) -> list[int | None] | None:
    """Return for every original value the position of the table's one value that stands for it.

    None where several do: which of them is meant depends on the whole row.
    """
    found = _standing_for(used, originals, column, hierarchies.get(column))
    if any(len(codes) > 1 for codes in found):
        return None
    return [codes[0] if codes else None for codes in found]


def require_whole_codes(values: Sequence[Value], column: str, hierarchy: Hierarchy | None) -> None:
    """Raise if codes were read as numbers: 02138 would be masked, and counted, like 21380."""
    if not isinstance(hierarchy, MaskHierarchy):
        return
    length = hierarchy.height
    shorter = sum(1 for value in values if kind(value) == kind(0) and len(label(value)) < length)
    if shorter:
        raise ColumnError(
            f"{shorter:,} values of column {column!r} of the population are numbers shorter than the {length} "
            "characters that are masked; leading zeros may be lost: read the column as text"
        )


def _names(value: Value, hierarchy: Hierarchy | None) -> list[Key]:
    """Return the labels a value may have in the table: its own, and those of its ancestors as text."""
    if hierarchy is None:
        return [key(value)]
    called = (value, *ancestors(hierarchy, value))
    return [key(name) for name in called] + [key(label(name)) for name in called if name is not None]


def ancestors(hierarchy: Hierarchy, value: Value) -> tuple[Value, ...]:
    """Return what a value is generalized to, level by level; an uncovered value stays the same."""
    path = hierarchy.path(value)
    if path is None and value is None and hierarchy.height:  # missing is a category of its own up to the last level
        return (*[None] * (hierarchy.height - 1), SUPPRESSED)
    return (value,) * hierarchy.height if path is None else path


def require_one_meaning(
    used: Sequence[Value], originals: Sequence[Value], column: str, hierarchy: Hierarchy | None
) -> None:
    """Raise if a label of the table stands for different groups on different levels.

    A table does not show the level of a label, but its author knows it, and a reader of the hierarchy may: counting the
    people of all groups that share the label would hide the few people of the group that is meant. The same holds for
    `*` where some values of the population are already suppressed, or before the last level, and for a number and its
    text.
    """
    if hierarchy is None:
        return
    wanted = {_called(value) for value in used}
    listed = [(value, *ancestors(hierarchy, value)) for value in originals]
    meant: dict[Key, set[bytes]] = {}
    for level in range(hierarchy.height + 1):
        groups: dict[tuple[Key, int | None], list[int]] = {}
        for number, names in enumerate(listed):
            apart = None if level else number  # two original values are two, also where they have one text: 5 and "5"
            groups.setdefault((_called(names[level]), apart), []).append(number)
        for (name, _), members in groups.items():
            if name in wanted:
                meant.setdefault(name, set()).add(np.array(members).tobytes())
    several = sum(len(groups_of) > 1 for groups_of in meant.values())
    if several:
        raise HierarchyError(
            f"column {column!r}: on its levels, the original values among them, the hierarchy uses one label for "
            f"different groups, and the table has {several:,} such values; give every group a label of its own, "
            "and the column one type"
        )


def _called(value: Value) -> Key:
    """Return the name of a value, the same for a number and its text: recoding writes text."""
    return key(value) if value is None else key(label(value))


def _pairs(
    research: FrequencyTable, population: FrequencyTable, matches: Sequence[_Matches], classes: Classes
) -> tuple[Integers, Integers]:
    """Return all pairs (row of the population, class it fits), column by column along prefixes."""
    rows = np.arange(population.distinct, dtype=np.int64)
    prefixes = np.zeros(population.distinct, dtype=np.int64)
    own = np.zeros(research.distinct, dtype=np.int64)
    for position, match in enumerate(matches):
        codes = population.codes[rows, position].astype(np.int64)
        lengths = match.starts[codes + 1] - match.starts[codes]
        ends = np.cumsum(lengths)
        within = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(ends - lengths, lengths)
        candidates = match.codes[np.repeat(match.starts[codes], lengths) + within]
        rows, prefixes = np.repeat(rows, lengths), np.repeat(prefixes, lengths)
        size = max(research.cardinalities[position], 1)
        wanted, packed = prefixes * size + candidates, own * size + research.codes[:, position]
        occurring, own = np.unique(packed, return_inverse=True)
        places = np.minimum(np.searchsorted(occurring, wanted), len(occurring) - 1)
        fitting = occurring[places] == wanted
        rows, prefixes = rows[fitting], places[fitting]
    class_of = np.empty(research.distinct, dtype=np.int64)
    class_of[own] = classes.members
    return rows, class_of[prefixes]


def _require_subset(
    research: FrequencyTable,
    population: FrequencyTable,
    classes: Classes,
    people: Integers,
    matches: Sequence[_Matches],
) -> None:
    lacking = int((classes.sizes > people).sum())
    if not lacking:
        return
    hints = [words for match in matches if (words := _difference(research, population, match))]
    raise ParameterError(
        f"{lacking:,} of the table's {len(classes):,} classes have more rows than people in the population; "
        "everybody in the table must be in the population" + "".join(f"; {words}" for words in hints)
    )


def _difference(research: FrequencyTable, population: FrequencyTable, match: _Matches) -> str | None:
    """Return why values of a column may have no match: another type, or more general values."""
    unmatched = np.ones(len(research.dictionary(match.column)), dtype=bool)
    unmatched[match.codes] = False
    if not unmatched.any():
        return None
    strange = [v for v, none in zip(research.dictionary(match.column), unmatched, strict=True) if none]
    here, there = _kinds(strange), _kinds(population.dictionary(match.column))
    if here and there and not here & there:
        return (
            f"column {match.column!r} holds {_words(here)} in the table and {_words(there)} in the population: "
            "read both with one type"
        )
    more = "" if match.generalized else " (of a generalized table, give the hierarchies too)"
    return f"{len(strange):,} values of column {match.column!r} do not occur in the population{more}"


def _kinds(values: Sequence[Value]) -> set[int]:
    return {kind(value) for value in values if value is not None and value != SUPPRESSED}


def _words(kinds: set[int]) -> str:
    return " and ".join(KIND_WORDS[number] for number in sorted(kinds))


def largest_fraction(numerators: Integers, denominators: Integers) -> Fraction:
    """Return the largest fraction: floating point finds the candidates, whole numbers decide among them."""
    values = numerators / denominators
    candidates = np.flatnonzero(values >= values.max() * (1 - 1e-12))
    pairs = {(int(numerators[i]), int(denominators[i])) for i in candidates.tolist()}
    return max(Fraction(*pair) for pair in pairs)
