"""Requirements on the joint classes of all releases as an expectation."""

from typing import Any, ClassVar

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter


class ExpectTableAcrossReleasesToBeAtMost(PrivacyExpectation):
    """Expect that the requirements hold for everybody on the joint classes of all recorded releases of a dataset.

    `requirements` are plain data as in a policy. The history is the one in use (`privacy_plugin.using_history`), or
    that of the environment variable PRIVACY_PLUGIN_HISTORY. The metric is `privacy_plugin.metrics.across_releases`.

    >>> ExpectTableAcrossReleasesToBeAtMost(
    ...     quasi_identifiers=["age"], unit="patient", dataset="visits", requirements=[{"k_anonymity": {"at_least": 5}}]
    ... ).at_most
    0
    """

    metric: ClassVar[str] = "across_releases"

    quasi_identifiers: Columns
    requirements: list[Any] | tuple[Any, ...] | Parameter = ()
    sensitive_columns: list[StrictStr] | tuple[StrictStr, ...] | Parameter = ()
    dataset: StrictStr | Parameter | None = None
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
