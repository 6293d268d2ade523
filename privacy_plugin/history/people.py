"""The people of a table as the history stores them: keyed hashes of the person, their class and sensitive values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privacy_plugin.errors import ColumnError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import group, pack
from privacy_plugin.frequency.values import Value, key, label
from privacy_plugin.history.key import keyed_hash

_VALUE_DIGITS = 20  # hexadecimal digits: 80 bits tell the values of a column apart


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """One entry a person: keyed hash, class, and sensitive values as JSON {column: keyed hash}.

    `facts` has for every class its people, whether their values are pairwise different and its signature, by column.
    `several_rows` counts the people with more than one row; their class is the hash of all their rows, and they have no
    values. `names` has the values that stand behind the hashes, which only the judged table can tell.
    """

    persons: Sequence[str]
    classes: Sequence[str]
    values: Sequence[str]
    facts: Mapping[str, Mapping[str, tuple[int, bool, str]]]
    several_rows: int = 0
    names: Mapping[str, Mapping[str, Value]] = field(default_factory=dict, repr=False)


def hash_person(hash_key: bytes, dataset: str, person: Value) -> str:
    """Return the keyed hash of a person; 39 and "39" are the same person."""
    return keyed_hash(hash_key, "person", dataset, label(person))


def read_people(
    table: FrequencyTable, *, unit: str, quasi_identifiers: Sequence[str], sensitive: Sequence[str], dataset: str,
    hash_key: bytes,
) -> People:  # fmt: skip
    """Return the people of a table that was grouped by unit, quasi-identifiers and sensitive columns."""
    units = table.dictionary(unit)
    if None in units:
        raise ColumnError(f"the unit column {unit!r} has missing values; the history cannot tell whose rows they are")
    hashed = [hash_person(hash_key, dataset, person) for person in units]
    labels, class_of = _hash_rows(table, quasi_identifiers, hash_key, "class", dataset)
    names: dict[str, dict[str, Value]] = {}
    hashes: dict[str, list[str]] = {}
    for column in sensitive:
        hashes[column] = hash_values(table, column, dataset=dataset, hash_key=hash_key)
        names[column] = dict(zip(hashes[column], table.dictionary(column), strict=True))
    combined, values_of = _combine_values(table, sensitive, hashes)
    persons = [hashed[code] for code in table.column_codes(unit).tolist()]
    classes = [labels[number] for number in class_of]
    values = [combined[number] for number in values_of]
    facts = _facts(table, class_of, labels, sensitive, hashes)
    repeated = _repeated(persons, table.counts.tolist())
    if repeated:
        persons, classes, values = _merge_rows(persons, classes, values, repeated, hash_key)
    return People(persons=persons, classes=classes, values=values, facts=facts, several_rows=len(repeated), names=names)


def hash_values(table: FrequencyTable, column: str, *, dataset: str, hash_key: bytes) -> list[str]:
    """Return the keyed hashes of the values of a column, in the order of its dictionary."""
    return [
        keyed_hash(hash_key, "value", dataset, column, label(value))[:_VALUE_DIGITS]
        for value in table.dictionary(column)
    ]


def _hash_rows(
    table: FrequencyTable, columns: Sequence[str], hash_key: bytes, *about: str
) -> tuple[list[str], list[int]]:
    """Return the keyed hash of every distinct combination of columns, and the combination of every row."""
    positions = [table.position(name) for name in columns]
    packed, size = pack([table.codes[:, p] for p in positions], [table.cardinalities[p] for p in positions])
    members, first = group(packed, size)
    texts = [json.dumps([key(table.dictionaries[p][table.codes[row, p]]) for p in positions]) for row in first.tolist()]
    named = json.dumps(list(columns))
    return [keyed_hash(hash_key, *about, named, text) for text in texts], members.tolist()


def _combine_values(
    table: FrequencyTable, sensitive: Sequence[str], hashes: Mapping[str, list[str]]
) -> tuple[list[str], list[int]]:
    if not sensitive:
        return ["{}"], [0] * table.distinct
    positions = [table.position(name) for name in sensitive]
    packed, size = pack([table.codes[:, p] for p in positions], [table.cardinalities[p] for p in positions])
    members, first = group(packed, size)
    combined = [
        join_values({name: hashes[name][table.codes[row, p]] for name, p in zip(sensitive, positions, strict=True)})
        for row in first.tolist()
    ]
    return combined, members.tolist()


def join_values(values: Mapping[str, str]) -> str:
    """Write the hashes of a person's sensitive values, by column."""
    return json.dumps(dict(sorted(values.items())), separators=(",", ":"))


def _facts(
    table: FrequencyTable,
    class_of: list[int],
    labels: list[str],
    sensitive: Sequence[str],
    hashes: Mapping[str, list[str]],
) -> dict[str, dict[str, tuple[int, bool, str]]]:
    facts: dict[str, dict[str, tuple[int, bool, str]]] = {name: {} for name in labels}
    members = np.array(class_of, dtype=np.int64)
    rows = np.zeros(len(labels), dtype=np.int64)
    np.add.at(rows, members, table.counts)
    for column in sensitive:
        found: list[set[str]] = [set() for _ in labels]
        for number, code in zip(class_of, table.column_codes(column).tolist(), strict=True):
            found[number].add(hashes[column][code])
        for number, name in enumerate(labels):
            size = int(rows[number])
            facts[name][column] = size, len(found[number]) == size, ",".join(sorted(found[number]))
    return facts


def _repeated(persons: Sequence[str], counts: Sequence[int]) -> set[str]:
    seen: set[str] = set()
    repeated: set[str] = set()
    for person, count in zip(persons, counts, strict=True):
        if count > 1 or person in seen:
            repeated.add(person)
        seen.add(person)
    return repeated


def _merge_rows(
    persons: list[str], classes: list[str], values: list[str], repeated: set[str], hash_key: bytes
) -> tuple[list[str], list[str], list[str]]:
    rows: dict[str, list[tuple[str, str]]] = {}
    for person, name, value in zip(persons, classes, values, strict=True):
        rows.setdefault(person, []).append((name, value))
    merged: tuple[list[str], list[str], list[str]] = [], [], []
    for person, own in rows.items():
        if person in repeated:
            own = [(keyed_hash(hash_key, "rows", json.dumps(sorted(own))), "{}")]
        merged[0].append(person)
        merged[1].append(own[0][0])
        merged[2].append(own[0][1])
    return merged


def read_rows(table: FrequencyTable) -> list[tuple[str, int]]:
    """Return the distinct rows of a released table as JSON, each with its count."""
    dictionaries = [[plain_value(value) for value in dictionary] for dictionary in table.dictionaries]
    return [
        (json.dumps([d[c] for d, c in zip(dictionaries, row, strict=True)]), count)
        for row, count in zip(table.codes.tolist(), table.counts.tolist(), strict=True)
    ]


def plain_value(value: Value) -> Any:
    """Return a value as JSON holds it; dates and decimals as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else label(value)
