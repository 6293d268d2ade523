"""Journalist risk as an expectation."""

from typing import ClassVar, Literal

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Hierarchies, Number, Parameter, Population


class ExpectTableJournalistRiskToBeAtMost(PrivacyExpectation):
    """Expect the probability of re-identifying a row among the people of the population to be at most a limit.

    The metric is `privacy_plugin.metrics.journalist_risk`; `threshold` is for the variant "share_at_risk".

    >>> ExpectTableJournalistRiskToBeAtMost(
    ...     quasi_identifiers=["age", "zip"], population="register", at_most="1/11"
    ... ).variant
    'highest'
    """

    metric: ClassVar[str] = "journalist_risk"

    quasi_identifiers: Columns
    population: Population
    variant: Literal["highest", "average", "share_at_risk"] | Parameter = "highest"
    threshold: Number = None
    hierarchies: Hierarchies = None
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
