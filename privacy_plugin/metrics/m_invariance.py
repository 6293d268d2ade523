"""m-invariance: releases of a changing table in which everybody always hides among the same set of values."""

from collections.abc import Sequence

import numpy as np

from privacy_plugin.frequency import FrequencyTable
from privacy_plugin.metrics.joint_classes import JointClasses
from privacy_plugin.metrics.measurement import Measurement, Spread
from privacy_plugin.metrics.registry import metric


@metric(
    title="m-invariance",
    symbols={"m": "at_least"},
    safer="higher",
    attacker="who follows such a person through the releases is left with fewer than {limit} values of {sensitive}",
    remedy="deal people into classes with pairwise different values, and keep everybody in classes with the same set "
    "of values in every release",
    paper="Xiao, Tao 2007",
    axis="people, with pairwise different values of {sensitive}, of the smallest class of a person",
    shows="In every release, everybody is in a class of at least m people with pairwise different values, and the set "
    "of these values is the same in all their releases: nobody's value can be inferred with more than 1/m.",
    hides="Who a person is (k-anonymity), releases that were not recorded, and attackers who know that a person does "
    "not have one of the values.",
    counts_people="one_class",
    smallest=2,
)
def m_invariance(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    joint_classes: JointClasses,
    dataset: str | None = None,
) -> Measurement:
    """Return the largest m for which all releases of the dataset, this one included, are m-invariant; 0 if none.

    Definition 4 of Xiao and Tao 2007: every class of every release has at least m people, their sensitive values are
    pairwise different, and every person's signature (the set of values of their class) is the same in all releases
    that they are in. Intersections of value sets are not enough: two releases in which every intersection has two
    values can still determine a value. A person whose own value changed breaks it too, because the theorem follows
    one value through the releases.

    What it bounds (their theorem 1): an attacker who has all releases, knows everybody's quasi-identifiers and who is
    in which release, infers nobody's value with a probability above 1/m. Everybody of every recorded release counts,
    also people who are not in this one. Missing values are a value. Whole numbers, exact. Cost: the people of this
    release, and the joint classes of earlier ones.

    >>> from privacy_plugin.metrics.joint_classes import ClassFacts
    >>> facts = {"disease": ClassFacts(people=2, different=True, signature="flu or cold")}
    >>> kept = JointClasses(
    ...     releases=1, people=2, returning=2, changed=0,
    ...     classes=[1, 1], values=[{"disease": "flu"}, {"disease": "cold"}], counts=[1, 1], paths={1: [facts, facts]},
    ... )
    >>> table = FrequencyTable.from_rows(["age", "disease"], [(30, "flu"), (30, "cold")])
    >>> m_invariance(table, quasi_identifiers=["age"], sensitive="disease", joint_classes=kept).value
    2
    """
    people: dict[int, int] = {}
    for number, count in zip(joint_classes.classes, joint_classes.counts, strict=True):
        people[number] = people.get(number, 0) + count
    values, counted, repeated, moved = [], [], 0, 0
    for number, size in people.items():
        facts = [each[sensitive] for each in joint_classes.paths[number] if sensitive in each]
        if not facts:  # the column was never released about these people
            continue
        different = all(each.different for each in facts)
        same = len({each.signature for each in facts}) <= 1
        repeated += 0 if different else size
        moved += 0 if same else size
        values.append(min(each.people for each in facts) if different and same else 0)
        counted.append(size)
    changed = joint_classes.changed
    reasons = [
        f"{repeated:,} people are in a class in which two people have the same value." if repeated else "",
        f"{moved:,} people are in classes with different sets of values." if moved else "",
        f"The value of {changed:,} people changed between releases." if changed else "",
    ]
    sizes = np.array(counted, dtype=np.int64)
    return Measurement(
        metric="m_invariance",
        value=0 if changed else min(values),
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "sensitive": sensitive,
            "unit": table.unit,
            "dataset": dataset,
        },
        rows=int(sizes.sum()),
        classes=len(sizes),
        spread=Spread(values=np.array(values, dtype=np.float64), people=sizes),
        details={
            "earlier_releases": joint_classes.releases,
            "people_in_an_earlier_release": joint_classes.returning,
            "people_with_another_signature": moved,
            "people_in_classes_that_repeat_a_value": repeated,
            "changed_values": changed,
        },
        reason=" ".join(filter(None, reasons)),
        notes=(f"judged together with {joint_classes.releases} earlier releases; people of all releases are counted",),
    )
