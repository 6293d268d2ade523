"""Query error: how far the answers to COUNT queries on a release are from those on its original."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Codes, Integers, is_dense, pack, tally
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement
from privacy_plugin.metrics.presence.population_join import require_hierarchies
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.usability.compared_tables import (
    ComparedTables,
    Domain,
    Floats,
    Hierarchies,
    Side,
    compare_tables,
)

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
        table = compared.original.table
        places = [compared.original.coverages[p].members[table.codes[:, p]] for p in positions]
        rows, counts = tally(*pack(places, [len(compared.domains[p].leaves) for p in positions]), table.counts)
        ends = np.cumsum(counts)
        asked = rows[np.searchsorted(ends, evenly(each, int(ends[-1])), side="right")]
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


def answers(side: Side, queries: CountQueries) -> Floats:
    """Return how many rows each query counts: of a label, the share of its leaves that the query asks for."""
    columns, counts = _combinations(side, queries.positions)
    found = []
    for low, high in zip(queries.low, queries.high, strict=True):
        shares = []
        for column, position in enumerate(queries.positions):
            chosen = np.zeros(side.coverages[position].leaves, dtype=bool)
            chosen[low[column] : high[column] + 1] = True
            shares.append(side.coverages[position].shares_within(chosen))
        first = min(range(len(shares)), key=lambda column: np.count_nonzero(shares[column]) / len(shares[column]))
        rows = np.flatnonzero((shares[first] > 0)[columns[first]])  # most rows fail the strictest condition
        counted = counts[rows].astype(np.float64)
        for share, codes in zip(shares, columns, strict=True):
            counted *= share[codes[rows]]
        found.append(counted.sum())
    return np.array(found)


def _combinations(side: Side, positions: Sequence[int]) -> tuple[list[Codes], Integers]:
    """Return the labels of each row in some columns, and how many rows it stands for; equal ones joined if cheap."""
    codes = [np.ascontiguousarray(side.table.codes[:, p]) for p in positions]
    packed, size = pack(codes, [side.table.cardinalities[p] for p in positions])
    if not is_dense(len(packed), size):
        return codes, side.table.counts
    rows, counts = tally(packed, size, side.table.counts)
    return [column[rows] for column in codes], counts


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
        for found, answered in zip(errors, (answers(compared.released, queries), stars), strict=True):
            found.append(np.abs(answered - true) / true)
    return QueryErrors(released=np.concatenate(errors[0]), stars=np.concatenate(errors[1]))


ROUNDING = 1e-9  # sums of at most 2**31 products of floating-point shares


@dataclass(frozen=True, kw_only=True)
class QueryError(Measurement):
    """The median relative error of COUNT queries; `details` has their number, the mean and the 90th percentile."""

    @property
    def queries(self) -> int:
        """How many queries were asked."""
        return int(self.details["queries"])

    @property
    def comparison(self) -> Comparison:
        """The median next to the mean and to what nine of ten queries do not exceed."""
        return Comparison(
            caption=f"Relative errors of {self.queries:,} COUNT queries",
            values=(
                ComparedValue(name="median", value=self.value, role="judged"),
                ComparedValue(name="mean", value=self.details["mean"]),
                ComparedValue(name="90th percentile", value=self.details["percentile_90"]),
            ),
        )


@metric(
    title="query error",
    safer="lower",
    kind="utility",
    attacker="gets counts over {attributes} of which half are wrong by more than {limit} of their value",
    remedy="recode locally, give the columns that are counted a weight, or allow some rows to be suppressed",
    paper="Xiao and Tao 2006, section 6",
    axis="relative error of COUNT queries",
    shows="Half of the COUNT queries over up to three columns have at most this relative error.",
    hides="Anything about privacy: the original scores best. Nor how wrong the other half of the queries is.",
    smallest=0,
    check=require_hierarchies,
    called={"attributes": "columns"},
)
def query_error(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    original: FrequencyTable,
    hierarchies: Hierarchies | None = None,
) -> QueryError:
    """Return the median of |count in the release - count in the original| / count in the original, over COUNT queries.

    A query counts the rows whose values in one, two or three columns are given ones, or lie in given ranges; about 500
    are chosen from the original, always the same ones (`metrics.usability.queries`). In the release a row counts with
    the product over the columns of the share of its label's leaves that the query asks for: labels are taken to be
    spread evenly, since the release does not show more. `hierarchies` define what labels cover; `*` covers everything.
    Dropped rows count nowhere. Xiao and Tao 2006, whose queries ask for random sets of values. Right to 1e-9, and
    exactly 0 where every answer is right. Cost: sets of columns * distinct rows, and queries * distinct combinations.

    >>> from privacy_plugin.frequency.hierarchy_builders import mask_hierarchy
    >>> real = FrequencyTable.from_rows(["zip"], [("81",), ("81",), ("81",), ("82",)])
    >>> made = FrequencyTable.from_rows(["zip"], [("8*",)] * 4)
    >>> query_error(made, attributes=["zip"], original=real, hierarchies={"zip": mask_hierarchy(length=2)}).value
    0.3333333333333333
    """
    compared = compare_tables(table, original, attributes=attributes, hierarchies=hierarchies)
    errors = query_errors(compared).released
    return QueryError(
        metric="query_error",
        value=float(np.median(errors)),
        error=ROUNDING if errors.any() else 0.0,
        parameters={"attributes": list(attributes)},
        rows=table.rows,
        classes=table.distinct,
        details={
            "queries": len(errors),
            "mean": float(errors.mean()),
            "percentile_90": float(np.quantile(errors, 0.9)),
            "original_rows": original.rows,
        },
    )
