"""l-diversity as an expectation."""

from typing import ClassVar, Literal

from great_expectations.compatibility.pydantic import StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Number, Parameter


class ExpectTableLDiversityToBeAtLeast(PrivacyExpectation):
    """Expect every class to have at least l well-represented sensitive values.

    The metric is `privacy_plugin.metrics.l_diversity`; `c` is for the variant "recursive".

    >>> ExpectTableLDiversityToBeAtLeast(
    ...     quasi_identifiers=["age"], sensitive="disease", variant="entropy", at_least=2.5
    ... ).variant
    'entropy'
    """

    metric: ClassVar[str] = "l_diversity"

    quasi_identifiers: Columns
    sensitive: Column
    variant: Literal["distinct", "entropy", "recursive"] | Parameter = "distinct"
    c: Number = None
    separator: StrictStr | Parameter | None = None
    unit: Column | None = None
    count: Count = None
    at_least: Number = None
    above: Number = None
