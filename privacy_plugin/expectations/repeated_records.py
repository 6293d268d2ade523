"""Repeated records as an expectation."""

from typing import ClassVar, Literal

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Number, Parameter, Population


class ExpectTableRepeatedRecordsToBeAtMost(PrivacyExpectation):
    """Expect the share of a generated table's rows that occur in the original (`population`) to be at most a limit.

    The metric is `privacy_plugin.metrics.repeated_records`, an audit: it finds copies and never proves privacy.

    >>> ExpectTableRepeatedRecordsToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.2).variant
    'repeated'
    """

    metric: ClassVar[str] = "repeated_records"

    attributes: Columns
    population: Population
    variant: Literal["repeated", "repeating_unique", "unique_repeated"] | Parameter = "repeated"
    at_most: Number = None
    below: Number = None
