"""Repeated records as an expectation."""

from typing import ClassVar, Literal

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Number, Parameter, Population


class ExpectTableRepeatedRecordsToBeAtMost(PrivacyExpectation):
    """Expect at most such a share of a generated table's rows to occur in the original, given as `population`.

    The metric is `privacy_plugin.metrics.repeated_records`: an audit, which finds copies and never proves privacy.

    >>> ExpectTableRepeatedRecordsToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.2).variant
    'repeated'
    """

    metric: ClassVar[str] = "repeated_records"

    attributes: Columns
    population: Population
    variant: Literal["repeated", "repeating_unique", "unique_repeated"] | Parameter = "repeated"
    at_most: Number = None
    below: Number = None
