"""Unique itemsets: combinations of values of one person that occur in a generated table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.metrics.generated_pair import GeneratedPair, pair_tables
from privacy_plugin.metrics.measurement import ComparedValue, Comparison, Measurement
from privacy_plugin.metrics.registry import metric

_MOST_STEPS = 4_000_000_000  # rows looked at: a minute or two
_DENSE = 1 << 22

Progress = Callable[[float, int], None]


def require_largest(largest: Any = 3) -> None:
    """Raise if the largest size is not a number of columns."""
    if isinstance(largest, bool) or not isinstance(largest, int) or largest < 1:
        raise ParameterError("largest must be a whole number of at least 1: how many columns an itemset may span")


@dataclass(frozen=True, kw_only=True)
class UniqueItemsets(Measurement):
    """Itemsets that the original holds exactly once, and how many are generated, by size."""

    @property
    def unique(self) -> tuple[int, ...]:
        """How many itemsets of 1, 2, ... columns exactly one row of the original holds."""
        return tuple(self.details["unique"].values())

    @property
    def reproduced(self) -> tuple[int, ...]:
        """How many of them a generated row holds."""
        return tuple(self.details["reproduced"].values())

    @property
    def if_independent(self) -> float:
        """The share that as many rows of independent columns would reproduce on average."""
        return float(self.details["if_independent"])

    @property
    def comparison(self) -> Comparison:
        """The share over all sizes and size by size, next to chance."""
        values = [
            ComparedValue(name=f"of all {sum(self.unique):,}", value=self.value, role="judged"),
            ComparedValue(name="of all, if the columns were independent", value=self.if_independent),
        ]
        for size, (unique, reproduced) in enumerate(zip(self.unique, self.reproduced, strict=True), start=1):
            if unique:
                name = f"of the {unique:,} over {size} {'column' if size == 1 else 'columns'}"
                values.append(ComparedValue(name=name, value=Fraction(reproduced, unique)))
        caption = "Combinations that one record alone has, and that a generated record has too"
        return Comparison(caption=caption, values=tuple(values), full=1.0)


@metric(
    title="reproduced unique itemsets",
    safer="lower",
    kind="audit",
    attacker="who knows a combination of {attributes} that one person alone has finds it in the generated table for "
    "a larger share of combinations than {limit}",
    remedy="generate the table with a smaller budget, and look at what independent columns reproduce",
    paper="Dorrestijn 2018, table 6",
    axis="share of itemsets",
    shows="No more than such a share of the combinations of a few values that one record of the original alone has "
    "occurs in the generated table.",
    hides="Privacy. Chance reproduces many of them, so a generated one proves nothing, and one that is missing hides "
    "nothing either. Combinations of more columns than were looked at are not counted.",
    smallest=0,
    largest=1,
    check=require_largest,
)
def unique_itemsets(
    table: FrequencyTable,
    *,
    attributes: Sequence[str],
    original: FrequencyTable,
    largest: int = 3,
    progress: Progress | None = None,
) -> UniqueItemsets:
    """Return the share of itemsets with support one in the original that occur in the generated table.

    An itemset is a set of columns with a value each. U = {itemsets of at most `largest` columns that exactly one row of
    the original holds}; value = |{I in U: some generated row holds I}| / |U|, 0 where U is empty. Dorrestijn 2018,
    section 4, table 6, which prints the complement for "random itemsets" that it does not define; here all are counted,
    size by size (`unique`, `reproduced`). Most large sets are unique and unlikely to be hit by chance, so the share
    falls with the size, with or without protection: `if_independent` is the share that as many rows of independent
    columns would reproduce on average. A missing value is not an item. Exact fraction. Cost: a grouping of both tables
    for every set of columns; TooLargeError above four billion visited rows.

    >>> real = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("a", 2), ("b", 1), ("b", 1)])
    >>> made = FrequencyTable.from_rows(["x", "y"], [("a", 1), ("b", 1)])
    >>> found = unique_itemsets(made, attributes=["x", "y"], original=real, largest=2)
    >>> str(found.value), found.unique, found.reproduced  # y=2, x=a y=1, x=a y=2; the second is reproduced
    ('1/3', (1, 2), (0, 1))
    """
    pair = pair_tables(table, original, attributes=attributes)
    sizes = min(largest, len(attributes))
    _require_feasible(pair, sizes)
    unique, reproduced = np.zeros(sizes, dtype=np.int64), np.zeros(sizes, dtype=np.int64)
    expected, total = 0.0, sum(comb(len(attributes), size) for size in range(1, sizes + 1))
    for done, chosen in enumerate(_column_sets(len(attributes), sizes), start=1):
        alone, hit, likely = _of_columns(pair, chosen)
        unique[len(chosen) - 1] += alone
        reproduced[len(chosen) - 1] += hit
        expected += likely
        if progress is not None and done % 64 == 0:
            progress(done / total, done)
    everything = int(unique.sum())
    independent = expected / everything if everything else 0.0
    return UniqueItemsets(
        metric="unique_itemsets",
        value=Fraction(int(reproduced.sum()), max(everything, 1)),
        parameters={"attributes": list(attributes), "largest": largest},
        rows=table.rows,
        classes=everything,
        details={
            "unique": {size: int(count) for size, count in enumerate(unique, start=1)},
            "reproduced": {size: int(count) for size, count in enumerate(reproduced, start=1)},
            "if_independent": independent,
            "original_rows": original.rows,
        },
        notes=(
            f"rows of independent columns would reproduce {independent:.1%}"
            if everything
            else f"no combination of up to {sizes} columns is held by exactly one row of the original",
            "a missing value is not an item",
        ),
    )


def _column_sets(columns: int, largest: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, largest + 1):
        yield from combinations(range(columns), size)


def _of_columns(pair: GeneratedPair, chosen: tuple[int, ...]) -> tuple[int, int, float]:
    """Return how many itemsets over these columns are unique, reproduced, and expected by chance."""
    known, made, size = pair.packed(chosen)
    held = np.ones(len(known), dtype=bool)
    complete = np.ones(len(made), dtype=bool)
    for position in chosen:
        held &= pair.original.codes[:, position] != pair.missing[position]
        complete &= pair.generated.codes[:, position] != pair.missing[position]
    alone = np.flatnonzero(held & (pair.original.counts == 1))
    alone = alone[_times(known, size)[alone] == 1]
    if not len(alone):
        return 0, 0, 0.0
    hit = _among(known[alone], made[complete], size)
    chance = np.prod([pair.shares[p][pair.original.codes[alone, p]] for p in chosen], axis=0)
    missed = np.exp(pair.generated.rows * np.log1p(-np.minimum(chance, 1 - 1e-16)))
    return len(alone), int(hit.sum()), float((1 - missed).sum())


def _times(packed: Integers, size: int) -> Integers:
    """Return how many distinct rows share the packed number, and so the itemset, of each row."""
    if size <= _DENSE:
        return np.bincount(packed, minlength=size)[packed]
    _, groups, counts = np.unique(packed, return_inverse=True, return_counts=True)
    return counts[groups]


def _among(wanted: Integers, present: Integers, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if size > _DENSE:
        return np.isin(wanted, present)
    there = np.zeros(size, dtype=bool)
    there[present] = True
    return there[wanted]


def _require_feasible(pair: GeneratedPair, largest: int) -> None:
    """Raise if the work would take minutes; the message names the largest feasible size."""
    rows, columns = len(pair.original.counts) + len(pair.generated.counts), len(pair.columns)
    steps, feasible = 0, 0
    for size in range(1, largest + 1):
        steps += comb(columns, size) * rows
        feasible = size if steps <= _MOST_STEPS else feasible
    if feasible < largest:
        advice = f"choose largest={feasible}" if feasible else "compare fewer columns"
        raise TooLargeError(f"itemsets of up to {largest} of {columns} columns are too many to look at; {advice}")
