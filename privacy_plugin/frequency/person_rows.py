"""One row a person: what each column of several rows becomes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from privacy_plugin.errors import PolicyError, SourceError, unknown_name
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.people_table import number_sets
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import label, require_unambiguous_values

SEPARATOR = "|"
FUNCTIONS = ("first", "last", "min", "max", "most_frequent", "set", "count", "drop")
_ORDERED = ("first", "last")


def parse_people(given: Any, roles: Mapping[str, str]) -> dict[str, Any]:
    """Parse `people:` of a policy: a function for every column, `first` and `last` with the column that orders rows."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise PolicyError("people must be a mapping of columns: {diagnosis: set, age: max, ward: {last: visited}}")
    if "unit" not in roles.values():
        raise PolicyError("people makes one row a person; give the column that identifies people the role unit")
    wanted = [name for name, role in roles.items() if role not in ("identifier", "unit")]
    for name in given:
        if name not in wanted:
            raise PolicyError(unknown_name("column in people", str(name), wanted))
    lacking = [name for name in wanted if name not in given]
    if lacking:
        raise PolicyError(f"people does not say what these columns become: {', '.join(lacking)}")
    return {name: _parse_function(name, entry, roles) for name, entry in given.items()}


def _parse_function(column: str, entry: Any, roles: Mapping[str, str]) -> Any:
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((function, order),) = entry.items()
        if function in _ORDERED and order in roles:
            return {function: order}
    if entry in _ORDERED or isinstance(entry, Mapping):
        raise PolicyError(f"people: {column}: name the column that orders the rows of a person: {{last: visited}}")
    if entry not in FUNCTIONS:
        raise PolicyError(f"people: {column}: {unknown_name('function', str(entry), FUNCTIONS)}")
    return entry


def one_row_a_person(table: FrequencyTable, *, unit: str, people: Mapping[str, Any]) -> FrequencyTable:
    """Return one row for every person; ties go to the smallest value, so that equal tables give equal rows.

    `first`, `last`: the value of the row that comes first or last by another column, among rows with a value there.
    `min`, `max`: among values that are not missing. `most_frequent`: by rows. `set`: the different values as text, in
    order, between `|`. `count`: the number of rows. `drop`: left out.

    >>> visits = FrequencyTable.from_rows(["who", "s"], [(1, "flu"), (1, "cold"), (2, "flu")])
    >>> one_row_a_person(visits, unit="who", people={"s": "set"}).dictionary("s")
    ('cold|flu', 'flu')
    """
    require_unambiguous_values(table.dictionary(unit), unit)
    if None in table.dictionary(unit):
        raise SourceError(f"the unit column {unit!r} is missing in some rows; fill it or remove those rows")
    person = table.column_codes(unit).astype(np.int64)
    kept = {name: function for name, function in people.items() if function != "drop"}
    columns: dict[str, tuple[Integers, list[Any]]] = {
        unit: (np.arange(len(table.dictionary(unit)), dtype=np.int64), list(table.dictionary(unit)))
    }
    for name, function in kept.items():
        columns[name] = _aggregate(table, name, function, person)
    return FrequencyTable.from_columns(
        list(columns), [codes for codes, _ in columns.values()], [values for _, values in columns.values()]
    )


def _aggregate(table: FrequencyTable, name: str, function: Any, person: Integers) -> tuple[Integers, list[Any]]:
    if function == "count":
        rows = np.zeros(int(person.max()) + 1, dtype=np.int64)
        np.add.at(rows, person, table.counts)
        return np.arange(len(rows)), rows.tolist()
    values = table.column_codes(name).astype(np.int64)
    known = list(table.dictionary(name))
    if function == "set":
        numbers, sets = number_sets(person, values)
        return numbers, [_join(name, [known[each] for each in members]) for members in sets]
    if function == "most_frequent":
        pairs, places = np.unique(np.column_stack([person, values]), axis=0, return_inverse=True)
        rows = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(rows, places.reshape(-1), table.counts)
        return _first_of_each(pairs[:, 0], pairs[:, 1], (pairs[:, 1], -rows)), known
    if isinstance(function, Mapping):
        ((end, by),) = function.items()
        order = table.column_codes(by).astype(np.int64)
        missing = np.array([value is None for value in table.dictionary(by)], dtype=bool)[order]
        return _first_of_each(person, values, (values, order if end == "first" else -order, missing)), known
    missing = np.array([value is None for value in known], dtype=bool)[values]
    return _first_of_each(person, values, (values if function == "min" else -values, missing)), known


def _first_of_each(person: Integers, values: Integers, keys: tuple[Any, ...]) -> Integers:
    """Return for every person the value that comes first by the keys, the last key first."""
    order = np.lexsort((*keys, person))
    starts = np.flatnonzero(np.diff(person[order], prepend=-1))
    return values[order][starts]


def _join(column: str, values: list[Any]) -> str | None:
    """Return a set of values as text; missing values are left out, unless there is nothing else."""
    texts = [label(value) for value in values if value is not None]
    if any(SEPARATOR in text for text in texts):
        raise SourceError(f"people: values of {column!r} contain {SEPARATOR!r}, which separates the members of a set")
    return SEPARATOR.join(texts) if texts else None
