"""k-map: how many people of the population the least shared row of the table could belong to."""

from collections.abc import Sequence

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.population import Population
from privacy_plugin.metrics.measurement import Measurement, Spread, worst_classes
from privacy_plugin.metrics.presence.population_join import Hierarchies, join_population, require_hierarchies
from privacy_plugin.metrics.registry import metric


@metric(
    title="k-map",
    symbols={"k": "at_least"},
    safer="higher",
    attacker="who knows {quasi_identifiers} of everybody in the population, but not who is in the table, finds "
    "fewer than {limit} people to whom such a row could belong",
    remedy="generalize a quasi-identifier one level further, in the table and the population alike, or suppress the "
    "rows that fit few people",
    paper="Sweeney 2002",
    axis="people of the population that fit the row",
    shows="Every row could belong to at least k people of the population, for an attacker who does not know who is in "
    "the table.",
    hides="An attacker who does know that a person is in the table: for that one k-anonymity counts. Nor does it hide "
    "a secret that all fitting people share.",
    counts_people="one_class",
    monotone=True,
    class_wise=True,
    smallest=1,
    check=require_hierarchies,
)
def k_map(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    population: Population,
    hierarchies: Hierarchies | None = None,
) -> Measurement:
    """Return the number of people of the population in the smallest class that has a row of the table.

    k = min over classes of the table of |people of the population in the class|; at least the k of k-anonymity.
    Sweeney 2002, section 4. Rows that the population lacks are an input error. `hierarchies` says what generalized
    values of the table stand for where the population holds original values. Missing values are a category of their
    own. Whole numbers, exact. The spread is over the rows of the table. Cost: each table is grouped in its own
    engine, and the groups are joined: in that engine where both live in one.

    >>> everybody = FrequencyTable.from_rows(["age"], [(30,), (30,), (30,), (41,)])
    >>> some = FrequencyTable.from_rows(["age"], [(30,)])
    >>> k_map(some, quasi_identifiers=["age"], population=everybody).value
    3
    """
    joined = join_population(table, population, quasi_identifiers=quasi_identifiers, hierarchies=hierarchies)
    people = joined.people
    return Measurement(
        metric="k_map",
        value=int(people.min()),
        parameters={"quasi_identifiers": list(quasi_identifiers), "generalized": hierarchies is not None},
        rows=joined.table.rows,
        classes=joined.classes.number,
        spread=Spread(values=people.astype(np.float64), people=joined.classes.people),
        worst=worst_classes(joined.table, joined.classes, people, lowest_first=True),
        details={"population": joined.everybody},
    )
