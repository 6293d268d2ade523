"""delta-presence: how certain an attacker can be that a person of the population is in the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.population import Population
from privacy_plugin.metrics.class_rules import ClassCondition, ClassLimit, Presence
from privacy_plugin.metrics.measurement import Measurement, Spread, WorstClass, class_members
from privacy_plugin.metrics.presence.outsiders import read_number
from privacy_plugin.metrics.presence.population_join import (
    Hierarchies,
    PopulationJoin,
    join_population,
    largest_fraction,
    require_hierarchies,
)
from privacy_plugin.metrics.registry import metric

_HIGHEST_SHOWN, _LOWEST_SHOWN = 3, 2


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Measurement):
    """The least and the largest probability, over the people of the population, of being in the table.

    A requirement `between` applies to both: `minimum` is not below the lower bound, `maximum` not above the upper.
    `value` is the largest.
    """

    minimum: Fraction
    maximum: Fraction

    @property
    def lowest(self) -> Fraction:
        """The least probability."""
        return self.minimum

    @property
    def highest(self) -> Fraction:
        """The largest probability."""
        return self.maximum


def class_condition(limit: ClassLimit) -> ClassCondition:
    """Return the allowed share of each class; suppression cannot repair a lower bound above 0."""
    low, high = limit.bounds
    return ClassCondition(rule=Presence(low=low, high=high), repairable=low == 0)


@metric(
    title="delta-presence",
    symbols={"delta": "between"},
    safer="between",
    attacker="who knows {quasi_identifiers} of a person of the population finds a probability that is not between "
    "{limit} for that person being in the table",
    remedy="generalize a quasi-identifier one level further, in the table and the population alike, so that classes "
    "that are mostly in the table, or not at all, are merged with others",
    paper="Nergiz, Atzori, Clifton 2007; Nergiz and Clifton 2008",
    axis="probability of being in the table",
    shows="An attacker who knows everybody in the population, quasi-identifiers included, still cannot tell whether a "
    "person is in the table with a probability outside the two bounds.",
    hides="What the table shows about people once it is known that they are in it, and attackers who know more of a "
    "person than the quasi-identifiers. It holds for the population it was compared with: with another one, "
    "or a smaller circle of candidates, probabilities differ.",
    counts_people="one_class",
    monotone=True,
    class_wise=True,
    class_rule=class_condition,
    smallest=0,
    largest=1,
    check=require_hierarchies,
)
def delta_presence(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    population: Population,
    hierarchies: Hierarchies | None = None,
) -> DeltaPresence:
    """Return the least and the largest probability with which people of the population are in the table.

    For every class, Pr = rows of the table in the class / people of the population in the class; people whose class
    has no row of the table have Pr = 0. Nergiz and Clifton, CSD TR 08-016, section 3. A table with rows that the
    population lacks is an input error, never a probability. `hierarchies` says what generalized values of the table
    stand for where the population holds original values; without it both are in the same form. Merging classes moves
    both ends inwards (theorem 1), so a lattice search may prune. Missing values are a category of their own. Exact
    fractions; needs one row per person in both tables. The spread is over the people of the population. Cost: each
    table is grouped in its own engine, and the groups are joined: there, if both live in one.

    >>> everybody = FrequencyTable.from_rows(["age"], [(30,), (30,), (41,), (41,), (55,)])
    >>> some = FrequencyTable.from_rows(["age"], [(30,), (41,), (41,)])
    >>> found = delta_presence(some, quasi_identifiers=["age"], population=everybody)
    >>> found.minimum, found.maximum
    (Fraction(0, 1), Fraction(1, 1))
    """
    joined = join_population(table, population, quasi_identifiers=quasi_identifiers, hierarchies=hierarchies)
    rows, people = presence_counts(joined)
    everybody = people if joined.classes.repeats is None else people * _repeats(joined)
    lowest, highest = 1 - largest_fraction(people - rows, people), largest_fraction(rows, people)
    return DeltaPresence(
        metric="delta_presence",
        value=highest,
        minimum=lowest,
        maximum=highest,
        parameters={"quasi_identifiers": list(quasi_identifiers), "generalized": hierarchies is not None},
        rows=int(everybody.sum()),
        classes=joined.classes.number + joined.other_groups,
        spread=Spread(values=rows / people, people=everybody),
        worst=_extremes(joined, rows, people),
        details={
            "minimum": lowest,
            "maximum": highest,
            "research_rows": joined.table.rows,
            "people_in_no_class_of_the_table": joined.other_people,
        },
        notes=("people are those of the population; its groups without a row of the table count as classes",),
    )


def presence_counts(joined: PopulationJoin) -> tuple[Integers, Integers]:
    """Return rows of the table and people of the population per class; last, the people in no class."""
    if not joined.other_people:
        return joined.classes.sizes, joined.people
    return np.append(joined.classes.sizes, 0), np.append(joined.people, joined.other_people)


def _repeats(joined: PopulationJoin) -> Integers:
    """Return how many classes each of `presence_counts` stands for."""
    repeats = joined.classes.repeats
    known = np.ones(len(joined.classes), dtype=np.int64) if repeats is None else repeats
    return np.append(known, 1) if joined.other_people else known


def _extremes(joined: PopulationJoin, rows: Integers, people: Integers) -> tuple[WorstClass, ...]:
    """Pick the classes with the largest and the least probabilities; the people in no class count as one."""
    order = np.lexsort((people, rows / people))
    repeats = np.minimum(_repeats(joined), _HIGHEST_SHOWN)
    order = np.repeat(order, repeats[order])
    places = dict.fromkeys([*range(len(order))[::-1][:_HIGHEST_SHOWN], *range(len(order))[:_LOWEST_SHOWN]])
    chosen = [int(order[place]) for place in places]
    return tuple(
        WorstClass(
            rank=rank,
            value=Fraction(int(rows[index]), int(people[index])),
            people=int(people[index]),
            members=_members(joined, index),
        )
        for rank, index in enumerate(chosen, start=1)
    )


def _members(joined: PopulationJoin, index: int) -> dict[str, Any]:
    return {} if index == len(joined.classes) else class_members(joined.table, joined.classes, index)


def presence_bounds(
    *, prior: object, gain: object, drop: object, population_size: int, research_size: int
) -> tuple[float, float]:
    """Return (d_min, d_max) that keep the belief "this person has the condition" near what it was before.

    Everybody in the research table T has the condition, a share `prior` of the population P has it. Knowing
    that a person is in T with probability p, the belief becomes p + (1 - p) (prior |P| - |T|) / (|P| -
    |T|). It rises by at most `gain` when p <= (gain |P| + (1 - gain - prior) |T|) / ((1 - prior) |P|) =
    d_max, and falls by at most `drop` when p >= ((1 + drop - prior) |T| - drop |P|) / ((1 - prior) |P|) =
    d_min (Nergiz and Clifton, section 6). Both are clipped to 0..1 and rounded to the stricter side; a
    float stands for the decimal it prints as.

    >>> low, high = presence_bounds(prior=0.07, gain=0.01, drop=0.02, population_size=10_000, research_size=400)
    >>> round(low, 4), round(high, 4)
    (0.0194, 0.0503)
    """
    belief = _share(prior, name="prior")
    rise, fall = _share(gain, name="gain"), _share(drop, name="drop")
    for name, size in (("population_size", population_size), ("research_size", research_size)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ParameterError(f"{name} must be a whole number >= 1, not {size!r}")
    if belief == 1:
        raise ParameterError("prior must be below 1: where everybody has the condition, presence reveals nothing")
    if research_size > belief * population_size:
        raise ParameterError(
            f"research_size={research_size} exceeds prior * population_size = {float(belief * population_size):g}; "
            "everybody in the research table has the condition, so the prior cannot be that low"
        )
    share = Fraction(research_size, population_size)
    highest = (rise + (1 - rise - belief) * share) / (1 - belief)
    lowest = ((1 + fall - belief) * share - fall) / (1 - belief)
    low, high = _rounded_up(max(lowest, Fraction(0))), _rounded_down(min(highest, Fraction(1)))
    # No gain and no drop at all leave one point, which a float may only meet nearly.
    return (low, high) if low <= high else (float(share), float(share))


def _share(number: object, *, name: str) -> Fraction:
    share = read_number(number, name=name)
    if not 0 <= share <= 1:
        raise ParameterError(f"{name} must lie between 0 and 1, not {float(share):g}")
    return share


def _rounded_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if _printed(nearest) >= value else nextafter(nearest, inf)


def _rounded_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if _printed(nearest) <= value else nextafter(nearest, -inf)


def _printed(number: float) -> Fraction:
    """Return the decimal that a float prints as: what a reader of the bound sees."""
    return Fraction(repr(number))
