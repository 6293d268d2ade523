"""How useful a table still is, as expectations."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Hierarchies, Number, Population


class ExpectTableUsabilityToBeAtLeast(PrivacyExpectation):
    """Expect a release to keep this much of its original (`population`), from 0 to 1.

    The metric is `privacy_plugin.metrics.usability`: usefulness, not privacy. `hierarchies` define what generalized
    labels stand for.

    >>> ExpectTableUsabilityToBeAtLeast(attributes=["age", "zip"], population="visits", at_least=0.6).at_least
    0.6
    """

    metric: ClassVar[str] = "usability"

    attributes: Columns
    population: Population
    hierarchies: Hierarchies = None
    at_least: Number = None
    above: Number = None


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
