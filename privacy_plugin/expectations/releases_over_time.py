"""Requirements over all releases of a dataset, as expectations."""

from typing import Any, ClassVar

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Hierarchies, Number, Parameter


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
