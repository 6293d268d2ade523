"""Confidence of delta-presence where only the attribute distributions of the population are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import Classes, FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, worst_classes
from privacy_plugin.metrics.presence.population_join import Hierarchies, require_hierarchies, require_hierarchies_of
from privacy_plugin.metrics.presence.population_marginals import (
    ColumnKnowledge,
    Marginals,
    know_columns,
    require_marginals,
)
from privacy_plugin.metrics.registry import metric

Coverage = Literal["reported", "required"]

_EXACT_UP_TO = 2_000  # people outside the table: then the long integers of an exact fraction are still cheap
_EXACT_TERMS = 20_000
_EXACT_CLASSES = 50


@dataclass(frozen=True, kw_only=True)
class PresenceConfidence(Measurement):
    """The lowest confidence over the classes; the exact value is at most `error` above `value`."""

    upper: Quantity

    @property
    def lowest(self) -> Quantity:
        """The lower end, which a limit is compared with."""
        return self.value

    @property
    def highest(self) -> Quantity:
        """The upper end."""
        return self.upper


def require_knowledge(
    marginals: Marginals,
    population_size: int,
    delta: Sequence[float],
    hierarchies: Hierarchies | None = None,
    coverage: Coverage = "reported",
) -> None:
    """Raise if the options contradict each other, before data is read."""
    require_marginals(marginals, population_size)
    require_hierarchies(hierarchies)
    read_pair(delta)
    if coverage not in ("reported", "required"):
        raise ParameterError(f"coverage must be reported or required, not {coverage!r}")


def read_pair(delta: Any) -> tuple[Fraction, Fraction]:
    """Read the bounds of delta-presence as exact fractions; a float counts as the decimal it prints as."""
    if not isinstance(delta, list | tuple) or len(delta) != 2:
        raise ParameterError("delta must be a pair (low, high)")
    low, high = (exact(bound, what="a bound of delta") for bound in delta)
    if not 0 <= low <= high <= 1:
        raise ParameterError(f"delta must satisfy 0 <= low <= high <= 1; given: {float(low):g} and {float(high):g}")
    return low, high


@metric(
    title="confidence of delta-presence",
    safer="higher",
    attacker="who knows {quasi_identifiers} of a person of the population may find out with too much certainty whether "
    "that person is in the table; the confidence that no attacker can is below {limit}",
    remedy="generalize a quasi-identifier one level further, so that more people outside the table share every class",
    paper="Nergiz and Clifton 2008",
    axis="confidence that the class is delta-present",
    picture="confidence_curve",
    shows="Without a list of the population, its known distributions make it at least so likely, for each class in the "
    "table by itself, that the probability of being in the table lies between the two bounds.",
    hides="All classes at once: that it holds for every one of them may be far less likely. Dependence between "
    "columns: they are taken as independent outside the table, as Nergiz and Clifton assume. Nor people whose "
    "combination of values occurs in no class: they surely are not in the table.",
    counts_people="one_class",
    smallest=0,
    largest=1,
    check=require_knowledge,
)
def presence_confidence(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    marginals: Marginals,
    population_size: int,
    delta: Sequence[float],
    hierarchies: Hierarchies | None = None,
    coverage: Coverage = "reported",
) -> PresenceConfidence:
    """Return the lowest confidence over the classes that delta-presence holds in the population.

    Known are the table T, the size of the population P and, for every attribute, how many people of P have each
    value. For a class with n rows in T the number X of people outside T who share its values is random: X_1 = f_1,
    X_i given X_(i-1) = y is hypergeometric (y drawn from U, f_i marked), U = |P| - |T|, f_i the people outside T
    with the class's i-th value; the confidence is P(low <= n / (n + X) <= high). It is that of each class by itself:
    for m classes at once no more than 1 - m (1 - value) follows. Nergiz and Clifton, CSD TR 08-016, section 4; erratum:
    y = 0 belongs to their sum.

    `marginals`: {column: {value: count}}, or the grouped population itself. A generalized value has the people of all
    values that `hierarchies` leads to it. Marginals below the table's own counts are an input error.

    Section 4.3: possible tuples that no row of T covers are certainly not in T; with low > 0 the definition cannot
    hold for them. They are counted in `details` (and the people they stand for, expected); with coverage="required" the
    confidence is then 0. The value is a lower end: exact fractions for small populations, otherwise at most `error`
    (below 1e-9) under the truth, never above it. Needs one row per person. Cost: about a millisecond a distinct class,
    at any population size.

    >>> table = FrequencyTable.from_rows(["a", "b", "c"], [(1, 1, 1), (2, 2, 2)])
    >>> known = {column: {1: 2, 2: 4} for column in "abc"}
    >>> presence_confidence(
    ...     table, quasi_identifiers=["a", "b", "c"], marginals=known, population_size=6, delta=(0.33, 1)
    ... ).value
    Fraction(15, 16)
    """
    require_knowledge(marginals, population_size, delta, hierarchies, coverage)
    require_hierarchies_of(quasi_identifiers, hierarchies)
    table.require_one_row_a_person("the confidence of delta-presence")
    research = table.project(quasi_identifiers)
    classes = research.classes(quasi_identifiers)
    low, high = read_pair(delta)
    others = int(population_size) - research.rows
    if others < 0:
        raise ParameterError(
            f"population_size={int(population_size):,} is below the {research.rows:,} rows of the table"
        )
    columns = know_columns(research, marginals=marginals, population_size=population_size, hierarchies=hierarchies)
    codes = research.codes[classes.example_rows].astype(np.int64)
    counts = np.column_stack([column.outside[codes[:, i]] for i, column in enumerate(columns)])
    asked = {"others": others, "delta_low": low, "delta_high": high}
    lower, upper = _bounds(counts, classes, asked)
    value, highest = _lowest(counts, classes, lower, upper, asked)
    covered = _coverage(columns, codes, counts, others)
    notes = _notes(covered, low, coverage)
    if low == 0 and high == 1:
        notes += ("every probability of presence lies between 0 and 1, so this delta holds for any table",)
    if low > 0 and coverage == "required" and covered["uncovered_possible_tuples"] != 0:
        value, highest = 0, 0
    return PresenceConfidence(
        metric="presence_confidence",
        value=value,
        upper=highest,
        error=float(highest - value),
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "population_size": int(population_size),
            "delta": [written(low), written(high)],
            "generalized": hierarchies is not None,
            "coverage": coverage,
        },
        rows=research.rows,
        classes=len(classes),
        spread=Spread(values=lower, people=classes.sizes),
        worst=worst_classes(research, classes, lower, lowest_first=True),
        details=covered,
        notes=notes,
    )


def _bounds(counts: Integers, classes: Classes, asked: dict[str, Any]) -> tuple[Any, Any]:
    from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds

    return presence_confidence_bounds(marginals=counts, research_count=classes.sizes, **asked)


def _lowest(
    counts: Integers, classes: Classes, lower: Any, upper: Any, asked: dict[str, Any]
) -> tuple[Quantity, Quantity]:
    """Return both ends of the lowest confidence; equal where it is certain or cheap to compute."""
    least, most = float(lower.min()), float(upper.min())
    if least == most and least in (0.0, 1.0):
        return int(least), int(least)
    worst = np.flatnonzero(lower <= most)
    if asked["others"] > _EXACT_UP_TO or len(worst) > _EXACT_CLASSES:
        return least, most
    from privacy_plugin.metrics.presence.by_recursion import exact_presence_confidence

    try:
        found = exact_presence_confidence(
            marginals=counts[worst], research_count=classes.sizes[worst], limit=_EXACT_TERMS, **asked
        )
    except TooLargeError:
        return least, most
    return min(found), min(found)


def _coverage(
    columns: Sequence[ColumnKnowledge], codes: Integers, counts: Integers, others: int
) -> dict[str, int | float | None]:
    """Count the tuples that people outside the table can have, and those that no class covers."""
    expected = others - float((counts / max(others, 1)).prod(axis=1).sum()) * others
    known = all(column.complete for column in columns)
    possible = [np.where(column.outside > 0, column.leaves, 0).astype(object) for column in columns]
    whole = prod(int(leaves.sum()) + column.other_leaves for leaves, column in zip(possible, columns, strict=True))
    within = prod(leaves[codes[:, i]] for i, leaves in enumerate(possible))
    covered = int(np.sum(within))
    return {
        "possible_tuples": whole if known else None,
        "uncovered_possible_tuples": whole - covered if known else None,
        "expected_people_uncovered": max(0.0, expected),
    }


def _notes(covered: dict[str, int | float | None], low: Fraction, coverage: Coverage) -> tuple[str, ...]:
    uncovered = covered["uncovered_possible_tuples"]
    if not low or uncovered == 0:
        return ()
    many = "an unknown number of" if uncovered is None else f"{uncovered:,}"
    people = f"about {covered['expected_people_uncovered']:,.0f} people"
    words = f"{many} possible combinations of values ({people}) occur in no class: no person with one is in the table"
    if coverage == "required":
        return (f"{words}, so the lower bound of delta cannot hold for them and the confidence is 0",)
    return (f"{words}, which the lower bound of delta does not allow; coverage='required' counts that as failure",)
