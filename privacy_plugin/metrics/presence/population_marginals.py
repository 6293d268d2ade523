"""What is known of a population without a list of it: how many people have each value, inside and outside the table."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import ColumnError, HierarchyError, ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, group, pack, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value, canonical, key, label
from privacy_plugin.metrics.presence.outsiders import LARGEST_POPULATION
from privacy_plugin.metrics.presence.population_join import ancestors, require_one_meaning, require_whole_codes

Marginals = Mapping[str, Mapping[Any, int]] | FrequencyTable
Joint = Sequence[Mapping[str, Any] | FrequencyTable]
Hierarchies = Mapping[str, Hierarchy]


@dataclass(frozen=True, kw_only=True, eq=False)
class Distribution:
    """One known distribution, held against the research table: a column, or several columns jointly.

    Arrays are indexed by the code of the research table's value, or combination of values, of those columns.
    """

    codes: Integers
    """For every distinct row of the research table the code of its combination."""
    least: Integers
    """People outside the research table who have the combination, at least."""
    most: Integers
    """People outside who have it, at most; the same number where no label covers another one of its column."""
    leaves: Integers
    """Listed combinations that people outside may have and that this one stands for."""
    all_leaves: int
    """Listed combinations that people outside may have."""
    complete: bool
    """Whether the distribution lists everybody."""


def require_marginals(marginals: Marginals, population_size: int, joint: Joint | None = None) -> None:
    """Raise if distributions are not counts, exceed the population, or list a value or a column twice."""
    whole = isinstance(population_size, int | np.integer) and not isinstance(population_size, bool)
    if not whole or not 1 <= population_size < LARGEST_POPULATION:
        raise ParameterError(f"population_size must be a whole number from 1 to below 2**53, not {population_size!r}")
    together = plain_joint(joint)
    taken = [name for one in together for name in one["columns"]]
    for name, times in Counter(taken).items():
        if times > 1:
            raise ParameterError(f"column {name!r} is in more than one joint distribution; give the one that is finer")
    if isinstance(marginals, FrequencyTable):
        if marginals.rows != population_size:
            raise ParameterError(f"the population has {marginals.rows:,} rows, but population_size={population_size:,}")
        marginals = {name: listed for name, listed in marginals_of(marginals).items() if name not in taken}
    elif not isinstance(marginals, Mapping) or not (marginals or together):
        raise ParameterError("marginals must be {column: {value: count}}; population_marginals makes them from a table")
    for column, listed in marginals.items():
        if column in taken:
            raise ParameterError(f"column {column!r} is in a joint distribution; leave it out of marginals")
        if not isinstance(listed, Mapping) or not listed:
            raise ParameterError(
                f"the marginals of column {column!r} must be {{value: count}}, with at least one value"
            )
        _require_counts(f"column {column!r}", [((value,), count) for value, count in listed.items()], population_size)
    for one in together:
        names = f"columns {', '.join(map(repr, one['columns']))}"
        _require_counts(names, [(tuple(line[:-1]), line[-1]) for line in one["counts"]], population_size)


def _require_counts(names: str, listed: Sequence[tuple[tuple[Any, ...], Any]], population_size: int) -> None:
    for _, count in listed:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise ParameterError(f"the counts of {names} must be whole numbers of at least 0")
    people = sum(int(count) for _, count in listed)
    if people > population_size:
        raise ParameterError(
            f"the marginals of {names} count {people:,} people, more than population_size={int(population_size):,}"
        )
    texts = {tuple(_text(canonical(value)) for value in values) for values, _ in listed}
    if len(texts) != len(listed):  # files and suites would keep one of them
        raise ParameterError(f"two values in the marginals of {names} have the same text; list it once")


def plain_joint(joint: Any) -> list[dict[str, Any]]:
    """Return joint distributions as plain data: [{columns: [name, ...], counts: [[value, ..., count], ...]}].

    >>> plain_joint([FrequencyTable.from_rows(["age", "sex"], [(30, "F"), (30, "F")])])
    [{'columns': ['age', 'sex'], 'counts': [[30, 'F', 2]]}]
    """
    form = "joint must be a list of {columns: [name, name, ...], counts: [[value, value, ..., count], ...]}"
    if joint is None:
        return []
    if isinstance(joint, str | bytes | Mapping) or not isinstance(joint, Sequence):
        raise ParameterError(form)
    found = []
    for one in joint:
        if isinstance(one, FrequencyTable):
            one.require_one_row_a_person("a joint count")
            counts = [[*one.values(row), int(count)] for row, count in enumerate(one.counts)]
            one = {"columns": list(one.columns), "counts": counts}
        if not isinstance(one, Mapping) or set(one) != {"columns", "counts"}:
            raise ParameterError(form)
        columns, counts = one["columns"], one["counts"]
        named = isinstance(columns, list | tuple) and all(isinstance(name, str) for name in columns)
        if not named or len(columns) < 2 or len({*columns}) != len(columns):
            raise ParameterError("a joint distribution needs columns: a list of at least two different column names")
        lines = isinstance(counts, list | tuple) and all(isinstance(line, list | tuple) for line in counts)
        if not lines or not counts or any(len(line) != len(columns) + 1 for line in counts):
            raise ParameterError(
                f"the joint distribution of {', '.join(map(repr, columns))} needs counts: lines of "
                f"{len(columns)} values and their count"
            )
        found.append({"columns": list(columns), "counts": [list(line) for line in counts]})
    return found


def marginals_of(population: FrequencyTable) -> dict[str, dict[Value, int]]:
    """Count how many people of a population have each value of each column.

    >>> marginals_of(FrequencyTable.from_rows(["age"], [(30,), (30,), (None,)]))
    {'age': {None: 1, 30: 2}}
    """
    population.require_one_row_a_person("a marginal count")
    return {
        name: dict(zip(dictionary, _counts(population, position).tolist(), strict=True))
        for position, (name, dictionary) in enumerate(zip(population.columns, population.dictionaries, strict=True))
    }


def know_distributions(
    table: FrequencyTable,
    *,
    marginals: Marginals,
    population_size: int,
    hierarchies: Hierarchies | None,
    joint: Joint | None = None,
) -> list[Distribution]:
    """Hold every known distribution against the research table: each of its columns is in exactly one of them.

    They must have passed `require_marginals`. A joint distribution of more columns than the table has is summed over
    the others. Labels of several levels may occur in one column as long as no two classes overlap: of the rows with a
    more general label it is then not known which of them have the more specific value, so that numbers of people
    outside the table become bounds.
    """
    found = listed_distributions(table.columns, marginals, joint)
    matcher = _Matcher(table=table, population_size=int(population_size), hierarchies=hierarchies or {})
    distributions = [matcher.know(columns, listed) for columns, listed in found]
    if any(within is not None for within in matcher.within.values()):
        _require_disjoint(table, [matcher.within[name] for name in table.columns])
    return distributions


def listed_distributions(
    columns: Sequence[str], marginals: Marginals, joint: Joint | None
) -> list[tuple[list[str], "Listed"]]:
    """Return the columns of every distribution and the people of every listed combination, joint ones first."""
    single = marginals_of(marginals) if isinstance(marginals, FrequencyTable) else marginals
    found: list[tuple[list[str], Listed]] = []
    for one in plain_joint(joint):
        places = [place for place, name in enumerate(one["columns"]) if name in columns]
        if places:
            lines = [([line[place] for place in places], line[-1]) for line in one["counts"]]
            found.append(([one["columns"][place] for place in places], _listed(lines)))
    taken = {name for names, _ in found for name in names}
    for name in columns:
        if name in taken:
            continue
        if name not in single:
            raise ColumnError(unknown_name("column in marginals", name, [*single, *taken]) + " is needed")
        found.append(([name], _listed([([value], count) for value, count in single[name].items()])))
    return found


Listed = Sequence[tuple[tuple[Value, ...], int]]
_Within = npt.NDArray[np.bool_] | None  # [a, b]: label a stands for a part of what b stands for; None: none overlap


def _listed(lines: Iterable[tuple[Sequence[Any], int]]) -> Listed:
    """Return combinations of values with their people, each once."""
    found: dict[tuple[str, ...], tuple[tuple[Value, ...], int]] = {}
    for given, count in lines:
        values = tuple(canonical(value) for value in given)
        texts = tuple(map(_text, values))
        found[texts] = (values, int(count) + (found[texts][1] if texts in found else 0))
    return list(found.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Matcher:
    """Finds the values of the research table that stand for listed original values."""

    table: FrequencyTable
    population_size: int
    hierarchies: Hierarchies
    within: dict[str, _Within] = field(default_factory=dict)
    """For every column which of its labels stand for a part of another one."""

    def know(self, columns: list[str], listed: Listed) -> Distribution:
        """Hold one distribution against the table."""
        complete = sum(count for _, count in listed) == self.population_size
        positions = [self.table.columns.index(name) for name in columns]
        owners = [self._owners(position, place, listed, complete) for place, position in enumerate(positions)]
        own = [self.table.codes[:, position].astype(np.int64) for position in positions]
        packed, size = pack(own, [max(self.table.cardinalities[position], 1) for position in positions])
        codes, first = group(packed, size)
        shown = np.column_stack([column[first] for column in own])
        rows = sum_by(codes, self.table.counts, len(first))
        places = {tuple(line): code for code, line in enumerate(shown.tolist())}
        people, pairs = np.zeros(len(first), dtype=np.int64), []
        for leaf, (values, count) in enumerate(listed):
            for chosen in product(*(of[_text(value)] for of, value in zip(owners, values, strict=True))):
                if (code := places.get(chosen)) is not None:
                    people[code] += count
                    pairs.append((leaf, code))
        if all(self.table.dictionaries[position] == (SUPPRESSED,) for position in positions):
            people[:] = self.population_size
        sure, possible = _rows_within(shown, rows, [self.within[name] for name in columns])
        _require_room(columns, people - sure)
        most = np.minimum(people - sure, self.population_size - self.table.rows)
        leaves, all_leaves = _possible_leaves([count for _, count in listed], pairs, most)
        return Distribution(
            codes=codes,
            least=np.maximum(most - possible, 0),
            most=most,
            leaves=leaves,
            all_leaves=all_leaves,
            complete=complete,
        )

    def _owners(self, position: int, place: int, listed: Listed, complete: bool) -> dict[str, tuple[int, ...]]:
        """Return for the text of every original value the codes of the table's values that stand for it."""
        column, used = self.table.columns[position], self.table.dictionaries[position]
        hierarchy = self.hierarchies.get(column)
        originals: dict[str, Value] = {}
        for values, _ in listed:
            if key(originals.setdefault(_text(values[place]), values[place])) != key(values[place]):
                raise ParameterError(
                    f"two values in the marginals of column {column!r} have the same text; list it once"
                )
        if used == (SUPPRESSED,):  # everybody, unless the marginals list suppressed people separately
            living = {_text(values[place]): values[place] for values, count in listed if count}
            if hierarchy is None and SUPPRESSED in living and len(living) > 1:
                raise ParameterError(
                    f"column {column!r} is suppressed in the table, but of some people only in the marginals"
                )
            if len(listed[0][0]) > 1 and not complete:
                _raise_incomplete(column)
            require_one_meaning(used, list(living.values()), column, hierarchy)
            self.within[column] = None
            return dict.fromkeys(originals, (0,))
        found = _owners(used, list(originals.values()), column, hierarchy, complete=complete)
        self.within[column] = _nested(found, len(used), column)
        return dict(zip(originals, found, strict=True))


