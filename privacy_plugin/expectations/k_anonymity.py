"""k-anonymity as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Whole


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
