"""Confidence of delta-presence where only the attribute distributions of the population are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np

from privacy_plugin.errors import ParameterError, TooLargeError
from privacy_plugin.frequency import Classes, FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact, written
from privacy_plugin.frequency.values import canonical
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, plain, worst_classes
from privacy_plugin.metrics.presence.outsiders import FloatArray
from privacy_plugin.metrics.presence.population_join import Hierarchies, require_hierarchies, require_hierarchies_of
from privacy_plugin.metrics.presence.population_marginals import (
    Distribution,
    Joint,
    Marginals,
    know_distributions,
    plain_joint,
    require_marginals,
)
from privacy_plugin.metrics.registry import metric

Coverage = Literal["reported", "required"]

_EXACT_UP_TO = 2_000  # people outside the table: then the long integers of an exact fraction are still cheap
_EXACT_TERMS = 20_000
_EXACT_CLASSES = 50
_ROUNDED = 2.0**-50  # more than the rounding of a sum of three numbers of at most 1


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
    joint: Joint | None = None,
) -> None:
    """Raise if the options contradict each other, before data is read."""
    require_marginals(marginals, population_size, joint)
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


def refutes_confidence(
    table: FrequencyTable,
    bound: Fraction,
    *,
    quasi_identifiers: Sequence[str],
    marginals: Marginals,
    population_size: int,
    delta: Sequence[float],
    hierarchies: Hierarchies | None = None,
    coverage: Coverage = "reported",
    joint: Joint | None = None,
) -> bool:
    """Return True only if the confidence of some class is surely below the bound; threatened classes are asked first.

    The paper's dominance (definition 11) in another order: where one bound of delta does not bind, the class with the
    fewest (or most) expected people outside for its rows is rarely better than the others.
    """
    from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds

    research = table.project(quasi_identifiers)
    classes = research.classes(quasi_identifiers)
    low, high = read_pair(delta)
    others = int(population_size) - research.rows
    known = know_distributions(
        research, marginals=marginals, population_size=population_size, hierarchies=hierarchies, joint=joint
    )
    counts = _Counts.of(known, classes, {})
    if not counts.certain:
        return False
    expected = (counts.most / max(others, 1)).prod(axis=1) / classes.sizes
    order = np.argsort(expected, kind="stable")
    sides = [*([order] if high < 1 else []), *([order[::-1]] if low > 0 else [])]
    asked, step = 0, 1
    while asked < len(order):
        chosen = np.unique(np.concatenate([side[asked : asked + step] for side in sides] or [order[:0]]))
        if not len(chosen):
            return False
        _, upper = presence_confidence_bounds(
            marginals=counts.most[chosen],
            research_count=classes.sizes[chosen],
            others=others,
            delta_low=low,
            delta_high=high,
            decide_at=bound,
        )
        if any(Fraction(float(one)) < bound for one in upper):
            return True
        asked, step = asked + step, 4 * step
    return False


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
    "columns that no joint distribution covers: they are taken as independent outside the table, as Nergiz and Clifton "
    "assume. Nor people whose combination of values occurs in no class: they surely are not in the table.",
    counts_people="one_class",
    smallest=0,
    largest=1,
    check=require_knowledge,
    refutes=refutes_confidence,
    writes={"joint": lambda joint: [_plain_distribution(one) for one in plain_joint(joint)]},
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
    joint: Joint | None = None,
) -> PresenceConfidence:
    """Return the lowest confidence over the classes that delta-presence holds in the population.

    Known are the table T, the size of the population P and, for every attribute, how many people of P have each
    value. For a class with n rows in T the number X of people outside T who share its values is random: X_1 = f_1,
    X_i given X_(i-1) = y is hypergeometric (y drawn from U, f_i marked), U = |P| - |T|, f_i the people outside T
    with the class's i-th value; the confidence is P(low <= n / (n + X) <= high). It is that of each class by itself:
    for m classes at once no more than 1 - m (1 - value) follows. Nergiz and Clifton, CSD TR 08-016, section 4; erratum:
    y = 0 belongs to their sum.

    `marginals`: {column: {value: count}}, or the grouped population itself. `joint`: distributions of several columns
    together (definition 8), as [{columns: [name, ...], counts: [[value, ..., count], ...]}] or grouped tables; those
    columns count as one attribute, no longer as independent, and are left out of `marginals`. A generalized value has
    the people of all values that `hierarchies` leads to it. Marginals below the table's own counts are an input error.

    Regions: labels of several levels may occur in a column, as long as no two classes overlap. How many rows of the
    table have the i-th value is then only known between those that surely have it, and those that may have it besides
    because their label is more general; X is stochastically increasing in every f_i (theorem 3 of the paper), so the
    largest f_i bound P(X <= b), the smallest ones P(X >= a), and `value` is the lower end of what follows.

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
    require_knowledge(marginals, population_size, delta, hierarchies, coverage, joint)
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
    known = know_distributions(
        research, marginals=marginals, population_size=population_size, hierarchies=hierarchies, joint=joint
    )
    counts = _Counts.of(known, classes, {"others": others, "delta_low": low, "delta_high": high})
    lower, upper = counts.bounds()
    value, highest = _lowest(counts, lower, upper)
    covered = _coverage(known, classes, counts.most, others)
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
            **({"joint": [list(one["columns"]) for one in plain_joint(joint)]} if joint else {}),
        },
        rows=research.rows,
        classes=len(classes),
        spread=Spread(values=lower, people=classes.sizes),
        worst=worst_classes(research, classes, lower, lowest_first=True),
        details=covered,
        notes=notes,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counts:
    """People outside the table who have each value of each class: bounds, equal where no labels overlap."""

    least: Integers
    most: Integers
    sizes: Integers
    asked: Mapping[str, Any]

    @classmethod
    def of(cls, known: Sequence[Distribution], classes: Classes, asked: Mapping[str, Any]) -> "_Counts":
        lines = [one.codes[classes.example_rows] for one in known]
        return cls(
            least=np.column_stack([one.least[codes] for one, codes in zip(known, lines, strict=True)]),
            most=np.column_stack([one.most[codes] for one, codes in zip(known, lines, strict=True)]),
            sizes=classes.sizes,
            asked=asked,
        )

    @property
    def certain(self) -> bool:
        return bool((self.least == self.most).all())

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of every class's confidence."""
        from privacy_plugin.metrics.presence.confidence_bounds import presence_confidence_bounds

        def answer(counts: Integers, **changed: Any) -> tuple[FloatArray, FloatArray]:
            return presence_confidence_bounds(marginals=counts, research_count=self.sizes, **{**self.asked, **changed})

        if self.certain:
            return answer(self.most)
        few, many = {"delta_high": 1}, {"delta_low": 0}  # not too many people outside, and not too few
        lower = answer(self.most, **few)[0] + answer(self.least, **many)[0] - 1
        upper = answer(self.least, **few)[1] + answer(self.most, **many)[1] - 1
        return np.maximum(lower - _ROUNDED, 0), np.clip(upper + _ROUNDED, 0, 1)

    def exact(self, chosen: Integers) -> tuple[Fraction, Fraction]:
        """Return both ends of the lowest confidence of some classes as fractions."""
        from privacy_plugin.metrics.presence.by_recursion import exact_presence_confidence

        def answer(counts: Integers, **changed: Any) -> tuple[Fraction, ...]:
            return exact_presence_confidence(
                marginals=counts[chosen],
                research_count=self.sizes[chosen],
                limit=_EXACT_TERMS,
                **{**self.asked, **changed},
            )

        if self.certain:
            return (least := min(answer(self.most))), least
        few, many = {"delta_high": 1}, {"delta_low": 0}
        lower = [a + b - 1 for a, b in zip(answer(self.most, **few), answer(self.least, **many), strict=True)]
        upper = [a + b - 1 for a, b in zip(answer(self.least, **few), answer(self.most, **many), strict=True)]
        return max(min(lower), Fraction(0)), max(min(upper), Fraction(0))


