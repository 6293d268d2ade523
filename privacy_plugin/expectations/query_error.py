"""The error of COUNT queries as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Hierarchies, Number, Population


class ExpectTableQueryErrorToBeAtMost(PrivacyExpectation):
    """Expect COUNT queries on a release to be answered as on its original (`population`), almost.

    The metric is `privacy_plugin.metrics.usability.query_error`: usefulness, not privacy. `hierarchies` define what
    generalized labels stand for.

    >>> ExpectTableQueryErrorToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.1).at_most
    0.1
    """

    metric: ClassVar[str] = "query_error"

    attributes: Columns
    population: Population
    hierarchies: Hierarchies = None
    at_most: Number = None
    below: Number = None