def _owners(
    values: Sequence[Value], originals: Sequence[Value], column: str, hierarchy: Hierarchy | None, *, complete: bool
) -> list[tuple[int, ...]]:
    """Return for every listed value the codes of the research values that stand for it.

    Values are found by their text, because files and suites have text only; a column in which two values share a
    text raises.
    """
    known = {_text(value): code for code, value in enumerate(values)}
    require_whole_codes(originals, column, hierarchy)
    require_one_meaning(values, originals, column, hierarchy)
    if len(known) != len(values):
        raise ColumnError(f"two values of column {column!r} have the same text; give the column one type")
    owners: list[tuple[int, ...]] = []
    for value in originals:
        text = _text(value)
        called = {text} | ({_text(name) for name in general_labels(hierarchy, value)} if hierarchy else set())
        found = {known[name] for name in called if name in known}
        if found - {known.get(text, -1)} and not complete:
            _raise_incomplete(column)
        owners.append(tuple(sorted(found)))
    return owners


def general_labels(hierarchy: Hierarchy, value: Value) -> tuple[Value, ...]:
    """Return the labels that stand for a value, level by level; only `*` does for one that no line covers.

    Left out there, people would be missing from `*`, and it would seem likelier than it is to be in the table.
    """
    labels = ancestors(hierarchy, value)
    covered = value is None or not labels or hierarchy.path(value) is not None
    return labels if covered else (*labels[:-1], SUPPRESSED)


