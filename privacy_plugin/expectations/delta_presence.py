"""delta-presence as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Hierarchies, Pair, Population


class ExpectTableDeltaPresenceToBeBetween(PrivacyExpectation):
    """Expect every person of the population to be in the table with a probability between two bounds.

    The metric is `metrics.presence.delta_presence`; `hierarchies` says what generalized values stand for.

    >>> ExpectTableDeltaPresenceToBeBetween(
    ...     quasi_identifiers=["age", "zip"], population="register", between=[0.01, 0.2]
    ... ).between
    [0.01, 0.2]
    """

    metric: ClassVar[str] = "delta_presence"

    quasi_identifiers: Columns
    population: Population
    hierarchies: Hierarchies = None
    between: Pair = None
