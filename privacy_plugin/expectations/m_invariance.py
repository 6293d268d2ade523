"""m-invariance of all releases as an expectation."""

from typing import ClassVar

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter


class ExpectTableMInvarianceToBeAtLeast(PrivacyExpectation):
    """Expect all recorded releases of a dataset, together with this table, to be m-invariant.

    The history is the one in use (`privacy_plugin.using_history`), or that of the environment variable
    PRIVACY_PLUGIN_HISTORY. The metric is `privacy_plugin.metrics.m_invariance`.

    >>> ExpectTableMInvarianceToBeAtLeast(
    ...     quasi_identifiers=["age"], sensitive="disease", unit="patient", dataset="visits", at_least=3
    ... ).at_least
    3
    """

    metric: ClassVar[str] = "m_invariance"

    quasi_identifiers: Columns
    sensitive: Column
    dataset: StrictStr | Parameter | None = None
    unit: Column | None = None
    count: Count = None
    at_least: Number = None
    above: Number = None
