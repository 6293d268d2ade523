"""Attribute risk as an expectation."""

from typing import ClassVar

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter


class ExpectTableAttributeRiskToBeAtMost(PrivacyExpectation):
    """Expect that in every class at most a share of the people have the same sensitive value.

    The metric is `privacy_plugin.metrics.attribute_risk`; with `unit`, a person has the values of all their rows.

    >>> ExpectTableAttributeRiskToBeAtMost(quasi_identifiers=["age"], sensitive="disease", at_most=0.5).at_most
    0.5
    """

    metric: ClassVar[str] = "attribute_risk"

    quasi_identifiers: Columns
    sensitive: Column
    separator: StrictStr | Parameter | None = None
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
