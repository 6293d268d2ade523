"""Who a row belongs to, as expectations: class sizes, and matches in a population."""

from typing import ClassVar, Literal

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Hierarchies, Number, Parameter, Population, Whole


class ExpectTableKAnonymityToBeAtLeast(PrivacyExpectation):
    """Expect every class of equal quasi-identifiers to have at least k people.

    The metric is `privacy_plugin.metrics.k_anonymity`; with `unit`, a class counts distinct people.

    >>> ExpectTableKAnonymityToBeAtLeast(quasi_identifiers=["age", "zip"], at_least=5).at_least
    5
    """

    metric: ClassVar[str] = "k_anonymity"

    quasi_identifiers: Columns
    unit: Column | None = None
    count: Count = None
    at_least: Whole = None
    above: Whole = None


class ExpectTableReidentificationRiskToBeAtMost(PrivacyExpectation):
    """Expect the probability of re-identifying a person's row, or the share of people at risk, to be at most a limit.

    The metric is `privacy_plugin.metrics.reidentification_risk`; `threshold` is for the variant "share_at_risk".

    >>> ExpectTableReidentificationRiskToBeAtMost(quasi_identifiers=["age", "zip"], at_most="1/11").at_most
    '1/11'
    """

    metric: ClassVar[str] = "reidentification_risk"

    quasi_identifiers: Columns
    unit: Column | None = None
    count: Count = None
    variant: Literal["highest", "average", "share_at_risk"] | Parameter = "highest"
    threshold: Number = None
    at_most: Number = None
    below: Number = None


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
