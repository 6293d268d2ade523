"""Maximum disclosure as an expectation."""

from typing import ClassVar, Literal

from great_expectations.compatibility.pydantic import StrictInt

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter


class ExpectTableMaximumDisclosureToBeLessThan(PrivacyExpectation):
    """Expect an attacker with `knowledge` further facts to infer no sensitive value with a probability above a limit.

    The metric is `privacy_plugin.metrics.maximum_disclosure.metric`; `below` c with `knowledge` k is (c, k)-safety.

    >>> ExpectTableMaximumDisclosureToBeLessThan(
    ...     quasi_identifiers=["age"], sensitive="disease", knowledge=3, below=0.6
    ... ).attacker
    'implications'
    """

    metric: ClassVar[str] = "maximum_disclosure"

    quasi_identifiers: Columns
    sensitive: Column
    knowledge: StrictInt | Parameter
    attacker: Literal["implications", "negations"] | Parameter = "implications"
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
