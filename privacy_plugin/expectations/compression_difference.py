"""The difference of compression as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Number, Population


class ExpectTableCompressionDifferenceToBeAtMost(PrivacyExpectation):
    """Expect a generated table and its original (`population`) to compress equally well with each other's code table.

    The metric is `privacy_plugin.metrics.compression_difference`, a measure of utility, not of privacy.

    >>> ExpectTableCompressionDifferenceToBeAtMost(attributes=["age"], population="visits", at_most=0.1).support
    '1/100'
    """

    metric: ClassVar[str] = "compression_difference"

    attributes: Columns
    population: Population
    support: Number = "1/100"
    at_most: Number = None
    below: Number = None
