"""Re-identification risk as an expectation."""

from typing import ClassVar, Literal

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter


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
