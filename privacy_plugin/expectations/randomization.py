"""What randomized releases may spend and keep, as expectations."""

from typing import Any, ClassVar

from great_expectations.compatibility.pydantic import StrictStr

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


class ExpectTablePrivacyBudgetToBeAtMost(PrivacyExpectation):
    """Expect the table to be a recorded private release of a dataset that has spent at most this epsilon.

    `privacy_unit` is what the budget protects, and `delta` limits the sum of the deltas that the dataset has spent. The
    ledger is the one in use (`privacy_plugin.using_ledger`), or that of the environment variable PRIVACY_PLUGIN_LEDGER.
    The metric is `privacy_plugin.metrics.privacy_budget`: a table that is not a recorded private release is not
    evaluated, and never passes.

    >>> ExpectTablePrivacyBudgetToBeAtMost(privacy_unit="row", delta=1e-6, at_most=1).at_most
    1
    """

    metric: ClassVar[str] = "privacy_budget"

    privacy_unit: StrictStr | Parameter
    delta: Number = 0
    dataset: StrictStr | Parameter | None = None
    at_most: Number = None
    below: Number = None
