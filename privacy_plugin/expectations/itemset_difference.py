"""The difference of frequent itemsets as an expectation."""

from typing import ClassVar, Literal

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Hierarchies, Number, Parameter, Population


class ExpectTableItemsetDifferenceToBeAtMost(PrivacyExpectation):
    """Expect the frequent itemsets of a generated table to differ little from those of the original (`population`).

    The metric is `privacy_plugin.metrics.itemset_difference`, a measure of utility, not of privacy.

    >>> ExpectTableItemsetDifferenceToBeAtMost(attributes=["age", "zip"], population="visits", at_most=0.05).variant
    'nfd'
    """

    metric: ClassVar[str] = "itemset_difference"

    attributes: Columns
    population: Population
    support: Number = "1/10"
    variant: Literal["nfd", "lost", "false"] | Parameter = "nfd"
    hierarchies: Hierarchies = None
    at_most: Number = None
    below: Number = None
