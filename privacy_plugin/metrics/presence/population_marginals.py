"""Marginals of a population: how many people have each value, inside and outside the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacy_plugin.errors import ColumnError, ParameterError, unknown_name
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.frequency.values import SUPPRESSED, Value, canonical, label
from privacy_plugin.metrics.presence.outsiders import LARGEST_POPULATION
from privacy_plugin.metrics.presence.population_join import ancestors, require_one_meaning, require_whole_codes

Marginals = Mapping[str, Mapping[Any, int]] | FrequencyTable


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnKnowledge:
    """One column of the research table, with the marginals of its values (by code)."""

    outside: Integers
    """People outside the research table who have the value."""
    leaves: Integers
    """Listed values of the population that the value stands for."""
    other_leaves: int
    """Listed values that no value of the research table stands for."""
    complete: bool
    """Whether the marginals list everybody."""


def require_marginals(marginals: Marginals, population_size: int) -> None:
    """Raise if marginals are not counts, exceed the population, or list a value twice."""
    whole = isinstance(population_size, int | np.integer) and not isinstance(population_size, bool)
    if not whole or not 1 <= population_size < LARGEST_POPULATION:
        raise ParameterError(f"population_size must be a whole number from 1 to below 2**53, not {population_size!r}")
    if isinstance(marginals, FrequencyTable):
        if marginals.rows != population_size:
            raise ParameterError(f"the population has {marginals.rows:,} rows, but population_size={population_size:,}")
        marginals = marginals_of(marginals)
    if not isinstance(marginals, Mapping) or not marginals:
        raise ParameterError("marginals must be {column: {value: count}}; population_marginals makes them from a table")
    for column, listed in marginals.items():
        if not isinstance(listed, Mapping) or not listed:
            raise ParameterError(
                f"the marginals of column {column!r} must be {{value: count}}, with at least one value"
            )
        for count in listed.values():
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
                raise ParameterError(f"the counts of column {column!r} must be whole numbers of at least 0")
        people = sum(int(count) for count in listed.values())
        if people > population_size:
            raise ParameterError(
                f"the marginals of column {column!r} count {people:,} people, more than "
                f"population_size={int(population_size):,}"
            )
        if len({_text(canonical(value)) for value in listed}) != len(listed):  # files and suites would keep one of them
            raise ParameterError(f"two values in the marginals of column {column!r} have the same text; list it once")


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


def know_columns(
    table: FrequencyTable,
    *,
    marginals: Marginals,
    population_size: int,
    hierarchies: Mapping[str, Hierarchy] | None,
) -> list[ColumnKnowledge]:
    """Match every column of the research table with the marginals.

    The marginals must have passed `require_marginals`.
    """
    listed = marginals_of(marginals) if isinstance(marginals, FrequencyTable) else marginals
    for name in table.columns:
        if name not in listed:
            raise ColumnError(unknown_name("column in marginals", name, list(listed)) + " is needed")
    return [
        _know(table, position, listed[name], int(population_size), (hierarchies or {}).get(name))
        for position, name in enumerate(table.columns)
    ]


def _know(
    table: FrequencyTable,
    position: int,
    listed: Mapping[Any, int],
    population_size: int,
    hierarchy: Hierarchy | None,
) -> ColumnKnowledge:
    column, values = table.columns[position], table.dictionaries[position]
    own = _counts(table, position)
    people, leaves = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    complete = sum(int(count) for count in listed.values()) == population_size
    others = 0
    originals = [canonical(value) for value, count in listed.items() if count]
    if values == (SUPPRESSED,):  # everybody, unless the marginals list suppressed people separately
        if hierarchy is None and SUPPRESSED in originals and originals != [SUPPRESSED]:
            raise ParameterError(
                f"column {column!r} is suppressed in the table, but of some people only in the marginals"
            )
        require_one_meaning(values, originals, column, hierarchy)
        people[0] = population_size
        leaves[0] = sum(1 for count in listed.values() if count)
    else:
        codes = _owners(values, listed, column, hierarchy, complete=complete)
        for count, code in zip(listed.values(), codes, strict=True):
            if code is None:
                others += int(count > 0)
            else:
                people[code] += int(count)
                leaves[code] += int(count > 0)
    outside = people - own
    _require_room(column, outside)
    return ColumnKnowledge(outside=outside, leaves=leaves, other_leaves=others, complete=complete)


def _owners(
    values: Sequence[Value], listed: Iterable[Any], column: str, hierarchy: Hierarchy | None, *, complete: bool
) -> list[int | None]:
    """Return for every listed value the code of the research value that stands for it.

    Values are found by their text, because files and suites have text only; a column in which two values share a
    text raises.
    """
    known = {_text(value): code for code, value in enumerate(values)}
    originals = [canonical(value) for value in listed]
    require_whole_codes(originals, column, hierarchy)
    require_one_meaning(values, originals, column, hierarchy)
    texts = [_text(value) for value in originals]
    if len(known) != len(values):
        raise ColumnError(f"two values of column {column!r} have the same text; give the column one type")
    owners: list[int | None] = []
    for value, text in zip(originals, texts, strict=True):
        called = {text} | ({_text(name) for name in ancestors(hierarchy, value)} if hierarchy else set())
        found = {known[name] for name in called if name in known}
        if len(found) > 1:
            raise ParameterError(
                f"a value of column {column!r} and a more general one occur side by side in the table; "
                "classes must not overlap"
            )
        if found and text not in known and not complete:
            raise ParameterError(
                f"the marginals of column {column!r} do not list everybody, so the people of a generalized value "
                "cannot be counted; list every value"
            )
        owners.append(found.pop() if found else None)
    return owners


def _require_room(column: str, outside: Integers) -> None:
    """Raise if the research table contradicts the marginals.

    The rest of the population would be negative. With that, and no more people listed than there are, no value has more
    people outside than there are outside.
    """
    short = int((outside < 0).sum())
    if short:
        raise ParameterError(
            f"{short:,} of {len(outside):,} values of column {column!r} have more rows in the table than people in the "
            "marginals; everybody in the table must be in the population (and values be written alike)"
        )


def _counts(table: FrequencyTable, position: int) -> Integers:
    return sum_by(table.codes[:, position].astype(np.int64), table.counts, table.cardinalities[position])


def _text(value: Value) -> str:
    """Return the text that identifies a value, as in hierarchy files: booleans in either case."""
    text = label(value)
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text
