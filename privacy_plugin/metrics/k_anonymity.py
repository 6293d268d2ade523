"""k-anonymity: how many people share the least shared combination of quasi-identifiers."""

from collections.abc import Sequence

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.class_rules import ClassCondition, ClassLimit
from privacy_plugin.metrics.measurement import Measurement, Spread, about_unit, worst_classes
from privacy_plugin.metrics.registry import metric


def class_condition(limit: ClassLimit) -> ClassCondition:
    """Return the rows that every class needs."""
    return ClassCondition(size=limit.least_whole)


@metric(
    title="k-anonymity",
    symbols={"k": "at_least"},
    safer="higher",
    attacker="who knows {quasi_identifiers} of such a person finds their row among fewer than {limit} candidates",
    remedy="generalize a quasi-identifier one level further, or suppress the rows of the small classes",
    paper="Samarati 2001; Sweeney 2002",
    axis="people in the class",
    shows="By the quasi-identifiers alone, everybody looks like at least k - 1 others.",
    hides="Whether those people share one secret: a class in which everybody has the same diagnosis is k-anonymous "
    "and still gives it away. Nor does it hold against an attacker who knows a column that is not declared a "
    "quasi-identifier, or who has an earlier release of the same people.",
    counts_people="sizes",
    monotone=True,
    class_wise=True,
    class_rule=class_condition,
    smallest=1,
)
def k_anonymity(table: FrequencyTable, *, quasi_identifiers: Sequence[str]) -> Measurement:
    """Return the size of the smallest class of people who are equal on all quasi-identifiers.

    k = min over classes of |class|. Samarati 2001, Sweeney 2002. A missing value is a category of its own, so a
    row that alone has a missing value is a class of one; `*` is a value like any other. With a unit column people
    are counted, by `count` (`measuring.people`). Whole numbers, exact. Cost: one grouping of the distinct rows.

    >>> table = FrequencyTable.from_rows(["age"], [(30,), (30,), (None,)])
    >>> k_anonymity(table, quasi_identifiers=["age"]).value
    1
    """
    classes = table.classes(quasi_identifiers)
    sizes = classes.sizes
    return Measurement(
        metric="k_anonymity",
        value=int(sizes.min()),
        parameters={"quasi_identifiers": list(quasi_identifiers), "unit": table.unit},
        rows=table.rows,
        classes=classes.number,
        spread=Spread(values=sizes.astype(np.float64), people=classes.people),
        worst=worst_classes(table, classes, sizes, lowest_first=True),
        details={"unique_people": int(classes.people[sizes == 1].sum())},
        notes=about_unit(table),
    )
