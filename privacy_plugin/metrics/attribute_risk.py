"""Attribute risk: the largest share of the people of a class who have one sensitive value."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.frequency.grouping import sum_by
from privacy_plugin.frequency.people_table import PeopleTable, SharedValues
from privacy_plugin.metrics.measurement import Measurement, Spread, worst_classes
from privacy_plugin.metrics.registry import metric
from privacy_plugin.metrics.value_sets import members_of, require_separator


@metric(
    title="attribute risk",
    safer="lower",
    attacker="who knows {quasi_identifiers} of a person, and that they are in the table, finds a value of {sensitive} "
    "that they have with a probability above {limit}",
    remedy="merge classes by generalizing a quasi-identifier further, or suppress the classes in which one value is "
    "frequent",
    paper="Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006 (random worlds), for people with several values",
    axis="share of the people of the class who have its most frequent value of {sensitive}",
    shows="An attacker who finds a person's class cannot name a value of the sensitive column that this person has "
    "with a probability above the limit, however many rows the person has.",
    hides="Attackers who can rule values out for a person, and values that are alike: two kinds of cancer are two "
    "values, each with its own share.",
    counts_people="shares",
    monotone=True,
    class_wise=True,
    smallest=0,
    largest=1,
    check=require_separator,
)
def attribute_risk(
    table: FrequencyTable, *, quasi_identifiers: Sequence[str], sensitive: str, separator: str | None = None
) -> Measurement:
    """Return the largest share of the people of a class who have one value.

    risk = max over classes and values v of |people of the class who have v| / |people of the class|. With several rows
    a person has every value of their rows, so that the shares of a class may add up to more than 1. With `separator`, a
    text value is the set of its parts.

    What it bounds: let an attacker know the class of everybody, and be given for every class the sets of values that
    its people have, without names. Exchanging the sets of two people of a class gives a table that the attacker cannot
    tell from this one, so all assignments are equally likely, and a person has v with exactly the share of v. Where
    people are in several classes (sequences), an attacker who cannot link rows deals the rows of every class
    independently: the risk is then also at least 1 - product of (1 - share of v in the class) over the classes of the
    person. The value is the largest of these. Merging classes in which everybody is once never raises it: the share of
    a union lies between the shares. A missing value is a value. Exact fractions. Cost: one grouping.

    >>> table = FrequencyTable.from_rows(["age", "disease"], [(30, "flu"), (30, "flu"), (30, "cold")])
    >>> attribute_risk(table, quasi_identifiers=["age"], sensitive="disease").value
    Fraction(2, 3)
    """
    require_separator(separator)
    histograms = table.histograms(quasi_identifiers, sensitive)
    classes = histograms.classes
    if isinstance(table, SharedValues):
        classes = replace(classes, sizes=table.class_people)
    sizes = classes.sizes
    members = members_of(table, sensitive, separator)
    places, values, counts = histograms.entry_classes, histograms.values.astype(np.int64), histograms.counts
    if members is not None:
        lengths = np.array([len(each) for each in members], dtype=np.int64)[values]
        flat = [np.array(members[value], dtype=np.int64) for value in values.tolist()]
        places, counts = np.repeat(places, lengths), np.repeat(counts, lengths)
        values = np.concatenate(flat)
    width = int(values.max()) + 1
    pairs, positions = np.unique(places * width + values, return_inverse=True)
    people = sum_by(positions, counts, len(pairs))
    largest = np.zeros(len(classes), dtype=np.int64)
    np.maximum.at(largest, pairs // width, people)
    shares = {Fraction(part, whole) for part, whole in np.unique(np.column_stack([largest, sizes]), axis=0).tolist()}
    value, risks = max(shares), largest / sizes
    if isinstance(table, PeopleTable) and table.row_risks is not None:
        value = max(value, table.unlinked)
        risks = np.maximum(risks, table.row_risks[classes.example_rows])
    return Measurement(
        metric="attribute_risk",
        value=value,
        parameters={"quasi_identifiers": list(quasi_identifiers), "sensitive": sensitive, "separator": separator},
        rows=int(sizes.sum()),
        classes=classes.number,
        spread=Spread(values=risks, people=classes.people),
        worst=worst_classes(histograms.table, classes, risks, lowest_first=False),
    )
