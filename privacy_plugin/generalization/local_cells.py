"""Combinations of quasi-identifiers, of a table and of the population it was drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, group, pack, sum_by
from privacy_plugin.frequency.numbers import rank_values
from privacy_plugin.frequency.table import Dictionary
from privacy_plugin.frequency.values import Value, key


@dataclass(frozen=True, kw_only=True, eq=False)
class Combinations:
    """Distinct combinations of the quasi-identifiers in ascending code order; those without rows have people only."""

    columns: tuple[str, ...]
    codes: Codes
    dictionaries: tuple[Dictionary, ...] = field(repr=False)
    rows: Integers
    people: Integers
    """People of the population with this combination; all zero where there is no population."""
    lines: Integers = field(repr=False)
    """The combination of every line of the table."""
    population_lines: Integers = field(repr=False)
    """The combination of every line of the population."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def total(self) -> int:
        """How many rows the table has."""
        return int(self.rows.sum())


def combinations(
    table: FrequencyTable, columns: Sequence[str], population: FrequencyTable | None = None
) -> Combinations:
    """List the combinations of a table and, if given, of its population; values mean the same in both."""
    codes, dictionaries = [], []
    for name in columns:
        values: dict[object, Value] = {key(value): value for value in table.dictionary(name)}
        own = table.column_codes(name)
        if population is not None:
            values |= {key(v): v for v in population.dictionary(name) if key(v) not in values}
            numbers = {found: number for number, found in enumerate(values)}
            there = np.array([numbers[key(v)] for v in population.dictionary(name)], dtype=np.int32)
            own = np.concatenate([own, there[population.column_codes(name)]])
        codes.append(own)
        dictionaries.append(tuple(values.values()))
    packed, size = pack(codes, [len(dictionary) for dictionary in dictionaries])
    numbers_of, first = group(packed, size)
    here, there_lines = numbers_of[: table.distinct], numbers_of[table.distinct :]
    people = np.zeros(len(first), dtype=np.int64)
    if population is not None:
        people = sum_by(there_lines, population.counts, len(first))
    return Combinations(
        columns=tuple(columns),
        codes=np.column_stack([column[first] for column in codes]).astype(np.int32),
        dictionaries=tuple(dictionaries),
        rows=sum_by(here, table.counts, len(first)),
        people=people,
        lines=here,
        population_lines=there_lines,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Symbols:
    """What classes are judged by: the sensitive values of every combination as lists, the population last."""

    start: Integers
    symbol: Integers
    amount: Integers
    column_start: Integers
    histogram: Integers
    """Of the whole table."""

    @property
    def width(self) -> int:
        """How many symbols there are."""
        return len(self.histogram)


def symbols(table: FrequencyTable, found: Combinations, sensitive: Sequence[str]) -> Symbols:
    """Count the sensitive values of every combination."""
    sizes = [len(table.dictionary(name)) for name in sensitive] or [1]
    column_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    last = int(column_start[-1])
    owners, entries, amounts = [np.arange(len(found))], [np.full(len(found), last)], [found.people]
    for position, name in enumerate(sensitive):
        owners.append(found.lines)
        entries.append(column_start[position] + rank_values(table.dictionary(name))[table.column_codes(name)])
        amounts.append(table.counts)
    packed = np.concatenate(owners) * (last + 1) + np.concatenate(entries)
    occurring, positions = np.unique(packed, return_inverse=True)
    total = sum_by(positions.ravel().astype(np.int64), np.concatenate(amounts), len(occurring))
    occurring, total = occurring[total > 0], total[total > 0]
    owner, symbol = np.divmod(occurring, last + 1)
    return Symbols(
        start=np.searchsorted(owner, np.arange(len(found) + 1)).astype(np.int64),
        symbol=symbol.astype(np.int64),
        amount=total.astype(np.int64),
        column_start=column_start,
        histogram=sum_by(symbol.astype(np.int64), total, last + 1),
    )
