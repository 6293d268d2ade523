"""Reproduced unique itemsets as an expectation."""

from typing import ClassVar

from great_expectations.compatibility.pydantic import StrictInt

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Number, Parameter, Population


class ExpectTableUniqueItemsetsToBeAtMost(PrivacyExpectation):
    """Expect the share of unique itemsets of the original (`population`) in a generated table to be at most a limit.

    The metric is `privacy_plugin.metrics.unique_itemsets` over sets of up to `largest` columns, an audit: it finds
    leaks and never proves that there are none.

    >>> ExpectTableUniqueItemsetsToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.2).largest
    3
    """

    metric: ClassVar[str] = "unique_itemsets"

    attributes: Columns
    population: Population
    largest: StrictInt | Parameter = 3
    at_most: Number = None
    below: Number = None