def _raise_incomplete(column: str) -> None:
    raise ParameterError(
        f"the marginals of column {column!r} do not list everybody, so the people of a generalized value cannot be "
        "counted; list every value"
    )


def _nested(owners: Sequence[tuple[int, ...]], values: int, column: str) -> _Within:
    """Return which labels stand for a part of what another one stands for; None where no two overlap."""
    if all(len(codes) < 2 for codes in owners):
        return None
    sizes = Counter(code for codes in owners for code in codes)
    shared = Counter((one, other) for codes in owners for one in codes for other in codes)
    within = np.eye(values, dtype=bool)
    for (one, other), leaves in shared.items():
        within[one, other] = leaves == sizes[one]
        if leaves not in (sizes[one], sizes[other]):
            raise HierarchyError(f"labels of column {column!r} overlap, and neither contains the other")
    return within


_COMPARED = 4_000_000  # pairs that are compared at a time


def _comparisons(
    shown: Integers, withins: Sequence[_Within]
) -> Iterator[tuple[slice, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
    """Yield, some lines at a time, which lines stand for a part of each, and which have labels that overlap."""
    step = max(_COMPARED // max(len(shown), 1), 1)
    for start in range(0, len(shown), step):
        part = slice(start, min(start + step, len(shown)))
        inside = np.ones((part.stop - part.start, len(shown)), dtype=bool)
        overlap = inside.copy()
        for column, within in enumerate(withins):
            here, there = shown[part, column][:, None], shown[:, column][None, :]
            below = here == there if within is None else within[there, here]
            inside &= below
            overlap &= below if within is None else below | within[here, there]
        yield part, inside, overlap


def _rows_within(shown: Integers, rows: Integers, withins: Sequence[_Within]) -> tuple[Integers, Integers]:
    """Return for every combination the rows that surely have it, and those that may have it besides."""
    if all(within is None for within in withins):
        return rows, np.zeros_like(rows)
    sure, possible = np.empty_like(rows), np.empty_like(rows)
    for part, inside, overlap in _comparisons(shown, withins):
        sure[part] = inside @ rows
        possible[part] = (overlap & ~inside) @ rows
    return sure, possible


def _require_disjoint(table: FrequencyTable, withins: Sequence[_Within]) -> None:
    """Raise if a person could belong to two classes."""
    for _, _, overlap in _comparisons(table.codes.astype(np.int64), withins):
        if (overlap.sum(axis=1) > 1).any():
            raise ParameterError(
                "classes of the table overlap: a value and a more general one occur side by side, and other columns do "
                "not tell the classes apart"
            )


def _possible_leaves(counts: Sequence[int], pairs: Sequence[tuple[int, int]], most: Integers) -> tuple[Integers, int]:
    """Count the listed combinations that people outside may have: for each of the table's, and in all."""
    living = np.array(counts, dtype=np.int64) > 0
    leaf, code = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    living[leaf[most[code] == 0]] = False
    return np.bincount(code[living[leaf]], minlength=len(most)).astype(np.int64), int(living.sum())


def _require_room(columns: Sequence[str], outside: Integers) -> None:
    """Raise if the research table contradicts the marginals.

    The rest of the population would be negative. With that, and no more people listed than there are, no value has more
    people outside than there are outside.
    """
    short = int((outside < 0).sum())
    if not short:
        return
    what = f"values of column {columns[0]!r}"
    if len(columns) > 1:
        what = f"combinations of values of columns {', '.join(map(repr, columns))}"
    raise ParameterError(
        f"{short:,} of {len(outside):,} {what} have more rows in the table than people in the marginals; everybody in "
        "the table must be in the population (and values be written alike)"
    )


def _counts(table: FrequencyTable, position: int) -> Integers:
    return sum_by(table.codes[:, position].astype(np.int64), table.counts, table.cardinalities[position])


def _text(value: Value) -> str:
    """Return the text that identifies a value, as in hierarchy files: booleans in either case."""
    text = label(value)
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text
