"""Requirements on the differences of releases as an expectation."""

from typing import Any, ClassVar

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Columns, Hierarchies, Number, Parameter


class ExpectTableDifferencesToBeAtMost(PrivacyExpectation):
    """Expect what this table adds to and removes from each recorded release of a dataset to meet the requirements.

    `requirements` are plain data as in a policy. The history is the one in use (`privacy_plugin.using_history`), or
    that of the environment variable PRIVACY_PLUGIN_HISTORY. The metric is `privacy_plugin.metrics.differences`.

    >>> ExpectTableDifferencesToBeAtMost(
    ...     quasi_identifiers=["age"], dataset="visits", requirements=[{"k_anonymity": {"at_least": 5}}]
    ... ).at_most
    0
    """

    metric: ClassVar[str] = "differences"

    quasi_identifiers: Columns
    requirements: list[Any] | tuple[Any, ...] | Parameter = ()
    sensitive_columns: list[StrictStr] | tuple[StrictStr, ...] | Parameter = ()
    hierarchies: Hierarchies = None
    dataset: StrictStr | Parameter | None = None
    at_most: Number = None
    below: Number = None
