"""epsilon-dependence as an expectation."""

from typing import Any, ClassVar

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Number, Parameter


class ExpectTableEpsilonDependenceToBeAtMost(PrivacyExpectation):
    """Expect a released cell to change any belief about the original cell by a factor of at most e^epsilon.

    `attributes` are the original column and the released one; `channel` is the declared P(released | original), one row
    per original value. With a `prior` of the original values, only beliefs that start from it are considered. The
    metric is `metrics.dependence.epsilon_dependence`, an audit: the paired columns can refute the declared channel, and
    never prove it.

    >>> kept = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> ExpectTableEpsilonDependenceToBeAtMost(attributes=["truth", "shown"], channel=kept, at_most=1.1).at_most
    1.1
    """

    metric: ClassVar[str] = "epsilon_dependence"

    attributes: Columns
    channel: list[list[Any]] | Parameter
    prior: list[Any] | Parameter | None = None
    confidence: Number = 0.95
    at_most: Number = None
    below: Number = None
