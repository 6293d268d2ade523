"""The privacy score as an expectation."""

from typing import Any, ClassVar, Literal

from great_expectations.compatibility.pydantic import StrictFloat, StrictInt, StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter

Share = StrictInt | StrictFloat | StrictStr | Parameter
ByColumn = dict[str, Any] | None


class ExpectTablePrivacyScoreToBeLessThan(PrivacyExpectation):
    """Expect the average or highest privacy score, or the people who reach a threshold, to be below a limit.

    The metric is `metrics.privacy_score.metric`. Weights are {column: weight} or {column: {value: weight}};
    `roles` sets default weights: quasi-identifiers are known and harmless, sensitive columns unknown and dangerous.

    >>> ExpectTablePrivacyScoreToBeLessThan(
    ...     attributes=["age", "disease"], roles={"age": "quasi_identifier", "disease": "sensitive"}, below=0.3
    ... ).statistic
    'average'
    """

    metric: ClassVar[str] = "privacy_score"

    attributes: Columns
    likelihood: ByColumn = None
    danger: ByColumn = None
    roles: ByColumn = None
    confidence: Share = 1.0
    saturation: Share = 1.0
    statistic: Literal["average", "maximum", "threshold_count", "threshold_share"] | Parameter = "average"
    threshold: Number = None
    bins: ByColumn = None
    generalized: ByColumn = None
    budget: StrictInt | Parameter | None = None
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
