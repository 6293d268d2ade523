"""t-closeness as an expectation."""

from typing import ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Ground, Number


class ExpectTableTClosenessToBeAtMost(PrivacyExpectation):
    """Expect the distance of the sensitive values of every class from those of the whole table to be at most t.

    The metric is `privacy_plugin.metrics.t_closeness`; `ground` is "equal", "ordered" or a hierarchy as plain data.

    >>> ExpectTableTClosenessToBeAtMost(
    ...     quasi_identifiers=["age"], sensitive="pay", ground="ordered", at_most=0.2
    ... ).at_most
    0.2
    """

    metric: ClassVar[str] = "t_closeness"

    quasi_identifiers: Columns
    sensitive: Column
    ground: Ground = "equal"
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
