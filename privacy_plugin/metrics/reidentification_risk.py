"""Re-identification risk against a prosecutor: an attacker who knows that the person is in the table."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency import Classes, FrequencyTable
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact
from privacy_plugin.metrics.class_rules import NEVER, ClassCondition, ClassLimit, least_whole
from privacy_plugin.metrics.measurement import Measurement, Quantity, Spread, about_unit, worst_classes
from privacy_plugin.metrics.registry import metric

Variant = Literal["highest", "average", "share_at_risk"]


def require_variant(variant: Variant = "highest", threshold: float | None = None) -> None:
    """Raise if the variant does not exist or the threshold does not belong to it."""
    if variant not in ("highest", "average", "share_at_risk"):
        raise ParameterError(f"variant must be highest, average or share_at_risk, not {variant!r}")
    if (threshold is not None) != (variant == "share_at_risk"):
        raise ParameterError("threshold goes with variant='share_at_risk', and only with it")
    if threshold is not None and not 0 <= exact(threshold, what="threshold") <= 1:
        raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}")


def about_threshold(threshold: float | None) -> tuple[str, ...]:
    """Return a note for a threshold that no risk can exceed."""
    vacuous = threshold is not None and exact(threshold, what="threshold") == 1
    return ("no risk is above 1, so a threshold of 1 counts no person of any table",) if vacuous else ()


def share_at_risk(candidates: Integers, people: Integers, threshold: float | None) -> Fraction:
    """Return the share of people whose risk, one over their candidates, is strictly above the threshold."""
    limit = exact(threshold, what="threshold")
    # 1/n > p/q exactly when q > p*n
    above = limit.denominator > limit.numerator * candidates.astype(object)
    return Fraction(int(people[above].sum()), int(people.sum()))


def class_condition(limit: ClassLimit) -> ClassCondition | None:
    """Return the rows that every class needs for the highest risk; the average needs all classes."""
    variant = limit.options.get("variant", "highest")
    if variant == "average":
        return ClassCondition(average=True)
    if variant != "highest":
        return None
    # 1/n <= p exactly when n >= 1/p
    return ClassCondition(size=least_whole(1 / limit.bound, strict=limit.strict) if limit.bound else NEVER)


def _caution(options: Mapping[str, Any]) -> str:
    if options.get("variant") != "average":
        return ""
    return "an average hides the few at a much higher risk; limit the highest risk or share_at_risk too"


@metric(
    title="re-identification risk",
    symbols={"risk": "at_most"},
    safer="lower",
    attacker="who knows {quasi_identifiers} of a person, and that they are in the table, "
    "guesses their row correctly more often than the policy allows",
    remedy="generalize a quasi-identifier one level further, or suppress the rows of the small classes",
    paper="El Emam and Dankar 2008 (prosecutor scenario)",
    axis="probability of picking the right row",
    shows="How often an attacker who knows that a person is in the table, and knows the quasi-identifiers, picks "
    "the right row: one over the size of the class (highest, averaged over people, or the share above a threshold).",
    hides="What is learned without picking a row, and how bad it would be. An average hides the few who are at a "
    "much higher risk.",
    counts_people="sizes",
    monotone=True,
    class_wise=True,
    class_rule=class_condition,
    smallest=0,
    largest=1,
    check=require_variant,
    caution=_caution,
)
def reidentification_risk(
    table: FrequencyTable,
    *,
    quasi_identifiers: Sequence[str],
    variant: Variant = "highest",
    threshold: float | None = None,
) -> Measurement:
    """Return the highest or average risk of a right guess, or the share of people above a threshold.

    A person in a class of size n has risk 1/n. `highest`: max 1/n. `average`: the mean over people, which is
    classes / people. `share_at_risk`: the share of people with 1/n strictly above `threshold`. El Emam and
    Dankar 2008. Missing values are a category of their own. Exact fractions. With a unit column people are
    counted, by `count` (`measuring.people`). Cost: one grouping of the distinct rows.

    >>> table = FrequencyTable.from_rows(["age"], [(30,), (30,), (41,)])
    >>> reidentification_risk(table, quasi_identifiers=["age"], variant="average").value
    Fraction(2, 3)
    """
    require_variant(variant, threshold)
    if variant != "highest":
        table.require_one_row_a_person(f"the {variant} re-identification risk")
    classes = table.classes(quasi_identifiers)
    sizes = classes.sizes
    risks = 1.0 / sizes
    return Measurement(
        metric="reidentification_risk",
        value=_value(classes, variant, threshold),
        parameters={
            "quasi_identifiers": list(quasi_identifiers),
            "variant": variant,
            "threshold": threshold,
            "unit": table.unit,
        },
        rows=table.rows,
        classes=classes.number,
        spread=Spread(values=risks, people=classes.people) if variant == "highest" else None,
        worst=worst_classes(table, classes, risks, lowest_first=False),
        notes=(*about_unit(table), *about_threshold(threshold)),
    )


def _value(classes: Classes, variant: str, threshold: float | None) -> Quantity:
    if variant == "highest":
        return Fraction(1, int(classes.sizes.min()))
    if variant == "average":
        return Fraction(classes.number, int(classes.people.sum()))
    return share_at_risk(classes.sizes, classes.people, threshold)
