"""The privacy budget of a dataset from the definition: what was drawn about it adds up."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def judged_epsilon(
    spends: Sequence[dict[str, Any]], *, table: Any, unit: str, delta: Fraction, dataset: str | None
) -> Fraction | str:
    """Return the composed epsilon that a gate must judge a table by, "infinite", or "closed" if it may not judge it."""
    books = {
        spend["dataset"]
        for spend in spends
        if spend["made"] == table
        and spend["ended"]
        and spend["private"]
        and spend["unit"] == unit
        and dataset in (None, spend["dataset"])
    }
    units = {(spend["dataset"], spend["unit"]) for spend in spends}
    if not books or any(name in books and other != unit for name, other in units):
        return "closed"
    sums = []
    for name in books:
        own = [spend for spend in spends if spend["dataset"] == name and spend["unit"] == unit]
        sums.append((sum(s["epsilon"] for s in own), sum(s["delta"] for s in own)))
    if any(deltas > delta for _, deltas in sums):
        return "infinite"
    return max(epsilon for epsilon, _ in sums)
