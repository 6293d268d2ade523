"""Re-identification risk against a journalist: an attacker who does not know who is in the table."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import Integers, sum_by
from privacy_plugin.frequency.population import Population
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, worst_classes
from privacy_plugin.metrics.presence.population_join import (
    Hierarchies,
    PopulationJoin,
    join_population,
    require_hierarchies,
)
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.reidentification_risk import Variant, about_threshold, require_variant, share_at_risk


def require_options(
    variant: Variant = "highest", threshold: float | None = None, hierarchies: Hierarchies | None = None
) -> None:
    """Raise if the variant does not exist or the threshold does not belong to it."""
    require_hierarchies(hierarchies)
    require_variant(variant, threshold)


@metric(
    title="journalist risk",
    symbols={"risk": "at_most"},
    safer="lower",
    attacker="who knows {quasi_identifiers} of everybody in the population, but not who is in the table, names the "
    "person of such a row correctly with a probability above {limit}",
    remedy="generalize a quasi-identifier one level further, in the table and the population alike, or suppress the "
    "rows that fit few people",
    paper="El Emam and Dankar 2008 (journalist scenario)",
    axis="probability of naming the person of a row",
    shows="How often an attacker who has the whole population, but does not know who is in the table, names the right "
    "person of a row: one over the people of the population that fit the row.",
    hides="An attacker who does know that a person is in the table: for that one the re-identification risk counts. "
    "An average hides the few who are at a much higher risk.",
    counts_people="one_class",
    monotone=True,
    class_wise=True,
    smallest=0,
    largest=1,
    check=require_options,
)
def journalist_risk(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    population: Population,
    variant: Variant = "highest",
    threshold: float | None = None,
    hierarchies: Hierarchies | None = None,
) -> Measurement:
    """Return the highest or average risk of a right guess, or the share of rows above a threshold.

    A row whose class has F people in the population has risk 1/F. `highest`: max 1/F. `average`: the larger of the
    mean over the rows and, for people of the population looked up in the table, classes / people in those classes.
    `share_at_risk`: the share of rows with 1/F strictly above `threshold`. El Emam and Dankar 2008; El Emam 2013,
    chapter 16, has the two averages. Rows that the population lacks are an input error. `hierarchies` says what
    generalized values stand for where the population holds original values. Missing values are a category of their
    own. Exact fractions. Cost: each table is grouped in its own engine, and the groups are joined: there, if both live
    in one.

    >>> everybody = FrequencyTable.from_rows(["age"], [(30,), (30,), (30,), (41,)])
    >>> some = FrequencyTable.from_rows(["age"], [(30,)])
    >>> journalist_risk(some, quasi_identifiers=["age"], population=everybody).value
    Fraction(1, 3)
    """
    require_options(variant, threshold, hierarchies)
    joined = join_population(table, population, quasi_identifiers=quasi_identifiers, hierarchies=hierarchies)
    people = joined.people
    risks = 1.0 / people
    return Measurement(
        metric="journalist_risk",
        value=_value(joined, variant, threshold),
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "variant": variant,
            "threshold": threshold,
            "generalized": hierarchies is not None,
        },
        rows=joined.table.rows,
        classes=joined.classes.number,
        spread=Spread(values=risks, people=joined.classes.people) if variant == "highest" else None,
        worst=worst_classes(joined.table, joined.classes, risks, lowest_first=False),
        details={"population": joined.everybody},
        notes=about_threshold(threshold),
    )


def _value(joined: PopulationJoin, variant: str, threshold: float | None) -> Quantity:
    people, rows = joined.people, joined.classes.people
    if variant == "highest":
        return Fraction(1, int(people.min()))
    if variant == "average":
        looked_up = Fraction(joined.classes.number, int(joined.all_people.sum()))
        return max(_mean_over_rows(people, rows), looked_up)
    return share_at_risk(people, rows, threshold)


def _mean_over_rows(people: Integers, sizes: Integers) -> Fraction:
    """Return (1/n) * sum of f/F; classes of equal F are put together, so that few fractions are added."""
    distinct, positions = np.unique(people, return_inverse=True)
    together = sum_by(positions, sizes, len(distinct)).tolist()
    total = sum((Fraction(rows, size) for rows, size in zip(together, distinct.tolist(), strict=True)), Fraction(0))
    return total / int(sizes.sum())
