"""The rows that a repair writes: every value of an added record that the repair leaves open is drawn.

An added record has the attributes M of a witness or a hole. A row with nothing else would be recognized by its missing
values, so the other columns get values drawn from the table's own, as often as they occur there. A drawn value must not
undo the repair: it differs from what follows, in the source, from M or (a hole is held by nobody) from M without one of
its attributes. So the row takes away every inference that the bare record takes away, and no score is higher than with
the bare record. Where no other value exists, it stays missing. Combinations that cannot occur in reality may still give
an added row away.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.values import Value, key
from privacy_plugin.metrics.privacy_score.relation import is_boolean

Draw = Callable[[int], int]
Flags = npt.NDArray[np.bool_]


def draw_rows(
    table: FrequencyTable,
    records: Sequence[Mapping[str, Value]],
    *,
    attributes: Sequence[str],
    generator: np.random.Generator | None = None,
) -> tuple[list[tuple[Value, ...]], int]:
    """Return a row of the table's columns for every record, and how many rows keep a missing value of the repair.

    >>> people = FrequencyTable.from_rows(["zip", "disease"], [(1, "flu"), (1, "flu"), (2, "gout")])
    >>> draw_rows(people, [{"zip": 1, "disease": None}], attributes=["zip", "disease"])
    ([(1, 'gout')], 0)
    """
    draw: Draw = secrets.randbelow if generator is None else lambda below: int(generator.integers(below))
    rows, incomplete = [], 0
    for record in records:
        held = {name: value for name, value in record.items() if _is_held(table, name, value)}
        constants = _constants(table, held, attributes)
        row: list[Value] = []
        missing = False
        for name in table.columns:
            if name in held:
                row.append(held[name])
                continue
            value, found = _drawn(table, name, constants.get(name, set()), draw)
            row.append(value)
            missing |= not found
        rows.append(tuple(row))
        incomplete += missing
    return rows, incomplete


def _is_held(table: FrequencyTable, name: str, value: Value) -> bool:
    """Return whether a record has an attribute in this column; false and missing are none."""
    return value is not None and not (value is False and is_boolean(table.dictionary(name)))


def _constants(table: FrequencyTable, held: Mapping[str, Value], attributes: Sequence[str]) -> dict[str, set[int]]:
    """Return for every other attribute column the codes that all holders of M, or of a part of M, have."""
    has = {name: _holders(table, name, value) for name, value in held.items()}
    everybody = np.ones(table.distinct, dtype=np.bool_)
    whole = np.logical_and.reduce([everybody, *has.values()])
    groups = [whole]
    if not whole.any():
        groups = [
            np.logical_and.reduce([everybody, *(flags for name, flags in has.items() if name != left)]) for left in has
        ]
    found: dict[str, set[int]] = {}
    for name in attributes:
        if name in held:
            continue
        codes = table.column_codes(name)
        for group in groups:
            present = np.unique(codes[group])
            if len(present) == 1:
                found.setdefault(name, set()).add(int(present[0]))
    return found


def _holders(table: FrequencyTable, name: str, value: Value) -> Flags:
    wanted = [key(known) == key(value) for known in table.dictionary(name)]
    return np.array(wanted, dtype=np.bool_)[table.column_codes(name)]


def _drawn(table: FrequencyTable, name: str, avoided: set[int], draw: Draw) -> tuple[Value, bool]:
    """Draw a value as often as it occurs among those allowed; return it, and whether there was one."""
    values = table.dictionary(name)
    weights = np.zeros(len(values), dtype=np.int64)
    np.add.at(weights, table.column_codes(name), table.counts)
    boolean = is_boolean(values)
    for code in avoided:
        if not (boolean and values[code] is not True):  # false and missing are no attribute of a boolean column
            weights[code] = 0
    total = int(weights.sum())
    if not total:
        return (False, True) if boolean else (None, False)
    return values[int(np.searchsorted(np.cumsum(weights), draw(total), side="right"))], True
