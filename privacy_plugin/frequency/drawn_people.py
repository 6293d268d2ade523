"""At most m rows of every person, drawn at random: what a mechanism that protects rows then protects of a person.

Claim. Let M be (epsilon, delta)-private for tables that differ in one row, and let B keep min(r, m) of the r rows of
every person, drawn without looking at values. Then M after B is (m epsilon, delta (e^(m epsilon) - 1) / (e^epsilon -
1))-private for tables that differ in all rows of one person.

Proof. Number the rows of every person, in any order that does not depend on the rows of others. B draws, for every
person independently, a set of numbers by a rule that knows r alone. Fix these sets for all people: with the same sets
B(T) and B(T') have the same rows of everybody else, and of the person at most m rows that differ, so that they are at
most m steps of the neighbour relation apart. Rows that are substituted: r is the same in both tables, and so is the
number of rows that B keeps. Rows that are added or removed: one of the tables has no row of the person. m steps give
P(M(B(T)) in S) <= e^(m epsilon) P(M(B(T')) in S) + delta (1 + e^epsilon + ... + e^((m - 1) epsilon)) for every choice
of the sets; averaged over the choices, which are equally likely for T and T', this is the claim.
"""

import secrets

import numpy as np
import numpy.typing as npt

from privacy_plugin.errors import SourceError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.frequency.values import require_unambiguous_values


def draw_rows_of_people(
    table: FrequencyTable, *, unit: str, rows: int, generator: np.random.Generator | None = None
) -> FrequencyTable:
    """Return at most so many rows of every person, drawn at random, without the unit column.

    Every set of rows of a person is equally likely, but for 2^-64: each row gets a random number from the operating
    system's secure source (a `generator` is for tests), and the rows with the smallest numbers stay.

    >>> visits = FrequencyTable.from_rows(["disease", "who"], [("flu", 1), ("flu", 1), ("gout", 2)])
    >>> draw_rows_of_people(visits, unit="who", rows=1).counts.tolist()
    [1, 1]
    """
    require_unambiguous_values(table.dictionary(unit), unit)
    if None in table.dictionary(unit):
        raise SourceError(f"the unit column {unit!r} is missing in some rows; fill it or remove those rows")
    lines = np.repeat(np.arange(table.distinct), table.counts)
    person = table.column_codes(unit)[lines].astype(np.int64)
    order = np.lexsort((_numbers(len(lines), generator), person))
    starts = np.flatnonzero(np.diff(person[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = lines[order[rank < rows]]
    columns = [name for name in table.columns if name != unit]
    return FrequencyTable.from_columns(
        columns,
        [table.column_codes(name)[kept] for name in columns],
        [table.dictionary(name) for name in columns],
        np.ones(len(kept), dtype=np.int64),
    )


def _numbers(length: int, generator: np.random.Generator | None) -> npt.NDArray[np.uint64]:
    if generator is not None:
        return generator.integers(0, 2**64, length, dtype=np.uint64)
    return np.frombuffer(secrets.token_bytes(8 * length), dtype=np.uint64)
