"""k-map as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Hierarchies, Population, Whole


class ExpectTableKMapToBeAtLeast(PrivacyExpectation):
    """Expect every row to match at least k people of the population.

    The metric is `privacy_plugin.metrics.k_map`; `hierarchies` maps generalized values to original ones.

    >>> ExpectTableKMapToBeAtLeast(quasi_identifiers=["age", "zip"], population="register", at_least=11).at_least
    11
    """

    metric: ClassVar[str] = "k_map"

    quasi_identifiers: Columns
    population: Population
    hierarchies: Hierarchies = None
    unit: Column | None = None
    count: Count = None
    at_least: Whole = None
    above: Whole = None