def _lowest(counts: _Counts, lower: FloatArray, upper: FloatArray) -> tuple[Quantity, Quantity]:
    """Return both ends of the lowest confidence; equal where it is certain or cheap to compute."""
    least, most = float(lower.min()), float(upper.min())
    if least == most and least in (0.0, 1.0):
        return int(least), int(least)
    worst = np.flatnonzero(lower <= most)
    if counts.asked["others"] > _EXACT_UP_TO or len(worst) > _EXACT_CLASSES:
        return least, most
    try:
        return counts.exact(worst)
    except TooLargeError:
        return least, most


def _plain_distribution(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return a joint distribution as data that a file holds: dates and the like as text, missing values as null."""
    lines = [[*(plain(canonical(value)) for value in line[:-1]), int(line[-1])] for line in one["counts"]]
    return {"columns": list(one["columns"]), "counts": lines}


def _coverage(
    known: Sequence[Distribution], classes: Classes, counts: Integers, others: int
) -> dict[str, int | float | None]:
    """Count the tuples that people outside the table can have, and those that no class covers."""
    expected = others - float((counts / max(others, 1)).prod(axis=1).sum()) * others
    complete = all(one.complete for one in known)
    whole = prod(one.all_leaves for one in known)
    within = prod(one.leaves[one.codes[classes.example_rows]].astype(object) for one in known)
    covered = int(np.sum(within))
    return {
        "possible_tuples": whole if complete else None,
        "uncovered_possible_tuples": whole - covered if complete else None,
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
