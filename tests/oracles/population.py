"""A research table held against its population by brute force, person by person, from the definitions alone.

Rows are tuples of values; a hierarchy is a dict from an original value to the tuple of what it becomes.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from typing import Any

Row = tuple[Any, ...]
Paths = list[dict[Any, tuple[Any, ...]]]


def fits(person: Row, row: Row, paths: Paths) -> bool:
    """Whether a person of the population could be behind a row of the (generalized) table."""
    return all(v == w or w in path.get(v, ()) for v, w, path in zip(person, row, paths, strict=True))


def presence(table: list[Row], population: list[Row], paths: Paths | None = None) -> list[Fraction]:
    """For every person of the population, the probability of being in the table."""
    ways = paths or [{} for _ in population[0]]
    found = []
    for person in population:
        rows = [row for row in table if fits(person, row, ways)]
        alike = [other for other in population if rows and fits(other, rows[0], ways)]
        found.append(Fraction(len(rows), len(alike)) if rows else Fraction(0))
    return found


def candidates(table: list[Row], population: list[Row], paths: Paths | None = None) -> list[int]:
    """For every row of the table, how many people of the population it could belong to."""
    ways = paths or [{} for _ in population[0]]
    return [sum(fits(person, row, ways) for person in population) for row in table]


def worlds(outside: list[Counter[Any]], people: int) -> list[tuple[Row, ...]]:
    """Every population outside the table that has these attribute distributions: all equally likely."""
    columns = [sorted(set(permutations(counts.elements())), key=str) for counts in outside]
    return [tuple(zip(*chosen, strict=True)) if people else () for chosen in product(*columns)]


def confidence(
    table: list[Row], marginals: list[Counter[Any]], people: int, low: Fraction, high: Fraction, group: Any
) -> Fraction:
    """The lowest share of worlds, over the rows of the table, in which a row is delta-present.

    `table` holds original values; `group(column, value)` is what the published table shows of a value.
    """
    outside = [counts - Counter(row[i] for row in table) for i, counts in enumerate(marginals)]
    everything = worlds(outside, people - len(table))

    def shown(row: Row) -> Row:
        return tuple(group(i, value) for i, value in enumerate(row))

    published = Counter(shown(row) for row in table)
    lowest = Fraction(1)
    for row, rows in published.items():
        good = 0
        for world in everything:
            matching = sum(shown(person) == row for person in world)
            good += low <= Fraction(rows, rows + matching) <= high
        lowest = min(lowest, Fraction(good, len(everything)))
    return lowest


def uncovered_tuples(table: list[Row], marginals: list[Counter[Any]], group: Any) -> int:
    """Original tuples that a person outside the table may have, and that no published row covers."""
    published = {tuple(group(i, value) for i, value in enumerate(row)) for row in table}
    held = [Counter(group(i, row[i]) for row in table) for i in range(len(marginals))]
    total = []
    for i, counts in enumerate(marginals):
        groups: Counter[Any] = Counter()
        for value, count in counts.items():
            groups[group(i, value)] += count
        total.append([v for v, count in counts.items() if count and groups[group(i, v)] > held[i][group(i, v)]])
    return sum(tuple(group(i, v) for i, v in enumerate(row)) not in published for row in product(*total))


def confidence_with_joint(
    table: list[Row],
    population: list[Row],
    blocks: list[tuple[int, ...]],
    low: Fraction,
    high: Fraction,
    published: list[Row],
    shows: Any,
) -> Fraction:
    """The lowest share of worlds, over the classes of the table, in which a class is delta-present.

    Known is, for each block of columns, how many people outside the table have each combination of values in it; a
    world is one way to pair these combinations. `published` is what the rows of the table became, and
    `shows(column, value, label)` tells whether a label covers a value.
    """
    outside = list((Counter(population) - Counter(table)).elements())
    parts = [sorted(set(permutations([tuple(row[c] for c in block) for row in outside])), key=str) for block in blocks]
    everything = []
    for chosen in product(*parts):
        people = []
        for combined in zip(*chosen, strict=True):
            values = {
                c: v for block, part in zip(blocks, combined, strict=True) for c, v in zip(block, part, strict=True)
            }
            people.append(tuple(values[c] for c in sorted(values)))
        everything.append(people)
    everything = everything or [[]]
    lowest = Fraction(1)
    for labels, rows in Counter(published).items():
        good = 0
        for world in everything:
            matching = sum(all(shows(i, v, s) for i, (v, s) in enumerate(zip(p, labels, strict=True))) for p in world)
            good += low <= Fraction(rows, rows + matching) <= high
        lowest = min(lowest, Fraction(good, len(everything)))
    return lowest
