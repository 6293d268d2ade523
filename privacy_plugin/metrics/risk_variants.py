"""What re-identification risks share: their variants, and the share of people above a threshold."""

from fractions import Fraction
from typing import Literal

from privacy_plugin.errors import ParameterError
from privacy_plugin.frequency.grouping import Integers
from privacy_plugin.frequency.numbers import exact

Variant = Literal["highest", "average", "share_at_risk"]


def require_variant(variant: Variant = "highest", threshold: float | None = None) -> None:
    """Refuse a variant that does not exist, and a threshold that does not go with it."""
    if variant not in ("highest", "average", "share_at_risk"):
        raise ParameterError(f"variant must be highest, average or share_at_risk, not {variant!r}")
    if (threshold is not None) != (variant == "share_at_risk"):
        raise ParameterError("threshold goes with variant='share_at_risk', and only with it")
    if threshold is not None and not 0 <= exact(threshold, what="threshold") <= 1:
        raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}")


def about_threshold(threshold: float | None) -> tuple[str, ...]:
    """Say so where a threshold asks nothing."""
    vacuous = threshold is not None and exact(threshold, what="threshold") == 1
    return ("no risk is above 1, so that a threshold of 1 counts nobody, whatever the table",) if vacuous else ()


def share_at_risk(candidates: Integers, people: Integers, threshold: float | None) -> Fraction:
    """Return the share of people whose risk, one over their candidates, is strictly above the threshold."""
    limit = exact(threshold, what="threshold")
    # 1/n > p/q exactly when q > p*n
    above = limit.denominator > limit.numerator * candidates.astype(object)
    return Fraction(int(people[above].sum()), int(people.sum()))
