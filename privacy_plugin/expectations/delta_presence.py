"""delta-presence as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Hierarchies, Pair, Population


class ExpectTableDeltaPresenceToBeBetween(PrivacyExpectation):
    """Expect the probability that a person of the population is in the table to lie between two bounds.

    The metric is `metrics.presence.delta_presence`; `hierarchies` maps generalized values to original ones.

    >>> ExpectTableDeltaPresenceToBeBetween(
    ...     quasi_identifiers=["age", "zip"], population="register", between=[0.01, 0.2]
    ... ).between
    [0.01, 0.2]
    """

    metric: ClassVar[str] = "delta_presence"

    quasi_identifiers: Columns
    population: Population
    hierarchies: Hierarchies = None
    unit: Column | None = None
    count: Count = None
    between: Pair = None
