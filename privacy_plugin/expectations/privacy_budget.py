"""The privacy budget as an expectation."""

from typing import ClassVar

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Number, Parameter


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
