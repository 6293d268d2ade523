"""COUNT queries over up to three columns: which are asked, and what a release answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privacy_plugin.frequency.grouping import Integers, pack, tally
from privacy_plugin.metrics.usability.compared_tables import ComparedTables, Side
from privacy_plugin.metrics.usability.coverage import Domain, Floats

QUERIES = 500
MOST_SETS = 100
WIDEST = 3
FEW_LEAVES = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class CountQueries:
    """The queries over one set of columns: query q asks for leaves `low[q, c]` to `high[q, c]` of column c."""

    positions: tuple[int, ...]
    low: Integers
    high: Integers


def choose_queries(compared: ComparedTables) -> Iterator[CountQueries]:
    """Choose about 500 queries from the original, the same ones each time.

    All sets of one, two and three columns are asked about in turn (100 of them, evenly chosen, where there are more).
    For each, rows are taken at even distances from the original sorted by those columns, so that what many rows have is
    asked about often. A query asks for the values of such a row; of a column of more than 20 numbers or dates, for the
    values around it, a tenth of all.
    """
    sets = column_sets(len(compared.columns))
    each = max(round(QUERIES / len(sets)), 1)
    for positions in sets:
        rows, counts = grouped(compared.original, positions)
        places = [
            compared.original.coverages[p].members[compared.original.table.codes[rows, p]].astype(np.int64)
            for p in positions
        ]
        order = np.lexsort(places[::-1])
        ends = np.cumsum(counts[order])
        asked = order[np.searchsorted(ends, evenly(each, int(ends[-1])), side="right")]
        spans = [_span(compared.domains[p], place[asked]) for p, place in zip(positions, places, strict=True)]
        yield CountQueries(
            positions=positions,
            low=np.column_stack([low for low, _ in spans]),
            high=np.column_stack([high for _, high in spans]),
        )


def evenly(wanted: int, there: int) -> Integers:
    """Return so many positions out of all, at even distances: floor((2 i + 1) n / 2 m)."""
    return np.array([(2 * number + 1) * there // (2 * wanted) for number in range(wanted)], dtype=np.int64)


def column_sets(columns: int) -> list[tuple[int, ...]]:
    """Return the sets of at most three columns that are asked about."""
    every = [chosen for size in range(1, WIDEST + 1) for chosen in combinations(range(columns), size)]
    return every if len(every) <= MOST_SETS else [every[place] for place in evenly(MOST_SETS, len(every)).tolist()]


def _span(domain: Domain, places: Integers) -> tuple[Integers, Integers]:
    """Return the first and the last leaf that is asked for, around the leaf of a row."""
    first = int(domain.missing)  # a missing value comes first, and has no neighbours
    if not domain.ordered or len(domain.leaves) <= FEW_LEAVES:
        return places, places
    width = len(domain.leaves) // 10
    low = np.clip(places - width // 2, first, len(domain.leaves) - width)
    missing = places < first
    return np.where(missing, places, low), np.where(missing, places, low + width - 1)


def grouped(side: Side, positions: Sequence[int]) -> tuple[Integers, Integers]:
    """Return one row of each combination of values in some columns, and how many rows have it."""
    codes = [side.table.codes[:, p] for p in positions]
    return tally(*pack(codes, [side.table.cardinalities[p] for p in positions]), side.table.counts)


def answers(side: Side, queries: CountQueries) -> Floats:
    """Return how many rows each query counts: of a label, the share of its leaves that the query asks for."""
    rows, counts = grouped(side, queries.positions)
    found = []
    for low, high in zip(queries.low, queries.high, strict=True):
        counted = counts.astype(np.float64)
        for column, position in enumerate(queries.positions):
            coverage = side.coverages[position]
            chosen = np.zeros(coverage.leaves, dtype=bool)
            chosen[low[column] : high[column] + 1] = True
            counted *= coverage.shares_within(chosen)[side.table.codes[rows, position]]
        found.append(counted.sum())
    return np.array(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class QueryErrors:
    """The relative error of every query, |answer - truth| / truth, of the release and of a table of `*`."""

    released: Floats
    stars: Floats


def query_errors(compared: ComparedTables) -> QueryErrors:
    """Ask every query of both tables."""
    errors: list[list[Floats]] = [[], []]
    for queries in choose_queries(compared):
        true = answers(compared.original, queries)  # of at least one row, which the query was made from
        shares = [
            (queries.high[:, column] + 1 - queries.low[:, column]) / len(compared.domains[position].leaves)
            for column, position in enumerate(queries.positions)
        ]
        stars = compared.original.table.rows * np.prod(shares, axis=0)
        for found, told in zip(errors, (answers(compared.released, queries), stars), strict=True):
            found.append(np.abs(told - true) / true)
    return QueryErrors(released=np.concatenate(errors[0]), stars=np.concatenate(errors[1]))
