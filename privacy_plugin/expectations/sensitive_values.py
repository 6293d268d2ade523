"""What a class reveals of sensitive values, as expectations."""

from typing import Any, ClassVar, Literal

from great_expectations.compatibility.pydantic import StrictInt, StrictStr

from privacy_plugin.expectations.base import PrivacyExpectation
from privacy_plugin.expectations.fields import Column, Columns, Count, Ground, Number, Parameter


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


class ExpectTableAttributeRiskToBeAtMost(PrivacyExpectation):
    """Expect that in every class at most a share of the people have the same sensitive value.

    The metric is `privacy_plugin.metrics.attribute_risk`; with `unit`, a person has the values of all their rows.

    >>> ExpectTableAttributeRiskToBeAtMost(quasi_identifiers=["age"], sensitive="disease", at_most=0.5).at_most
    0.5
    """

    metric: ClassVar[str] = "attribute_risk"

    quasi_identifiers: Columns
    sensitive: Column
    separator: StrictStr | Parameter | None = None
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None


class ExpectTableMaximumDisclosureToBeLessThan(PrivacyExpectation):
    """Expect an attacker with `knowledge` further facts to infer no sensitive value with a probability above a limit.

    The metric is `privacy_plugin.metrics.maximum_disclosure.metric`; `below` c with `knowledge` k is (c, k)-safety.
    `weights`: {value: weight, "otherwise": weight} where some sensitive values are worse than others.

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
    weights: dict[str, Any] | None = None
    unit: Column | None = None
    count: Count = None
    at_most: Number = None
    below: Number = None
